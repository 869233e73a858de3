/* The last step: becoming the command. */
#include "steps.h"
#include "text.h"

enum { LONGEST_PATH = 4096, LONGEST_NAME = 255 };

static const char standard_path[] = "/usr/local/bin:/usr/bin:/bin";

static char *const no_strings[] = {0};

static char *const *environment(const struct launch *launch) {
    return launch->env ? launch->env : no_strings;
}

static const char *search_path(char *const *env) {
    for (; *env; env++) {
        const char *entry = *env, *name = "PATH=";
        while (*name && *entry == *name)
            entry++, name++;
        if (!*name)
            return entry;
    }
    return standard_path;
}

/* Errors that say "not here": the search goes on. */
static bool search_goes_on(int error) {
    return error == ERR_ACCES || error == ERR_NOENT || error == ERR_NOTDIR ||
           error == ERR_STALE || error == ERR_NODEV || error == ERR_TIMEDOUT;
}

/* As execvp searches, but a file without a known format is not handed to a shell: who wants a
 * shell says so. */
static int search_and_exec(const struct launch *launch, const char *name) {
    char path[LONGEST_PATH + LONGEST_NAME + 2];
    char *const *env = environment(launch);
    size_t name_length = text_length(name);
    int answer = ERR_NOENT;
    if (name_length == 0)
        return ERR_NOENT;
    if (name_length > LONGEST_NAME)
        return ERR_NAMETOOLONG;
    for (const char *element = search_path(env);; element++) {
        size_t length = 0;
        for (; *element && *element != ':'; element++, length++)
            if (length < LONGEST_PATH)
                path[length] = *element;
        if (length < LONGEST_PATH) { /* a longer one can't exist */
            char *end = path + length;
            if (length) /* an empty element is the working directory */
                *end++ = '/';
            append_text(end, name);
            int error = (int)-sys_execve(path, launch->argv, env);
            if (!search_goes_on(error))
                return error;
            if (error == ERR_ACCES)
                answer = ERR_ACCES; /* found, but not ours to run: that is the news, if any */
        }
        if (!*element)
            return answer;
    }
}

static void stand_ready(struct launch *launch) {
    launch->at_exec = true;
    sys_sigmask(&launch->signal_mask, 0);
}

int step_exec(struct launch *launch, struct step *step) {
    const char *name = (const char *)step->payload;
    stand_ready(launch);
    if (text_contains(name, '/'))
        return (int)-sys_execve(name, launch->argv, environment(launch));
    return search_and_exec(launch, name);
}

int step_exec_fd(struct launch *launch, struct step *step) {
    stand_ready(launch);
    return (int)-sys_execve_fd((int)step_word(step, 0), launch->argv, environment(launch));
}
