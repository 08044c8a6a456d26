/* The stamp of what is installed, and the lock of who installs. */
#include "session/packages-parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STAMP     "installed.json"
#define LOCK      "installing.lock"
#define MAX_STAMP ((size_t)1 << 20)
#define FOLDER    (O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

void short_hash(struct str text, char out[PACKAGES_HASH])
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx context;
    auto_buf hex = BUF(PACKAGES_HASH);
    sha256_init(&context);
    sha256_update(&context, text.len, (const uint8_t *)text.data);
    sha256_digest(&context, sizeof(digest), digest);
    buf_add_hex(&hex, digest, (PACKAGES_HASH - 1) / 2);
    memcpy(out, hex.data, PACKAGES_HASH);
}

static int compare(const void *a, const void *b)
{
    const struct policy_import *const *x = a, *const *y = b;
    return str_cmp((*x)->name, (*y)->name);
}

void allowlist_hash(const struct policy *policy, char out[PACKAGES_HASH])
{
    auto_buf text = BUF((size_t)1 << 24);
    auto_free const struct policy_import **sorted =
            xcalloc(policy->import_count + 1, sizeof(*sorted));
    size_t count = 0;
    for (size_t i = 0; i < policy->import_count; i++)
        if (policy->imports[i].kind != IMPORT_DENIED)
            sorted[count++] = &policy->imports[i];
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 0; i < count; i++)
        buf_addf(&text, "%.*s\n", STR_ARG(sorted[i]->name));
    buf_add(&text, STR("||"));
    for (size_t i = 0; i < count; i++)
        if (sorted[i]->value.len)
            buf_addf(&text, "\n%.*s=%.*s", STR_ARG(sorted[i]->name),
                    STR_ARG(sorted[i]->value));
    short_hash(buf_str(&text), out);
}

struct str interpreter_identity(const char *program, struct arena *arena)
{
    struct stat st;
    if (stat(program, &st))
        return STR("");
    return str_of(arena_printf(arena, "%s %lld %lld.%09ld", program,
            (long long)st.st_size, (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec));
}

struct str venv_identity(const char *venv, struct arena *arena)
{
    struct stat st;
    if (lstat(venv, &st) || !S_ISDIR(st.st_mode) ||
            stat(arena_printf(arena, "%s/pyvenv.cfg", venv), &st))
        return STR("");
    return str_of(arena_printf(
            arena, "%lld%09ld", (long long)st.st_mtim.tv_sec, st.st_mtim.tv_nsec));
}

static bool read_all(int fd, struct buf *out)
{
    struct stat st;
    if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size > (off_t)out->max)
        return false;
    for (;;) {
        char *to = buf_reserve(out, 4096);
        ssize_t n = to ? read(fd, to, 4096) : -1;
        if (n <= 0)
            return n == 0;
        out->len += (size_t)n;
    }
}

json_t *stamp_read(const char *folder)
{
    struct error err;
    json_t *stamp;
    auto_buf text = BUF(MAX_STAMP);
    auto_fd int at = open(folder, FOLDER);
    auto_fd int fd =
            at < 0 ? -1
                   : openat(at, STAMP, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || !read_all(fd, &text) || !json_parse(buf_str(&text), &stamp, &err))
        return NULL;
    if (json_is_object(stamp))
        return stamp;
    json_decref(stamp);
    return NULL;
}

static bool write_all(int fd, struct str text)
{
    while (text.len) {
        ssize_t n = write(fd, text.data, text.len);
        if (n < 0 && errno != EINTR)
            return false;
        text = str_from(text, n < 0 ? 0 : (size_t)n);
    }
    return !fsync(fd);
}

bool stamp_write(const char *folder, const json_t *stamp, struct error *err)
{
    char name[64];
    auto_buf text = BUF(MAX_STAMP);
    json_write(stamp, &text);
    buf_addc(&text, '\n');
    snprintf(name, sizeof(name), STAMP ".%d", getpid());
    auto_fd int at = open(folder, FOLDER);
    if (at < 0 || text.full)
        return error_errno(err, at < 0 ? errno : EFBIG, "cannot write the stamp");
    unlinkat(at, name, 0); /* of a server that was killed in the middle */
    auto_fd int fd =
            openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    bool written =
            fd >= 0 && write_all(fd, buf_str(&text)) && !renameat(at, name, at, STAMP);
    int failure = errno;
    if (!written && fd >= 0)
        unlinkat(at, name, 0);
    return written || error_errno(err, failure, "cannot write '%s/" STAMP "'", folder);
}

bool lock_take(const char *folder, int *fd, struct error *err)
{
    auto_fd int at = open(folder, FOLDER);
    auto_fd int lock =
            at < 0 ? -1
                   : openat(at, LOCK,
                             O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                             0666);
    if (lock < 0)
        return error_errno(err, errno, "cannot open '%s/" LOCK "'", folder);
    if (flock(lock, LOCK_EX | LOCK_NB))
        return errno == EWOULDBLOCK
                       ? error_set(err, ERR_EXISTS, "another server is installing")
                       : error_errno(err, errno, "cannot lock '%s/" LOCK "'", folder);
    *fd = lock;
    lock = -1;
    return true;
}
