#include "cli/cli.h"

int cli_pyddock(int argc UNUSED, char **argv UNUSED)
{
    struct error err;
    error_set(&err, ERR_UNSUPPORTED, "this command line is not in this build yet");
    return cli_fail("pyddock", 2, &err);
}
