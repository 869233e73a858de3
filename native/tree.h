/* Every descendant of this process, however it forked. */
#ifndef FAIRLEAD_TREE_H
#define FAIRLEAD_TREE_H

#include "sys.h"

struct numbers {
    int *items;
    uint32_t count, room;
};

/* Adds one behind the others, if there is memory for it. */
void numbers_add(struct numbers *numbers, int number);
bool numbers_have(const struct numbers *numbers, int number);
void numbers_remove(struct numbers *numbers, int number);

/* Lists that grow as needed. Begins as zeros, and is kept between walks. */
struct tree {
    struct numbers found;
    struct numbers pairs;
};

struct toll {
    unsigned reached; /* got the signal */
    unsigned refused; /* are not ours to signal */
};

/* Signals all descendants: as the first process of a pid namespace everybody in it, else those
 * that one walk through /proc finds. The tree may be moving: who wants it empty signals again
 * until there is nobody left to wait for. */
struct toll tree_signal(struct tree *tree, int signal);

/* Kills the children of this process that are none of `known`. How many there were. */
unsigned kill_other_children(struct numbers *found, const struct numbers *known);

#endif
