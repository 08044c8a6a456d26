#include "tool/tool.h"

#include "tool-json.h"

const struct tool_source tool_sources[] = {
    { "edit", tool_json_edit },
    { "run", tool_json_run },
};
const size_t tool_source_count = ARRAY_LEN(tool_sources);
