#include "tool/tool.h"

#include "tool-json.h"

const struct tool_source tool_sources[] = {
    { "edit", tool_json_edit, TOOL_IN_SHELL },
    { "run", tool_json_run, TOOL_IN_SHELL },
    { "run_shell", tool_json_run_shell, TOOL_IN_SERVER },
};
const size_t tool_source_count = ARRAY_LEN(tool_sources);

enum tool_place tool_find_place(struct str name)
{
    for (size_t i = 0; i < tool_source_count; i++)
        if (str_is(name, tool_sources[i].name))
            return tool_sources[i].place;
    return 0;
}
