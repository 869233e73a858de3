/* flood GATE SLOT: lines of 80 without pause while the first word of the file GATE is not 0.
 * Word 1 + SLOT counts the bytes that got through: a reader that leaves floods unread shows. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    static char line[80];
    const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
    pid_t parent = getppid();
    if (argc != 3)
        return 2;
    int fd = open(argv[1], O_RDWR);
    volatile long *words = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (words == MAP_FAILED)
        return 1;
    volatile long *through = &words[1 + atoi(argv[2])];
    for (size_t i = 0; i < sizeof line; i++)
        line[i] = i == 79 ? '\n' : (char)('!' + i);
    while (getppid() == parent) { /* the harness may be killed while the gate is shut */
        while (words[0] != 0) {
            ssize_t wrote = write(1, line, sizeof line);
            if (wrote <= 0)
                return 1;
            *through += wrote;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}
