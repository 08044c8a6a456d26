/* What pip is told and what it says. */
#include "session/packages-parts.h"

#include "policy/log/mask.h"

#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define MAX_SAID  600 /* bytes of what it said at the end */
#define MAX_LINES 4
#define MAX_FILES 64 /* that variables may name */

/* Handed on: how to reach an index, and who we are for it.  The user's other variables
 * are no business of what is being installed. */
static const char *const passed[] = { "HOME", "PATH", "TZ", "http_proxy", "https_proxy",
    "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NETRC",
    "XDG_CONFIG_HOME", "XDG_CACHE_HOME" };

/* These would have it install elsewhere, or not at all. */
static const char *const redirecting[] = { "PIP_USER", "PIP_TARGET", "PIP_PREFIX",
    "PIP_ROOT", "PIP_SRC", "PIP_LOG", "PIP_DRY_RUN", "PIP_REPORT", "PIP_PYTHON",
    "PIP_REQUIREMENT", "PIP_EDITABLE", "PIP_NO_INPUT", "PIP_QUIET", "PIP_VERBOSE" };

static const char *const fixed[] = { "LC_ALL=C.UTF-8", "PIP_USER=0", "PIP_NO_INPUT=1",
    "PIP_DISABLE_PIP_VERSION_CHECK=1", "PIP_NO_COLOR=1", "PYTHONNOUSERSITE=1",
    "PYTHONDONTWRITEBYTECODE=1" };

static bool is_passed(const char *variable)
{
    struct str rest = str_of(variable), name = str_cut(&rest, '=');
    if (str_starts(name, STR("PIP_")))
        return str_which(name, redirecting, ARRAY_LEN(redirecting)) ==
               ARRAY_LEN(redirecting);
    return str_which(name, passed, ARRAY_LEN(passed)) < ARRAY_LEN(passed);
}

const char *const *pip_env(const char *const *ours, const char *tmp, struct arena *arena)
{
    size_t count = 0, room = ARRAY_LEN(fixed) + 2;
    for (size_t i = 0; ours && ours[i]; i++)
        room++;
    const char **env = arena_zalloc(arena, room * sizeof(*env));
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++)
        env[count++] = fixed[i];
    env[count++] = arena_printf(arena, "TMPDIR=%s", tmp);
    for (size_t i = 0; ours && ours[i]; i++)
        if (is_passed(ours[i]))
            env[count++] = ours[i];
    return env;
}

static const char *variable(const char *const *env, const char *name)
{
    size_t len = strlen(name);
    for (; *env; env++)
        if (!strncmp(*env, name, len) && (*env)[len] == '=' && (*env)[len + 1])
            return *env + len + 1;
    return NULL;
}

const char *pip_cache(const char *const *env, struct arena *arena)
{
    struct stat st;
    char real[PATH_MAX];
    const char *given = variable(env, "PIP_CACHE_DIR");
    const char *caches = variable(env, "XDG_CACHE_HOME"), *home = variable(env, "HOME");
    const char *path = given    ? given
                       : caches ? arena_printf(arena, "%s/pip", caches)
                       : home   ? arena_printf(arena, "%s/.cache/pip", home)
                                : "";
    if (path[0] != '/' || !realpath(path, real) || stat(real, &st) ||
            !S_ISDIR(st.st_mode))
        return NULL;
    return arena_cstr(arena, str_of(real));
}

const char *const *pip_files(const char *const *env, struct arena *arena)
{
    const char **files = arena_zalloc(arena, (MAX_FILES + 1) * sizeof(*files));
    size_t count = 0;
    for (; *env; env++) {
        struct str rest = str_of(*env), name = str_cut(&rest, '=');
        if (str_is(name, "PATH") || str_is(name, "HOME") || str_is(name, "TMPDIR"))
            continue;
        while (rest.len && count < MAX_FILES) {
            char real[PATH_MAX];
            struct str word = str_cut(&rest, ' ');
            if (str_starts(word, STR("file://")))
                word = str_from(word, strlen("file://"));
            if (word.len && word.data[0] == '/' &&
                    realpath(arena_cstr(arena, word), real))
                files[count++] = arena_cstr(arena, str_of(real));
        }
    }
    return files;
}

/* Advice about pip itself is no reason, nor is what frames the output of a build. */
static bool says_nothing(struct str line)
{
    static const char *const starts[] = { "WARNING:", "[notice]", "hint:", "note:", "×",
        "│", "╰─>", "error: metadata-generation-failed", "error: subprocess-exited",
        "[end of output]" };
    for (size_t i = 0; i < ARRAY_LEN(starts); i++)
        if (str_starts(line, str_of(starts[i])))
            return true;
    return !line.len;
}

static struct str trim(struct str line)
{
    while (line.len && line.data[0] == ' ')
        line = str_from(line, 1);
    while (line.len && (unsigned char)line.data[line.len - 1] <= ' ')
        line.len--;
    return line;
}

/* The last lines that say something, as far as there is room for them. */
static struct str last_words(struct str text)
{
    size_t start = text.len, end = text.len;
    for (unsigned lines = 0; end > 0 && lines < MAX_LINES;) {
        size_t from = end;
        while (from > 0 && text.data[from - 1] != '\n')
            from--;
        if (!says_nothing(trim(str_sub(text, from, end - from)))) {
            if (lines && text.len - from > MAX_SAID)
                break;
            start = from;
            lines++;
        }
        end = from ? from - 1 : 0;
    }
    return str_from(text, start);
}

/* Masked as a whole: half of a secret has no shape. */
static void add_words(struct str text, struct buf *out)
{
    auto_buf masked = BUF((size_t)1 << 20);
    auto_buf words = BUF(2 * MAX_SAID);
    mask_text(text, &masked);
    for (struct str rest = last_words(buf_str(&masked)); rest.len;) {
        struct str line = trim(str_cut(&rest, '\n'));
        if (says_nothing(line))
            continue;
        if (words.len)
            buf_add(&words, STR("; "));
        buf_add_shown(&words, str_sub(line, 0, MAX_SAID));
    }
    buf_add(out, buf_str(&words));
}

static struct str said(const struct command_stream *stream)
{
    struct str text = stream->tail;
    if (!text.len)
        return stream->head;
    str_cut(&text, '\n'); /* it begins in the middle of a line */
    return text;
}

void explain_failure(const struct command_result *result, struct buf *out)
{
    char how[64];
    size_t before = out->len;
    struct str text = said(result->err.head.len ? &result->err : &result->out);
    auto_buf words = BUF(PACKAGES_TEXT / 2);
    add_words(text, &words);
    if (result->end == COMMAND_NOT_STARTED || result->end == COMMAND_LOST) {
        buf_addf(out, "%s", result->error.message);
        return;
    }
    if (result->end == COMMAND_TIMED_OUT) {
        buf_addf(out, "it was not done after %d s", PACKAGES_STEP_MS / 1000);
    } else if (WIFSIGNALED(result->status) || !words.len) {
        helper_describe_status(result->status, how, sizeof(how));
        buf_addf(out, "%s", how);
    }
    if (words.len && out->len > before)
        buf_add(out, STR("; it said: "));
    buf_add(out, buf_str(&words));
}
