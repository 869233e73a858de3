/* The kernel, spoken to directly: no libc, so that starting this program costs next to nothing.
 * Numbers and layouts are written out here so that a bare `cc` without header packages can
 * build it; check_abi.c compares them with the system's headers where those exist.
 * Each call returns what the kernel returns: a result, or a negated errno. */
#ifndef FAIRLEAD_SYS_H
#define FAIRLEAD_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
enum {
    NR_read = 0,
    NR_write = 1,
    NR_close = 3,
    NR_mmap = 9,
    NR_munmap = 11,
    NR_rt_sigaction = 13,
    NR_rt_sigprocmask = 14,
    NR_rt_sigreturn = 15,
    NR_ioctl = 16,
    NR_mremap = 25,
    NR_getpid = 39,
    NR_sendto = 44,
    NR_recvfrom = 45,
    NR_sendmsg = 46,
    NR_recvmsg = 47,
    NR_clone = 56,
    NR_execve = 59,
    NR_wait4 = 61,
    NR_kill = 62,
    NR_fcntl = 72,
    NR_chdir = 80,
    NR_fchdir = 81,
    NR_umask = 95,
    NR_setpgid = 109,
    NR_getppid = 110,
    NR_setsid = 112,
    NR_prctl = 157,
    NR_getdents64 = 217,
    NR_exit_group = 231,
    NR_openat = 257,
    NR_ppoll = 271,
    NR_dup3 = 292,
    NR_prlimit64 = 302,
    NR_execveat = 322,
    NR_close_range = 436,
};
#elif defined(__aarch64__)
enum {
    NR_dup3 = 24,
    NR_fcntl = 25,
    NR_ioctl = 29,
    NR_chdir = 49,
    NR_fchdir = 50,
    NR_openat = 56,
    NR_close = 57,
    NR_getdents64 = 61,
    NR_read = 63,
    NR_write = 64,
    NR_ppoll = 73,
    NR_exit_group = 94,
    NR_kill = 129,
    NR_rt_sigaction = 134,
    NR_rt_sigprocmask = 135,
    NR_setpgid = 154,
    NR_setsid = 157,
    NR_umask = 166,
    NR_prctl = 167,
    NR_getpid = 172,
    NR_getppid = 173,
    NR_sendto = 206,
    NR_recvfrom = 207,
    NR_sendmsg = 211,
    NR_recvmsg = 212,
    NR_munmap = 215,
    NR_mremap = 216,
    NR_clone = 220,
    NR_execve = 221,
    NR_mmap = 222,
    NR_wait4 = 260,
    NR_prlimit64 = 261,
    NR_execveat = 281,
    NR_close_range = 436,
};
#else
#error "fairlead-launcher knows x86-64 and aarch64"
#endif

/* Values that all supported architectures share. */
enum {
    ERR_PERM = 1,
    ERR_NOENT = 2,
    ERR_SRCH = 3,
    ERR_INTR = 4,
    ERR_CHILD = 10,
    ERR_AGAIN = 11,
    ERR_ACCES = 13,
    ERR_NODEV = 19,
    ERR_NOTDIR = 20,
    ERR_INVAL = 22,
    ERR_PIPE = 32,
    ERR_NAMETOOLONG = 36,
    ERR_NOSYS = 38,
    ERR_TIMEDOUT = 110,
    ERR_STALE = 116,
};
enum {
    SIGNAL_KILL = 9,
    SIGNAL_CHILD = 17,
    SIGNAL_STOP = 19,
    SIGNAL_LAST = 64,
    SIGNAL_SET_MASK = 2, /* SIG_SETMASK */
};
enum {
    FIRST_PROCESS = 1, /* of a pid namespace */
    CLONE_SHARES_MEMORY = 0x100,       /* CLONE_VM */
    CLONE_PARENT_WAITS = 0x4000,       /* CLONE_VFORK */
    WAIT_NO_HANG = 1,                  /* WNOHANG */
    WAIT_ALL_KINDS = 0x40000000,       /* __WALL */
    PR_PARENT_DEATH_SIGNAL = 1,        /* PR_SET_PDEATHSIG */
    PR_NAME = 15,                      /* PR_SET_NAME */
    PR_CHILD_SUBREAPER = 36,           /* PR_SET_CHILD_SUBREAPER */
    FD_GET_FLAGS = 1,                  /* F_GETFD */
    FD_SET_FLAGS = 2,                  /* F_SETFD */
    FD_DUPLICATE_CLOEXEC = 1030,       /* F_DUPFD_CLOEXEC */
    FD_CLOEXEC_FLAG = 1,               /* FD_CLOEXEC */
    OPEN_CLOEXEC = 02000000,           /* O_CLOEXEC */
    AT_CURRENT_DIRECTORY = -100,       /* AT_FDCWD */
    AT_EMPTY_NAME = 0x1000,            /* AT_EMPTY_PATH */
    IOCTL_SET_CONTROLLING_TTY = 0x540E, /* TIOCSCTTY */
    POLL_READABLE = 1,                 /* POLLIN */
    MESSAGE_DONT_WAIT = 0x40,          /* MSG_DONTWAIT */
    MESSAGE_NO_SIGNAL = 0x4000,        /* MSG_NOSIGNAL */
    MESSAGE_CLOEXEC = 0x40000000,      /* MSG_CMSG_CLOEXEC */
    SOCKET_LEVEL = 1,                  /* SOL_SOCKET */
    SOCKET_RIGHTS = 1,                 /* SCM_RIGHTS */
    LIMIT_OPEN_FILES = 7,              /* RLIMIT_NOFILE */
    MEMORY_READ_WRITE = 3,             /* PROT_READ | PROT_WRITE */
    MEMORY_SHARED_ANONYMOUS = 0x21,    /* MAP_SHARED | MAP_ANONYMOUS */
    MEMORY_PRIVATE_ANONYMOUS = 0x22,   /* MAP_PRIVATE | MAP_ANONYMOUS */
    MEMORY_MAY_MOVE = 1,               /* MREMAP_MAYMOVE */
};

struct kernel_sigaction {
    void (*handler)(int); /* zero is SIG_DFL */
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
struct kernel_limit {
    uint64_t soft;
    uint64_t hard;
};
struct kernel_poll {
    int fd;
    short wanted;
    short seen;
};
struct kernel_time {
    int64_t seconds;
    int64_t nanoseconds;
};
struct kernel_piece {
    void *at;
    size_t size;
};
struct kernel_message {
    void *name;
    uint32_t name_size;
    struct kernel_piece *pieces;
    size_t piece_count;
    void *control;
    size_t control_size;
    int flags;
};
struct kernel_control {
    size_t size; /* of all, this header included */
    int level;
    int type;
    int fds[];
};
struct kernel_dirent {
    uint64_t inode;
    int64_t offset;
    uint16_t size;
    uint8_t type;
    char name[];
};

static inline long system_call(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc 0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory", "cc");
    return x0;
#endif
}

#define CALL1(n, a) system_call(NR_##n, (long)(a), 0, 0, 0, 0, 0)
#define CALL2(n, a, b) system_call(NR_##n, (long)(a), (long)(b), 0, 0, 0, 0)
#define CALL3(n, a, b, c) system_call(NR_##n, (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define CALL4(n, a, b, c, d) \
    system_call(NR_##n, (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define CALL5(n, a, b, c, d, e) \
    system_call(NR_##n, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)

static inline long sys_read(int fd, void *into, size_t size) {
    return CALL3(read, fd, into, size);
}
static inline long sys_write(int fd, const void *from, size_t size) {
    return CALL3(write, fd, from, size);
}
static inline long sys_open(const char *path) {
    return CALL4(openat, AT_CURRENT_DIRECTORY, path, OPEN_CLOEXEC, 0);
}
static inline long sys_close(int fd) {
    return CALL1(close, fd);
}
static inline long sys_dup3(int fd, int onto, int flags) {
    return CALL3(dup3, fd, onto, flags);
}
static inline long sys_fcntl(int fd, int command, long argument) {
    return CALL3(fcntl, fd, command, argument);
}
static inline long sys_ioctl(int fd, unsigned long request, long argument) {
    return CALL3(ioctl, fd, request, argument);
}
static inline long sys_close_range(uint32_t first, uint32_t last) {
#ifdef FL_TEST_WITHOUT_CLOSE_RANGE
    (void)first, (void)last;
    return -ERR_NOSYS;
#else
    return CALL3(close_range, first, last, 0);
#endif
}
static inline long sys_list_directory(int fd, void *into, size_t size) {
    return CALL3(getdents64, fd, into, size);
}
static inline long sys_send(int fd, const void *from, size_t size, int flags) {
    return system_call(NR_sendto, fd, (long)from, (long)size, flags, 0, 0);
}
static inline long sys_receive(int fd, void *into, size_t size, int flags) {
    return system_call(NR_recvfrom, fd, (long)into, (long)size, flags, 0, 0);
}
static inline long sys_send_message(int fd, const struct kernel_message *message, int flags) {
    return CALL3(sendmsg, fd, message, flags);
}
static inline long sys_receive_message(int fd, struct kernel_message *message, int flags) {
    return CALL3(recvmsg, fd, message, flags);
}
/* With the signals of `mask` blocked meanwhile, if there is one. The kernel writes back the time
 * that is left. */
static inline long sys_poll(struct kernel_poll *polls, unsigned count, struct kernel_time *left,
                            const uint64_t *mask) {
    return CALL5(ppoll, polls, count, left, mask, sizeof *mask);
}
static inline void *sys_map(size_t size, int kind) {
    return (void *)system_call(NR_mmap, 0, (long)size, MEMORY_READ_WRITE, kind, -1, 0);
}
static inline long sys_unmap(void *at, size_t size) {
    return CALL2(munmap, at, size);
}
static inline void *sys_remap(void *at, size_t old_size, size_t new_size) {
    return (void *)CALL4(mremap, at, old_size, new_size, MEMORY_MAY_MOVE);
}
static inline bool map_failed(const void *at) {
    return (uintptr_t)at > (uintptr_t)-4096;
}
static inline long sys_chdir(const char *path) {
    return CALL1(chdir, path);
}
static inline long sys_fchdir(int fd) {
    return CALL1(fchdir, fd);
}
static inline long sys_umask(uint32_t mode) {
    return CALL1(umask, mode);
}
static inline long sys_execve(const char *path, char *const *argv, char *const *env) {
    return CALL3(execve, path, argv, env);
}
static inline long sys_execve_fd(int fd, char *const *argv, char *const *env) {
    return CALL5(execveat, fd, "", argv, env, AT_EMPTY_NAME);
}
static inline int sys_getpid(void) {
    return (int)system_call(NR_getpid, 0, 0, 0, 0, 0, 0);
}
static inline int sys_getppid(void) {
    return (int)system_call(NR_getppid, 0, 0, 0, 0, 0, 0);
}
static inline long sys_setsid(void) {
    return system_call(NR_setsid, 0, 0, 0, 0, 0, 0);
}
static inline long sys_setpgid(int pid, int group) {
    return CALL2(setpgid, pid, group);
}
static inline long sys_prctl(int option, unsigned long value) {
    return CALL5(prctl, option, value, 0, 0, 0);
}
static inline long sys_prlimit(uint32_t resource, const struct kernel_limit *set,
                               struct kernel_limit *old) {
    return CALL4(prlimit64, 0, resource, set, old);
}
static inline long sys_kill(int pid, int signal) {
    return CALL2(kill, pid, signal);
}
static inline long sys_wait(int pid, int *status, int options) {
    return CALL4(wait4, pid, status, options, 0);
}
static inline long sys_sigaction(int signal, const struct kernel_sigaction *action) {
    return CALL4(rt_sigaction, signal, action, 0, sizeof(uint64_t));
}
/* What x86-64 demands of a handler's registration, and nobody else. */
#if defined(__x86_64__)
void signal_return(void);
enum { SIGNAL_RETURN_FLAGS = 0x04000000 }; /* SA_RESTORER */
#define SIGNAL_RETURN signal_return
#else
enum { SIGNAL_RETURN_FLAGS = 0 };
#define SIGNAL_RETURN 0
#endif

static inline long sys_sigmask(const uint64_t *mask, uint64_t *old) {
    return CALL4(rt_sigprocmask, SIGNAL_SET_MASK, mask, old, sizeof(uint64_t));
}
static inline _Noreturn void sys_exit(int code) {
    for (;;)
        CALL1(exit_group, code);
}

/* How `start_child` leaves memory between the two: the plain program shares all of it until the
 * child execs; the hosted (sanitized) one copies, and shares only mappings of this kind. */
#ifdef FL_HOSTED
enum { MEMORY_SEEN_BY_CHILD = MEMORY_SHARED_ANONYMOUS };
#else
enum { MEMORY_SEEN_BY_CHILD = MEMORY_PRIVATE_ANONYMOUS };
#endif

/* Runs `run(argument)` in a new process on its own stack, and returns its pid (or a negated
 * errno) once it has called execve or is gone. `run` must not return. */
static inline long start_child(void *stack_top, void (*run)(void *), void *argument) {
#if defined(FL_HOSTED)
    (void)stack_top; /* A sanitizer's runtime would not survive two processes in its memory. */
    long pid = CALL2(clone, CLONE_PARENT_WAITS | SIGNAL_CHILD, 0);
    if (pid == 0)
        run(argument);
    return pid;
#elif defined(__x86_64__)
    long result;
    register long r8 __asm__("r8") = (long)argument;
    register long r9 __asm__("r9") = (long)run;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r8, %%rdi\n\t"
                     "call *%%r9\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "a"(NR_clone), "D"(CLONE_SHARES_MEMORY | CLONE_PARENT_WAITS | SIGNAL_CHILD),
                       "S"(stack_top), "d"(0), "r"(r8), "r"(r9)
                     : "rcx", "r10", "r11", "memory", "cc");
    return result;
#else
    register long x8 __asm__("x8") = NR_clone;
    register long x0 __asm__("x0") = CLONE_SHARES_MEMORY | CLONE_PARENT_WAITS | SIGNAL_CHILD;
    register long x1 __asm__("x1") = (long)stack_top;
    register long x2 __asm__("x2") = 0;
    register long x5 __asm__("x5") = (long)run;
    register long x6 __asm__("x6") = (long)argument;
    __asm__ volatile("svc 0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x0, x6\n\t"
                     "blr x5\n\t"
                     "brk 1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x5), "r"(x6)
                     : "x3", "x4", "memory", "cc");
    return x0;
#endif
}

#endif
