/* What is there, and so what is missing: nothing is run for that. */
#include "session/packages-parts.h"

#include "policy/refusal.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#ifndef SYSTEM_PACKAGES
#define SYSTEM_PACKAGES "/usr/lib/python3/dist-packages"
#endif

static const char *const system_folders[] = { SYSTEM_PACKAGES };

void package_fail(struct package *one, const char *fmt, ...)
{
    char text[PACKAGES_TEXT / 2];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    one->state = PACKAGE_FAILED;
    one->is_told = false;
    buf_clear(&one->why);
    buf_addf(&one->why, "%.*s is allowed but not installed: %s ",
            STR_ARG(one->import->name), text);
    origin_write(&one->import->origin, &one->why);
}

const char *venv_mark(const struct packages *p)
{
    return arena_printf(p->arena, "%s/.installing", p->places.venv);
}

bool venv_is_marked(const struct packages *p)
{
    return !access(venv_mark(p), F_OK);
}

bool venv_is_usable(const struct packages *p)
{
    return !p->is_suspect && venv_identity(p->places.venv, p->arena).len &&
           packages_is_folder(p->places.site) &&
           !access(arena_printf(p->arena, "%s/bin/python", p->places.venv), X_OK);
}

/* What is imported from. */
static void list_folders(
        const struct packages *p, struct str folders[ARRAY_LEN(system_folders) + 1])
{
    folders[0] = str_of(venv_is_usable(p) ? p->places.site : "");
    for (size_t i = 0; i < ARRAY_LEN(system_folders); i++)
        folders[i + 1] = str_of(system_folders[i]);
}

bool packages_have_module(const struct packages *p, struct str name, bool namespaces)
{
    struct str folders[ARRAY_LEN(system_folders) + 1];
    bool found = false;
    list_folders(p, folders);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        found = found || find_module(folders[i], name, namespaces);
    return found;
}

static bool has_distribution(const struct packages *p, struct str name)
{
    struct str folders[ARRAY_LEN(system_folders) + 1];
    bool found = false;
    list_folders(p, folders);
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        found = found || find_distribution(folders[i], name);
    return found;
}

struct str package_requirement(const struct package *one)
{
    const struct policy_import *import = one->import;
    return import->kind == IMPORT_PIP ? import->value : import->name;
}

bool package_is_installed(const struct packages *p, const struct package *one)
{
    return one->state == PACKAGE_READY && !package_is_workspace(one) &&
           has_distribution(p, requirement_name(package_requirement(one)));
}

bool packages_system_has_pip(void)
{
    bool found = false;
    for (size_t i = 0; i < ARRAY_LEN(system_folders); i++)
        found = found || find_module(str_of(system_folders[i]), STR("pip"), false);
    return found;
}

static bool is_importable(const struct packages *p, const struct package *one)
{
    struct str requirement = package_requirement(one),
               name = requirement_name(requirement);
    struct str module = one->import->name;
    /* What more it says, a version perhaps, only pip understands. */
    if (name.len < requirement.len)
        return false;
    /* A folder without __init__ may belong to many distributions. */
    return packages_have_module(p, module, false) ||
           (packages_have_module(p, module, true) && has_distribution(p, name));
}

static void plan_workspace(struct packages *p, struct package *one, bool has_venv)
{
    auto_arena *arena = arena_create();
    struct error err;
    struct str source;
    if (!project_hash(str_of(one->folder), one->hash, &err))
        package_fail(one, "%s", err.message);
    else if (has_venv && stamp_has_package(p, one) &&
             packages_source(p, one, arena, &source))
        one->state = PACKAGE_READY;
    else
        one->state = PACKAGE_INSTALLING;
}

size_t packages_plan(struct packages *p)
{
    size_t count = 0;
    struct arena_mark before = arena_mark(p->arena);
    p->is_suspect = venv_is_marked(p);
    bool has_venv = stamp_has_venv(p) && venv_is_usable(p);
    for (size_t i = 0; i < p->count; i++) {
        struct package *one = &p->items[i];
        if (package_is_workspace(one))
            plan_workspace(p, one, has_venv);
        else if (packages_in_stdlib(p, one->import->name))
            one->state = PACKAGE_NOT_NEEDED;
        else
            one->state = is_importable(p, one) ? PACKAGE_READY : PACKAGE_INSTALLING;
        count += one->state == PACKAGE_INSTALLING;
    }
    arena_rewind(p->arena, before); /* it may be asked often */
    return count;
}
