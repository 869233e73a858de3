/* daemon [LINES]: escapes as well as a program can. Forks twice, starts a session each time,
 * drops its environment and descriptors; the innermost writes its pid to stdout and stays.
 * daemon -runner: never stays: each generation forks the next and is gone.
 * daemon -threads N: N children of threads, each of which ends after its fork. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static void stay(void) {
    char line[16];
    int size = snprintf(line, sizeof line, "%d\n", getpid());
    if (write(1, line, (size_t)size) != size)
        _exit(1);
    close(0), close(1), close(2);
    for (;;)
        pause();
}

static void *fork_from_thread(void *unused) {
    if (fork() == 0)
        stay();
    return unused;
}

static void run_away(void) {
    for (;;)
        if (fork() > 0)
            _exit(0);
}

int main(int argc, char **argv) {
    for (int signal = 1; signal < NSIG; signal++)
        if (signal != SIGCHLD)
            sigignore(signal);
    prctl(PR_SET_NAME, "innocent) R 1 (");
    clearenv();
    if (argc > 1 && strcmp(argv[1], "-runner") == 0)
        run_away();
    if (argc > 2 && strcmp(argv[1], "-threads") == 0) {
        for (int left = atoi(argv[2]); left; left--) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, fork_from_thread, NULL))
                return 1;
            pthread_join(thread, NULL);
        }
        pause();
    }
    for (int times = 0; times < 2; times++) {
        if (fork() > 0)
            _exit(0);
        setsid();
    }
    stay();
}
