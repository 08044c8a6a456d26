#include "shell/context.h"

#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

#if HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

void raw_switch(void **from_sp, void *to_sp);

#if defined(__x86_64__)

/* The callee-saved registers of the System V ABI; the rest the compiler has saved. */
__asm__(".text\n"
        ".globl raw_switch\n"
        ".hidden raw_switch\n"
        ".type raw_switch,@function\n"
        "raw_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size raw_switch,.-raw_switch\n");

static void *first_frame(char *top, void (*entry)(void))
{
    uintptr_t *sp = (uintptr_t *)(void *)top;
    *--sp = 0; /* a return address for `entry`, keeping its stack aligned */
    *--sp = (uintptr_t)entry;
    for (int i = 0; i < 6; i++)
        *--sp = 0;
    return sp;
}

#elif defined(__aarch64__)

/* x19-x30 and d8-d15 are callee-saved (AAPCS64); x30 is where to return to. */
__asm__(".text\n"
        ".globl raw_switch\n"
        ".hidden raw_switch\n"
        ".type raw_switch,%function\n"
        "raw_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size raw_switch,.-raw_switch\n");

static void *first_frame(char *top, void (*entry)(void))
{
    uintptr_t *sp = (uintptr_t *)(void *)(top - 160);
    for (int i = 0; i < 20; i++)
        sp[i] = 0;
    sp[11] = (uintptr_t)entry;
    return sp;
}

#endif

void context_init(
        struct context *c, void *stack_low, size_t stack_size, void (*entry)(void))
{
    *c = (struct context){ .stack_low = stack_low, .stack_size = stack_size };
#if defined(__x86_64__) || defined(__aarch64__)
    c->sp = first_frame((char *)stack_low + stack_size, entry);
#else
    getcontext(&c->uc);
    c->uc.uc_stack.ss_sp = stack_low;
    c->uc.uc_stack.ss_size = stack_size;
    makecontext(&c->uc, entry, 0);
#endif
}

void context_switch(struct context *from, struct context *to, int last)
{
    (void)last;
#if HAS_ASAN
    __sanitizer_start_switch_fiber(
            last ? NULL : &from->fake_stack, to->stack_low, to->stack_size);
#endif
#if defined(__x86_64__) || defined(__aarch64__)
    raw_switch(&from->sp, to->sp);
#else
    swapcontext(&from->uc, &to->uc);
#endif
#if HAS_ASAN
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

void context_entered(struct context *self, struct context *from)
{
    (void)self;
    (void)from;
#if HAS_ASAN
    /* The first task runs on the thread's own stack, whose bounds only ASan knows. */
    __sanitizer_finish_switch_fiber(NULL, &from->stack_low, &from->stack_size);
#endif
}
