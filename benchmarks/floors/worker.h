/* The conversation every floor has with the harness: one line "warm count" in, one JSON list of samples out. */
#ifndef WORKER_H
#define WORKER_H

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct sample {
    long ns;      /* how long it took */
    long bytes;   /* what was moved; -1: not a fact of this floor */
    long rss_kib; /* memory of what was measured; -1: not a fact of this floor */
    long sessions; /* that were opened for it; 0: not a fact of this floor */
};

static inline long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static inline void die(const char *what)
{
    perror(what);
    exit(1);
}

static inline void print_sample(struct sample sample, int first)
{
    printf("%s{\"ns\":%ld", first ? "" : ",", sample.ns);
    if (sample.bytes >= 0)
        printf(",\"bytes\":%ld", sample.bytes);
    if (sample.rss_kib >= 0)
        printf(",\"rss_kib\":%ld", sample.rss_kib);
    if (sample.sessions > 0)
        printf(",\"sessions\":%ld", sample.sessions);
    printf("}");
}

static inline int serve(struct sample (*once)(void))
{
    char line[64];
    int warm, count;
    printf("{\"ready\":true}\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%d %d", &warm, &count) == 2) {
        struct sample *samples = calloc((size_t)count + 1, sizeof *samples);
        if (!samples)
            die("calloc");
        for (int i = 0; i < warm; i++)
            once();
        /* Printing waits until the batch is over, so that it is in no sample. */
        for (int i = 0; i < count; i++)
            samples[i] = once();
        printf("[");
        for (int i = 0; i < count; i++)
            print_sample(samples[i], i == 0);
        printf("]\n");
        fflush(stdout);
        free(samples);
    }
    return 0;
}

#endif
