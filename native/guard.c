/* The guard: the command's parent. Whatever the command starts, however often it forks, ends up
 * as a descendant of the guard (it is a subreaper), so that nothing outlives it unnoticed. It
 * ends the tree when the engine says so, or when the engine is gone. */
#include "report.h"
#include "steps.h"
#include "sys_confine.h"
#include "tree.h"

enum {
    EXIT_NOTHING_RAN = 127,
    FIRST_PAUSE_MS = 2,
    LONGEST_PAUSE_MS = 50,
    FIRST_STUCK_PAUSE_MS = 50, /* when what is left is not ours to kill */
    LONGEST_STUCK_PAUSE_MS = 200,
    PAGE_SIZE = 4096,
    WORTH_UNMAPPING = 64 * 1024, /* for less the call costs more than it gives back */
};

struct guard {
    int control;
    int command_pid;
    int command_status;
    bool command_ended;
    bool ending_told;
    bool deaf;      /* nobody gives orders any more */
    bool killing;   /* the tree has to go */
    bool round_due; /* now */
    bool stuck;     /* the last round reached nobody, and some refused */
    int pause_ms;
    struct kernel_time until_round;
    struct command command; /* as far as it has arrived */
    uint32_t command_bytes;
    struct tree tree;
};

static void run_child(void *argument) {
    struct attempt *attempt = argument;
    attempt->error = steps_apply(&attempt->launch, &attempt->step);
    sys_exit(EXIT_NOTHING_RAN);
}

static void start_killing(struct guard *guard) {
    guard->killing = true;
    guard->round_due = true;
    guard->stuck = false;
    guard->pause_ms = 0;
}

static void hear(struct guard *guard) {
    char *rest = (char *)&guard->command + guard->command_bytes;
    size_t size = sizeof guard->command - guard->command_bytes;
    long got = sys_receive(guard->control, rest, size, MESSAGE_DONT_WAIT);
    if (got == -ERR_AGAIN || got == -ERR_INTR)
        return;
    if (got <= 0) { /* the engine died or let go */
        guard->deaf = true;
        start_killing(guard);
        return;
    }
    guard->command_bytes += (uint32_t)got;
    if (guard->command_bytes < sizeof guard->command)
        return;
    guard->command_bytes = 0;
    int signal = guard->command.argument;
    if (guard->command.kind == COMMAND_KILL_TREE)
        start_killing(guard);
    else if (guard->command.kind == COMMAND_SIGNAL_TREE && signal > 0 && signal <= SIGNAL_LAST)
        tree_signal(&guard->tree, signal);
}

/* Collects who has ended. False if nobody is left who could still end. */
static bool reap(struct guard *guard) {
    for (;;) {
        int status = 0;
        long pid = sys_wait(-1, &status, WAIT_NO_HANG | WAIT_ALL_KINDS);
        if (pid <= 0)
            return pid != -ERR_CHILD;
        if (pid == guard->command_pid) {
            guard->command_ended = true;
            guard->command_status = status;
        }
    }
}

/* Both pieces of news in one message if there are both: that is the usual end. */
static void tell_endings(struct guard *guard, bool others_alive) {
    struct report reports[2];
    unsigned count = 0;
    if (guard->command_ended && !guard->ending_told) {
        reports[count++] =
            (struct report){REPORT_EXITED, guard->command_status, others_alive, 0};
        guard->ending_told = true;
    }
    if (!others_alive)
        reports[count++] = (struct report){REPORT_GONE, 0, 0, 0};
    if (count && !report_send(guard->control, reports, count) && !guard->deaf) {
        guard->deaf = true;
        start_killing(guard);
    }
}

static void kill_round(struct guard *guard) {
    struct toll toll = tree_signal(&guard->tree, SIGNAL_KILL);
    guard->stuck = toll.refused && !toll.reached;
    int first = guard->stuck ? FIRST_STUCK_PAUSE_MS : FIRST_PAUSE_MS;
    int longest = guard->stuck ? LONGEST_STUCK_PAUSE_MS : LONGEST_PAUSE_MS;
    int pause = 2 * guard->pause_ms;
    guard->pause_ms = pause < first ? first : pause > longest ? longest : pause;
    guard->until_round = (struct kernel_time){0, guard->pause_ms * 1000000};
    guard->round_due = false;
}

/* Waits for an order, the end of a child, or the time for the next round. */
static void wait_for_news(struct guard *guard) {
    /* Children are heard of only here: nothing is missed before, nothing interrupts after. */
    const uint64_t all_but_child = ~(1ull << (SIGNAL_CHILD - 1));
    struct kernel_poll control = {guard->control, POLL_READABLE, 0};
    /* The kernel takes the time that passed off `until_round`, so that a stream of other news
     * can't put the next round off for ever. */
    struct kernel_time *left = guard->killing ? &guard->until_round : 0;
    long result = sys_poll(&control, !guard->deaf, left, &all_but_child);
    if (result == 0 || (result == -ERR_INTR && !guard->stuck))
        guard->round_due = true;
    if (result > 0)
        hear(guard);
    if (result < 0 && result != -ERR_INTR && !guard->deaf) { /* no orders, no life */
        guard->deaf = true;
        start_killing(guard);
    }
}

static _Noreturn void keep_watch(struct guard *guard) {
    bool others_alive;
    do {
        if (guard->killing && guard->round_due)
            kill_round(guard);
        wait_for_news(guard);
        others_alive = reap(guard);
        tell_endings(guard, others_alive);
    } while (others_alive);
    sys_exit(0);
}

/* Lets go of everything that belongs to the command: pipes must reach their end without us, and
 * its directory must be removable. */
static void settle_down(const struct launch *launch) {
    if (launch->plan.length >= WORTH_UNMAPPING) {
        uintptr_t begin = ((uintptr_t)launch->plan.data + PAGE_SIZE - 1) & -(uintptr_t)PAGE_SIZE;
        sys_unmap((void *)begin, (uintptr_t)launch->pointers - begin);
    }
    close_all_but(launch->control);
    sys_chdir("/");
    sys_prctl(PR_NAME, (unsigned long)"fairlead-guard");
}

static _Noreturn void report_failure(int control, int child, const struct attempt *attempt) {
    const struct step *step = &attempt->step;
    int error = attempt->error ? attempt->error : ERR_INTR;
    struct report report = {REPORT_FAILED, (int32_t)step->index, (int32_t)step->op, error};
    sys_wait(child, 0, WAIT_ALL_KINDS);
    report_send(control, &report, 1);
    sys_exit(EXIT_NOTHING_RAN);
}

static _Noreturn void stand_guard(const struct launch *launch, int child) {
    struct guard guard = {.control = launch->control, .command_pid = child};
    struct report started = {REPORT_STARTED, child, 0, 0};
    if (!report_send(guard.control, &started, 1))
        start_killing(&guard);
    settle_down(launch);
    keep_watch(&guard);
}

static void child_ended(int signal) {
    (void)signal; /* being interrupted is all that is wanted */
}

static int become_guard(struct launch *launch, uint32_t flags) {
    const uint64_t all_signals = ~0ull;
    const struct kernel_sigaction interrupt = {child_ended, SIGNAL_RETURN_FLAGS, SIGNAL_RETURN, 0};
    long result = 0;
    if (flags & GUARD_OWN_SESSION)
        result = sys_setsid();
    else if (flags & GUARD_OWN_GROUP)
        result = sys_setpgid(0, 0);
    if (result < 0)
        return (int)-result;
    launch->guard = sys_getpid();
    sys_sigmask(&all_signals, &launch->signal_mask);
    sys_sigaction(SIGNAL_CHILD, &interrupt);
    /* Its command may be of the same user and see it: its memory is not to be opened. */
    sys_prctl(PR_DUMPABLE, 0);
    return (int)-sys_prctl(PR_CHILD_SUBREAPER, 1);
}

int step_guard(struct launch *launch, struct step *step) {
    int error = become_guard(launch, step_word(step, 0));
    if (error)
        return error;
    struct attempt *attempt = &launch->workspace->attempt;
    attempt->launch = *launch;
    attempt->step = *step;
    char *stack_top = launch->workspace->child_stack + CHILD_STACK_SIZE;
    long child = start_child(stack_top, run_child, attempt);
    if (child < 0)
        return (int)-child;
    if (attempt->error || !attempt->launch.at_exec)
        report_failure(launch->control, (int)child, attempt);
    stand_guard(launch, (int)child);
}
