/* Where the kernel enters the program, and what a compiler expects to exist without a libc. */
#include "launcher.h"
#include "sys.h"

#if defined(__x86_64__)
/* Where a signal handler returns to. Elsewhere the kernel brings its own. */
__asm__(".globl signal_return\n"
        "signal_return:\n\t"
        "mov $15, %eax\n\t" /* NR_rt_sigreturn */
        "syscall");
#endif

#ifdef FL_HOSTED

int main(int argc, char **argv) {
    sys_exit(launcher_main(argc, argv));
}

#else

/* Compilers recognise these loops and would call the very function they are in. */
#define KEEP_AS_LOOP() __asm__ volatile("" ::: "memory")

void *memset(void *at, int value, size_t size) {
    for (unsigned char *byte = at; size; size--) {
        *byte++ = (unsigned char)value;
        KEEP_AS_LOOP();
    }
    return at;
}

void *memcpy(void *restrict to, const void *restrict from, size_t size) {
    const unsigned char *source = from;
    for (unsigned char *byte = to; size; size--) {
        *byte++ = *source++;
        KEEP_AS_LOOP();
    }
    return to;
}

/* The kernel leaves argc and argv on the stack. */
_Noreturn void launcher_begin(long *stack) {
    sys_exit(launcher_main((int)stack[0], (char **)(stack + 1)));
}

#if defined(__x86_64__)
__asm__(".globl _start\n"
        "_start:\n\t"
        "xor %ebp, %ebp\n\t"
        "mov %rsp, %rdi\n\t"
        "and $-16, %rsp\n\t"
        "call launcher_begin\n\t"
        "hlt");
#else
__asm__(".globl _start\n"
        "_start:\n\t"
        "mov x29, xzr\n\t"
        "mov x30, xzr\n\t"
        "mov x0, sp\n\t"
        "bl launcher_begin\n\t"
        "brk 1");
#endif

#endif
