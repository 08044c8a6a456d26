#include "protocol/connection.h"

#define MAX_REPLY  ((size_t)512 << 20)
#define KEEP_BYTES ((size_t)256 << 10)

struct buf *connection_buf(struct mcp *m)
{
    if (m->out.cap > KEEP_BYTES)
        buf_finish(&m->out);
    m->out.max = MAX_REPLY;
    m->out.full = false;
    buf_clear(&m->out);
    return &m->out;
}

void connection_reply(struct mcp *m, struct batch *batch)
{
    if (!batch) {
        m->send(m->user, buf_str(&m->out));
        return;
    }
    buf_addc(&batch->replies, batch->replies.len ? ',' : '[');
    buf_add(&batch->replies, buf_str(&m->out));
}

void connection_leave_batch(struct mcp *m, struct batch *batch)
{
    if (!batch || --batch->open)
        return;
    if (batch->replies.len) {
        buf_addc(&batch->replies, ']');
        m->send(m->user, buf_str(&batch->replies));
    }
    buf_finish(&batch->replies);
    free(batch);
}
