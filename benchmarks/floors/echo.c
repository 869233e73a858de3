/* echo BASH [COUNT PRODUCER GATE]: one line typed into a live bash on a PTY, until its answer was read.
 * With COUNT: as many PTYs flood meanwhile, read by one thread of their own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>

#include "pty.h"

static int hot;
static long token;

static void write_all(const char *text, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(hot, text, size);
        if (wrote <= 0)
            die("write");
        text += wrote;
        size -= (size_t)wrote;
    }
}

static void read_until(const char *wanted)
{
    static char seen[65536];
    size_t length = 0;
    for (;;) {
        if (length > sizeof seen / 2) { /* keep a stretch longer than any answer */
            memmove(seen, seen + length - 4096, 4096);
            length = 4096;
        }
        ssize_t got = read(hot, seen + length, sizeof seen - length);
        if (got <= 0)
            die("read");
        length += (size_t)got;
        if (memmem(seen, length, wanted, strlen(wanted)))
            return;
    }
}

static struct sample once(void)
{
    char typed[64], answer[64];
    /* The quotes make the answer differ from the terminal's echo of what was typed. */
    int size = snprintf(typed, sizeof typed, "echo h''i-%ld\n", ++token);
    snprintf(answer, sizeof answer, "hi-%ld\r\n", token);
    long started = now_ns();
    write_all(typed, (size_t)size);
    read_until(answer);
    return (struct sample){.ns = now_ns() - started, .bytes = -1, .rss_kib = -1};
}

static void *drain_floods(void *epoll_fd)
{
    static char buffer[65536];
    struct epoll_event ready[64];
    for (;;) {
        int count = epoll_wait(*(int *)epoll_fd, ready, 64, -1);
        for (int i = 0; i < count; i++)
            if (read(ready[i].data.fd, buffer, sizeof buffer) <= 0)
                epoll_ctl(*(int *)epoll_fd, EPOLL_CTL_DEL, ready[i].data.fd, NULL);
    }
    return NULL;
}

static void start_floods(int count, char *producer, char *gate)
{
    static int epoll_fd;
    static char slot[16];
    pthread_t thread;
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < count; i++) {
        int master;
        snprintf(slot, sizeof slot, "%d", i);
        start_on_pty((char *[]){producer, gate, slot, NULL}, &master);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = master};
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, master, &event);
    }
    if (pthread_create(&thread, NULL, drain_floods, &epoll_fd))
        die("pthread_create");
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 5)
        return 2;
    start_on_pty((char *[]){argv[1], "--norc", "-i", NULL}, &hot);
    once(); /* past bash's greeting */
    if (argc == 5)
        start_floods(atoi(argv[2]), argv[3], argv[4]);
    return serve(once);
}
