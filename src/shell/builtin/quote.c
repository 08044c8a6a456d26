#include "shell/builtin/quote.h"

#include "base/utf8.h"

#include <errno.h>

enum need {
    NEED_QUOTES = 1 << 0,
    NEED_ESCAPES = 1 << 1, /* a control character, or a byte that is no text */
    HAS_QUOTE = 1 << 2,    /* ' */
    NO_DOUBLE = 1 << 3,    /* a character that is special inside "" */
};

/* Length of the printable character at the start of `s`; 0 if it must be escaped. */
static size_t printable(struct str s)
{
    uint32_t code;
    size_t len = utf8_decode(s, &code);
    return len && code >= 0x20 && code != 0x7f && !(code >= 0x80 && code < 0xa0) ? len
                                                                                 : 0;
}

static unsigned needs(struct str s)
{
    unsigned need = s.len ? 0 : NEED_QUOTES;
    for (size_t i = 0, len; i < s.len; i += len) {
        char ch = s.data[i];
        len = printable(str_from(s, i));
        if (!len) {
            len = 1;
            need |= NEED_ESCAPES | NEED_QUOTES;
        } else if (ch == '\'') {
            need |= HAS_QUOTE | NEED_QUOTES;
        } else if (strchr("\"$`\\!", ch)) {
            need |= NO_DOUBLE | NEED_QUOTES;
        } else if (strchr(" &()*;<=>[^|?", ch) || (!i && strchr("#~", ch))) {
            need |= NEED_QUOTES;
        }
    }
    return need;
}

static void add_escape(unsigned char byte, struct buf *out)
{
    static const char names[] = "abtnvfr"; /* 7..13 */
    if (byte >= 7 && byte <= 13)
        buf_addf(out, "\\%c", names[byte - 7]);
    else
        buf_addf(out, "\\%03o", byte);
}

void quote_add(struct str s, struct buf *out)
{
    unsigned need = needs(s);
    if ((need & HAS_QUOTE) && !(need & (NEED_ESCAPES | NO_DOUBLE))) {
        buf_addf(out, "\"%.*s\"", STR_ARG(s));
        return;
    }
    bool escaping = false;
    buf_addc(out, '\'');
    for (size_t i = 0, len; i < s.len; i += len ? len : 1) {
        len = printable(str_from(s, i));
        if (escaping != !len)
            buf_add(out, len ? STR("''") : STR("'$'"));
        escaping = !len;
        if (!len)
            add_escape((unsigned char)s.data[i], out);
        else if (s.data[i] == '\'')
            buf_add(out, STR("'\\''"));
        else
            buf_add(out, str_sub(s, i, len));
    }
    buf_addc(out, '\'');
}

const char *quote(struct cmd *c, const char *text)
{
    auto_buf b = BUF(1 << 20);
    quote_add(str_of(text), &b);
    return arena_cstr(c->arena, buf_str(&b));
}

const char *quote_maybe(struct cmd *c, const char *text)
{
    return needs(str_of(text)) || strchr(text, ':') ? quote(c, text) : text;
}

const char *errno_text(int errnum)
{
    if (errnum == EREMOTE) /* of a walk (dirwalk.h) */
        return "skipped: a file system that may be slow (FUSE or network); name it to "
               "enter it";
    const char *text = strerrordesc_np(errnum);
    return text ? text : "Unknown error";
}

int try_help(struct cmd *c, int status)
{
    const char *line =
            arena_printf(c->arena, "Try '%s --help' for more information.\n", c->name);
    return stream_write(c->err, str_of(line)) ? status : 1;
}

int missing_operand(struct cmd *c)
{
    cmd_err(c, "missing operand");
    return try_help(c, 1);
}

int extra_operand(struct cmd *c, const char *operand)
{
    cmd_err(c, "extra operand %s", quote(c, operand));
    return try_help(c, 1);
}
