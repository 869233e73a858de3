/* The kernel's calls for namespaces, mounts, Landlock, filters and capabilities: as sys.h. */
#ifndef FAIRLEAD_SYS_CONFINE_H
#define FAIRLEAD_SYS_CONFINE_H

#include "sys.h"

#if defined(__x86_64__)
enum {
    NR_socket = 41,
    NR_connect = 42,
    NR_capset = 126,
    NR_mount = 165,
    NR_mkdirat = 258,
    NR_mknodat = 259,
    NR_newfstatat = 262,
    NR_symlinkat = 266,
    NR_unshare = 272,
    NR_seccomp = 317,
};
enum {
    OPEN_DIRECTORY = 0200000, /* O_DIRECTORY */
    OPEN_NO_FOLLOW = 0400000, /* O_NOFOLLOW */
};
#else
enum {
    NR_mknodat = 33,
    NR_mkdirat = 34,
    NR_symlinkat = 36,
    NR_mount = 40,
    NR_newfstatat = 79,
    NR_capset = 91,
    NR_unshare = 97,
    NR_socket = 198,
    NR_connect = 203,
    NR_seccomp = 277,
};
enum {
    OPEN_DIRECTORY = 040000,
    OPEN_NO_FOLLOW = 0100000,
};
#endif
enum { /* since here all architectures share them */
    NR_open_tree = 428,
    NR_move_mount = 429,
    NR_pidfd_open = 434,
    NR_mount_setattr = 442,
    NR_landlock_create_ruleset = 444,
    NR_landlock_add_rule = 445,
    NR_landlock_restrict_self = 446,
};

enum {
    CLONE_USER = 0x10000000,        /* CLONE_NEWUSER */
    OPEN_FOR_WRITING = 1,           /* O_WRONLY */
    OPEN_PATH = 010000000,          /* O_PATH */
    NODE_REGULAR = 0100000,         /* S_IFREG */
    TREE_CLONE = 1,                 /* OPEN_TREE_CLONE */
    TREE_CLOEXEC = OPEN_CLOEXEC,    /* OPEN_TREE_CLOEXEC */
    AT_NO_FOLLOW = 0x100,           /* AT_SYMLINK_NOFOLLOW */
    AT_ALL_BELOW = 0x8000,          /* AT_RECURSIVE */
    MOVE_FROM_FD = 0x4,             /* MOVE_MOUNT_F_EMPTY_PATH */
    MOVE_ONTO_FD = 0x40,            /* MOVE_MOUNT_T_EMPTY_PATH */
    MOUNT_ALL_BELOW = 0x4000,       /* MS_REC */
    MOUNT_MAKE_PRIVATE = 0x40000,   /* MS_PRIVATE */
    RULE_PATH = 1,                  /* LANDLOCK_RULE_PATH_BENEATH */
    RULE_PORT = 2,                  /* LANDLOCK_RULE_NET_PORT */
    FILTER_SET = 1,                 /* SECCOMP_SET_MODE_FILTER */
    FILTER_LISTENER = 8,            /* SECCOMP_FILTER_FLAG_NEW_LISTENER */
    FILTER_WAIT_KILLABLE = 32,      /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV */
    PR_DUMPABLE = 4,                /* PR_SET_DUMPABLE */
    PR_BOUNDING_DROP = 24,          /* PR_CAPBSET_DROP */
    PR_NO_NEW_RIGHTS = 38,          /* PR_SET_NO_NEW_PRIVS */
    PR_AMBIENT = 47,                /* PR_CAP_AMBIENT */
    PR_AMBIENT_CLEAR = 4,           /* PR_CAP_AMBIENT_CLEAR_ALL */
    CAPABILITIES_VERSION = 0x20080522, /* _LINUX_CAPABILITY_VERSION_3 */
    SOCKET_LOCAL = 1,               /* AF_UNIX */
    SOCKET_STREAM = 1,              /* SOCK_STREAM */
    SOCKET_DATAGRAM = 2,            /* SOCK_DGRAM */
    SOCKET_CLOEXEC = OPEN_CLOEXEC,  /* SOCK_CLOEXEC */
    IOCTL_SET_INTERFACE = 0x8914,   /* SIOCSIFFLAGS */
    INTERFACE_UP = 1,               /* IFF_UP */
};

struct kernel_stat {
    uint64_t device;
    uint64_t inode;
    unsigned char rest[128];
};
struct kernel_mount_attributes {
    uint64_t set, clear, propagation, user_namespace;
};
struct kernel_ruleset {
    uint64_t files, network, scopes;
};
struct kernel_path_rule {
    uint64_t rights;
    int fd;
} __attribute__((packed));
struct kernel_port_rule {
    uint64_t rights, port;
};
struct kernel_filter {
    unsigned short count;
    const void *instructions;
};
struct kernel_capability_header {
    uint32_t version;
    int pid;
};
struct kernel_capabilities {
    uint32_t effective, permitted, inheritable;
};
struct kernel_local_address {
    unsigned short family;
    char path[108];
};
struct kernel_interface {
    char name[16];
    short flags;
    char rest[22];
};

static inline long sys_open_for(const char *path, int flags) {
    return CALL4(openat, AT_CURRENT_DIRECTORY, path, flags | OPEN_CLOEXEC, 0);
}
/* Of an open file, or of AT_CURRENT_DIRECTORY. */
static inline long sys_stat(int fd, struct kernel_stat *into) {
    return CALL4(newfstatat, fd, "", into, AT_EMPTY_NAME);
}
static inline long sys_unshare(uint32_t kinds) {
    return CALL1(unshare, kinds);
}
static inline long sys_fork(void) {
    return system_call(NR_clone, SIGNAL_CHILD, 0, 0, 0, 0, 0);
}
static inline long sys_pidfd(int pid) {
    return CALL2(pidfd_open, pid, 0);
}
static inline long sys_socket(int family, int type) {
    return CALL3(socket, family, type, 0);
}
static inline long sys_connect(int fd, const struct kernel_local_address *address) {
    return CALL3(connect, fd, address, sizeof *address);
}
static inline long sys_mount(const char *kind, const char *path, unsigned long flags,
                             const char *options) {
    return CALL5(mount, kind, path, kind, flags, options);
}
static inline long sys_open_tree(int directory, const char *path, uint32_t flags) {
    return CALL3(open_tree, directory, path, flags | TREE_CLONE | TREE_CLOEXEC);
}
static inline long sys_move_mount(int from, int onto) {
    return CALL5(move_mount, from, "", onto, "", MOVE_FROM_FD | MOVE_ONTO_FD);
}
static inline long sys_mount_set(int directory, const char *path, uint32_t flags,
                                 const struct kernel_mount_attributes *attributes) {
    return CALL5(mount_setattr, directory, path, flags, attributes, sizeof *attributes);
}
static inline long sys_make_directory(const char *path, uint32_t mode) {
    return CALL3(mkdirat, AT_CURRENT_DIRECTORY, path, mode);
}
static inline long sys_make_file(const char *path, uint32_t mode) {
    return CALL4(mknodat, AT_CURRENT_DIRECTORY, path, NODE_REGULAR | mode, 0);
}
static inline long sys_make_link(const char *target, const char *path) {
    return CALL3(symlinkat, target, AT_CURRENT_DIRECTORY, path);
}
static inline long sys_landlock_create(const struct kernel_ruleset *ruleset, size_t size) {
    return CALL3(landlock_create_ruleset, ruleset, size, 0);
}
static inline long sys_landlock_add(int ruleset, int kind, const void *rule) {
    return CALL4(landlock_add_rule, ruleset, kind, rule, 0);
}
static inline long sys_landlock_restrict(int ruleset) {
    return CALL2(landlock_restrict_self, ruleset, 0);
}
static inline long sys_filter(uint32_t flags, const struct kernel_filter *filter) {
    return CALL3(seccomp, FILTER_SET, flags, filter);
}
static inline long sys_capset(const struct kernel_capability_header *header,
                              const struct kernel_capabilities *sets) {
    return CALL2(capset, header, sets);
}

#endif
