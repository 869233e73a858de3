#include "passing.h"

enum { MOST_IN_A_MESSAGE = 253 }; /* the kernel's limit, and it passes none without room for it */

static void collect(struct passed *passed, const struct kernel_control *control, size_t size) {
    if (size < sizeof *control || control->level != SOCKET_LEVEL || control->type != SOCKET_RIGHTS)
        return;
    uint32_t count = (uint32_t)((control->size - sizeof *control) / sizeof(int));
    for (uint32_t at = 0; at < count; at++)
        if (passed->count < PLAN_MOST_PAIRS)
            passed->fds[passed->count++] = control->fds[at];
        else
            sys_close(control->fds[at]);
}

long receive_with_fds(int fd, void *into, size_t size, int flags, struct passed *passed) {
    char room[sizeof(struct kernel_control) + MOST_IN_A_MESSAGE * sizeof(int)]
        __attribute__((aligned(8)));
    struct kernel_piece piece = {into, size};
    struct kernel_message message = {
        .pieces = &piece, .piece_count = 1, .control = room, .control_size = sizeof room};
    long got = sys_receive_message(fd, &message, flags | MESSAGE_CLOEXEC);
    if (got >= 0)
        collect(passed, (struct kernel_control *)room, message.control_size);
    return got;
}

int send_with_fd(int fd, const void *from, size_t size, int passed) {
    char room[sizeof(struct kernel_control) + 2 * sizeof(int)] __attribute__((aligned(8)));
    struct kernel_control *control = (struct kernel_control *)room;
    struct kernel_piece piece = {(void *)(uintptr_t)from, size};
    struct kernel_message message = {
        .pieces = &piece, .piece_count = 1, .control = room, .control_size = sizeof room};
    control->size = sizeof *control + sizeof(int);
    control->level = SOCKET_LEVEL;
    control->type = SOCKET_RIGHTS;
    control->fds[0] = passed;
    control->fds[1] = 0; /* the kernel's messages fill whole words */
    long sent;
    do
        sent = sys_send_message(fd, &message, MESSAGE_DONT_WAIT | MESSAGE_NO_SIGNAL);
    while (sent == -ERR_INTR);
    if (sent < 0)
        return (int)-sent;
    return (size_t)sent == size ? 0 : ERR_PIPE;
}
