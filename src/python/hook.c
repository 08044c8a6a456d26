#include "python/hook.h"

bool hook_install(void)
{
    return true;
}
