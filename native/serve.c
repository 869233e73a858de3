/* The last step of a process that serves: it stands where commands shall run, with all that
 * confines them, and forks a guard whenever the engine sends the socket for one. */
#include "launcher.h"
#include "passing.h"
#include "report.h"
#include "steps.h"
#include "sys_confine.h"
#include "tree.h"

enum { FIRST_PAUSE_MS = 2, LONGEST_PAUSE_MS = 200 };

struct service {
    int control;
    struct numbers guards;   /* that live */
    struct numbers children; /* the last look */
    bool orphans;            /* a guard was killed: those it guarded fall to us, and have to go */
    uint64_t guard_mask;     /* the signals that its guards begin with blocked: none */
};

static void child_ended(int signal) {
    (void)signal; /* being interrupted is all that is wanted */
}

/* Children are heard of only while it waits: nothing is missed before, nothing interrupts after. */
static long wait_for_news(struct kernel_poll *poll, struct kernel_time *left) {
    const uint64_t all_but_child = ~(1ull << (SIGNAL_CHILD - 1));
    return sys_poll(poll, 1, left, &all_but_child);
}

/* Collects who has ended. False if nobody is left who could still end. */
static bool reap(struct service *service) {
    for (;;) {
        int status = 0;
        long pid = sys_wait(-1, &status, WAIT_NO_HANG | WAIT_ALL_KINDS);
        if (pid <= 0)
            return pid != -ERR_CHILD;
        bool killed = status & 0x7F;
        service->orphans |= killed && numbers_have(&service->guards, (int)pid);
        numbers_remove(&service->guards, (int)pid);
    }
}

/* Until nobody is left: the children of one who is killed fall to us in turn. */
static void end_orphans(struct service *service) {
    service->orphans = kill_other_children(&service->children, &service->guards);
}

/* The engine let go. The end of a first process is the end of all inside; anyone else sees to it
 * that nobody is left: the guards, and what had the luck to lose its own. */
static _Noreturn void leave(struct service *service) {
    struct tree tree = {{0}, {0}};
    struct kernel_poll nothing = {-1, 0, 0};
    if (sys_getpid() == FIRST_PROCESS)
        sys_exit(0);
    for (int pause = FIRST_PAUSE_MS; reap(service); pause *= pause < LONGEST_PAUSE_MS ? 2 : 1) {
        struct kernel_time left = {0, pause * 1000000};
        tree_signal(&tree, SIGNAL_KILL);
        wait_for_news(&nothing, &left);
    }
    sys_exit(0);
}

/* In the new process: as if the launcher had been executed with this socket. */
static _Noreturn void become_launcher(const struct service *service, int socket) {
    const struct kernel_sigaction standard = {0};
    sys_close(service->control);
    sys_prctl(PR_NAME, (unsigned long)"fairlead-guard");
    sys_sigaction(SIGNAL_CHILD, &standard);
    sys_sigmask(&service->guard_mask, 0);
    sys_exit(launcher_exec(socket, socket));
}

static void start_guard(struct service *service, int socket) {
    long child = sys_fork();
    if (child == 0)
        become_launcher(service, socket);
    if (child > 0)
        numbers_add(&service->guards, (int)child);
    if (child < 0) {
        const struct report report = {REPORT_FAILED, 0, OP_SERVE, (int32_t)-child};
        report_send(socket, &report, 1);
    }
}

/* What is no request is answered as everything is that goes wrong: its sockets are closed. */
static void hear(struct service *service) {
    struct command request = {0, 0};
    struct passed passed;
    passed.count = 0;
    long got = receive_with_fds(service->control, &request, sizeof request, MESSAGE_DONT_WAIT,
                                &passed);
    if (got == -ERR_AGAIN || got == -ERR_INTR)
        return;
    if (got <= 0)
        leave(service);
    if (got == sizeof request && request.kind == REQUEST_GUARD && request.argument == 0 &&
        passed.count == 1)
        start_guard(service, passed.fds[0]);
    for (uint32_t at = 0; at < passed.count; at++)
        sys_close(passed.fds[at]);
}

static int tell_ready(int control, const char *terminals) {
    const struct report report = {REPORT_READY, 0, 0, 0};
    if (!*terminals)
        return report_send(control, &report, 1) ? 0 : ERR_PIPE;
    int directory = (int)sys_open_for(terminals, OPEN_PATH | OPEN_DIRECTORY);
    if (directory < 0)
        return -directory;
    int error = send_with_fd(control, &report, sizeof report, directory);
    sys_close(directory);
    return error;
}

static void settle_down(struct launch *launch) {
    const uint64_t all_signals = ~0ull;
    const struct kernel_sigaction interrupt = {child_ended, SIGNAL_RETURN_FLAGS, SIGNAL_RETURN, 0};
    sys_sigmask(&all_signals, 0);
    reset_signals(launch); /* once for all commands */
    sys_sigaction(SIGNAL_CHILD, &interrupt);
    sys_prctl(PR_NAME, (unsigned long)"fairlead-serve");
    sys_prctl(PR_CHILD_SUBREAPER, 1); /* for those who lose their guard; no child inherits it */
    /* Neither it nor a guard is to be traced by a command, which may be of the same user. */
    sys_prctl(PR_DUMPABLE, 0);
    sys_chdir("/");
    close_all_but(launch->control);
}

int step_serve(struct launch *launch, struct step *step) {
    settle_down(launch);
    int error = tell_ready(launch->control, step_text(step, 0, 0));
    if (error)
        return error;
    struct service service = {.control = launch->control, .guard_mask = launch->signal_mask};
    struct kernel_poll poll = {service.control, POLL_READABLE, 0};
    sys_unmap(launch->workspace, launch->size);
    for (;;) {
        struct kernel_time soon = {0, FIRST_PAUSE_MS * 1000000};
        long news = wait_for_news(&poll, service.orphans ? &soon : 0);
        if (news > 0)
            hear(&service);
        else if (news < 0 && news != -ERR_INTR)
            leave(&service); /* who can't hear must not stay */
        reap(&service);
        if (service.orphans)
            end_orphans(&service);
    }
}
