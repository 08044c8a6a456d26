#include "tool/describe.h"

#include "command-names.h"
#include "policy/command.h"
#include "tool/describe-python.h"
#include "tool/describe-servers.h"

#define MAX_LINES ((size_t)1 << 20) /* bytes, before it is known what fits */

void describe_seconds(double seconds, struct buf *out)
{
    bool small = seconds > -1e15 && seconds < 1e15;
    bool whole = small && seconds == (double)(int64_t)seconds;
    buf_addf(out, whole ? "%.1f" : "%.15g", seconds);
}

static void write_commands(
        const struct described *what UNUSED, size_t room UNUSED, struct buf *out)
{
    buf_add(out, STR(COMMAND_NAMES));
}

static void write_state(const struct described *what, size_t room UNUSED, struct buf *out)
{
    static const char alone[] = "Each call has a fresh shell, unless it names a session; "
                                "there the",
                      lasting[] = "The";
    buf_addf(out,
            "%s working directory, variables, functions and options persist between "
            "calls.",
            what->kept ? alone : lasting);
}

/* The names of the sections, as many as find room. */
static void write_programs(const struct described *what, size_t room, struct buf *out)
{
    const struct policy *policy = what->policy;
    static const char also[] = ". Where a builtin has the name, write 'command -p NAME'.";
    static const size_t note = sizeof(", ... 1000 more");
    if (!policy || !policy->shell_count) {
        buf_add(out, STR("There are no other programs, and there is no network."));
        return;
    }
    size_t end = out->len + (room > sizeof(also) + note ? room - sizeof(also) - note : 0);
    buf_add(out, STR("Approved programs are commands too, as run_shell has them, with "
                     "pipes and redirections: "));
    for (size_t i = 0; i < policy->shell_count; i++) {
        struct str name = policy->shells[i].name;
        if (out->len + name.len + 2 > end) {
            buf_addf(out, "%s... %zu more", i ? ", " : "", policy->shell_count - i);
            break;
        }
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(name));
    }
    buf_add(out, str_of(also));
}

static void write_timeouts(
        const struct described *what, size_t room UNUSED, struct buf *out)
{
    const struct policy *policy = what->policy;
    buf_add(out, STR("Timeout: "));
    describe_seconds(policy->timeout_ms / 1e3, out);
    buf_add(out, STR("s by default, "));
    describe_seconds(policy->max_timeout_ms / 1e3, out);
    buf_add(out, STR("s at most."));
}

/* ` (pattern: ^git$): `, and what the kernel does differently from what is usual. */
static void write_section_head(const struct policy_shell *s, struct buf *out)
{
    buf_addf(out, "\n  %.*s (pattern: %.*s", STR_ARG(s->name), STR_ARG(s->command.text));
    if (!s->network)
        buf_add(out, STR("; no network"));
    if (s->sandbox == SANDBOX_NONE)
        buf_add(out, STR("; not sandboxed"));
    buf_add(out, STR("): "));
}

/* The patterns, joined by commas; those that find no room are counted. */
static void write_patterns(
        const struct policy_regexes *patterns, size_t room, struct buf *out)
{
    static const size_t note = sizeof(", ... 1000 more") - 1;
    size_t start = out->len;
    for (size_t i = 0; i < patterns->count; i++) {
        struct str text = command_pattern(&patterns->items[i]);
        bool last = i + 1 == patterns->count;
        if (out->len - start + text.len + 2 + (last ? 0 : note) > room) {
            buf_addf(out, "%s... %zu more", i ? ", " : "", patterns->count - i);
            return;
        }
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(text));
    }
}

static void write_section(const struct policy_shell *s, size_t room, struct buf *out)
{
    size_t start = out->len;
    const struct policy_regexes *patterns = s->mode == MODE_DENY ? &s->allow : &s->deny;
    write_section_head(s, out);
    if (s->mode == MODE_DENY)
        buf_add(out, STR("deny-by-default"));
    else
        buf_add(out, STR("allow-by-default"));
    if (patterns->count)
        buf_addf(out, ", %s arg patterns: ", s->mode == MODE_DENY ? "allowed" : "denied");
    else if (s->mode == MODE_ALLOW)
        buf_add(out, STR(", no restrictions"));
    size_t used = out->len - start;
    write_patterns(patterns, room > used ? room - used : 0, out);
}

size_t describe_fair_share(const size_t *needs, size_t count, size_t room)
{
    size_t share = 0;
    for (;;) {
        size_t modest = 0, others = 0;
        for (size_t i = 0; i < count; i++) {
            modest += needs[i] <= share ? needs[i] : 0;
            others += needs[i] > share;
        }
        size_t next = others && room > modest ? (room - modest) / others : share;
        if (next <= share)
            return share;
        share = next;
    }
}

static size_t share_of_line(
        describe_line_fn *write, const void *all, size_t count, size_t room)
{
    auto_buf whole = BUF(MAX_LINES);
    auto_free size_t *needs = xcalloc(count + 1, sizeof(*needs));
    for (size_t i = 0; i < count; i++) {
        buf_clear(&whole);
        write(all, i, SIZE_MAX / 2, &whole);
        needs[i] = whole.len;
    }
    return describe_fair_share(needs, count, room);
}

void describe_lines(describe_line_fn *write, const void *all, size_t count, size_t least,
        size_t room, struct buf *out)
{
    static const size_t note = sizeof("\n  ... 100000 more: paddock policy show") - 1;
    size_t share = share_of_line(write, all, count, room), fitting = 0, end = 0;
    auto_buf lines = BUF(MAX_LINES);
    for (size_t i = 0; i < count; i++) {
        write(all, i, share > least ? share : least, &lines);
        if (lines.len + note <= room) {
            fitting = i + 1;
            end = lines.len;
        }
    }
    if (lines.len <= room) {
        buf_add(out, buf_str(&lines));
        return;
    }
    buf_add(out, str_sub(buf_str(&lines), 0, end));
    buf_addf(out, "\n  ... %zu more: paddock policy show", count - fitting);
}

static void write_section_line(
        const void *policy, size_t index, size_t room, struct buf *out)
{
    write_section(&((const struct policy *)policy)->shells[index], room, out);
}

/* One line for each section, in the order in which they decide. */
static void write_policy(const struct described *what, size_t room, struct buf *out)
{
    const struct policy *policy = what->policy;
    describe_lines(write_section_line, policy, policy->shell_count, 48, room, out);
}

static void write_servers(const struct described *what, size_t room, struct buf *out)
{
    describe_servers(what->servers, room, out);
}

static void write_python(const struct described *what, size_t room, struct buf *out)
{
    describe_python(what, room, out);
}

static const struct {
    const char *mark;
    /* Appends at most `room` bytes. */
    void (*write)(const struct described *what, size_t room, struct buf *out);
} marks[] = {
    { "{commands}", write_commands },
    { "{state}", write_state },
    { "{programs}", write_programs },
    { "{timeouts}", write_timeouts },
    { "{policy}", write_policy },
    { "{servers}", write_servers },
    { "{python}", write_python },
};

/* Replace one mark, if it is there. */
static void fill_in(json_t *definition, const struct described *what, size_t index)
{
    struct str text = json_get_str(definition, "description", STR(""));
    size_t len = strlen(marks[index].mark);
    const char *at = memmem(text.data, text.len, marks[index].mark, len);
    if (!at)
        return;
    auto_buf filled = BUF((size_t)1 << 20);
    size_t before = (size_t)(at - text.data), fixed = text.len - len;
    buf_add(&filled, str_sub(text, 0, before));
    marks[index].write(
            what, fixed < DESCRIBE_MAX_BYTES ? DESCRIBE_MAX_BYTES - fixed : 0, &filled);
    buf_add(&filled, str_from(text, before + len));
    json_object_set_new(definition, "description", json_text(buf_str(&filled)));
}

void describe_fill(json_t *definition, const struct described *what)
{
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        fill_in(definition, what, i);
}
