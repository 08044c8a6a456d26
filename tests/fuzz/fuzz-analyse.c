/*
 * Whatever parses is taken apart within the limits, and what is said of it holds: names
 * where names belong, lines in order, literal words that end.
 */
#include "fuzz.h"

#include "shell/analyse.h"
#include "shell/parse.h"

#include <string.h>

static void check_word(const struct analyse_word *w)
{
    assert(!w->is_literal || strnlen(w->text.data, w->text.len + 1) <= w->text.len);
}

static void check_folder(const struct analyse_folder *f)
{
    assert(f->is_known || !f->path.len);
    assert(f->path.len < 4096);
    assert(f->path.len < 2 || f->path.data[f->path.len - 1] != '/');
    assert(!f->path.len || !memmem(f->path.data, f->path.len, "//", 2));
}

static void check_command(const struct analyse_command *c, uint32_t line)
{
    assert(c->count && c->via && c->line >= line);
    check_folder(&c->folder);
    assert((c->kind == ANALYSE_DYNAMIC) == !c->words[0].is_literal);
    assert((c->kind == ANALYSE_FUNCTION || c->kind == ANALYSE_MAYBE) ==
            (c->defined_at > 0));
    for (size_t i = 0; i < c->count; i++)
        check_word(&c->words[i]);
    for (size_t i = 0; i < c->assign_count; i++)
        check_word(&c->assigns[i].value);
}

static void check(const struct analysis *a)
{
    assert(a->count <= ANALYSE_MAX_WORDS);
    for (size_t i = 0; i < a->count; i++)
        check_command(&a->commands[i], i ? a->commands[i - 1].line : 1);
    for (size_t i = 0; i < a->redirect_count; i++) {
        check_word(&a->redirects[i].target);
        check_folder(&a->redirects[i].folder);
        assert(a->redirects[i].line >= (i ? a->redirects[i - 1].line : 1));
        assert(!a->redirects[i].is_device || a->redirects[i].target.is_literal);
    }
    for (size_t i = 0; i < a->unknown_count; i++)
        assert(a->unknown[i].line >= (i ? a->unknown[i - 1].line : 1) &&
                a->unknown[i].what[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct budget budget = { .steps = 1 << 20, .max_steps = 1 << 20 };
    struct script *script;
    struct parse_error why;
    struct analysis analysis;
    struct error err = { 0 };
    if (!parse_script((struct str){ (const char *)data, size }, STR("fuzz"), NULL,
                &script, &why))
        return 0;
    auto_arena *arena = arena_create();
    bool done = script_analyse(script, &budget, arena, &analysis, &err);
    script_unref(script);
    assert(done == (err.code == 0));
    if (done)
        check(&analysis);
    return 0;
}
