/* Descriptors over sockets. */
#ifndef FAIRLEAD_PASSING_H
#define FAIRLEAD_PASSING_H

#include "plan.h"

/* Descriptors that came along, in their order. */
struct passed {
    int fds[PLAN_MOST_PAIRS];
    uint32_t count;
};

/* As `sys_receive`. What comes along is added to `passed`. */
long receive_with_fds(int fd, void *into, size_t size, int flags, struct passed *passed);

/* Sends all of it without ever waiting, and a descriptor with it. Returns an errno. */
int send_with_fd(int fd, const void *from, size_t size, int passed);

#endif
