#include "steps.h"

#include "report.h"

static int step_session(struct launch *launch, struct step *step) {
    (void)launch, (void)step;
    long result = sys_setsid();
    return result < 0 ? (int)-result : 0;
}

static int step_process_group(struct launch *launch, struct step *step) {
    (void)launch, (void)step;
    return (int)-sys_setpgid(0, 0);
}

static int step_controlling_tty(struct launch *launch, struct step *step) {
    (void)launch;
    return (int)-sys_ioctl((int)step_word(step, 0), IOCTL_SET_CONTROLLING_TTY, 0);
}

static int step_parent_death(struct launch *launch, struct step *step) {
    int signal = (int)step_word(step, 0);
    int parent = step_word(step, 1) ? (int)step_word(step, 1) : launch->guard;
    long result = sys_prctl(PR_PARENT_DEATH_SIGNAL, (unsigned long)signal);
    if (result < 0)
        return (int)-result;
    if (sys_getppid() == parent)
        return 0;
    /* It died before the kernel knew that we care: do what the kernel would have done. */
    const struct kernel_sigaction standard = {0};
    const uint64_t nothing_blocked = 0;
    sys_sigaction(signal, &standard);
    sys_sigmask(&nothing_blocked, 0);
    sys_kill(sys_getpid(), signal);
    return ERR_SRCH;
}

static int step_limit(struct launch *launch, struct step *step) {
    (void)launch;
    struct kernel_limit limit = {
        .soft = step_word(step, 2) | (uint64_t)step_word(step, 3) << 32,
        .hard = step_word(step, 4) | (uint64_t)step_word(step, 5) << 32,
    };
    return (int)-sys_prlimit(step_word(step, 0), &limit, 0);
}

void reset_signals(struct launch *launch) {
    const struct kernel_sigaction standard = {0};
    for (int signal = 1; signal <= SIGNAL_LAST; signal++)
        if (signal != SIGNAL_KILL && signal != SIGNAL_STOP)
            sys_sigaction(signal, &standard);
    launch->signal_mask = 0;
}

static int step_signals(struct launch *launch, struct step *step) {
    (void)step;
    reset_signals(launch);
    return 0;
}

static int step_directory(struct launch *launch, struct step *step) {
    (void)launch;
    return (int)-sys_chdir((const char *)step->payload);
}

static int step_directory_fd(struct launch *launch, struct step *step) {
    (void)launch;
    return (int)-sys_fchdir((int)step_word(step, 0));
}

static int step_umask(struct launch *launch, struct step *step) {
    (void)launch;
    sys_umask(step_word(step, 0) & 07777);
    return 0;
}

/* Pointers to the payload's strings, as execve wants them. */
static char **point_at_strings(struct launch *launch, const struct step *step) {
    char **list = launch->pointers;
    for (uint32_t at = 0, begin = 0; at < step->length; at++)
        if (step->payload[at] == 0) {
            *launch->pointers++ = (char *)step->payload + begin;
            begin = at + 1;
        }
    *launch->pointers++ = 0;
    return list;
}

static int step_argv(struct launch *launch, struct step *step) {
    launch->argv = point_at_strings(launch, step);
    return 0;
}

static int step_environment(struct launch *launch, struct step *step) {
    launch->env = point_at_strings(launch, step);
    return 0;
}

static int step_identify(struct launch *launch, struct step *step) {
    (void)step;
    const struct report report = {REPORT_COMMAND, 0, 0, 0};
    return report_send(launch->control, &report, 1) ? 0 : ERR_PIPE;
}

static int (*const functions[OP_COUNT])(struct launch *, struct step *) = {
    [OP_GUARD] = step_guard,
    [OP_SESSION] = step_session,
    [OP_PROCESS_GROUP] = step_process_group,
    [OP_DESCRIPTORS] = step_descriptors,
    [OP_CONTROLLING_TTY] = step_controlling_tty,
    [OP_PARENT_DEATH] = step_parent_death,
    [OP_LIMIT] = step_limit,
    [OP_SIGNALS] = step_signals,
    [OP_DIRECTORY] = step_directory,
    [OP_DIRECTORY_FD] = step_directory_fd,
    [OP_UMASK] = step_umask,
    [OP_ARGV] = step_argv,
    [OP_ENVIRONMENT] = step_environment,
    [OP_EXEC] = step_exec,
    [OP_EXEC_FD] = step_exec_fd,
    [OP_USER_NAMESPACE] = step_user_namespace,
    [OP_UNSHARE] = step_unshare,
    [OP_INIT] = step_init,
    [OP_LOOPBACK] = step_loopback,
    [OP_MOUNT_TREE] = step_mount_tree,
    [OP_MOUNT_ATTACH] = step_mount_attach,
    [OP_MOUNT_ATTRIBUTES] = step_mount_attributes,
    [OP_MOUNT_PRIVATE] = step_mount_private,
    [OP_MOUNT_NEW] = step_mount_new,
    [OP_MAKE_NODE] = step_make_node,
    [OP_LANDLOCK] = step_landlock,
    [OP_LANDLOCK_PATH] = step_landlock_path,
    [OP_LANDLOCK_PORT] = step_landlock_port,
    [OP_LANDLOCK_APPLY] = step_landlock_apply,
    [OP_NO_NEW_PRIVILEGES] = step_no_new_privileges,
    [OP_DROP_CAPABILITIES] = step_drop_capabilities,
    [OP_SECCOMP] = step_seccomp,
    [OP_JOIN_GROUP] = step_join_group,
    [OP_CHECKED_DIRECTORY] = step_checked_directory,
    [OP_IDENTIFY] = step_identify,
    [OP_SERVE] = step_serve,
};

int steps_apply(struct launch *launch, struct step *step) {
    int error = 0;
    while (!error && plan_next(&launch->plan, step) == 1)
        error = functions[step->op](launch, step);
    return error;
}
