#include "base/utf8.h"
#include "shell/builtin/input.h"

static const struct cmd_opt options[] = { { 0 } };

static void reverse(struct str line, struct buf *out)
{
    char *to = buf_reserve(out, line.len);
    if (!to)
        return;
    size_t end = line.len;
    for (size_t i = 0, len; i < line.len; i += len) {
        uint32_t code;
        len = utf8_decode(str_from(line, i), &code);
        len = len ? len : 1;
        end -= len;
        memcpy(to + end, line.data + i, len);
    }
    out->len += line.len;
}

static int cmd_rev(struct cmd *c)
{
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    auto_buf out = BUF(SIZE_MAX / 4);
    struct inputs in = inputs_open(c);
    in.style = INPUT_OPEN;
    while (inputs_next(&in)) {
        struct str line;
        bool ended;
        while (input_line(c, in.stream, '\n', &line, &ended)) {
            buf_clear(&out);
            reverse(line, &out);
            if (ended)
                buf_addc(&out, '\n');
            if (!cmd_put(c, buf_str(&out)))
                return inputs_stop(&in);
        }
    }
    return in.status;
}

const struct command command_rev = {
    "rev",
    cmd_rev,
    options,
    "[FILE]...",
    "Print each line with its characters in reverse order.",
    0,
};
