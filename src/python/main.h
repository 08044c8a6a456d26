#ifndef PYTHON_MAIN_H
#define PYTHON_MAIN_H

/* snippet-main.c; returns the exit status. */
int snippet_main(int argc, char **argv);

#endif
