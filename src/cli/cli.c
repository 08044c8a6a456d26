#include "cli/cli.h"

#include <stdio.h>
#include <unistd.h>

void cli_print(struct str text)
{
    while (text.len) {
        ssize_t n = write(STDOUT_FILENO, text.data, text.len);
        if (n <= 0)
            return;
        text = str_from(text, (size_t)n);
    }
}

int cli_fail(const char *name, int status, const struct error *err)
{
    auto_buf line = BUF(2048), shown = BUF(2048);
    buf_addf(
            &line, "%s: %s%s%s", name, err->message, err->hint[0] ? ". " : "", err->hint);
    buf_add_shown(&shown, buf_str(&line));
    fprintf(stderr, "%s\n", buf_str(&shown).data);
    return status;
}
