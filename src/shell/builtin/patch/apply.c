#include "shell/builtin/patch/patch.h"

static size_t leading_context(const struct patch_hunk *h)
{
    size_t n = 0;
    while (n < h->line_count && h->lines[n].mark == ' ')
        n++;
    return n;
}

static size_t trailing_context(const struct patch_hunk *h)
{
    size_t n = 0;
    while (n < h->line_count && h->lines[h->line_count - 1 - n].mark == ' ')
        n++;
    return n;
}

/* Do the old lines, without `top` and `bottom` of them, stand at `at`? */
static bool fits(struct cmd *c, const struct patch_text *text, size_t at,
        const struct patch_hunk *h, size_t top, size_t bottom)
{
    size_t old = h->count[0];
    if (at + old - bottom > text->count)
        return false;
    for (size_t i = 0, k = 0; i < h->line_count; i++) {
        if (h->lines[i].mark == '+')
            continue;
        if (!cmd_tick(c))
            return false;
        if (k >= top && k < old - bottom &&
                !str_eq(text->lines[at + k], h->lines[i].text))
            return false;
        k++;
    }
    return true;
}

/* Nearest to `guess` first. */
static bool search(struct cmd *c, const struct patch_text *text, size_t from,
        size_t guess, const struct patch_hunk *h, size_t top, size_t bottom, size_t *at)
{
    for (size_t d = 0; (d <= guess || guess + d <= text->count) && cmd_tick(c); d++) {
        if (guess + d >= from && fits(c, text, guess + d, h, top, bottom)) {
            *at = guess + d;
            return true;
        }
        if (d && d <= guess && guess - d >= from &&
                fits(c, text, guess - d, h, top, bottom)) {
            *at = guess - d;
            return true;
        }
    }
    return false;
}

bool patch_find(struct cmd *c, const struct patch_text *text, size_t from, size_t guess,
        const struct patch_hunk *h, size_t *at, int *fuzz)
{
    size_t top = leading_context(h), bottom = trailing_context(h);
    size_t most = top > bottom ? top : bottom;
    if (top == h->line_count)
        bottom = 0;
    for (int f = 0; f <= PATCH_MAX_FUZZ && (f == 0 || (size_t)f <= most); f++) {
        size_t cut = (size_t)f;
        *fuzz = f;
        if (search(c, text, from, guess, h, cut < top ? cut : top,
                    cut < bottom ? cut : bottom, at))
            return true;
    }
    return false;
}
