#include "tool/tool.h"

#include "tool-json.h"

const struct tool_source tool_sources[] = {
    { "edit", tool_json_edit, TOOL_IN_SHELL },
    { "fs_append", tool_json_fs_append, TOOL_IN_POOL },
    { "fs_delete", tool_json_fs_delete, TOOL_IN_POOL },
    { "fs_find", tool_json_fs_find, TOOL_IN_POOL },
    { "fs_grep", tool_json_fs_grep, TOOL_IN_POOL },
    { "fs_readfile", tool_json_fs_readfile, TOOL_IN_POOL },
    { "fs_stat", tool_json_fs_stat, TOOL_IN_POOL },
    { "fs_str_replace", tool_json_fs_str_replace, TOOL_IN_POOL },
    { "run", tool_json_run, TOOL_IN_SHELL },
    { "run_mcp", tool_json_run_mcp, TOOL_IN_PEER },
    { "run_python", tool_json_run_python, TOOL_IN_PYTHON },
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
