#include "broker/problems.h"

#include "base/json.h"
#include "base/log.h"

void problems_tell(struct str status, bool *told)
{
    struct error err;
    json_auto_t *json = NULL;
    if (*told || !json_parse(status, &json, &err))
        return;
    *told = true;
    const json_t *problems = json_object_get(json, "problems");
    for (size_t i = 0; i < json_array_size(problems); i++)
        log_line(LOG_WARN, "%.*s", STR_ARG(json_str(json_array_get(problems, i))));
}
