/* The plan: what to do, as the engine wrote it. src/fairlead/spawn/plan.py is the other end.
 *
 *     "FLP1", u32 length of everything, then steps:
 *     u32 op, u32 payload length, payload, zeros up to a multiple of 4
 *
 * All numbers are little endian, as on every machine this program is built for. */
#ifndef FAIRLEAD_PLAN_H
#define FAIRLEAD_PLAN_H

#include "sys.h"

enum { PLAN_HEADER_SIZE = 8, PLAN_LARGEST = 8 << 20, PLAN_MOST_PAIRS = 256 };

/* A descriptor's number with this bit is its place among those that came with the plan. */
#define PLAN_PASSED 0x80000000u

enum op {
    OP_NONE, /* the plan itself, where a report has to name a step */
    OP_GUARD,
    OP_SESSION,
    OP_PROCESS_GROUP,
    OP_DESCRIPTORS,
    OP_CONTROLLING_TTY,
    OP_PARENT_DEATH,
    OP_LIMIT,
    OP_SIGNALS,
    OP_DIRECTORY,
    OP_DIRECTORY_FD,
    OP_UMASK,
    OP_ARGV,
    OP_ENVIRONMENT,
    OP_EXEC,
    OP_EXEC_FD,
    OP_USER_NAMESPACE,
    OP_UNSHARE,
    OP_INIT,
    OP_LOOPBACK,
    OP_MOUNT_TREE,
    OP_MOUNT_ATTACH,
    OP_MOUNT_ATTRIBUTES,
    OP_MOUNT_PRIVATE,
    OP_MOUNT_NEW,
    OP_MAKE_NODE,
    OP_LANDLOCK,
    OP_LANDLOCK_PATH,
    OP_LANDLOCK_PORT,
    OP_LANDLOCK_APPLY,
    OP_NO_NEW_PRIVILEGES,
    OP_DROP_CAPABILITIES,
    OP_SECCOMP,
    OP_JOIN_GROUP,
    OP_CHECKED_DIRECTORY,
    OP_IDENTIFY,
    OP_SERVE,
    OP_COUNT,
};

/* What a guard sets apart from the engine that started it. */
enum { GUARD_OWN_SESSION = 1, GUARD_OWN_GROUP = 2 };

/* What OP_MAKE_NODE makes. */
enum node { NODE_DIRECTORY = 1, NODE_FILE, NODE_LINK };

enum {
    MOUNT_SLOTS = 64,        /* mount trees held at a time */
    FILTER_MOST = 4096,      /* instructions, as the kernel has it */
    FILTER_INSTRUCTION = 8,  /* sizeof(struct sock_filter) */
    NAMESPACE_PID = 0x20000000,
    NAMESPACES = 0x6E020000, /* those that OP_UNSHARE may make: every kind but user and time */
    ATTRIBUTES = 0xF,        /* read-only, no set-uid, no devices, no execution */
    NODE_MODE = 01777,
};

struct plan {
    unsigned char *data;
    uint32_t length;
};

/* One step of a plan. A zeroed one stands before the first. */
struct step {
    uint32_t index;
    uint32_t op;
    uint32_t length;
    unsigned char *payload;
    uint32_t end; /* where the next step begins */
};

/* The length that a plan's header declares, or 0 if it is not the header of a plan. */
uint32_t plan_declared_length(const unsigned char header[PLAN_HEADER_SIZE]);

/* Moves on to the next step: 1 if there is one, 0 at the end, -1 if it reaches out of the plan. */
int plan_next(const struct plan *plan, struct step *step);

/* Whether every step may be applied without looking at its bounds again. If not, `flawed` names
 * the first step that is wrong. */
bool plan_valid(const struct plan *plan, struct step *flawed);

/* Puts the numbers of the descriptors that came with the plan where it names their places. False
 * if it names one that did not come; then `flawed` is the step that does. Bounds are respected,
 * but nothing else is checked: that is for `plan_valid`, afterwards. */
bool plan_resolve(struct plan *plan, const int *passed, uint32_t count, struct step *flawed);

/* The payload's `index`th number. */
uint32_t step_word(const struct step *step, uint32_t index);

/* The number of 64 bits in the payload's `index`th and next word. */
uint64_t step_number(const struct step *step, uint32_t index);
void step_set_word(struct step *step, uint32_t index, uint32_t value);

/* How many NUL-terminated strings the payload holds behind so many numbers. */
uint32_t step_strings(const struct step *step, uint32_t words);

/* The `index`th of them, which has to be there. */
const char *step_text(const struct step *step, uint32_t words, uint32_t index);

#endif
