#include "policy/deputy/options.h"

static enum option_use use_of(char mark)
{
    switch (mark) {
    case '=':
    case '?':
        return OPTION_TEXT;
    case '%':
        return OPTION_PROGRAM_PART;
    case '~':
        return OPTION_DROPPED;
    case '<':
        return OPTION_READS;
    case '>':
        return OPTION_WRITES;
    case '^':
        return OPTION_REFUSED;
    case '!':
        return OPTION_RUNS;
    default:
        return OPTION_PLAIN;
    }
}

static struct option parse_word(struct str word)
{
    size_t name = 0;
    while (name < word.len && !strchr("?=:<>%~^!*", word.data[name]))
        name++;
    struct option option = { .name = str_sub(word, 0, name) };
    if (name == word.len)
        return option;
    option.use = use_of(word.data[word.len - 1]);
    option.arity = word.data[name] == '?' ? OPTION_MAYBE : OPTION_VALUE;
    if (word.data[name] == '*')
        option.arity = OPTION_ALONE;
    return option;
}

/* The option for a name; of those that a long name abbreviates, the most dangerous. */
static struct option find(const struct option_reader *r, struct str name)
{
    struct option best = { 0 };
    bool may_abbreviate = !r->exact && name.len > 2;
    for (const struct options *o = r->options; o; o = o->more) {
        struct str rest = str_of(o->words);
        while (rest.len) {
            struct option known = parse_word(str_cut(&rest, ' '));
            if (known.name.len && str_eq(known.name, name))
                return known;
            if (may_abbreviate && known.name.len > 2 && str_starts(known.name, name) &&
                    (!best.name.len || known.use > best.use))
                best = known;
        }
    }
    return best;
}

/*
 * The value in the next argument, if there is one.  Behind an abbreviation it is left
 * there, to be read once more: the name may be that of an option that no table has, and
 * that takes none.
 */
static void take_next(struct option_reader *r, struct option_word *w, bool is_sure)
{
    if (r->next >= r->count)
        return;
    w->has_value = true;
    w->value_at = r->next;
    w->value = r->args[r->next];
    r->next += is_sure;
}

static void read_long(struct option_reader *r, struct option_word *w, struct str arg)
{
    struct str value = arg;
    w->text = str_cut(&value, '=');
    w->option = find(r, w->text);
    if (w->text.len < arg.len) {
        w->has_value = true;
        w->value = value;
    } else if (w->option.arity == OPTION_VALUE) {
        take_next(r, w, str_eq(w->option.name, w->text));
    }
    r->doubt = w->text.len == arg.len && !str_eq(w->option.name, w->text);
}

/* One letter of `-abc`; what follows it is its value or the next letters. */
static void read_short(struct option_reader *r, struct option_word *w)
{
    const char name[] = { '-', r->rest.data[0] };
    w->text = r->args[w->at];
    w->option = find(r, (struct str){ name, sizeof(name) });
    r->rest = str_from(r->rest, 1);
    if (name[1] >= '0' && name[1] <= '9')
        r->rest = STR(""); /* a count: -20 */
    r->doubt = !w->option.name.len && !r->rest.len;
    if (w->option.arity != OPTION_ALONE && r->rest.len) {
        w->has_value = true;
        w->value = r->rest;
        r->rest = STR("");
    } else if (w->option.arity == OPTION_VALUE) {
        take_next(r, w, true);
    }
}

bool option_next(struct option_reader *r, struct option_word *w)
{
    *w = (struct option_word){ 0 };
    if (!r->rest.len && r->next < r->count && !r->ended &&
            str_is(r->args[r->next], "--")) {
        r->next++;
        r->ended = !r->doubt;
        r->doubt = false;
    }
    if (r->rest.len) {
        w->at = w->value_at = r->next - 1;
        read_short(r, w);
        return true;
    }
    if (r->next >= r->count)
        return false;
    struct str arg = r->args[r->next];
    w->at = w->value_at = r->next++;
    if (r->ended || arg.len < 2 || arg.data[0] != '-') {
        w->text = w->value = arg;
        w->is_operand = w->has_value = true;
        w->after_end = r->ended;
        r->doubt = false;
    } else if (arg.data[1] == '-') {
        read_long(r, w, arg);
    } else {
        r->rest = str_from(arg, 1);
        read_short(r, w);
    }
    return true;
}
