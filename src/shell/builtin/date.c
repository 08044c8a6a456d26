#include "base/datetime.h"
#include "shell/builtin/files.h"
#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

enum { OPT_RFC3339 = 256, OPT_DEBUG, OPT_RESOLUTION };

static const struct cmd_opt options[] = {
    { 'd', "date", ARG_REQUIRED, "STRING", "show this date instead of now" },
    { OPT_DEBUG, "debug", ARG_NONE, NULL, "(ignored)" },
    { 'f', "file", ARG_REQUIRED, "FILE", "show the date on each line of FILE" },
    { 'I', "iso-8601", ARG_OPTIONAL, "FMT",
            "as 2024-02-03; FMT: date, hours, minutes, seconds, ns" },
    { OPT_RESOLUTION, "resolution", ARG_NONE, NULL, "show how fine the clock is" },
    { 'R', "rfc-email", ARG_NONE, NULL, "as Sat, 03 Feb 2024 04:05:06 +0000" },
    { OPT_RFC3339, "rfc-3339", ARG_REQUIRED, "FMT",
            "as 2024-02-03 04:05:06+00:00; FMT: date, seconds, ns" },
    { 'r', "reference", ARG_REQUIRED, "FILE", "show when FILE was last changed" },
    { 'u', "utc", ARG_NONE, NULL, "in UTC" },
    { 'u', "universal", ARG_NONE, NULL, "the same" },
    { 0 },
};

struct date {
    struct cmd *c;
    bool utc;
    const char *format, *text, *file, *reference;
};

struct named_format {
    const char *name, *format;
};

/* `names`, abbreviated; false: reported. */
static bool choose(struct date *d, const struct named_format *names, const char *option,
        const char *value)
{
    if (d->format) {
        cmd_err(d->c, "multiple output formats specified");
        return false;
    }
    for (; names->name; names++)
        if (*value && str_starts(str_of(names->name), str_of(value))) {
            d->format = names->format;
            return true;
        }
    cmd_err(d->c, "invalid argument %s for '--%s'", quote(d->c, value), option);
    try_help(d->c, 1);
    return false;
}

static const struct named_format iso_formats[] = {
    { "date", "%Y-%m-%d" },
    { "hours", "%Y-%m-%dT%H%:z" },
    { "minutes", "%Y-%m-%dT%H:%M%:z" },
    { "seconds", "%Y-%m-%dT%H:%M:%S%:z" },
    { "ns", "%Y-%m-%dT%H:%M:%S,%N%:z" },
    { 0 },
};

static const struct named_format rfc_formats[] = {
    { "date", "%Y-%m-%d" },
    { "seconds", "%Y-%m-%d %H:%M:%S%:z" },
    { "ns", "%Y-%m-%d %H:%M:%S.%N%:z" },
    { 0 },
};

static const struct named_format email_formats[] = {
    { "email", "%a, %d %b %Y %H:%M:%S %z" },
    { 0 },
};

static bool set_option(struct date *d, int key, const char *value)
{
    switch (key) {
    case 'd':
        d->text = value;
        return true;
    case 'f':
        d->file = value;
        return true;
    case 'I':
        return choose(d, iso_formats, "iso-8601", value ? value : "date");
    case 'R':
        return choose(d, email_formats, "rfc-email", "email");
    case OPT_RFC3339:
        return choose(d, rfc_formats, "rfc-3339", value);
    case 'r':
        d->reference = value;
        return true;
    case 'u':
        return d->utc = true;
    case OPT_RESOLUTION:
        d->text = "@0.000000001";
        d->format = "%s.%N";
        return true;
    case OPT_DEBUG:
        return true;
    default:
        return false;
    }
}

static bool show(struct date *d, struct datetime t)
{
    auto_buf line = BUF(1 << 20);
    datetime_format(str_of(d->format), t, d->utc, &line);
    buf_addc(&line, '\n');
    return cmd_put(d->c, buf_str(&line));
}

static bool show_text(struct date *d, const char *text)
{
    struct datetime t;
    if (datetime_parse(str_of(text), datetime_now(), d->utc, &t))
        return show(d, t);
    cmd_err(d->c, "invalid date %s", quote(d->c, text));
    return false;
}

static int show_file(struct date *d)
{
    struct cmd *c = d->c;
    struct stream *in;
    struct str line;
    int errnum = cmd_open(c, d->file, true, &in), status = 0;
    if (errnum) {
        cmd_err(c, "%s: %s", quote_maybe(c, d->file), errno_text(errnum));
        return 1;
    }
    while (!c->out_failed && input_line(c, in, '\n', &line, NULL))
        if (!show_text(d, arena_cstr(c->arena, line)))
            status = 1;
    stream_unref(in);
    return status;
}

static int show_reference(struct date *d)
{
    struct vfs_stat st;
    int errnum = file_stat(d->c, d->reference, VFS_FOLLOW, &st);
    if (!errnum)
        return show(d, datetime_from_ns(st.mtime_ns)) ? 0 : 1;
    cmd_err(d->c, "%s: %s", quote_maybe(d->c, d->reference), errno_text(errnum));
    return 1;
}

/* The operand: +FORMAT. */
static bool take_operand(struct date *d)
{
    struct cmd *c = d->c;
    if (c->argc > 1) {
        extra_operand(c, c->argv[1]);
        return false;
    }
    if (c->argc && c->argv[0][0] != '+') {
        cmd_err(c, "cannot set date: Operation not permitted");
        return false;
    }
    if (c->argc && d->format) {
        cmd_err(c, "multiple output formats specified");
        return false;
    }
    if (c->argc)
        d->format = c->argv[0] + 1;
    if (!d->format)
        d->format = "%a %b %e %H:%M:%S %Z %Y";
    return true;
}

static int cmd_date(struct cmd *c)
{
    struct date d = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&d, k, o.value))
            return 1;
    if (!take_operand(&d))
        return 1;
    const char *zone = cmd_env(c, "TZ");
    d.utc |= zone &&
             (!strncmp(zone, "UTC", 3) || !strcmp(zone, "GMT") || !strcmp(zone, "Z"));
    if ((d.text != NULL) + (d.file != NULL) + (d.reference != NULL) > 1) {
        cmd_err(c, "the options to specify dates for printing are mutually exclusive");
        return try_help(c, 1);
    }
    if (d.file)
        return show_file(&d);
    if (d.reference)
        return show_reference(&d);
    return (d.text ? show_text(&d, d.text) : show(&d, datetime_now())) ? 0 : 1;
}

const struct command command_date = {
    "date",
    cmd_date,
    options,
    "[OPTION]... [+FORMAT]",
    "Show the date and time.",
    0,
};
