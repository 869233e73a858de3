/* The plan reader against inputs that nobody would write. With clang's fuzzer the entry point is
 * LLVMFuzzerTestOneInput; alone, this mutates the plans given as files, always the same way:
 *
 *     fuzz_plan ROUNDS PLAN...
 *
 * Build it with the address and undefined-behaviour sanitizers, or it proves little. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

static volatile uint32_t sink; /* what is read must not be optimised away */

/* Where the steps read strings: behind how many numbers, and how many. */
static const struct {
    uint32_t words, strings;
} layouts[OP_COUNT] = {
    [OP_DIRECTORY] = {0, 1},    [OP_EXEC] = {0, 1},
    [OP_ARGV] = {0, 1},         [OP_USER_NAMESPACE] = {0, 2},
    [OP_MOUNT_TREE] = {6, 1},   [OP_MOUNT_ATTACH] = {8, 1},
    [OP_MOUNT_NEW] = {2, 3},    [OP_MOUNT_ATTRIBUTES] = {2, 1},
    [OP_MAKE_NODE] = {2, 2},    [OP_LANDLOCK_PATH] = {2, 1},
    [OP_JOIN_GROUP] = {0, 1},   [OP_CHECKED_DIRECTORY] = {4, 1},
    [OP_SERVE] = {0, 1},
};

/* And how many numbers others read. */
static const uint32_t words[OP_COUNT] = {
    [OP_GUARD] = 1,    [OP_CONTROLLING_TTY] = 1, [OP_PARENT_DEATH] = 2,  [OP_LIMIT] = 6,
    [OP_UMASK] = 1,    [OP_DIRECTORY_FD] = 1,    [OP_EXEC_FD] = 1,       [OP_UNSHARE] = 1,
    [OP_LANDLOCK] = 6, [OP_LANDLOCK_PORT] = 4,   [OP_SECCOMP] = 2,
};

/* Slots and rulesets are used without asking whether they are there. */
static void use_in_order(const struct step *step, uint64_t *trees, bool *ruleset) {
    if (step->op == OP_MOUNT_TREE)
        *trees |= 1ull << step_word(step, 0);
    if (step->op == OP_MOUNT_ATTACH && !(*trees >> step_word(step, 0) & 1))
        abort();
    if (step->op >= OP_LANDLOCK_PATH && step->op <= OP_LANDLOCK_APPLY && !*ruleset)
        abort();
    if (step->op == OP_LANDLOCK || step->op == OP_LANDLOCK_APPLY)
        *ruleset = step->op == OP_LANDLOCK;
}

/* What the steps read of a plan that was found valid, without looking at bounds again. */
static void use(const struct plan *plan) {
    struct step step = {0};
    uint64_t trees = 0;
    bool ruleset = false;
    uint32_t last = 0;
    while (plan_next(plan, &step) == 1) {
        uint32_t before = layouts[step.op].words;
        for (uint32_t at = 0; at < before + words[step.op]; at++)
            sink += step_word(&step, at);
        for (uint32_t at = 0; at < layouts[step.op].strings; at++)
            sink += (uint32_t)strlen(step_text(&step, before, at));
        if (step.op == OP_SECCOMP)
            for (uint32_t at = 8; at < step.length; at++)
                sink += step.payload[at];
        sink += step_strings(&step, 0);
        use_in_order(&step, &trees, &ruleset);
        last = step.op;
    }
    if ((last != OP_EXEC && last != OP_EXEC_FD && last != OP_SERVE) || ruleset)
        abort(); /* accepted, and would run nothing, or with less than it says */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char header[PLAN_HEADER_SIZE] = {0};
    struct step flawed = {0};
    if (size < sizeof header)
        return 0;
    memcpy(header, data, sizeof header);
    struct plan plan = {.length = plan_declared_length(header)};
    if (plan.length == 0 || plan.length > size)
        return 0;
    plan.data = malloc(plan.length); /* exactly: a byte too far is seen */
    if (!plan.data)
        return 0;
    memcpy(plan.data, data, plan.length);
    static const int passed[] = {3, 4, 5};
    if (plan_resolve(&plan, passed, 3, &flawed) && plan_valid(&plan, &flawed))
        use(&plan);
    free(plan.data);
    return 0;
}

#ifndef FL_LIBFUZZER

enum { LARGEST = 1 << 16 };

static uint64_t state = 0x9E3779B97F4A7C15u;

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % below;
}

static void put_word(unsigned char *at, uint32_t value) {
    for (int byte = 0; byte < 4; byte++)
        at[byte] = (unsigned char)(value >> 8 * byte);
}

/* Mostly near misses: a wild input would not get past the header. */
static size_t mutate(unsigned char *data, size_t size) {
    static const uint32_t odd[] = {0, 1,          3,          4,          7,
                                   8, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFC, 0xFFFFFFFF};
    for (uint32_t times = 1 + draw(4); times && size > PLAN_HEADER_SIZE; times--) {
        size_t at = draw((uint32_t)size);
        switch (draw(5)) {
        case 0:
            data[at] = (unsigned char)draw(256);
            break;
        case 1:
            data[at] ^= (unsigned char)(1 << draw(8));
            break;
        case 2:
            if ((at & ~(size_t)3) + 4 <= size)
                put_word(data + (at & ~(size_t)3), odd[draw(sizeof odd / sizeof *odd)]);
            break;
        case 3:
            if ((at & ~(size_t)3) + 4 <= size)
                put_word(data + (at & ~(size_t)3), draw(OP_COUNT + 4));
            break;
        default:
            size = at;
        }
    }
    if (size >= PLAN_HEADER_SIZE && draw(8))
        put_word(data + 4, (uint32_t)size);
    return size;
}

static size_t read_file(const char *path, unsigned char *into) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(2);
    }
    size_t size = fread(into, 1, LARGEST, file);
    fclose(file);
    return size;
}

int main(int argc, char **argv) {
    static unsigned char original[LARGEST], changed[LARGEST];
    long rounds = argc > 2 ? atol(argv[1]) : 0;
    for (int file = 2; file < argc; file++) {
        size_t size = read_file(argv[file], original);
        LLVMFuzzerTestOneInput(original, size);
        for (long round = 0; round < rounds; round++) {
            memcpy(changed, original, size);
            LLVMFuzzerTestOneInput(changed, mutate(changed, size));
        }
    }
    printf("%ld inputs\n", rounds * (argc - 2));
    return 0;
}

#endif
