/*
 * table.h - the list of commands, made at build time from builtin/meson.build.
 *
 * A command is a file of this folder with `const struct command command_NAME`, listed in
 * meson.build.  The table is sorted by name (byte order), so that it can be searched.
 */
#ifndef SHELL_BUILTIN_TABLE_H
#define SHELL_BUILTIN_TABLE_H

#include "shell/cmd.h"

extern const struct command *const command_table[];
extern const size_t command_table_count;

#endif
