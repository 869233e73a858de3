/* Applying a plan's steps. A new step needs an op and a rule (plan.h, valid.c) and a row in the
 * table of steps.c. */
#ifndef FAIRLEAD_STEPS_H
#define FAIRLEAD_STEPS_H

#include "plan.h"

/* All that steps know about the process they are applied in. */
struct launch {
    struct plan plan;
    struct workspace *workspace;
    size_t size;          /* of the workspace */
    char **pointers;      /* where the next list of pointers goes */
    int control;
    int guard;            /* its pid, or 0 if there is none */
    uint64_t signal_mask; /* what the command gets, unless a step resets it */
    bool at_exec;         /* nothing is left to do but to become the command */
    char **argv;
    char **env;
    int ruleset;            /* the one that is being written */
    int trees[MOUNT_SLOTS]; /* those that a step took, until it is attached */
};

enum { CHILD_STACK_SIZE = 62 * 1024 };

/* All the memory of a launch in one mapping, and what is usually touched in one or two of its
 * pages: a page fault costs more than most system calls. Behind the plan there is room for a
 * pointer to each of its bytes, so for as many strings as it can hold. */
struct workspace {
    char child_stack[CHILD_STACK_SIZE];
    /* What the child does, where the guard sees it. */
    struct attempt {
        struct launch launch;
        struct step step;
        int error; /* why `step` failed, or 0 */
    } attempt;
    unsigned char plan[] __attribute__((aligned(8)));
};

/* Applies the steps behind `step`. Returns an errno, with `step` the one that failed; where the
 * last step succeeds there is nobody left to return to. */
int steps_apply(struct launch *launch, struct step *step);

/* The step functions that have files of their own. Each returns 0 or an errno. */
int step_guard(struct launch *launch, struct step *step);
int step_descriptors(struct launch *launch, struct step *step);
int step_exec(struct launch *launch, struct step *step);
int step_exec_fd(struct launch *launch, struct step *step);
int step_user_namespace(struct launch *launch, struct step *step);
int step_unshare(struct launch *launch, struct step *step);
int step_init(struct launch *launch, struct step *step);
int step_loopback(struct launch *launch, struct step *step);
int step_join_group(struct launch *launch, struct step *step);
int step_mount_tree(struct launch *launch, struct step *step);
int step_mount_attach(struct launch *launch, struct step *step);
int step_mount_attributes(struct launch *launch, struct step *step);
int step_mount_private(struct launch *launch, struct step *step);
int step_mount_new(struct launch *launch, struct step *step);
int step_make_node(struct launch *launch, struct step *step);
int step_checked_directory(struct launch *launch, struct step *step);
int step_landlock(struct launch *launch, struct step *step);
int step_landlock_path(struct launch *launch, struct step *step);
int step_landlock_port(struct launch *launch, struct step *step);
int step_landlock_apply(struct launch *launch, struct step *step);
int step_no_new_privileges(struct launch *launch, struct step *step);
int step_drop_capabilities(struct launch *launch, struct step *step);
int step_seccomp(struct launch *launch, struct step *step);
int step_serve(struct launch *launch, struct step *step);

/* Every signal does what it does by default, and the command is born with none blocked. */
void reset_signals(struct launch *launch);

/* Closes every other descriptor of this process. */
int close_all_but(int fd);

#endif
