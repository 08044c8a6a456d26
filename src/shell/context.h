/*
 * context.h - switching between stacks.
 *
 * A context is a stack pointer; everything that a C function must preserve lies on the
 * stack it points to.  x86-64 and aarch64 switch in some twenty instructions; elsewhere
 * ucontext does it.
 */
#ifndef SHELL_CONTEXT_H
#define SHELL_CONTEXT_H

#include <stddef.h>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

struct context {
#if defined(__x86_64__) || defined(__aarch64__)
    void *sp;
#else
    ucontext_t uc;
#endif
    /* For AddressSanitizer, which keeps a shadow of every stack. */
    const void *stack_low;
    size_t stack_size;
    void *fake_stack;
};

/* Prepare `c` so that the first switch to it calls `entry`, which must never return. */
void context_init(
        struct context *c, void *stack_low, size_t stack_size, void (*entry)(void));

/* Save where we are in `from` and go on where `to` stopped.  `last`: `from` never runs
 * again. */
void context_switch(struct context *from, struct context *to, int last);

/* Must be called first thing in an `entry`; `from` is who switched to it. */
void context_entered(struct context *self, struct context *from);

#endif
