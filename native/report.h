/* The talk on the control socket: reports to the engine, commands from it. */
#ifndef FAIRLEAD_REPORT_H
#define FAIRLEAD_REPORT_H

#include "sys.h"

enum report_kind {
    REPORT_FAILED = 1, /* a: step, b: op, c: errno. Nothing ran. */
    REPORT_STARTED,    /* a: pid of the command */
    REPORT_EXITED,     /* a: its raw wait status, b: 1 if other descendants live */
    REPORT_GONE,       /* no descendant is left */
    REPORT_READY,      /* serving; the directory of terminals comes along, if there is one */
    REPORT_LISTENER,   /* comes along: who holds it answers what the filter asks */
    REPORT_COMMAND,    /* the sender is the command: the kernel says who that is */
};

struct report {
    uint32_t kind;
    int32_t a, b, c;
};

enum command_kind {
    COMMAND_SIGNAL_TREE = 1, /* argument: the signal */
    COMMAND_KILL_TREE,
};

struct command {
    uint32_t kind;
    int32_t argument;
};

/* What a serving launcher is asked, in the same form. A guard's socket comes along. */
enum request_kind { REQUEST_GUARD = 1 };

/* Sends without ever waiting. False means that nobody listens any more. */
static inline bool report_send(int control, const struct report *reports, unsigned count) {
    long size = (long)(count * sizeof *reports);
    long sent;
    do
        sent = sys_send(control, reports, (size_t)size, MESSAGE_DONT_WAIT | MESSAGE_NO_SIGNAL);
    while (sent == -ERR_INTR);
    return sent == size;
}

#endif
