/* calls [--filter] getppid | open PATH: a thousand system calls, or files opened and closed.
 * --filter: behind a seccomp filter of one instruction that allows everything, the least that any filter costs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "worker.h"

#define TIMES 1000

static const char *opened;

static void filter_nothing(void)
{
    struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = 1, .filter = &allow};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        die("seccomp");
}

static struct sample once(void)
{
    long started = now_ns();
    for (int i = 0; i < TIMES; i++) {
        if (!opened) {
            syscall(SYS_getppid);
            continue;
        }
        int fd = open(opened, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            die(opened);
        close(fd);
    }
    return (struct sample){.ns = now_ns() - started, .bytes = -1, .rss_kib = -1};
}

int main(int argc, char **argv)
{
    int filtered = argc > 1 && strcmp(argv[1], "--filter") == 0;
    argc -= filtered;
    argv += filtered;
    if (argc == 3 && strcmp(argv[1], "open") == 0)
        opened = argv[2];
    else if (argc != 2 || strcmp(argv[1], "getppid") != 0)
        return 2;
    if (filtered)
        filter_nothing();
    return serve(once);
}
