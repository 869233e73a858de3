/* The steps that take privileges away: what they take does not come back. */
#include "steps.h"
#include "sys_confine.h"

int step_no_new_privileges(struct launch *launch, struct step *step) {
    (void)launch, (void)step;
    return (int)-sys_prctl(PR_NO_NEW_RIGHTS, 1);
}

/* Nobody can tell how many capabilities there are but by asking for one too many. Who may not
 * drop them from this set has none that it could give back, once no program adds privileges. */
static int drop_bounding_set(void) {
    for (unsigned long capability = 0;; capability++) {
        long result = sys_prctl(PR_BOUNDING_DROP, capability);
        if (result < 0)
            return result == -ERR_INVAL || result == -ERR_PERM ? 0 : (int)-result;
    }
}

int step_drop_capabilities(struct launch *launch, struct step *step) {
    (void)launch, (void)step;
    const struct kernel_capability_header header = {CAPABILITIES_VERSION, 0};
    const struct kernel_capabilities none[2] = {{0, 0, 0}, {0, 0, 0}};
    int error = (int)-sys_prctl(PR_AMBIENT, PR_AMBIENT_CLEAR);
    if (!error)
        error = drop_bounding_set();
    return error ? error : (int)-sys_capset(&header, none);
}
