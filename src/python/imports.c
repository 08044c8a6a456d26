#include "python/imports.h"

bool imports_init(void)
{
    return true;
}
