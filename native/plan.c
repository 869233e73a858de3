#include "plan.h"

enum form {
    FORM_UNKNOWN, /* no such step */
    FORM_WORDS,   /* exactly so many numbers */
    FORM_PAIRS,   /* any number of pairs of numbers */
    FORM_PATH,    /* one string */
    FORM_STRINGS, /* at least so many strings */
};

struct rule {
    uint8_t form;
    uint8_t count;
    bool once;  /* a second one would contradict the first */
    bool final; /* the plan ends here, and only here */
};

static const struct rule rules[OP_COUNT] = {
    [OP_GUARD] = {FORM_WORDS, 1, .once = true},
    [OP_SESSION] = {FORM_WORDS, 0, .once = true},
    [OP_PROCESS_GROUP] = {FORM_WORDS, 0, .once = true},
    [OP_DESCRIPTORS] = {FORM_PAIRS, 0, .once = true},
    [OP_CONTROLLING_TTY] = {FORM_WORDS, 1, .once = true},
    [OP_PARENT_DEATH] = {FORM_WORDS, 2, .once = true},
    [OP_LIMIT] = {FORM_WORDS, 6, .once = false},
    [OP_SIGNALS] = {FORM_WORDS, 0, .once = true},
    [OP_DIRECTORY] = {FORM_PATH, 0, .once = false},
    [OP_DIRECTORY_FD] = {FORM_WORDS, 1, .once = false},
    [OP_UMASK] = {FORM_WORDS, 1, .once = true},
    [OP_ARGV] = {FORM_STRINGS, 1, .once = true},
    [OP_ENVIRONMENT] = {FORM_STRINGS, 0, .once = true},
    [OP_EXEC] = {FORM_PATH, 0, .once = true, .final = true},
    [OP_EXEC_FD] = {FORM_WORDS, 1, .once = true, .final = true},
};
_Static_assert(OP_COUNT <= 32, "the set of steps seen so far is one word");

static uint32_t word_at(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t plan_declared_length(const unsigned char header[PLAN_HEADER_SIZE]) {
    uint32_t length = word_at(header + 4);
    bool magic = header[0] == 'F' && header[1] == 'L' && header[2] == 'P' && header[3] == '1';
    return magic && length >= PLAN_HEADER_SIZE && length <= PLAN_LARGEST ? length : 0;
}

int plan_next(const struct plan *plan, struct step *step) {
    bool first = step->end == 0;
    uint32_t at = first ? PLAN_HEADER_SIZE : step->end;
    uint32_t left = plan->length - at;
    if (left == 0)
        return 0;
    step->index = first ? 0 : step->index + 1;
    step->op = left >= 4 ? word_at(plan->data + at) : OP_NONE;
    if (left < 8)
        return -1;
    step->length = word_at(plan->data + at + 4);
    step->payload = plan->data + at + 8;
    left -= 8;
    if (step->length > left || ((step->length + 3) & ~3u) > left)
        return -1;
    step->end = at + 8 + ((step->length + 3) & ~3u);
    return 1;
}

uint32_t step_word(const struct step *step, uint32_t index) {
    return word_at(step->payload + 4 * index);
}

void step_set_word(struct step *step, uint32_t index, uint32_t value) {
    for (int byte = 0; byte < 4; byte++)
        step->payload[4 * index + byte] = (unsigned char)(value >> 8 * byte);
}

uint32_t step_strings(const struct step *step) {
    uint32_t count = 0;
    for (uint32_t at = 0; at < step->length; at++)
        count += step->payload[at] == 0;
    return count;
}

static bool resolve_word(struct step *step, uint32_t index, const int *passed, uint32_t count) {
    uint32_t word = step_word(step, index);
    if (!(word & PLAN_PASSED))
        return true;
    if ((word & ~PLAN_PASSED) >= count)
        return false;
    step_set_word(step, index, (uint32_t)passed[word & ~PLAN_PASSED]);
    return true;
}

bool plan_resolve(struct plan *plan, const int *passed, uint32_t count, struct step *flawed) {
    struct step step = {0};
    bool known = true;
    while (known && plan_next(plan, &step) == 1) {
        if (step.op == OP_DESCRIPTORS)
            for (uint32_t pair = 0; known && pair < step.length / 8; pair++)
                known = resolve_word(&step, 2 * pair, passed, count);
        else if ((step.op == OP_DIRECTORY_FD || step.op == OP_EXEC_FD) && step.length == 4)
            known = resolve_word(&step, 0, passed, count);
    }
    if (!known)
        *flawed = step;
    return known;
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
    bool terminated = step->length && step->payload[step->length - 1] == 0;
    switch (rule->form) {
    case FORM_WORDS:
        return step->length == 4u * rule->count;
    case FORM_PAIRS:
        return pairs_make_sense(step);
    case FORM_PATH:
        return terminated && step_strings(step) == 1;
    case FORM_STRINGS:
        return (terminated || step->length == 0) && step_strings(step) >= rule->count;
    default:
        return false;
    }
}

/* What a step's numbers and the steps before it have to be. */
static bool fits(const struct step *step, uint32_t seen) {
    switch (step->op) {
    case OP_GUARD:
        return step_word(step, 0) <= (GUARD_OWN_SESSION | GUARD_OWN_GROUP);
    case OP_PARENT_DEATH:
        /* Without a guard there is no parent that we could know by ourselves. */
        return step_word(step, 0) >= 1 && step_word(step, 0) <= SIGNAL_LAST &&
               (step_word(step, 1) || seen & 1u << OP_GUARD);
    case OP_LIMIT:
        return step_word(step, 1) == 0;
    case OP_CONTROLLING_TTY:
    case OP_DIRECTORY_FD:
        return step_word(step, 0) <= INT32_MAX;
    case OP_EXEC_FD:
        return step_word(step, 0) <= INT32_MAX && seen & 1u << OP_ARGV;
    case OP_EXEC:
        return seen & 1u << OP_ARGV;
    default:
        return true;
    }
}

bool plan_valid(const struct plan *plan, struct step *flawed) {
    uint32_t seen = 0;
    bool complete = false;
    struct step step = {0};
    int more;
    while ((more = plan_next(plan, &step)) == 1) {
        const struct rule *rule = &rules[step.op < OP_COUNT ? step.op : OP_NONE];
        bool again = rule->once && seen & 1u << step.op;
        if (complete || again || !has_form(rule, &step) || !padded_with_zeros(plan, &step) ||
            !fits(&step, seen))
            break;
        seen |= 1u << step.op;
        complete = rule->final;
    }
    *flawed = step;
    return more == 0 && complete;
}
