/*
 * paddock-bridge (bridge.h): confines itself before the first byte of the other server,
 * then carries messages until the input ends.
 */
#include "base/log.h"
#include "base/wire.h"
#include "bridge/bridge.h"
#include "bridge/confinement.h"
#include "bridge/run.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#define NAME            "paddock-bridge"
#define MAX_AUTHORITIES ((size_t)8 << 20)

static bool receive_setup(
        struct arena *arena, struct bridge_setup *setup, struct error *err)
{
    struct wire_reader reader;
    struct wire_message m;
    wire_reader_init(&reader, BRIDGE_SOCKET);
    bool fine = wire_receive(&reader, &m, err);
    if (fine && (m.kind != WIRE_SETUP || m.count != 1))
        fine = error_set(err, ERR_INVALID, "the first message is no setup");
    fine = fine && bridge_setup_parse(m.fields[0], arena, setup, err);
    wire_reader_finish(&reader);
    return fine;
}

static bool read_all(int fd, struct buf *out)
{
    for (;;) {
        char *to = buf_reserve(out, 1 << 16);
        ssize_t n = to ? read(fd, to, 1 << 16) : -1;
        if (n <= 0)
            return n == 0;
        out->len += (size_t)n;
    }
}

/* Read now: later it is out of reach. */
static bool read_authorities(
        const struct bridge_setup *setup, struct buf *out, struct error *err)
{
    const char *path = setup->ca_file;
    if (!setup->url.is_tls && !setup->proxy.is_tls)
        return true;
    if (!path)
        path = curl_version_info(CURLVERSION_NOW)->cainfo;
    if (!path)
        return error_set(err, ERR_UNSUPPORTED, "libcurl knows no certificates to trust");
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !read_all(fd, out))
        return error_errno(err, out->full ? EFBIG : errno,
                "cannot read the certificates in '%s'", path);
    return true;
}

static void warn(const struct bridge_setup *setup, const struct confine_status *status)
{
    json_auto_t *json = confine_status_json(status);
    const json_t *problems = json_object_get(json, "problems");
    for (size_t i = 0; i < json_array_size(problems); i++)
        log_line(LOG_WARN, "%s", json_string_value(json_array_get(problems, i)));
    if (!setup->url.is_tls && setup->header_count && !url_is_local(&setup->url))
        log_line(LOG_WARN, "headers go to %s in the clear; https would keep them secret",
                setup->url.origin);
}

static bool work(struct confine_status *status, struct arena *arena, struct error *err)
{
    struct bridge_setup setup;
    auto_buf authorities = BUF(MAX_AUTHORITIES);
    if (!receive_setup(arena, &setup, err))
        return false;
    if (curl_global_init(CURL_GLOBAL_DEFAULT))
        return error_set(err, ERR_UNSUPPORTED, "libcurl cannot be used");
    if (!read_authorities(&setup, &authorities, err))
        return false;
    bridge_confine(&setup, status);
    warn(&setup, status);
    if (!confine_send_ready(BRIDGE_SOCKET, status, err))
        return false;
    bridge_run(&setup, buf_str(&authorities));
    return true;
}

int main(void)
{
    static const int keep[] = { BRIDGE_SOCKET, BRIDGE_INPUT, BRIDGE_OUTPUT };
    struct confine_status status = { 0 };
    struct error err = { 0 };
    int server;
    log_init(NAME);
    setlocale(LC_CTYPE, "C.UTF-8"); /* names of hosts may have letters beyond ASCII */
    int failure = confine_begin(NAME, BRIDGE_SOCKET, &server, &status);
    if (failure)
        return failure;
    confine_close_others(keep, ARRAY_LEN(keep));
    auto_arena *arena = arena_create();
    if (work(&status, arena, &err))
        _exit(0); /* threads may still look up names */
    log_line(LOG_ERROR, "%s%s%s", err.message, err.hint[0] ? "; " : "", err.hint);
    _exit(1);
}
