/* drain pipe|pty PATH ARG...: run a producer and read all it writes, 64 KiB at most at a time. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/wait.h>

#include "pty.h"

static char **command;
static int on_pty;

static pid_t start_on_pipe(int *reader)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        die("pipe2");
    pid_t pid = vfork();
    if (pid < 0)
        die("vfork");
    if (pid == 0) {
        dup2(ends[1], 1);
        execve(command[0], command, environ);
        _exit(127);
    }
    close(ends[1]);
    *reader = ends[0];
    return pid;
}

static struct sample once(void)
{
    static char buffer[65536];
    int reader, status;
    long total = 0, got, started = now_ns();
    pid_t pid = on_pty ? start_on_pty(command, &reader) : start_on_pipe(&reader);
    while ((got = read(reader, buffer, sizeof buffer)) > 0) /* a PTY ends in EIO */
        total += got;
    close(reader);
    waitpid(pid, &status, 0);
    return (struct sample){.ns = now_ns() - started, .bytes = total, .rss_kib = -1};
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    on_pty = strcmp(argv[1], "pty") == 0;
    command = argv + 2;
    return serve(once);
}
