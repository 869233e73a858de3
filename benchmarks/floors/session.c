/* session BASH: a command in a live bash on pipes, with its exit code and directory: the bare loop. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "worker.h"

extern char **environ;
static int to_shell, from_shell;
static const char typed[] = "echo hi\nprintf '%d %s\\036' \"$?\" \"$PWD\"\n";

static struct sample once(void)
{
    char seen[8192];
    size_t length = 0;
    long started = now_ns();
    if (write(to_shell, typed, sizeof typed - 1) != (ssize_t)(sizeof typed - 1))
        die("write");
    do {
        ssize_t got = read(from_shell, seen + length, sizeof seen - length);
        if (got <= 0)
            die("read");
        length += (size_t)got;
    } while (seen[length - 1] != '\036');
    long took = now_ns() - started;
    if (memcmp(seen, "hi\n0 /", 6) != 0)
        die("unexpected answer");
    return (struct sample){.ns = took, .bytes = -1, .rss_kib = -1};
}

int main(int argc, char **argv)
{
    int in[2], out[2];
    if (argc != 2 || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return 2;
    if (vfork() == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        execve(argv[1], (char *[]){argv[1], "--norc", NULL}, environ);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_shell = in[1];
    from_shell = out[0];
    return serve(once);
}
