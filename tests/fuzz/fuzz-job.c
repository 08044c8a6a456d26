#include "confine/job.h"
#include "fuzz.h"

/* Nobody but the server writes a job, but what is parsed must be whole in any case. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = { (const char *)data, size };
    struct wire_message m = { .kind = WIRE_LAUNCH };
    struct error err;
    struct job job, again;
    while (m.count < 6)
        m.fields[m.count++] = str_cut(&rest, '\n');
    auto_arena *arena = arena_create();
    if (!job_parse(&m, arena, &job, &err))
        return 0;
    auto_buf bytes = BUF(WIRE_MAX_MESSAGE);
    bool got;
    job_write(&job, &bytes);
    rest = buf_str(&bytes);
    assert(wire_parse(&rest, &m, &got, &err) && got);
    assert(job_parse(&m, arena, &again, &err) && again.path_count == job.path_count);
    return 0;
}
