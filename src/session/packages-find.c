/* Looking for modules where they would be imported from.  Nothing is imported for that:
 * it takes no time, and no code of a package runs in the server. */
#include "session/packages-parts.h"

#include "base/file.h"
#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <sys/stat.h>

#define MAX_FILE ((size_t)1 << 20) /* of a project file, a .pth, a finder */

static DIR *open_folder(struct str folder)
{
    char path[PATH_MAX];
    if (folder.len >= sizeof(path))
        return NULL;
    memcpy(path, folder.data, folder.len);
    path[folder.len] = '\0';
    return opendir(path);
}

static bool has_file(struct str folder, struct str name, const char *suffix)
{
    struct stat st;
    auto_buf path = BUF(PATH_MAX);
    buf_addf(&path, "%.*s/%.*s%s", STR_ARG(folder), STR_ARG(name), suffix);
    return !path.full && !stat(path.data, &st) && S_ISREG(st.st_mode);
}

/* NAME.cpython-311-x86_64-linux-gnu.so, NAME.abi3.so, NAME.so */
static bool is_extension(struct str file, struct str name)
{
    return str_starts(file, name) && file.len > name.len && file.data[name.len] == '.' &&
           str_ends(file, STR(".so"));
}

static bool has_extension(struct str folder, struct str name)
{
    DIR *dir = open_folder(folder);
    const struct dirent *e;
    bool found = false;
    if (!dir)
        return false;
    while (!found && (e = readdir(dir)))
        found = is_extension(str_of(e->d_name), name);
    closedir(dir);
    return found;
}

/* A folder of a namespace package has code in it, or folders with such. */
static bool is_namespace(struct str folder)
{
    DIR *dir = open_folder(folder);
    const struct dirent *e;
    bool found = false;
    if (!dir)
        return false;
    while (!found && (e = readdir(dir))) {
        struct str name = str_of(e->d_name);
        bool folder_in_it = e->d_type == DT_DIR && name.data[0] != '.' &&
                            !str_is(name, "__pycache__");
        found = folder_in_it || str_ends(name, STR(".py")) || str_ends(name, STR(".so"));
    }
    closedir(dir);
    return found;
}

bool find_module(struct str folder, struct str name, bool namespaces)
{
    auto_buf inner = BUF(PATH_MAX);
    buf_addf(&inner, "%.*s/%.*s", STR_ARG(folder), STR_ARG(name));
    if (inner.full || !folder.len)
        return false;
    struct str package = buf_str(&inner);
    return has_file(package, STR("__init__"), ".py") || has_file(folder, name, ".py") ||
           has_extension(package, STR("__init__")) || has_extension(folder, name) ||
           (namespaces && is_namespace(package));
}

struct str requirement_name(struct str requirement)
{
    size_t len = 0;
    while (len < requirement.len) {
        unsigned char b = (unsigned char)requirement.data[len];
        bool letter = (b | 32) >= 'a' && (b | 32) <= 'z';
        if (!letter && !(b >= '0' && b <= '9') && b != '-' && b != '_' && b != '.')
            break;
        len++;
    }
    return str_sub(requirement, 0, len);
}

/* The next letter of a distribution's name, where "-", "_", "." and runs of them are one,
 * and case is none; 0 at its end. */
static char next_letter(struct str *name)
{
    bool separated = false;
    while (name->len) {
        char c = name->data[0];
        bool separator = c == '-' || c == '_' || c == '.';
        if (separated && !separator)
            return '-';
        *name = str_from(*name, 1);
        if (!separator)
            return (char)(c >= 'A' && c <= 'Z' ? c | 32 : c);
        separated = true;
    }
    return (char)(separated ? '-' : 0);
}

static bool same_distribution(struct str a, struct str b)
{
    char x, y;
    do {
        x = next_letter(&a);
        y = next_letter(&b);
    } while (x && x == y);
    return x == y;
}

/* "polars" of "polars-1.0.dist-info"; "" if it is none. */
static struct str distribution_of(struct str file)
{
    static const char *const endings[] = { ".dist-info", ".egg-info" };
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends(file, str_of(endings[i]))) {
            struct str rest = str_sub(file, 0, file.len - strlen(endings[i]));
            return str_cut(&rest, '-');
        }
    return STR("");
}

bool find_distribution(struct str folder, struct str name)
{
    DIR *dir = open_folder(folder);
    const struct dirent *e;
    bool found = false;
    if (!dir)
        return false;
    while (!found && (e = readdir(dir))) {
        struct str one = distribution_of(str_of(e->d_name));
        found = one.len && same_distribution(one, name);
    }
    closedir(dir);
    return found;
}

/* What a workspace package's source is looked for with. */
struct source {
    struct str package; /* real */
    struct str module, site;
    struct arena *arena;
    struct str *out;
};

/* Only within the package: nothing else is write-protected because of it. */
static bool take(const struct source *s, const char *folder, bool namespaces)
{
    char real[PATH_MAX];
    if (!realpath(folder, real) || !path_is_in(str_of(real), s->package) ||
            !find_module(str_of(real), s->module, namespaces))
        return false;
    *s->out = arena_str(s->arena, str_of(real));
    return true;
}

static bool look_in_package(const struct source *s, bool namespaces)
{
    static const char *const usual[] = { "src", ".", "lib", "python" };
    for (size_t i = 0; i < ARRAY_LEN(usual); i++) {
        const char *folder =
                arena_printf(s->arena, "%.*s/%s", STR_ARG(s->package), usual[i]);
        if (take(s, folder, namespaces))
            return true;
    }
    return false;
}

/* A .pth names folders, one a line; lines with code are not for us. */
static bool look_in_pth(const struct source *s, struct str text)
{
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        if (line.len && line.data[0] == '/' && take(s, arena_cstr(s->arena, line), true))
            return true;
    }
    return false;
}

/* setuptools writes `MAPPING = {'module': '/where/it/is'}` when no folder will do. */
static bool look_in_finder(const struct source *s, struct str text)
{
    const char *key = arena_printf(s->arena, "'%.*s': '/", STR_ARG(s->module));
    const char *at = memmem(text.data, text.len, key, strlen(key));
    if (!at)
        return false;
    struct str rest = str_from(text, (size_t)(at - text.data) + strlen(key) - 1);
    char *path = arena_cstr(s->arena, str_cut(&rest, '\''));
    char *name = strrchr(path, '/');
    if (!str_is(s->module, name + 1))
        return false; /* the folder goes by another name than the module */
    *name = '\0';
    return take(s, path, true);
}

static bool look_in_file(const struct source *s, struct str name)
{
    struct str text;
    bool pth = str_ends(name, STR(".pth"));
    if (!pth &&
            !(str_starts(name, STR("__editable__")) && str_ends(name, STR("finder.py"))))
        return false;
    const char *path =
            arena_printf(s->arena, "%.*s/%.*s", STR_ARG(s->site), STR_ARG(name));
    if (file_read(path, MAX_FILE, s->arena, &text))
        return false;
    return pth ? look_in_pth(s, text) : look_in_finder(s, text);
}

static bool look_in_site(const struct source *s)
{
    DIR *dir = open_folder(s->site);
    const struct dirent *e;
    bool found = false;
    if (!dir)
        return false;
    while (!found && (e = readdir(dir)))
        found = look_in_file(s, str_of(e->d_name));
    closedir(dir);
    return found;
}

bool find_source(struct str package, struct str module, struct str site,
        struct arena *arena, struct str *out)
{
    char real[PATH_MAX];
    if (!realpath(arena_cstr(arena, package), real))
        return false;
    const struct source s = { str_of(real), module, site, arena, out };
    return look_in_package(&s, false) || look_in_site(&s) || look_in_package(&s, true);
}

bool project_hash(struct str package, char out[PACKAGES_HASH], struct error *err)
{
    static const char *const files[] = { "pyproject.toml", "setup.py", "setup.cfg" };
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        struct str text;
        const char *path = arena_printf(arena, "%.*s/%s", STR_ARG(package), files[i]);
        int failure = file_read(path, MAX_FILE, arena, &text);
        if (failure && failure != ENOENT && failure != ENOTDIR)
            return error_errno(err, failure, "cannot read '%s'", path);
        if (failure)
            continue;
        short_hash(text, out);
        return true;
    }
    return error_set(
            err, ERR_NOT_FOUND, "there is no pyproject.toml in '%.*s'", STR_ARG(package));
}
