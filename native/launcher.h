#ifndef FAIRLEAD_LAUNCHER_H
#define FAIRLEAD_LAUNCHER_H

int launcher_main(int argc, char **argv);

/* Role `exec`: one command, or a service. Returns only if it came to nothing, with the exit code
 * that says so. */
int launcher_exec(int plan_fd, int control);

/* Role `connect`: the same, with the socket that listens at `path`. */
int launcher_connect(const char *path);

#endif
