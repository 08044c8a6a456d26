/*
 * module-table.h - sys.modules, which stays what it is for the library.
 *
 * Only `from X import y` is looked after: where X has no attribute y, the interpreter
 * looks "X.y" up in sys.modules by itself, and a snippet would get the module that its
 * view keeps out of reach.
 */
#ifndef PYTHON_MODULE_TABLE_H
#define PYTHON_MODULE_TABLE_H

#include "python/guard.h"

MUST_CHECK bool module_table_init(void);

#endif
