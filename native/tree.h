/* Every descendant of this process, however it forked. */
#ifndef FAIRLEAD_TREE_H
#define FAIRLEAD_TREE_H

#include "sys.h"

struct numbers {
    int *items;
    uint32_t count, room;
};

/* Lists that grow as needed. Begins as zeros, and is kept between walks. */
struct tree {
    struct numbers found;
    struct numbers pairs;
};

struct toll {
    unsigned reached; /* got the signal */
    unsigned refused; /* are not ours to signal */
};

/* Signals all descendants that one walk through /proc finds. The tree may be moving: who wants
 * it empty walks again until there is nobody left to wait for. */
struct toll tree_signal(struct tree *tree, int signal);

#endif
