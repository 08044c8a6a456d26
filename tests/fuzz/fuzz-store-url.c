#include "fuzz.h"
#include "session/store-url.h"

#include <stdio.h>

/* What is read from a URL says the same when it is written as one. */
static void write_url(const struct store_url *url, struct buf *out)
{
    bool local = !url->host[0];
    buf_addf(out, "%s%s%s", local ? "redis+unix://" : "redis://", url->user,
            url->user[0] ? "@" : "");
    if (local)
        buf_addf(out, "%s", url->path);
    else if (strchr(url->host, ':'))
        buf_addf(out, "[%s]:%u/%u", url->host, url->port, url->database);
    else
        buf_addf(out, "%s:%u/%u", url->host, url->port, url->database);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = { (const char *)data, size };
    struct store_url url, again;
    struct error err;
    if (!store_url_parse(text, &url, &err))
        return 0;
    assert(!url.host[0] == (url.path[0] == '/'));
    assert(url.port >= 1 && url.port <= 65535 && url.database <= STORE_MOST_DB);
    assert(strlen(url.user) < sizeof(url.user) && !strchr(url.user, ':'));
    auto_buf written = BUF(2048);
    write_url(&url, &written);
    bool fine = store_url_parse(buf_str(&written), &again, &err);
    assert(fine && !memcmp(&url, &again, sizeof(url)));
    return 0;
}
