/*
 * Runs each group in a process of its own and passes on what it tells, so that a plugin that crashes, exits, hangs or
 * closes descriptors costs results and never the run. Numbers the results and keeps count.
 */
#ifndef SANDLOT_CONFORMANCE_RUNNER_H
#define SANDLOT_CONFORMANCE_RUNNER_H

#include "kit.h"

#include <signal.h>

enum {
    MOST_GROUPS = 16,
    MOST_FIGURES = 32,
    STOP_MS = 4000,     /* for a group to end its calls when it is interrupted */
    CLEANUP_MS = 15000, /* from the interruption to the end of the run */
};

struct group {
    const char *name;
    void (*run)(const struct kit *kit);
    int silence_s; /* it is ended when nothing was heard of it for so long */
    bool live;     /* uses the vendor's sandboxes */
    bool cleans;   /* it is what comes after an interruption, and ends at kit->cleanup_end_ms */
};

struct total {
    const char *group;
    unsigned passed;
    unsigned failed;
    unsigned skipped;
    const char *omitted; /* why the group was not run; NULL: it was */
};

struct figure {
    char name[64];
    double value;
    char unit[16];
};

struct run {
    struct total totals[MOST_GROUPS];
    size_t total_count;
    struct figure figures[MOST_FIGURES];
    size_t figure_count;
    unsigned number; /* results so far */
    unsigned failed;
    unsigned withheld; /* lines that would have shown a credential */
    bool show_progress;
    bool quiet;             /* results become remarks: what goes wrong after the end is no failure of the provider */
    bool in_peace;          /* the last group ended by itself */
    bool never_loads;       /* loading the library does not come to an end */
    bool keeps_ledger;      /* the private folder still knows of sandboxes */
    char bailed[64];        /* the error for which nothing can be made; "": none */
    char left[512];         /* what is left at the vendor, beside the ids that are not gone; "": nothing is known */
    int64_t interrupted_ms; /* when, by CLOCK_MONOTONIC; 0: it was not */
};

/* The number of the last signal that asked for the end; 0: none did. Signals are blocked but while the runner waits. */
extern volatile sig_atomic_t runner_interrupted;

/* Lets SIGINT, SIGTERM and SIGHUP interrupt groups: the first cancels what runs, the second ends it. */
void runner_catch_signals(void);

/* False: the run ends here, because it was interrupted or nothing can be made (run->bailed). */
bool runner_run(struct run *run, struct kit *kit, const struct group *group);

/* The kit's own word on something, as one more result of the group that ran last. */
void runner_result(struct run *run, bool passed, const char *name, const char *expected, const char *came,
                   const char *advice);

#endif
