/* What a plan has to be before its first step is applied. */
#include "plan.h"

enum form {
    FORM_UNKNOWN, /* no such step */
    FORM_FIXED,   /* exactly so many numbers, and behind them exactly so many strings */
    FORM_PAIRS,   /* any number of pairs of numbers */
    FORM_STRINGS, /* at least so many strings */
    FORM_PROGRAM, /* so many numbers, and behind them a system call filter */
};

struct rule {
    uint8_t form;
    uint8_t words;
    uint8_t strings;
    bool once;  /* a second one would contradict the first */
    bool final; /* the plan ends here, and only here */
};

static const struct rule rules[OP_COUNT] = {
    [OP_GUARD] = {FORM_FIXED, 1, 0, .once = true},
    [OP_SESSION] = {FORM_FIXED, 0, 0, .once = true},
    [OP_PROCESS_GROUP] = {FORM_FIXED, 0, 0, .once = true},
    [OP_DESCRIPTORS] = {FORM_PAIRS, 0, 0, .once = true},
    [OP_CONTROLLING_TTY] = {FORM_FIXED, 1, 0, .once = true},
    [OP_PARENT_DEATH] = {FORM_FIXED, 2, 0, .once = true},
    [OP_LIMIT] = {FORM_FIXED, 6, 0, .once = false},
    [OP_SIGNALS] = {FORM_FIXED, 0, 0, .once = true},
    [OP_DIRECTORY] = {FORM_FIXED, 0, 1, .once = false},
    [OP_DIRECTORY_FD] = {FORM_FIXED, 1, 0, .once = false},
    [OP_UMASK] = {FORM_FIXED, 1, 0, .once = true},
    [OP_ARGV] = {FORM_STRINGS, 0, 1, .once = true},
    [OP_ENVIRONMENT] = {FORM_STRINGS, 0, 0, .once = true},
    [OP_EXEC] = {FORM_FIXED, 0, 1, .once = true, .final = true},
    [OP_EXEC_FD] = {FORM_FIXED, 1, 0, .once = true, .final = true},
    [OP_USER_NAMESPACE] = {FORM_FIXED, 0, 2, .once = true},
    [OP_UNSHARE] = {FORM_FIXED, 1, 0, .once = true},
    [OP_INIT] = {FORM_FIXED, 0, 0, .once = true},
    [OP_LOOPBACK] = {FORM_FIXED, 0, 0, .once = false},
    [OP_MOUNT_TREE] = {FORM_FIXED, 6, 1, .once = false},
    [OP_MOUNT_ATTACH] = {FORM_FIXED, 8, 1, .once = false},
    [OP_MOUNT_ATTRIBUTES] = {FORM_FIXED, 2, 1, .once = false},
    [OP_MOUNT_PRIVATE] = {FORM_FIXED, 0, 0, .once = false},
    [OP_MOUNT_NEW] = {FORM_FIXED, 2, 3, .once = false},
    [OP_MAKE_NODE] = {FORM_FIXED, 2, 2, .once = false},
    [OP_LANDLOCK] = {FORM_FIXED, 6, 0, .once = true}, /* until the one before is in force */
    [OP_LANDLOCK_PATH] = {FORM_FIXED, 2, 1, .once = false},
    [OP_LANDLOCK_PORT] = {FORM_FIXED, 4, 0, .once = false},
    [OP_LANDLOCK_APPLY] = {FORM_FIXED, 0, 0, .once = false},
    [OP_NO_NEW_PRIVILEGES] = {FORM_FIXED, 0, 0, .once = false},
    [OP_DROP_CAPABILITIES] = {FORM_FIXED, 0, 0, .once = false},
    [OP_SECCOMP] = {FORM_PROGRAM, 2, 0, .once = false},
    [OP_JOIN_GROUP] = {FORM_FIXED, 0, 1, .once = false},
    [OP_CHECKED_DIRECTORY] = {FORM_FIXED, 4, 1, .once = false},
    [OP_IDENTIFY] = {FORM_FIXED, 0, 0, .once = true},
    [OP_SERVE] = {FORM_FIXED, 0, 1, .once = true, .final = true},
};
_Static_assert(OP_COUNT <= 64, "the set of steps seen so far is one number");

/* What the steps up to here leave behind. */
struct trail {
    uint64_t seen;  /* a bit for each op; OP_LANDLOCK's is taken back by OP_LANDLOCK_APPLY */
    uint64_t trees; /* a bit for each slot that is taken */
    bool init_due;  /* there is a pid namespace, and nobody in it yet */
};

static bool seen(const struct trail *trail, enum op op) {
    return trail->seen >> op & 1;
}

static bool padded_with_zeros(const struct plan *plan, const struct step *step) {
    for (const unsigned char *at = step->payload + step->length; at < plan->data + step->end; at++)
        if (*at)
            return false;
    return true;
}

static bool pairs_make_sense(const struct step *step) {
    uint32_t count = step->length / 8;
    if (step->length % 8 || count > PLAN_MOST_PAIRS)
        return false;
    for (uint32_t one = 0; one < count; one++) {
        if (step_word(step, 2 * one) > INT32_MAX || step_word(step, 2 * one + 1) > INT32_MAX)
            return false;
        for (uint32_t other = 0; other < one; other++)
            if (step_word(step, 2 * one + 1) == step_word(step, 2 * other + 1))
                return false;
    }
    return true;
}

static bool has_form(const struct rule *rule, const struct step *step) {
    uint32_t fixed = 4u * rule->words;
    bool terminated = step->length > fixed && step->payload[step->length - 1] == 0;
    switch (rule->form) {
    case FORM_FIXED:
        return rule->strings ? terminated && step_strings(step, rule->words) == rule->strings
                             : step->length == fixed;
    case FORM_PAIRS:
        return pairs_make_sense(step);
    case FORM_STRINGS:
        return (terminated || step->length == 0) && step_strings(step, 0) >= rule->strings;
    case FORM_PROGRAM:
        return step->length > fixed && (step->length - fixed) % FILTER_INSTRUCTION == 0 &&
               (step->length - fixed) / FILTER_INSTRUCTION <= FILTER_MOST;
    default:
        return false;
    }
}

static bool is_flag(uint32_t word) {
    return word <= 1;
}

static bool slot_is(const struct step *step, const struct trail *trail, bool taken) {
    uint32_t slot = step_word(step, 0);
    return slot < MOUNT_SLOTS && (trail->trees >> slot & 1) == taken;
}

static bool node_makes_sense(const struct step *step) {
    uint32_t node = step_word(step, 0);
    bool has_target = *step_text(step, 2, 1) != 0;
    return node >= NODE_DIRECTORY && node <= NODE_LINK && has_target == (node == NODE_LINK) &&
           step_word(step, 1) <= NODE_MODE;
}

/* What is begun has to be finished before the command runs, or it would run with less. */
static bool nothing_is_due(const struct trail *trail) {
    return !trail->init_due && !seen(trail, OP_LANDLOCK);
}

/* What a step's numbers and the steps before it have to be. */
static bool fits(const struct step *step, const struct trail *trail) {
    switch (step->op) {
    case OP_GUARD:
        return step_word(step, 0) <= (GUARD_OWN_SESSION | GUARD_OWN_GROUP) &&
               nothing_is_due(trail);
    case OP_PARENT_DEATH:
        /* Without a guard there is no parent that we could know by ourselves. */
        return step_word(step, 0) >= 1 && step_word(step, 0) <= SIGNAL_LAST &&
               (step_word(step, 1) || seen(trail, OP_GUARD));
    case OP_DESCRIPTORS: /* closes what was opened for later */
        return !seen(trail, OP_LANDLOCK);
    case OP_LIMIT:
        return step_word(step, 1) == 0;
    case OP_CONTROLLING_TTY:
    case OP_DIRECTORY_FD:
        return step_word(step, 0) <= INT32_MAX;
    case OP_EXEC_FD:
        return step_word(step, 0) <= INT32_MAX && seen(trail, OP_ARGV) && nothing_is_due(trail);
    case OP_EXEC:
        return seen(trail, OP_ARGV) && nothing_is_due(trail);
    case OP_UNSHARE:
        return (step_word(step, 0) & ~(uint32_t)NAMESPACES) == 0;
    case OP_INIT: /* a guard waits for its child's end of the plan, in the child's own process */
        return !seen(trail, OP_GUARD);
    case OP_MOUNT_TREE:
        return slot_is(step, trail, false) && is_flag(step_word(step, 1));
    case OP_MOUNT_ATTACH:
        return slot_is(step, trail, true) && step_word(step, 1) <= ATTRIBUTES &&
               is_flag(step_word(step, 2)) && step_word(step, 3) == 0;
    case OP_MOUNT_ATTRIBUTES:
        return step_word(step, 0) <= ATTRIBUTES && is_flag(step_word(step, 1));
    case OP_MOUNT_NEW:
        return step_word(step, 0) <= ATTRIBUTES && step_word(step, 1) == 0;
    case OP_MAKE_NODE:
        return node_makes_sense(step);
    case OP_LANDLOCK_PATH:
    case OP_LANDLOCK_PORT:
    case OP_LANDLOCK_APPLY:
        return seen(trail, OP_LANDLOCK);
    case OP_SECCOMP:
        return is_flag(step_word(step, 0)) && step_word(step, 1) == 0;
    case OP_SERVE:
        return !seen(trail, OP_GUARD) && nothing_is_due(trail);
    default:
        return true;
    }
}

static void follow(struct trail *trail, const struct step *step) {
    trail->seen |= 1ull << step->op;
    switch (step->op) {
    case OP_UNSHARE:
        trail->init_due = step_word(step, 0) & NAMESPACE_PID;
        break;
    case OP_INIT:
        trail->init_due = false;
        break;
    case OP_MOUNT_TREE:
        trail->trees |= 1ull << step_word(step, 0);
        break;
    case OP_MOUNT_ATTACH:
        if (!step_word(step, 2))
            trail->trees &= ~(1ull << step_word(step, 0));
        break;
    case OP_DESCRIPTORS:
        trail->trees = 0;
        break;
    case OP_LANDLOCK_APPLY:
        trail->seen &= ~(1ull << OP_LANDLOCK);
        break;
    }
}

bool plan_valid(const struct plan *plan, struct step *flawed) {
    struct trail trail = {0};
    bool complete = false;
    struct step step = {0};
    int more;
    while ((more = plan_next(plan, &step)) == 1) {
        const struct rule *rule = &rules[step.op < OP_COUNT ? step.op : OP_NONE];
        if (complete || !has_form(rule, &step) || !padded_with_zeros(plan, &step) ||
            (rule->once && seen(&trail, step.op)) || !fits(&step, &trail))
            break;
        follow(&trail, &step);
        complete = rule->final;
    }
    *flawed = step;
    return more == 0 && complete;
}
