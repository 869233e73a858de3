#include "plan.h"

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

uint64_t step_number(const struct step *step, uint32_t index) {
    return step_word(step, index) | (uint64_t)step_word(step, index + 1) << 32;
}

uint32_t step_strings(const struct step *step, uint32_t words) {
    uint32_t count = 0;
    for (uint32_t at = 4 * words; at < step->length; at++)
        count += step->payload[at] == 0;
    return count;
}

const char *step_text(const struct step *step, uint32_t words, uint32_t index) {
    const char *text = (const char *)step->payload + 4 * words;
    while (index)
        index -= *text++ == 0;
    return text;
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
