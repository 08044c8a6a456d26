/*
 * python-policy.h - what a policy says about Python code, on its way to paddock-python:
 * [imports], [ast], [audit], [restrictions], [import_overrides] and [deny_messages], each
 * with the place where it is said.  What it says about files travels beside it
 * (paths.h).
 */
#ifndef POLICY_PYTHON_POLICY_H
#define POLICY_PYTHON_POLICY_H

#include "policy/policy.h"

#include <jansson.h>

json_t *python_policy_json(const struct policy *policy);

/* Fills these parts of `out` and nothing else; they live in `arena`.  ERR_INVALID: not
 * this format. */
MUST_CHECK bool python_policy_parse(
        const json_t *json, struct arena *arena, struct policy *out, struct error *err);

#endif
