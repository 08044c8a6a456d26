#include "python/script.h"

#include "base/json.h"
#include "base/path.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define BYTE_ORDER_MARK STR("\xef\xbb\xbf")

/* ".py" alone is a name without a suffix. */
static bool is_named_py(struct str path)
{
    return str_ends(path, STR(".py")) && !str_is(path, ".py") &&
           !str_ends(path, STR("/.py")) && strlen(path.data) == path.len;
}

static bool say_errno(struct str path, int error, struct buf *why)
{
    if (error == ENOENT || error == ENOTDIR)
        buf_addf(why, "File not found: %.*s", STR_ARG(path));
    else
        buf_addf(why, "cannot read '%.*s': %s", STR_ARG(path), strerror(error));
    return false;
}

static bool is_plain(struct str path, int fd, struct buf *why)
{
    struct stat st;
    if (fstat(fd, &st))
        return say_errno(path, errno, why);
    if (!st.st_nlink)
        return say_errno(path, ENOENT, why);
    if (!S_ISREG(st.st_mode)) {
        buf_addf(why, "'%.*s' is not a regular file", STR_ARG(path));
        return false;
    }
    if (st.st_size > (off_t)SCRIPT_MAX_BYTES) {
        buf_addf(why, "'%.*s' is too long for a snippet: %jd bytes, at most %zu",
                STR_ARG(path), (intmax_t)st.st_size, SCRIPT_MAX_BYTES);
        return false;
    }
    return true;
}

static void note_refusal(const struct refusal *refusal, json_t *notes)
{
    auto_buf rule = BUF((size_t)1 << 16);
    refusal_write_rule(refusal, &rule);
    json_object_set_new(notes, "decision", json_string("deny"));
    json_object_set_new(notes, "rule", json_text(buf_str(&rule)));
}

static bool judge(struct str canonical, struct buf *why, json_t *notes)
{
    auto_refusal refusal;
    refusal_init(&refusal);
    if (path_allowed(guard.setup->paths, canonical, PATH_READ, &refusal))
        return true;
    refusal_write(&refusal, why);
    note_refusal(&refusal, notes);
    return false;
}

/* What the policy hides cannot be found; then the name tells. */
static bool is_hidden(const char *path, struct buf *why, json_t *notes)
{
    char folder[PATH_MAX];
    auto_buf whole = BUF(2 * PATH_MAX);
    if (path[0] != '/' && getcwd(folder, sizeof(folder)))
        buf_addf(&whole, "%s/", folder);
    buf_add(&whole, str_of(path));
    return path_is_normal(buf_str(&whole)) && !judge(buf_str(&whole), why, notes);
}

/* Before it is opened, since the kernel would say no without a reason. */
static bool name_allowed(const char *path, struct buf *why, json_t *notes)
{
    auto_free char *canonical = realpath(path, NULL);
    int error = errno;
    if (canonical)
        return judge(str_of(canonical), why, notes);
    return !is_hidden(path, why, notes) && say_errno(str_of(path), error, why);
}

/* The file that was opened: the name may lead elsewhere by now. */
static bool file_allowed(struct str path, int fd, struct buf *why, json_t *notes)
{
    char link[32], end[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, end, sizeof(end));
    if (len > 0 && len < (ssize_t)sizeof(end))
        return judge((struct str){ end, (size_t)len }, why, notes);
    buf_addf(why, "cannot find out where '%.*s' leads", STR_ARG(path));
    return false;
}

static bool read_all(struct str path, int fd, struct buf *text, struct buf *why)
{
    struct buf bytes = BUF(SCRIPT_MAX_BYTES + 65536);
    ssize_t n = -1;
    for (char *to; (to = buf_reserve(&bytes, 32768)); bytes.len += (size_t)n)
        if ((n = read(fd, to, 32768)) <= 0)
            break;
    if (!n && bytes.len <= SCRIPT_MAX_BYTES)
        buf_add(text, buf_str(&bytes));
    buf_finish(&bytes);
    if (n < 0)
        return say_errno(path, errno, why);
    if (!n)
        return true;
    buf_addf(why, "'%.*s' is too long for a snippet", STR_ARG(path));
    return false;
}

static bool check_text(struct str path, struct buf *text, struct buf *why)
{
    struct str all = buf_str(text);
    size_t valid = utf8_valid_len(all);
    if (valid < all.len) {
        buf_addf(why, "'%.*s' is not UTF-8: byte 0x%02x at offset %zu, in line %zu",
                STR_ARG(path), (unsigned char)all.data[valid], valid,
                str_count(str_sub(all, 0, valid), '\n') + 1);
        return false;
    }
    if (str_starts(all, BYTE_ORDER_MARK)) {
        text->len -= BYTE_ORDER_MARK.len;
        memmove(text->data, text->data + BYTE_ORDER_MARK.len, text->len);
    }
    return true;
}

bool script_read(struct str path, struct buf *text, struct buf *why, json_t *notes)
{
    if (!is_named_py(path)) {
        buf_addf(why, "'%.*s' is not the path of a .py file", STR_ARG(path));
        return false;
    }
    auto_free char *name = str_copy(path);
    if (!name_allowed(name, why, notes))
        return false;
    auto_fd int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return say_errno(path, errno, why);
    return is_plain(path, fd, why) && file_allowed(path, fd, why, notes) &&
           read_all(path, fd, text, why) && check_text(path, text, why);
}
