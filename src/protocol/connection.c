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

void connection_reply(struct mcp *m, struct intake *intake, int fault)
{
    if (!intake->is_batch) {
        intake->sink.reply(intake->sink.user, buf_str(&m->out), fault);
        return;
    }
    buf_addc(&intake->replies, intake->replies.len ? ',' : '[');
    buf_add(&intake->replies, buf_str(&m->out));
}

void connection_note(struct mcp *m, struct intake *intake)
{
    if (intake->sink.note)
        intake->sink.note(intake->sink.user, buf_str(&m->out));
}

void connection_leave(struct intake *intake)
{
    if (--intake->open)
        return;
    const struct mcp_sink sink = intake->sink;
    if (intake->replies.len) {
        buf_addc(&intake->replies, ']');
        sink.reply(sink.user, buf_str(&intake->replies), 0);
    }
    buf_finish(&intake->replies);
    free(intake);
    if (sink.end)
        sink.end(sink.user);
}
