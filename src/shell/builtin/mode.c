#include "shell/builtin/mode.h"

#include "base/arena.h"

enum copy_from { COPY_NONE, COPY_USER = 'u', COPY_GROUP = 'g', COPY_OTHER = 'o' };

struct mode_change {
    struct mode_change *next;
    char op;      /* + - = */
    uint32_t who; /* the bits that may change: of u, g, o and the special ones */
    bool all;     /* nobody was named: the umask applies */
    uint32_t bits;
    bool exec_if_any; /* X */
    char copy;        /* of "g=u", or 0 */
    bool octal;
    uint32_t mentioned; /* octal: the special bits that were written down */
};

static struct mode_change *parse_octal(const char *text, struct arena *arena)
{
    size_t len = strspn(text, "01234567");
    unsigned long value = strtoul(text, NULL, 8);
    if (!len || text[len] || value > 07777)
        return NULL;
    struct mode_change *change = arena_zalloc(arena, sizeof(*change));
    change->octal = true;
    change->bits = (uint32_t)value;
    change->mentioned = (len > 4 ? 06000 : 0) | (change->bits & 06000);
    return change;
}

static uint32_t who_bits(char letter)
{
    switch (letter) {
    case 'u':
        return 04700;
    case 'g':
        return 02070;
    case 'o':
        return 01007;
    case 'a':
        return 07777;
    default:
        return 0;
    }
}

/* One of rwxXst added to the change; false: it is none. */
static bool add_bit(struct mode_change *change, char letter)
{
    switch (letter) {
    case 'r':
        change->bits |= 0444;
        return true;
    case 'w':
        change->bits |= 0222;
        return true;
    case 'x':
        change->bits |= 0111;
        return true;
    case 'X':
        return change->exec_if_any = true;
    case 's':
        change->bits |= 06000;
        return true;
    case 't':
        change->bits |= 01000;
        return true;
    default:
        return false;
    }
}

/* "+rw", "=u", "-": moves *text past it. */
static bool parse_action(const char **text, struct mode_change *change)
{
    change->op = **text;
    if (change->op != '+' && change->op != '-' && change->op != '=')
        return false;
    ++*text;
    if (**text == 'u' || **text == 'g' || **text == 'o') {
        change->copy = *(*text)++;
        return true;
    }
    while (add_bit(change, **text))
        ++*text;
    return true;
}

struct mode_change *mode_parse(const char *text, struct arena *arena)
{
    if (*text >= '0' && *text <= '9')
        return parse_octal(text, arena);
    struct mode_change *first = NULL, **last = &first;
    do {
        uint32_t who = 0;
        for (uint32_t bits; (bits = who_bits(*text)); text++)
            who |= bits;
        do {
            struct mode_change *change = arena_zalloc(arena, sizeof(*change));
            change->all = !who;
            change->who = who ? who : 07777;
            if (!parse_action(&text, change))
                return NULL;
            *last = change;
            last = &change->next;
        } while (*text && *text != ',');
    } while (*text++ == ',');
    return first;
}

static uint32_t copied_bits(char from, uint32_t mode)
{
    uint32_t rwx = from == 'u' ? mode >> 6 & 7 : from == 'g' ? mode >> 3 & 7 : mode & 7;
    return rwx * 0111;
}

uint32_t mode_apply(
        const struct mode_change *change, uint32_t mode, bool is_dir, uint32_t umask)
{
    for (; change; change = change->next) {
        if (change->octal) {
            uint32_t keep = is_dir ? 06000 & ~change->mentioned : 0;
            mode = change->bits | (mode & keep);
            continue;
        }
        uint32_t bits = change->copy ? copied_bits(change->copy, mode) : change->bits;
        if (change->exec_if_any && (is_dir || (mode & 0111)))
            bits |= 0111;
        bits &= change->who & ~(change->all ? umask : 0);
        /* Directories keep set-id bits that are not named. */
        uint32_t keep = is_dir ? 06000 & ~change->bits : 0;
        if (change->op == '+')
            mode |= bits;
        else if (change->op == '-')
            mode &= ~bits;
        else
            mode = (mode & (~change->who | keep)) | bits;
    }
    return mode & 07777;
}
