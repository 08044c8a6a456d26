#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool error_set(struct error *err, enum error_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    err->hint[0] = 0;
    vsnprintf(err->message, sizeof(err->message), fmt, ap);
    va_end(ap);
    return false;
}

static enum error_code code_of_errno(int errnum)
{
    switch (errnum) {
    case ENOENT:
    case ENOTDIR:
    case ESRCH:
        return ERR_NOT_FOUND;
    case EEXIST:
        return ERR_EXISTS;
    case EACCES:
    case EPERM:
    case EROFS:
        return ERR_DENIED;
    case EFBIG:
    case ENAMETOOLONG:
    case E2BIG:
    case EMFILE:
        return ERR_LIMIT;
    case EINVAL:
    case EISDIR:
        return ERR_INVALID;
    case ENOSYS:
    case EOPNOTSUPP:
        return ERR_UNSUPPORTED;
    case ETIMEDOUT:
        return ERR_TIMEOUT;
    case ECANCELED:
        return ERR_CANCELLED;
    default:
        return ERR_IO;
    }
}

bool error_errno(struct error *err, int errnum, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err->code = code_of_errno(errnum);
    err->hint[0] = 0;
    int n = vsnprintf(err->message, sizeof(err->message), fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof(err->message))
        snprintf(err->message + n, sizeof(err->message) - (size_t)n, ": %s",
                strerror(errnum));
    return false;
}

bool error_hint(struct error *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->hint, sizeof(err->hint), fmt, ap);
    va_end(ap);
    return false;
}

static void append(struct error *err, const char *text)
{
    size_t at = strlen(err->message);
    size_t len = strnlen(text, sizeof(err->message) - 1 - at);
    memcpy(err->message + at, text, len);
    err->message[at + len] = '\0';
}

bool error_context(struct error *err, const char *fmt, ...)
{
    char old[sizeof(err->message)];
    memcpy(old, err->message, sizeof(old));

    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->message, sizeof(err->message), fmt, ap);
    va_end(ap);
    append(err, ": ");
    append(err, old);
    return false;
}
