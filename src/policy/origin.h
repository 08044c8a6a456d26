/* origin.h - where a line of the policy stands. */
#ifndef POLICY_ORIGIN_H
#define POLICY_ORIGIN_H

/* ".pyddock/pyddock.toml", line 12.  The file of the bundled policy is "built-in". */
struct origin {
    const char *file;
    unsigned line;
};

#endif
