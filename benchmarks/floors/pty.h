/* A child on a new PTY of 24x80, as every floor here starts one. */
#ifndef PTY_H
#define PTY_H

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "worker.h"

extern char **environ;

static inline pid_t start_on_pty(char *const argv[], int *master_out)
{
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) || unlockpt(master))
        die("posix_openpt");
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0)
        die("open slave");
    ioctl(master, TIOCSWINSZ, &size);
    pid_t pid = vfork();
    if (pid < 0)
        die("vfork");
    if (pid == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        dup2(slave, 0);
        dup2(slave, 1);
        dup2(slave, 2);
        execve(argv[0], argv, environ);
        _exit(127);
    }
    close(slave);
    *master_out = master;
    return pid;
}

#endif
