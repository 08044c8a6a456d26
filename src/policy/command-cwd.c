#include "base/path.h"
#include "policy/command-parts.h"

#include <sys/stat.h>

static bool refuse(const struct command_step *step, struct str real, const char *code,
        const char *what, const struct origin *origin, struct refusal *why)
{
    const struct policy_shell *section = step->section;
    refusal_begin(why, code, origin ? origin : &section->origin);
    buf_add(&why->what, STR("cwd "));
    refuse_quote(&why->what, step->request->cwd);
    if (!str_eq(real, step->request->cwd)) {
        buf_add(&why->what, STR(", which is "));
        refuse_quote(&why->what, real);
        buf_addc(&why->what, ',');
    }
    buf_addf(&why->what, " %s", what);
    refuse_rule_arg_paths(section, why);
    refuse_hint(why, "Leave cwd out to start in the workspace, or name a folder in it.");
    return false;
}

bool command_cwd(struct command_step *step, struct str *out, struct refusal *why)
{
    const struct policy *policy = step->policy;
    struct str real = step->request->cwd;
    struct place place;
    if (memchr(real.data ? real.data : "", 0, real.len) ||
            !place_find(policy->workspace_real, real, PLACE_FOLLOW, step->arena,
                    &step->budget, &place))
        return refuse(step, real, "cwd", "is not permitted: it is no path", NULL, why);
    real = place.path;
    struct stat st;
    if (!place.exists || stat(real.data, &st) || !S_ISDIR(st.st_mode))
        return refuse(step, real, "cwd", "is not permitted: no such folder", NULL, why);
    *out = real;
    /* The workspace is where commands start unless told otherwise. */
    if (step->section->arg_paths == ARG_PATHS_NONE ||
            str_eq(real, policy->workspace_real))
        return true;
    const struct policy_protected *protected = place_protected(policy, real);
    if (protected)
        return refuse(step, real, "write-protected",
                "is not permitted: the folder is write-protected", &protected->origin,
                why);
    if (step->section->arg_paths == ARG_PATHS_WORKSPACE &&
            !path_is_in(real, policy->workspace_real) && !place_is_writable(policy, real))
        return refuse(step, real, "outside",
                "is not permitted: it is outside the workspace", NULL, why);
    return path_allowed(step->paths, real, PATH_READ, why);
}
