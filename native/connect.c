/* Role `connect`: for a launcher that begins where no descriptor of the engine reaches, as the
 * first process of a container. It fetches its control socket by a path. */
#include "launcher.h"
#include "sys_confine.h"
#include "text.h"

enum { EXIT_NOTHING_RAN = 127 };

/* A stream to the engine, or a negated errno. */
static long connected(const char *path) {
    struct kernel_local_address address = {.family = SOCKET_LOCAL};
    if (text_length(path) >= sizeof address.path)
        return -ERR_NAMETOOLONG;
    append_text(address.path, path);
    long fd = sys_socket(SOCKET_LOCAL, SOCKET_STREAM | SOCKET_CLOEXEC);
    if (fd < 0)
        return fd;
    long error = sys_connect((int)fd, &address);
    return error < 0 ? error : fd;
}

int launcher_connect(const char *path) {
    static const char text[] = "fairlead-launcher: the engine does not listen\n";
    long fd = connected(path);
    if (fd < 0) {
        sys_write(2, text, sizeof text - 1);
        return EXIT_NOTHING_RAN;
    }
    return launcher_exec((int)fd, (int)fd);
}
