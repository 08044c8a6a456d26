/*
 * paddock doctor: what this machine can enforce, tried, and what holds in a real worker.
 */
#include "cli/cli.h"

#include "cli/doctor.h"
#include "confine/probe.h"

#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NAME "paddock doctor"

static const char usage[] =
        "usage: paddock doctor [--json]\n"
        "Show what the kernel of this machine lets paddock enforce, and what holds in "
        "the\n"
        "workers and the interpreter that are started for it and try to get out. The\n"
        "status is 0 if every property holds, and 1 if one does not or a program does "
        "not\n"
        "start. Without an interpreter only run_python is missing.\n";

static const char *probe_result(int error)
{
    return error == EPROTO ? "agreed to, but not done"
                           : (error ? strerrorname_np(error) : "ok");
}

static json_t *run_probes(void)
{
    json_t *probes = json_object();
    const struct probe *probe;
    for (size_t i = 0; (probe = probe_at(i)); i++)
        json_object_set_new(
                probes, probe->name, json_string(probe_result(probe_run(probe))));
    return probes;
}

static bool all_hold(const json_t *worker)
{
    json_t *properties = json_object_get(worker, "properties"), *property;
    const char *name;
    bool hold = json_object_size(properties) > 0;
    json_object_foreach (properties, name, property)
        hold = hold && json_is_true(json_object_get(property, "held"));
    return hold;
}

static json_t *examine(void)
{
    struct utsname system;
    uname(&system);
    json_t *worker = doctor_folder_worker(), *workspace = doctor_machine_worker(),
           *python = doctor_interpreter(), *bridge = doctor_bridge();
    /* Where there is no Python there is nothing to hold. */
    bool missing = !json_is_string(json_object_get(python, "path"));
    return json_pack("{s:s, s:s, s:s, s:i, s:o, s:b, s:o, s:o, s:o, s:o}", "version",
            PADDOCK_VERSION, "kernel", system.release, "machine", system.machine, "uid",
            (int)geteuid(), "probes", run_probes(), "holds",
            all_hold(worker) && all_hold(workspace) && (missing || all_hold(python)) &&
                    all_hold(bridge),
            "worker", worker, "workspace_worker", workspace, "python", python, "bridge",
            bridge);
}

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "-";
}

static void print_probes(const json_t *report, struct buf *out)
{
    const json_t *probes = json_object_get(report, "probes");
    const struct probe *probe;
    buf_addf(out, "\nthe kernel, tried:\n");
    for (size_t i = 0; (probe = probe_at(i)); i++)
        buf_addf(out, "  %-11s %-38s %s\n", probe->name, probe->what,
                text_at(probes, probe->name));
}

static void print_properties(const json_t *worker, struct buf *out)
{
    json_t *properties = json_object_get(worker, "properties"), *property;
    const char *name;
    buf_addf(out, "  landlock ABI in use: %lld\n",
            (long long)json_integer_value(json_object_get(worker, "landlock_abi")));
    json_object_foreach (properties, name, property) {
        bool held = json_is_true(json_object_get(property, "held"));
        buf_addf(out, "  %-9s %-8s %s (trial: %s)\n", name, held ? "held by" : "NOT HELD",
                text_at(property, "by"), text_at(property, "trial"));
    }
}

static void print_problems(const json_t *worker, struct buf *out)
{
    const json_t *problems = json_object_get(worker, "problems");
    for (size_t i = 0; i < json_array_size(problems); i++)
        buf_addf(out, "  problem: %s\n", json_string_value(json_array_get(problems, i)));
}

static void print_worker(const json_t *worker, const char *what, struct buf *out)
{
    buf_addf(out, "\n%s, started for this (%s):\n", what, text_at(worker, "path"));
    if (json_object_get(worker, "version"))
        buf_addf(out, "  Python %s\n", text_at(worker, "version"));
    if (json_object_get(worker, "error"))
        buf_addf(out, "  %s\n", text_at(worker, "error"));
    else
        print_properties(worker, out);
    print_problems(worker, out);
}

static void print_text(const json_t *report, struct buf *out)
{
    buf_addf(out, "paddock %s, Linux %s on %s\n", text_at(report, "version"),
            text_at(report, "kernel"), text_at(report, "machine"));
    print_probes(report, out);
    print_worker(json_object_get(report, "worker"), "a worker of mcpath", out);
    print_worker(json_object_get(report, "workspace_worker"),
            "a worker of pyddock and paddock serve", out);
    print_worker(json_object_get(report, "python"), "the interpreter of run_python", out);
    print_worker(
            json_object_get(report, "bridge"), "the way to a server that has a URL", out);
    buf_addf(out, "\n%s\n",
            json_is_true(json_object_get(report, "holds"))
                    ? "Every property is held by the kernel."
                    : "NOT every property is held by the kernel, see above.");
}

int cli_doctor(int argc, char **argv)
{
    bool as_json = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json")) {
            as_json = true;
        } else if (!strcmp(argv[i], "--help")) {
            cli_print(str_of(usage));
            return 0;
        } else {
            struct error err = { 0 };
            error_set(&err, ERR_INVALID, "unknown argument '%.100s'", argv[i]);
            return cli_fail(NAME, 2, &err);
        }
    }
    json_auto_t *report = examine();
    auto_buf text = BUF((size_t)1 << 20);
    if (as_json) {
        json_write(report, &text);
        buf_addc(&text, '\n');
    } else {
        print_text(report, &text);
    }
    cli_print(buf_str(&text));
    return json_is_true(json_object_get(report, "holds")) ? 0 : 1;
}
