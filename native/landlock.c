/* The steps that write a Landlock ruleset and put it in force. One is written at a time. */
#include "steps.h"
#include "sys_confine.h"

/* An older kernel knows a shorter form, and refuses one that it does not need to understand. */
static size_t size_in_use(const struct kernel_ruleset *ruleset) {
    if (ruleset->scopes)
        return sizeof *ruleset;
    return ruleset->network ? offsetof(struct kernel_ruleset, scopes)
                            : offsetof(struct kernel_ruleset, network);
}

int step_landlock(struct launch *launch, struct step *step) {
    const struct kernel_ruleset ruleset = {
        .files = step_number(step, 0),
        .network = step_number(step, 2),
        .scopes = step_number(step, 4),
    };
    long result = sys_landlock_create(&ruleset, size_in_use(&ruleset));
    if (result < 0)
        return (int)-result;
    launch->ruleset = (int)result;
    return 0;
}

int step_landlock_path(struct launch *launch, struct step *step) {
    struct kernel_path_rule rule = {.rights = step_number(step, 0)};
    rule.fd = (int)sys_open_for(step_text(step, 2, 0), OPEN_PATH);
    if (rule.fd < 0)
        return -rule.fd;
    int error = (int)-sys_landlock_add(launch->ruleset, RULE_PATH, &rule);
    sys_close(rule.fd);
    return error;
}

int step_landlock_port(struct launch *launch, struct step *step) {
    const struct kernel_port_rule rule = {step_number(step, 0), step_number(step, 2)};
    return (int)-sys_landlock_add(launch->ruleset, RULE_PORT, &rule);
}

int step_landlock_apply(struct launch *launch, struct step *step) {
    (void)step;
    int error = (int)-sys_landlock_restrict(launch->ruleset);
    sys_close(launch->ruleset);
    return error;
}
