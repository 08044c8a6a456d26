#include "tool/metrics.h"
#include "tool/tool.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

void metrics_write_label(struct str value, struct buf *out)
{
    for (size_t i = 0; i < value.len; i++) {
        char c = value.data[i];
        if (c == '\n') {
            buf_add(out, STR("\\n"));
            continue;
        }
        if (c == '\\' || c == '"')
            buf_addc(out, '\\');
        buf_addc(out, c);
    }
}

static void begin(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_addf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_count(struct buf *out, uint64_t n)
{
    buf_addf(out, " %llu\n", (unsigned long long)n);
}

/* A series of one value. */
static void add_plain(
        struct buf *out, const char *name, const char *type, uint64_t n, const char *help)
{
    begin(out, name, type, help);
    buf_add(out, str_of(name));
    add_count(out, n);
}

static void add_seconds(struct buf *out, uint64_t us)
{
    buf_addf(out, "%llu.%06llu", (unsigned long long)(us / 1000000),
            (unsigned long long)(us % 1000000));
}

static bool has_calls(const struct metrics_tool *tool)
{
    for (size_t i = 0; i < METRICS_OUTCOMES; i++)
        if (tool->calls[i])
            return true;
    return false;
}

/* NULL: there is none at this place. */
static const char *tool_name(const struct metrics *m, size_t i)
{
    if (!has_calls(&m->tools[i]))
        return NULL;
    return i < tool_source_count ? tool_sources[i].name : "other";
}

static void add_calls(const struct metrics *m, struct buf *out)
{
    static const char *const outcomes[METRICS_OUTCOMES] = {
        [METRICS_CANCELLED] = "cancelled",
        [METRICS_TIMEOUT] = "timeout",
        [METRICS_REFUSED] = "refused",
        [METRICS_ERROR] = "error",
        [METRICS_OK] = "ok",
    };
    begin(out, "paddock_calls_total", "counter", "Calls of tools that have ended.");
    for (size_t i = 0; i < METRICS_MAX_TOOLS; i++) {
        const char *name = tool_name(m, i);
        for (size_t k = 0; name && k < METRICS_OUTCOMES; k++) {
            buf_addf(out, "paddock_calls_total{tool=\"%s\",outcome=\"%s\"}", name,
                    outcomes[k]);
            add_count(out, m->tools[i].calls[k]);
        }
    }
}

static void add_histogram(
        const struct metrics_tool *tool, const char *name, struct buf *out)
{
    uint64_t below = 0;
    for (size_t i = 0; i <= METRICS_BUCKETS; i++) {
        below += tool->durations[i];
        buf_addf(out, "paddock_call_seconds_bucket{tool=\"%s\",le=\"", name);
        if (i < METRICS_BUCKETS)
            buf_addf(out, "%g", (double)metrics_bucket_us[i] / 1e6);
        else
            buf_add(out, STR("+Inf"));
        buf_add(out, STR("\"}"));
        add_count(out, below);
    }
    buf_addf(out, "paddock_call_seconds_sum{tool=\"%s\"} ", name);
    add_seconds(out, tool->duration_us);
    buf_addf(out, "\npaddock_call_seconds_count{tool=\"%s\"}", name);
    add_count(out, below);
}

static void add_durations(const struct metrics *m, struct buf *out)
{
    begin(out, "paddock_call_seconds", "histogram",
            "How long calls took since it was their turn.");
    for (size_t i = 0; i < METRICS_MAX_TOOLS; i++) {
        const char *name = tool_name(m, i);
        if (name)
            add_histogram(&m->tools[i], name, out);
    }
}

static void add_rule(struct str rule, uint64_t count, struct buf *out)
{
    buf_add(out, STR("paddock_refusals_total{rule=\""));
    metrics_write_label(rule, out);
    buf_add(out, STR("\"}"));
    add_count(out, count);
}

static void add_rules(const struct metrics *m, struct buf *out)
{
    begin(out, "paddock_refusals_total", "counter",
            "Calls in which this rule of the policy refused something.");
    for (size_t i = 0; i < m->rule_count; i++)
        add_rule(str_of(m->rules[i].text), m->rules[i].count, out);
    if (m->other_rules)
        add_rule(STR("other"), m->other_rules, out);
}

static void add_kind(const char *kind, struct census n, struct buf *out)
{
    buf_addf(out,
            "paddock_workers{kind=\"%s\",state=\"working\"} %zu\n"
            "paddock_workers{kind=\"%s\",state=\"idle\"} %zu\n",
            kind, n.working, kind, n.idle);
}

static void add_gauges(const struct metrics_gauges *now, struct buf *out)
{
    begin(out, "paddock_workers", "gauge", "Worker processes.");
    add_kind("files", now->files, out);
    add_kind("python", now->python, out);
    add_kind("shell", now->shell, out);
    begin(out, "paddock_sessions", "gauge",
            "Sessions of clients; of those asleep the shell is saved and has no "
            "process.");
    buf_addf(out,
            "paddock_sessions{state=\"asleep\"} %zu\npaddock_sessions{state=\"open\"} "
            "%zu\n",
            now->sessions_asleep, now->sessions - now->sessions_asleep);
    add_plain(out, "paddock_waiting_calls", "gauge",
            now->waiting_turns + now->shell.waiting + now->files.waiting +
                    now->python.waiting,
            "Calls that nobody works on yet.");
    add_plain(out, "paddock_audit_failures_total", "counter", now->audit_failures,
            "Records that could not be written to the audit log.");
}

static void add_requests(const struct metrics_gauges *now, struct buf *out)
{
    begin(out, "paddock_http_requests_total", "counter", "Answers by their status.");
    for (size_t i = 0; i < now->answer_count; i++) {
        if (!now->answers[i])
            continue;
        buf_addf(out, "paddock_http_requests_total{status=\"%zu\"}", i + 100);
        add_count(out, now->answers[i]);
    }
    add_plain(out, "paddock_http_connections", "gauge", now->connections,
            "Connections that are open.");
}

static uint64_t resident_bytes(void)
{
    unsigned long long pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f)
        return 0;
    if (fscanf(f, "%*u %llu", &pages) != 1)
        pages = 0;
    fclose(f);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Without the one that is needed to look. */
static uint64_t open_fds(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (!folder)
        return 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count ? count - 1 : 0;
}

static uint64_t microseconds(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

/* Of the server alone; the names are those that all exporters give them. */
static void add_process(const struct metrics *m, struct buf *out)
{
    struct rusage used = { 0 };
    getrusage(RUSAGE_SELF, &used);
    begin(out, "process_cpu_seconds_total", "counter", "Processor time of the server.");
    buf_add(out, STR("process_cpu_seconds_total "));
    add_seconds(out, microseconds(used.ru_utime) + microseconds(used.ru_stime));
    buf_addc(out, '\n');
    add_plain(out, "process_open_fds", "gauge", open_fds(), "Open descriptors.");
    add_plain(out, "process_resident_memory_bytes", "gauge", resident_bytes(),
            "Memory of the server.");
    add_plain(out, "process_start_time_seconds", "gauge", (uint64_t)m->started,
            "When the server was started, in seconds since 1970.");
}

void metrics_write(
        const struct metrics *m, const struct metrics_gauges *now, struct buf *out)
{
    add_calls(m, out);
    add_durations(m, out);
    add_rules(m, out);
    add_gauges(now, out);
    add_plain(out, "paddock_output_cut_bytes_total", "counter", m->cut_bytes,
            "Bytes that the limits of output left out of replies.");
    add_requests(now, out);
    add_process(m, out);
}
