/* The step that puts a system call filter in force. The filter was compiled by the engine. */
#include "passing.h"
#include "report.h"
#include "steps.h"
#include "sys_confine.h"

enum { WORDS = 2 };

static long install_with_listener(const struct kernel_filter *filter) {
    /* Else a signal could break into a call that is being answered, and it would be asked twice. */
    long listener = sys_filter(FILTER_LISTENER | FILTER_WAIT_KILLABLE, filter);
    return listener == -ERR_INVAL ? sys_filter(FILTER_LISTENER, filter) : listener;
}

static int hand_out(int control, int listener) {
    const struct report report = {REPORT_LISTENER, 0, 0, 0};
    int error = send_with_fd(control, &report, sizeof report, listener);
    sys_close(listener);
    return error;
}

int step_seccomp(struct launch *launch, struct step *step) {
    const struct kernel_filter filter = {
        .count = (unsigned short)((step->length - 4 * WORDS) / FILTER_INSTRUCTION),
        .instructions = step->payload + 4 * WORDS,
    };
    if (!step_word(step, 0))
        return (int)-sys_filter(0, &filter);
    long listener = install_with_listener(&filter);
    return listener < 0 ? (int)-listener : hand_out(launch->control, (int)listener);
}
