/* spawn [--capture] PATH ARG...: vfork + exec + wait, the least a process can cost here.
 * --capture adds what any caller that wants the output needs: two pipes read to their end. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "worker.h"

extern char **environ;
static char **command;
static int capture, null_fd;

static void drain(int out, int err)
{
    static char buffer[65536];
    struct pollfd fds[2] = {{.fd = out, .events = POLLIN}, {.fd = err, .events = POLLIN}};
    int open_ends = 2;
    while (open_ends > 0) {
        poll(fds, 2, -1);
        for (int i = 0; i < 2; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            if (read(fds[i].fd, buffer, sizeof buffer) <= 0) {
                fds[i].fd = -1;
                open_ends--;
            }
        }
    }
}

static pid_t start(int out, int err)
{
    pid_t pid = vfork();
    if (pid < 0)
        die("vfork");
    if (pid == 0) {
        dup2(null_fd, 0);
        dup2(out, 1);
        dup2(err, 2);
        execve(command[0], command, environ);
        _exit(127);
    }
    return pid;
}

static struct sample once(void)
{
    int out[2] = {-1, null_fd}, err[2] = {-1, 2}, status; /* errors go to the harness's log */
    struct rusage usage;
    long started = now_ns();
    if (capture && (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC)))
        die("pipe2");
    pid_t pid = start(out[1], err[1]);
    if (capture) {
        close(out[1]);
        close(err[1]);
        drain(out[0], err[0]);
        close(out[0]);
        close(err[0]);
    }
    if (wait4(pid, &status, 0, &usage) != pid)
        die("wait4");
    long took = now_ns() - started;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "%s: ended with status %#x\n", command[0], (unsigned)status);
        exit(1);
    }
    return (struct sample){.ns = took, .bytes = -1, .rss_kib = usage.ru_maxrss};
}

int main(int argc, char **argv)
{
    capture = argc > 1 && strcmp(argv[1], "--capture") == 0;
    command = argv + 1 + capture;
    if (argc < 2 + capture)
        return 2;
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    return serve(once);
}
