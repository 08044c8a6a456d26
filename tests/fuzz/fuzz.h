/* fuzz.h - what a target defines: it is called with one input after the other. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
