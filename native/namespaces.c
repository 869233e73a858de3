/* The steps that give a command namespaces of its own, and a first process in them. */
#include "steps.h"
#include "sys_confine.h"
#include "text.h"

enum { EXIT_NOTHING_RAN = 127 };

static int write_file(const char *path, const char *text) {
    int file = (int)sys_open_for(path, OPEN_FOR_WRITING);
    if (file < 0)
        return -file;
    long written = sys_write(file, text, text_length(text));
    sys_close(file);
    return written < 0 ? (int)-written : 0;
}

static const char *behind_number(const char *text) {
    while (*text == ' ')
        text++;
    while (is_digit(*text))
        text++;
    while (*text == ' ')
        text++;
    return text;
}

/* "INSIDE OUTSIDE 1": all that somebody without privileges may map. */
static bool maps_one_id(const char *map) {
    const char *count = behind_number(behind_number(map));
    return text_equal(count, "1") || text_equal(count, "1\n");
}

int step_user_namespace(struct launch *launch, struct step *step) {
    (void)launch;
    const char *uid_map = step_text(step, 0, 0), *gid_map = step_text(step, 0, 1);
    int error = (int)-sys_unshare(CLONE_USER);
    if (!error && maps_one_id(gid_map)) {
        error = write_file("/proc/self/setgroups", "deny");
        if (error == ERR_NOENT) /* a kernel that does not ask for it */
            error = 0;
    }
    if (!error)
        error = write_file("/proc/self/uid_map", uid_map);
    return error ? error : write_file("/proc/self/gid_map", gid_map);
}

int step_unshare(struct launch *launch, struct step *step) {
    (void)launch;
    return (int)-sys_unshare(step_word(step, 0));
}

int step_loopback(struct launch *launch, struct step *step) {
    (void)launch, (void)step;
    struct kernel_interface lo = {.name = "lo", .flags = INTERFACE_UP};
    /* Any socket will do, and there may be no IPv4. */
    int door = (int)sys_socket(SOCKET_LOCAL, SOCKET_DATAGRAM | SOCKET_CLOEXEC);
    if (door < 0)
        return -door;
    int error = (int)-sys_ioctl(door, IOCTL_SET_INTERFACE, (long)&lo);
    sys_close(door);
    return error;
}

int step_join_group(struct launch *launch, struct step *step) {
    (void)launch;
    return write_file(step_text(step, 0, 0), "0");
}

/* Stays outside for as long as anything lives inside, and is nothing but the life line of its
 * child. The control socket stays open: its end says that the inside is gone. */
static _Noreturn void stand_outside(const struct launch *launch, int child) {
    int control = launch->control;
    sys_unmap(launch->workspace, launch->size);
    close_all_but(control);
    sys_chdir("/");
    sys_prctl(PR_NAME, (unsigned long)"fairlead-outer");
    while (sys_wait(child, 0, WAIT_ALL_KINDS) == -ERR_INTR)
        ;
    sys_exit(0);
}

/* In a pid namespace nobody outside has a number, so the parent is known by descriptor. */
static int die_with(int parent) {
    struct kernel_poll gone = {parent, POLL_READABLE, 0};
    struct kernel_time at_once = {0, 0};
    int error = (int)-sys_prctl(PR_PARENT_DEATH_SIGNAL, SIGNAL_KILL);
    /* It may have died before the kernel knew that we care. */
    if (!error && sys_poll(&gone, 1, &at_once, 0) > 0)
        sys_exit(EXIT_NOTHING_RAN);
    return error;
}

int step_init(struct launch *launch, struct step *step) {
    (void)step;
    const uint64_t all_signals = ~0ull;
    uint64_t mask = 0;
    int self = (int)sys_pidfd(sys_getpid());
    if (self < 0)
        return -self;
    sys_sigmask(&all_signals, &mask); /* for the one outside; before there is an inside to lose */
    long child = sys_fork();
    if (child > 0)
        stand_outside(launch, (int)child);
    sys_sigmask(&mask, 0);
    int error = child < 0 ? (int)-child : die_with(self);
    sys_close(self);
    return error;
}
