/*
 * setup-for WORKSPACE [HOME [PACKAGES]]: what `paddock-python --snippet` is to be told
 * for this workspace, as JSON; a folder of packages is trusted.  With network, unless the
 * environment has NO_NETWORK.
 */
#include "peer/definition.h"
#include "policy/config/config.h"
#include "policy/environ.h"
#include "policy/python-setup.h"
#include "policy/shims.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
    struct error err;
    struct policy *policy;
    auto_arena *arena = arena_create();
    if (argc < 2)
        return 2;
    const struct config_request request = { .workspace = argv[1],
        .home = argc > 2 ? argv[2] : getenv("HOME") };
    if (!config_load(&request, arena, &policy, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    struct peer_definitions servers;
    peer_definitions_load(policy, request.home, environ, arena, &servers);
    const struct str packages = argc > 3 ? str_of(argv[3]) : STR("");
    const struct python_shim *shims;
    size_t shim_count;
    if (!shims_load(policy, arena, &shims, &shim_count, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    const struct python_setup setup = {
        .paths = path_policy_create(policy, arena),
        .policy = policy,
        .sys_path = &packages,
        .sys_path_count = packages.len ? 1 : 0,
        .trusted = &packages,
        .trusted_count = packages.len ? 1 : 0,
        .shims = shims,
        .shim_count = shim_count,
        .network = !getenv("NO_NETWORK"),
        .mcp = servers.count,
        .env = env_snapshot(policy, NULL, environ, arena),
    };
    auto_buf text = BUF((size_t)64 << 20);
    python_setup_write(&setup, &text);
    return fwrite(text.data, 1, text.len, stdout) == text.len ? 0 : 1;
}
