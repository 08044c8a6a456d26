/*
 * python-attempts.h - what a snippet must not get done, in two forms: as Python under all
 * rules, and with raw system calls in a build without any rule (the same as an
 * interpreter that has been taken over).
 *
 * A form is Python text.  It raises an exception when it is refused; it got through if it
 * comes to its end, prints the content of a secret ("SECRET"), or has changed anything
 * outside ws/sub.  It has the names TOP (the folder of machine.h), WS, HOME, OUT; SERVER,
 * ZYGOTE, SIBLING (process ids), PORT and ABSTRACT (where the server listens); and for
 * raw calls S(number, ...), which raises OSError, and the numbers SYS_name; LIB is a
 * library.
 */
#ifndef TESTS_PYTHON_ATTEMPTS_H
#define TESTS_PYTHON_ATTEMPTS_H

struct attempt {
    const char *row; /* of the list of attempts: W, R, X, N, P, L, PY and a number */
    const char *what;
    /* What the kernel must hold: a property of confine.h; "always"; "rules": the kernel
     * does not claim it, only the rules do; "+PROPERTY": only the kernel does. */
    const char *property;
    const char *python; /* NULL: there is no such thing in Python */
    const char *raw;    /* NULL: the same text */
};

/* Tables end with an empty line. */
extern const struct attempt write_attempts[], read_attempts[], exec_attempts[],
        network_attempts[], process_attempts[], python_attempts[];

/* What must work: the text comes to its end.  It is the same in both builds. */
enum work_where {
    WORKS_EVERYWHERE = 0,
    WORKS_WITH_MOUNTS = 1 << 0,
    WORKS_FOR_LIBRARIES = 1 << 1, /* the rules refuse it to a snippet */
};
struct work {
    const char *what;
    const char *python;
    enum work_where where;
};
extern const struct work python_works[];

#endif
