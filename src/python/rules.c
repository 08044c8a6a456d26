#include "python/rules.h"

bool rules_check(PyObject *tree UNUSED, struct buf *violations UNUSED)
{
    return true;
}
