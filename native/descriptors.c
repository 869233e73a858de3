/* The step that gives a command exactly the descriptors it is meant to have. */
#include "steps.h"
#include "text.h"

enum { MOST_KEPT = PLAN_MOST_PAIRS + 64 };

/* Descriptors that survive, in rising order. */
struct kept {
    int fds[MOST_KEPT];
    int count;
};

static bool keep(struct kept *kept, int fd) {
    int at = kept->count;
    if (at == MOST_KEPT)
        return false;
    for (; at > 0 && kept->fds[at - 1] > fd; at--)
        kept->fds[at] = kept->fds[at - 1];
    kept->fds[at] = fd;
    kept->count++;
    return true;
}

static bool is_kept(const struct kept *kept, int fd) {
    for (int at = 0; at < kept->count; at++)
        if (kept->fds[at] == fd)
            return true;
    return false;
}

static uint32_t source(const struct step *step, uint32_t pair) {
    return step_word(step, 2 * pair);
}

static uint32_t target(const struct step *step, uint32_t pair) {
    return step_word(step, 2 * pair + 1);
}

static bool is_target(const struct step *step, int fd) {
    for (uint32_t pair = 0; pair < step->length / 8; pair++)
        if ((int)target(step, pair) == fd)
            return true;
    return false;
}

/* A duplicate of `fd` on a number that no pair will overwrite, or a negated errno. */
static int move_aside(const struct step *step, int fd) {
    int lowest = 0;
    for (;;) {
        int copy = (int)sys_fcntl(fd, FD_DUPLICATE_CLOEXEC, lowest);
        if (copy < 0 || !is_target(step, copy))
            return copy;
        sys_close(copy);
        lowest = copy + 1;
    }
}

/* The descriptor that a later step names, as the number of its payload's first word. */
static bool names_descriptor(const struct step *step) {
    return step->op == OP_DIRECTORY_FD || step->op == OP_EXEC_FD;
}

/* Descriptors for later steps stay open until exec, out of the pairs' way. */
static int secure_named(struct launch *launch, const struct step *step, struct kept *kept) {
    struct step later = *step;
    while (plan_next(&launch->plan, &later) == 1) {
        if (!names_descriptor(&later))
            continue;
        int fd = (int)step_word(&later, 0);
        if (is_target(step, fd)) {
            fd = move_aside(step, fd);
            if (fd < 0)
                return -fd;
            step_set_word(&later, 0, (uint32_t)fd);
        } else {
            sys_fcntl(fd, FD_SET_FLAGS, FD_CLOEXEC_FLAG);
        }
        if (!keep(kept, fd))
            return ERR_INVAL;
    }
    return 0;
}

static int secure_control(struct launch *launch, const struct step *step, struct kept *kept) {
    if (is_target(step, launch->control)) {
        int fd = move_aside(step, launch->control);
        if (fd < 0)
            return -fd;
        launch->control = fd;
    }
    return keep(kept, launch->control) ? 0 : ERR_INVAL;
}

/* A source that some other pair overwrites is read from a copy. All are looked at first: a copy
 * must not take the number of a descriptor that is not open and make it look open. */
static int secure_sources(struct step *step) {
    uint32_t count = step->length / 8;
    for (uint32_t pair = 0; pair < count; pair++) {
        long flags = sys_fcntl((int)source(step, pair), FD_GET_FLAGS, 0);
        if (flags < 0)
            return (int)-flags;
    }
    for (uint32_t pair = 0; pair < count; pair++) {
        int fd = (int)source(step, pair);
        if (fd == (int)target(step, pair) || !is_target(step, fd))
            continue;
        fd = move_aside(step, fd);
        if (fd < 0)
            return -fd;
        step_set_word(step, 2 * pair, (uint32_t)fd);
    }
    return 0;
}

static int put_in_place(const struct step *step, struct kept *kept) {
    for (uint32_t pair = 0; pair < step->length / 8; pair++) {
        int from = (int)source(step, pair), to = (int)target(step, pair);
        long result = from == to ? sys_fcntl(to, FD_SET_FLAGS, 0) : sys_dup3(from, to, 0);
        if (result < 0)
            return (int)-result;
        if (!keep(kept, to))
            return ERR_INVAL;
    }
    return 0;
}

static int close_listed(const struct kept *kept, int listing) {
    char buffer[2048] __attribute__((aligned(8)));
    long size;
    while ((size = sys_list_directory(listing, buffer, sizeof buffer)) > 0)
        for (long at = 0; at < size;) {
            struct kernel_dirent *entry = (void *)(buffer + at);
            int fd = text_number(entry->name);
            if (fd >= 0 && fd != listing && !is_kept(kept, fd))
                sys_close(fd);
            at += entry->size;
        }
    return (int)-size;
}

/* For kernels before 5.9, and for filters that do not know the call. */
static int close_one_by_one(const struct kept *kept) {
    int listing = (int)sys_open("/proc/self/fd");
    if (listing >= 0) {
        int error = close_listed(kept, listing);
        sys_close(listing);
        return error;
    }
    struct kernel_limit limit;
    long result = sys_prlimit(LIMIT_OPEN_FILES, 0, &limit);
    if (result < 0)
        return (int)-result;
    for (int fd = 0; (uint64_t)fd < limit.hard && fd < 1 << 20; fd++)
        if (!is_kept(kept, fd))
            sys_close(fd);
    return 0;
}

static int close_others(const struct kept *kept) {
    uint32_t from = 0;
    for (int at = 0; at <= kept->count; at++) {
        bool last = at == kept->count;
        uint32_t to = last ? ~0u : (uint32_t)kept->fds[at];
        if (from < to && sys_close_range(from, last ? to : to - 1) < 0)
            return close_one_by_one(kept);
        from = to + 1;
    }
    return 0;
}

int step_descriptors(struct launch *launch, struct step *step) {
    struct kept kept;
    kept.count = 0;
    int error = secure_sources(step);
    if (!error)
        error = secure_control(launch, step, &kept);
    if (!error)
        error = secure_named(launch, step, &kept);
    if (!error)
        error = put_in_place(step, &kept);
    return error ? error : close_others(&kept);
}

int close_all_but(int fd) {
    struct kept kept;
    kept.count = 1;
    kept.fds[0] = fd;
    return close_others(&kept);
}
