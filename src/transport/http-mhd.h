/*
 * http-mhd.h - libmicrohttpd, loaded when it is asked for.
 *
 * It brings the libraries of TLS with it, which take longer to load than all the rest of
 * a server's start; so only who serves HTTP loads it, and a machine without it can do
 * everything else.
 */
#ifndef TRANSPORT_HTTP_MHD_H
#define TRANSPORT_HTTP_MHD_H

#include "base/error.h"

#include <microhttpd.h>

#define MHD_FUNCTIONS(F)             \
    F(add_response_header)           \
    F(create_response_from_buffer)   \
    F(create_response_from_callback) \
    F(destroy_response)              \
    F(get_connection_info)           \
    F(get_connection_values)         \
    F(get_daemon_info)               \
    F(get_timeout)                   \
    F(is_feature_supported)          \
    F(queue_response)                \
    F(quiesce_daemon)                \
    F(resume_connection)             \
    F(run)                           \
    F(set_connection_option)         \
    F(start_daemon)                  \
    F(stop_daemon)                   \
    F(suspend_connection)

/* Its functions, without their prefix. */
struct mhd {
#define MHD_DECLARE(name) __typeof__(MHD_##name) *name;
    MHD_FUNCTIONS(MHD_DECLARE)
#undef MHD_DECLARE
};

/* ERR_UNSUPPORTED: it is not installed.  It stays loaded until the process ends. */
MUST_CHECK bool mhd_load(struct mhd *out, struct error *err);

#endif
