/*
 * dump.h - the bytes of several files, one after the other, as od and hexdump read them.
 */
#ifndef SHELL_BUILTIN_DUMP_H
#define SHELL_BUILTIN_DUMP_H

#include "shell/builtin/input.h"

struct dump {
    struct inputs in;
    bool is_open;  /* in.stream is being read */
    uint64_t left; /* bytes that may still be read */
};

/* The command's operands, or stdin; `max` bytes after what is skipped. */
struct dump dump_open(struct cmd *c, uint64_t max);

/* Fewer than `size` only at the end (or when the budget is spent). */
size_t dump_read(struct dump *d, unsigned char *to, size_t size);

/* False: there was less. */
bool dump_skip(struct dump *d, uint64_t n);

/* A number as od and hexdump take them: 0x and 0 prefixes, b (512), k, M, ... */
MUST_CHECK bool dump_number(const char *text, uint64_t *out);

#endif
