#include "tool/snippet-modules.h"

void snippet_modules_finish(struct snippet_modules *m)
{
    snippet_modules_stop_waiting(m);
    json_decref(TAKE(m->names));
}

bool snippet_modules_set(struct snippet_modules *m, const json_t *names)
{
    json_decref(m->names);
    m->names = json_deep_copy(names);
    return !m->packages || !packages_is_busy(m->packages) ||
           !packages_pending(m->packages, m->names).len;
}

static void on_installed(void *user)
{
    struct snippet_modules *m = user;
    m->wait = NULL;
    if (!snippet_modules_wait(m, m->ready, m->user))
        m->ready(m->user);
}

bool snippet_modules_wait(
        struct snippet_modules *m, void (*ready)(void *user), void *user)
{
    struct str pending = m->packages ? packages_pending(m->packages, m->names) : STR("");
    m->ready = ready;
    m->user = user;
    if (pending.len)
        m->wait = packages_wait(m->packages, pending, on_installed, m);
    return m->wait != NULL;
}

void snippet_modules_stop_waiting(struct snippet_modules *m)
{
    packages_wait_cancel(TAKE(m->wait));
}

struct str snippet_modules_doing(const struct snippet_modules *m)
{
    return m->wait ? packages_doing(m->packages) : STR("");
}

void snippet_modules_tell_pending(const struct snippet_modules *m, struct buf *out)
{
    buf_addf(out,
            "%.*s is still being installed (%.*s). Nothing of the snippet has been run: "
            "send it again in a while, or with a longer timeout.",
            STR_ARG(packages_pending(m->packages, m->names)),
            STR_ARG(packages_doing(m->packages)));
}

void snippet_modules_tell_failed(const struct snippet_modules *m, struct buf *out)
{
    for (size_t i = 0; m->packages && i < json_array_size(m->names); i++) {
        struct str why, name = json_str(json_array_get(m->names, i));
        if (packages_state(m->packages, name, &why) != PACKAGE_FAILED)
            continue;
        if (out->len && out->data[out->len - 1] != '\n')
            buf_addc(out, '\n');
        buf_addf(out, "[paddock: %.*s]\n", STR_ARG(why));
    }
}
