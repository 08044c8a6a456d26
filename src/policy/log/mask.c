#include "policy/log/mask.h"

#include <ctype.h>
#include <strings.h>

#define MAX_NAME  64 /* bytes of a name that is looked at */
#define MAX_WORDS 12 /* of a name */
#define MAX_LABEL 40 /* between "BEGIN " and "PRIVATE KEY" */

#define MAX_CREDENTIALS 1024 /* of "-u NAME:PASSWORD" */

static bool is_alnum(char c)
{
    return isalnum((unsigned char)c);
}

static bool is_upper(char c)
{
    return isupper((unsigned char)c);
}

static bool is_name(char c)
{
    return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

/* In "BEGIN EC PRIVATE KEY". */
static bool is_label(char c)
{
    return is_upper(c) || c == ' ' || (c >= '0' && c <= '9');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool str_is_fold(struct str s, const char *text)
{
    return s.len == strlen(text) && !strncasecmp(s.data, text, s.len);
}

static bool str_starts_fold(struct str s, const char *text)
{
    return s.len >= strlen(text) && !strncasecmp(s.data, text, strlen(text));
}

static bool is_one_of(struct str s, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (str_is_fold(s, list[i]))
            return true;
    return false;
}

/* A new word begins at `i`: after what is no letter or digit, or as camelCase has it. */
static bool word_begins(struct str name, size_t i)
{
    if (!i || !is_alnum(name.data[i - 1]))
        return true;
    if (!is_upper(name.data[i]))
        return false;
    bool next_is_small = i + 1 < name.len && islower((unsigned char)name.data[i + 1]);
    return !is_upper(name.data[i - 1]) || next_is_small;
}

static size_t split_words(struct str name, struct str words[MAX_WORDS])
{
    size_t count = 0;
    for (size_t i = 0; i < name.len && count < MAX_WORDS;) {
        if (!is_alnum(name.data[i])) {
            i++;
            continue;
        }
        size_t end = i + 1;
        while (end < name.len && is_alnum(name.data[end]) && !word_begins(name, end))
            end++;
        words[count++] = str_sub(name, i, end - i);
        i = end;
    }
    return count;
}

/* password2 is a password. */
static struct str without_number(struct str word)
{
    while (word.len > 1 && isdigit((unsigned char)word.data[word.len - 1]))
        word.len--;
    return word;
}

/* Also at the end of a longer word, as in PGPASSWORD. */
static bool ends_secret(struct str word)
{
    static const char *const ends[] = { "token", "tokens", "secret", "secrets",
        "password", "passwords", "passwd", "passphrase", "passcode", "apikey", "apikeys",
        "credential", "credentials", "privatekey", "accesskey", "sshpass", "authkey" };
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t len = strlen(ends[i]);
        if (word.len >= len && str_is_fold(str_from(word, word.len - len), ends[i]))
            return true;
    }
    return false;
}

/* A word that makes a secret of the name, wherever it stands in it. */
static bool is_secret_word(struct str word)
{
    static const char *const words[] = { "authorization", "bearer", "cookie", "cookies",
        "jwt", "otp", "pass" };
    word = without_number(word);
    return ends_secret(word) || is_one_of(word, words, ARRAY_LEN(words));
}

/* Words that do so as the last of several: API_KEY, GITHUB_PAT, but not PWD. */
static bool is_secret_ending(struct str word)
{
    static const char *const words[] = { "auth", "key", "keys", "pat", "pwd" };
    return is_one_of(without_number(word), words, ARRAY_LEN(words));
}

/* TOKEN_FILE says where, not what. */
static bool is_about_secret(struct str word)
{
    static const char *const words[] = { "count", "dir", "expiry", "file", "length",
        "limit", "path", "size", "ttl", "type" };
    return is_one_of(word, words, ARRAY_LEN(words));
}

bool mask_is_secret_name(struct str name)
{
    struct str words[MAX_WORDS];
    size_t count = split_words(name, words);
    if (!count || (count > 1 && is_about_secret(words[count - 1])))
        return false;
    for (size_t i = 0; i < count; i++)
        if (is_secret_word(words[i]))
            return true;
    if (count == 1)
        return str_is_fold(words[0], "auth");
    return is_secret_ending(words[count - 1]);
}

/* What begins at `at` and is to be masked: `kept` bytes stay, the rest of `len` goes. */
struct span {
    size_t kept, len;
};

typedef struct span find_fn(struct str text, size_t at);

static size_t run_length(struct str text, size_t at, const char *also)
{
    size_t i = at;
    while (i < text.len &&
            (is_alnum(text.data[i]) || (text.data[i] && strchr(also, text.data[i]))))
        i++;
    return i - at;
}

/* Tokens that their issuers made to be found; the last is our own (http-ticket.h). */
static struct span find_token(struct str text, size_t at)
{
    static const struct {
        const char *prefix, *also; /* what the rest has beside letters and digits */
        size_t least;              /* bytes of the rest */
    } shapes[] = {
        { "ghp_", "_", 16 },
        { "gho_", "_", 16 },
        { "ghu_", "_", 16 },
        { "ghs_", "_", 16 },
        { "ghr_", "_", 16 },
        { "github_pat_", "_", 16 },
        { "glpat-", "_-", 16 },
        { "sk-", "_-", 16 },
        { "sk_live_", "_", 8 },
        { "sk_test_", "_", 8 },
        { "rk_live_", "_", 8 },
        { "whsec_", "", 16 },
        { "xoxa-", "-", 10 },
        { "xoxb-", "-", 10 },
        { "xoxe-", "-", 10 },
        { "xoxp-", "-", 10 },
        { "xoxr-", "-", 10 },
        { "xoxs-", "-", 10 },
        { "xapp-", "-", 10 },
        { "AKIA", "", 16 },
        { "ASIA", "", 16 },
        { "AIza", "_-", 30 },
        { "npm_", "", 30 },
        { "pypi-", "_-", 30 },
        { "hf_", "", 20 },
        { "dop_v1_", "", 30 },
        { "SG.", "_-.", 30 },
        { "ya29.", "_-", 20 },
        { "shell_", "", 64 },
    };
    struct str rest = str_from(text, at);
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++) {
        if (shapes[i].prefix[0] != text.data[at])
            continue;
        size_t prefix = strlen(shapes[i].prefix);
        if (!str_starts(rest, (struct str){ shapes[i].prefix, prefix }))
            continue;
        size_t tail = run_length(rest, prefix, shapes[i].also);
        if (tail >= shapes[i].least)
            return (struct span){ 0, prefix + tail };
    }
    return (struct span){ 0, 0 };
}

/* Two parts of base64url that begin as JSON objects do, and what follows. */
static struct span find_jwt(struct str text, size_t at)
{
    struct str rest = str_from(text, at);
    bool inside = at && (text.data[at - 1] == '-' || text.data[at - 1] == '_');
    if (inside || !str_starts(rest, STR("eyJ")))
        return (struct span){ 0, 0 };
    size_t head = run_length(rest, 0, "_-");
    if (!str_starts(str_from(rest, head), STR(".eyJ")))
        return (struct span){ 0, 0 };
    return (struct span){ 0, head + run_length(rest, head, "_-.") };
}

/* A private key in PEM, to its end; without one, all the rest. */
static struct span find_private_key(struct str text, size_t at)
{
    static const char begin[] = "-----BEGIN ", end[] = "-----END ";
    struct str rest = str_from(text, at);
    if (!str_starts(rest, STR("-----BEGIN ")))
        return (struct span){ 0, 0 };
    struct str label = { rest.data + strlen(begin), 0 };
    size_t room = rest.len - strlen(begin);
    while (label.len < room && label.len < MAX_LABEL && is_label(label.data[label.len]))
        label.len++;
    if (!memmem(label.data, label.len, "PRIVATE KEY", strlen("PRIVATE KEY")))
        return (struct span){ 0, 0 };
    const char *last = memmem(rest.data, rest.len, end, strlen(end));
    if (!last)
        return (struct span){ 0, rest.len };
    size_t from = (size_t)(last - rest.data) + strlen(end);
    struct str tail = str_sub(rest, from, 2 * MAX_LABEL);
    const char *dashes = memmem(tail.data, tail.len, "-----", 5);
    return (struct span){ 0, from + (dashes ? (size_t)(dashes - tail.data) + 5 : 0) };
}

/* ://user:password@, and ://anything@ for the web.  ssh://git@ says nothing. */
static struct span find_user(struct str text, size_t at)
{
    struct str rest = str_from(text, at);
    if (!str_starts(rest, STR("://")) || !at)
        return (struct span){ 0, 0 };
    bool web = text.data[at - 1] == 'p' || text.data[at - 1] == 's'; /* http, https */
    size_t end = 3, kept = 0;
    while (end < rest.len && rest.data[end] &&
            !strchr("/?# \t\r\n\"'<>@", rest.data[end])) {
        if (rest.data[end] == ':')
            kept = 3;
        end++;
    }
    if (end == 3 || end == rest.len || rest.data[end] != '@')
        return (struct span){ 0, 0 };
    if (web && at >= 4 && str_is_fold(str_sub(text, at - 4, 4), "http"))
        kept = 3;
    if (web && at >= 5 && str_is_fold(str_sub(text, at - 5, 5), "https"))
        kept = 3;
    bool masked = str_is(str_sub(rest, 3, end - 3), MASK);
    return kept && !masked ? (struct span){ kept, end } : (struct span){ 0, 0 };
}

/* "Bearer TOKEN": the length of the word and the blank, or 0. */
static size_t scheme_length(struct str text, size_t at)
{
    static const char *const schemes[] = { "bearer ", "basic ", "digest ", "token " };
    struct str rest = str_from(text, at);
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (str_starts_fold(rest, schemes[i]))
            return strlen(schemes[i]);
    return 0;
}

static struct span find_bearer(struct str text, size_t at)
{
    struct str rest = str_from(text, at);
    if (!str_starts_fold(rest, "bearer "))
        return (struct span){ 0, 0 };
    size_t kept = strlen("bearer "), len = run_length(rest, kept, "._~+/=-");
    return len < 8 ? (struct span){ 0, 0 } : (struct span){ kept, kept + len };
}

/* Where a quoted value ends. */
static size_t find_quote(struct str text, size_t at, char quote)
{
    size_t i = at;
    while (i < text.len && text.data[i] != quote)
        i += text.data[i] == '\\' && i + 1 < text.len ? 2 : 1;
    return i;
}

/* Where a word ends.  A comma, or a quote of a shell, may stand in the middle of one. */
static size_t find_word_end(struct str text, size_t at)
{
    static const char ends[] = " \t\r\n&;`)}]<>", joins[] = ",\"'";
    size_t i = at;
    for (; i < text.len; i++) {
        char c = text.data[i], next = i + 1 < text.len ? text.data[i + 1] : 0;
        bool joined = i > at && is_alnum(next);
        if (c && (strchr(ends, c) || (strchr(joins, c) && !joined)))
            break;
        i += c == '\\' && next;
    }
    return i < text.len ? i : text.len;
}

static size_t skip_blanks(struct str text, size_t at)
{
    while (at < text.len && is_blank(text.data[at]))
        at++;
    return at;
}

static bool is_quote(struct str text, size_t at)
{
    return at < text.len && (text.data[at] == '"' || text.data[at] == '\'');
}

/* The next word, or the next element of a list in quotes; not another option. */
static size_t find_value_beside(struct str text, size_t at)
{
    size_t comma = at < text.len && text.data[at] == ',';
    size_t i = skip_blanks(text, at + comma), first = is_quote(text, i) ? i + 1 : i;
    return i > at && first < text.len && text.data[first] != '-' ? i : 0;
}

/*
 * Behind a name that ends at `at`: where its value begins, or 0.  `=` and `:` join them
 * (but `::` is code); an option and its value may stand side by side.
 */
static size_t find_value(struct str text, size_t at, bool option)
{
    size_t after = is_quote(text, at) ? at + 1 : at, i = skip_blanks(text, after);
    if (i < text.len && (text.data[i] == '=' || text.data[i] == ':')) {
        bool twice = i + 1 < text.len && text.data[i + 1] == text.data[i];
        return twice ? 0 : skip_blanks(text, i + 1);
    }
    return option ? find_value_beside(text, after) : 0;
}

/* What ends a value that is quoted in some way; *at is moved behind its beginning. */
static char take_quote(struct str text, size_t *at)
{
    struct str rest = str_from(text, *at);
    bool is_command = str_starts(rest, STR("$("));
    bool is_quoted = is_quote(text, *at) || str_starts(rest, STR("`"));
    char quote = is_command ? ')' : is_quoted ? text.data[*at] : 0;
    *at += is_command ? 2 : is_quoted;
    return quote;
}

/* The end of the value at `at`; behind a quoted part a word may go on, as in 'a'b. */
static size_t find_value_end(struct str text, size_t at, char quote)
{
    if (!quote)
        return find_word_end(text, at);
    size_t end = find_quote(text, at, quote);
    bool goes_on = end + 1 < text.len && is_alnum(text.data[end + 1]);
    return goes_on ? find_word_end(text, end + 1) : end < text.len ? end : text.len;
}

/* -u NAME:PASSWORD, as curl and others have it. */
static struct span find_credentials(struct str text, size_t at)
{
    static const char *const options[] = { "--proxy-user", "--user", "-u" };
    struct str rest = str_sub(text, at, MAX_CREDENTIALS);
    size_t len = 0;
    for (size_t i = 0; i < ARRAY_LEN(options) && !len; i++)
        len = str_starts(rest, str_of(options[i])) ? strlen(options[i]) : 0;
    size_t from = len ? find_value(rest, len, true) : 0;
    if (!from)
        return (struct span){ 0, 0 };
    char quote = take_quote(rest, &from);
    size_t end = find_value_end(rest, from, quote);
    const char *colon = memchr(rest.data + from, ':', end - from);
    size_t kept = colon ? (size_t)(colon - rest.data) + 1 : end;
    return kept < end ? (struct span){ kept, end } : (struct span){ 0, 0 };
}

/* NAME=VALUE and its kin, if the name is that of a secret. */
static struct span find_named(struct str text, size_t at)
{
    if (!is_name(text.data[at]) || (at && is_name(text.data[at - 1])))
        return (struct span){ 0, 0 };
    struct span credentials = find_credentials(text, at);
    if (credentials.len)
        return credentials;
    size_t name = run_length(text, at, "_-.");
    struct str end_of_name = str_sub(text, at + (name > MAX_NAME ? name - MAX_NAME : 0),
            name > MAX_NAME ? MAX_NAME : name);
    if (!mask_is_secret_name(end_of_name))
        return (struct span){ 0, 0 };
    size_t from = find_value(text, at + name, text.data[at] == '-');
    if (!from)
        return (struct span){ 0, 0 };
    char quote = take_quote(text, &from);
    from += scheme_length(text, from);
    size_t to = find_value_end(text, from, quote);
    return to > from ? (struct span){ from - at, to - at } : (struct span){ 0, 0 };
}

static struct span find_shape(struct str text, size_t at)
{
    static find_fn *const finders[] = { find_token, find_jwt, find_private_key,
        find_bearer };
    if (text.data[at] == ':')
        return find_user(text, at);
    struct span found = { 0, 0 };
    bool inside = at && is_alnum(text.data[at - 1]);
    for (size_t i = 0; !inside && !found.len && i < ARRAY_LEN(finders); i++)
        found = finders[i](text, at);
    return found;
}

bool mask_has_secret(struct str text)
{
    for (size_t at = 0; at < text.len; at++)
        if (find_shape(text, at).len)
            return true;
    return false;
}

/* A shape may stand in the very name, so a value is remembered until it is reached. */
void mask_text(struct str text, struct buf *out)
{
    size_t pending = 0, at = 0, value = SIZE_MAX, value_end = 0;
    while (at < text.len && !out->full) {
        struct span named = find_named(text, at), shape = find_shape(text, at);
        if (named.len) {
            value = at + named.kept;
            value_end = at + named.len;
        }
        if (at == value)
            shape = (struct span){ 0, value_end - at };
        if (!shape.len) {
            at++;
            continue;
        }
        buf_add(out, str_sub(text, pending, at + shape.kept - pending));
        buf_add(out, STR(MASK));
        at += shape.len;
        if (at > value && at < value_end)
            at = value_end;
        pending = at;
    }
    buf_add(out, str_from(text, pending));
}
