/* idle COUNT PATH: memory of this process for each of COUNT idle children on PTYs. */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "pty.h"

static int count;
static char *program;

static long resident_kib(void)
{
    long total, resident = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%ld %ld", &total, &resident) != 2)
        die("statm");
    fclose(statm);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static struct sample once(void)
{
    int *masters = calloc((size_t)count, sizeof *masters);
    pid_t *pids = calloc((size_t)count, sizeof *pids);
    long before = resident_kib(), started = now_ns();
    for (int i = 0; i < count; i++)
        pids[i] = start_on_pty((char *[]){program, NULL}, &masters[i]);
    long took = now_ns() - started, grown = resident_kib() - before;
    for (int i = 0; i < count; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
        close(masters[i]);
    }
    return (struct sample){.ns = took, .bytes = -1, .rss_kib = grown, .sessions = count};
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (argc != 3)
        return 2;
    count = atoi(argv[1]);
    program = argv[2];
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    return serve(once);
}
