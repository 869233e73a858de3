/* fairlead-launcher: applies a plan that it was given, and decides nothing. */
#include "launcher.h"

#include "passing.h"
#include "report.h"
#include "steps.h"
#include "text.h"

enum { EXIT_USAGE = 2, EXIT_NOTHING_RAN = 127, STDOUT = 1, STDERR = 2 };

static int say(int fd, const char *text, int exit_code) {
    sys_write(fd, text, text_length(text));
    return exit_code;
}

/* What `read` does, where `passed` is given with the descriptors that come along. */
static long receive(int fd, void *into, size_t size, struct passed *passed) {
    return passed ? receive_with_fds(fd, into, size, 0, passed) : sys_read(fd, into, size);
}

/* The engine may have made its sockets non-blocking for its own sake. */
static long read_patiently(int fd, void *into, size_t size, struct passed *passed) {
    struct kernel_poll poll = {fd, POLL_READABLE, 0};
    for (;;) {
        long got = receive(fd, into, size, passed);
        if (got == -ERR_AGAIN)
            sys_poll(&poll, 1, 0, 0);
        else if (got != -ERR_INTR)
            return got;
    }
}

static int read_exactly(int fd, unsigned char *into, size_t size, struct passed *passed) {
    for (long got; size; into += got, size -= (size_t)got) {
        got = read_patiently(fd, into, size, passed);
        if (got <= 0)
            return got < 0 ? (int)-got : ERR_INVAL;
    }
    return 0;
}

static int read_plan(int fd, struct launch *launch, struct passed *passed) {
    struct plan *plan = &launch->plan;
    unsigned char header[PLAN_HEADER_SIZE];
    int error = read_exactly(fd, header, sizeof header, passed);
    if (error)
        return error;
    plan->length = plan_declared_length(header);
    if (!plan->length)
        return ERR_INVAL;
    size_t size = sizeof(struct workspace) + plan->length + (plan->length + 2) * sizeof(char *);
    launch->size = size;
    launch->workspace = sys_map(size, MEMORY_SEEN_BY_CHILD);
    if (map_failed(launch->workspace))
        return (int)-(long)launch->workspace;
    plan->data = launch->workspace->plan;
    launch->pointers = (char **)(plan->data + ((plan->length + 7) & ~7u));
    return read_exactly(fd, plan->data + PLAN_HEADER_SIZE, plan->length - PLAN_HEADER_SIZE, 0);
}

static int apply_plan(struct launch *launch, int plan_fd, struct step *step) {
    bool shared = plan_fd == launch->control;
    struct passed passed;
    passed.count = 0; /* the rest is never looked at: clearing it would cost a page */
    int error = read_plan(plan_fd, launch, shared ? &passed : 0);
    if (!shared)
        sys_close(plan_fd);
    if (error)
        return error;
    if (!plan_resolve(&launch->plan, passed.fds, passed.count, step))
        return ERR_INVAL;
    if (!plan_valid(&launch->plan, step))
        return ERR_INVAL;
    *step = (struct step){0};
    return steps_apply(launch, step);
}

int launcher_exec(int plan_fd, int control) {
    struct launch launch = {.control = control};
    struct step step = {0};
    if (sys_fcntl(control, FD_SET_FLAGS, FD_CLOEXEC_FLAG) < 0)
        return say(STDERR, "fairlead-launcher: CONTROL_FD is not open\n", EXIT_NOTHING_RAN);
    sys_sigmask(0, &launch.signal_mask);
    int error = apply_plan(&launch, plan_fd, &step);
    struct report report = {REPORT_FAILED, (int32_t)step.index, (int32_t)step.op, error};
    report_send(launch.control, &report, 1);
    return EXIT_NOTHING_RAN;
}

int launcher_main(int argc, char **argv) {
    if (argc == 2 && text_equal(argv[1], "--version"))
        return say(STDOUT, "fairlead-launcher 1\n", 0);
    if (argc == 4 && text_equal(argv[1], "exec")) {
        int plan_fd = text_number(argv[2]), control = text_number(argv[3]);
        if (plan_fd >= 0 && control >= 0)
            return launcher_exec(plan_fd, control);
    }
    if (argc == 3 && text_equal(argv[1], "connect"))
        return launcher_connect(argv[2]);
    return say(STDERR,
               "usage: fairlead-launcher exec PLAN_FD CONTROL_FD | connect PATH | --version\n",
               EXIT_USAGE);
}
