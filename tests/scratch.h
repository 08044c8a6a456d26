/*
 * scratch.h - folders that tests work in, and that do not outlive them.
 *
 * A test that fails does not come to its end: what is still there when the program ends
 * is removed then.
 */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

/* Makes the folder that the template ("/tmp/paddock-thing-XXXXXX") becomes the name of.
 */
void scratch_make(char *template);

/* With all that is in it, as far as that can be. */
void scratch_remove(const char *folder);

#endif
