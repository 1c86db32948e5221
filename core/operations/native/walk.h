/*
 * Walks everything below a directory, on several threads where the tree is large enough to be worth it. Links are never
 * followed, the number of open descriptors does not depend on how deep or wide the tree is, and what vanishes or is
 * swapped meanwhile is passed over. From the root, /proc, /sys, /dev and /run are seen but not entered.
 */
#ifndef SANDLOT_OPERATIONS_NATIVE_WALK_H
#define SANDLOT_OPERATIONS_NATIVE_WALK_H

#include "operations/native/open.h"

enum { WALK_THREADS = 4 };

struct walk_worker;

struct walk_entry {
    struct walk_worker *worker; /* on whose thread we are */
    int directory;              /* descriptor of the directory that holds it */
    const char *name;
    size_t name_length;
    const char *relative; /* its path below the start, without leading slash; valid during the visit only */
    size_t relative_length;
    unsigned char type; /* DT_REG, DT_DIR, DT_LNK ..., never DT_UNKNOWN: what it was when the directory was read */
};

struct walk_plan {
    const struct native_root *root;
    int start_fd;        /* the directory, readable, nothing read from it yet; stays the caller's */
    int64_t deadline_ms; /* CLOCK_MONOTONIC */
    int cancel_fd;       /* -1: none */
    void *states;        /* WALK_THREADS of them; each is used by one thread at a time */
    size_t state_size;
    /* Sees every entry once, in no order. For a directory: shall it be entered? */
    bool (*visit)(void *state, const struct walk_entry *entry);
    /* The directory RELATIVE cannot be read, errno REASON. NULL: nobody asks. */
    void (*unreadable)(void *state, struct walk_worker *worker, const char *relative, int reason);
};

/* Opens the directory at call->path for a walk, links followed. -1 with errno; ENOTDIR for a file too. */
int walk_open(const struct file_call *call, int root_fd);

/* The time by which a walk of at most LIMIT_MS ends, and in any case with its call. */
int64_t walk_deadline(const struct file_call *call, int64_t limit_ms);

/* 0 when all was seen; else errno why not: ETIMEDOUT, ECANCELED, what walk_stop was given, ENOMEM, EMFILE, ENFILE. */
int walk(const struct walk_plan *plan);

/* For a visit that takes long, to be called from time to time: false if it is to end now. */
bool walk_goes_on(struct walk_worker *worker);

/* Ends the walk on all threads; the first REASON counts. */
void walk_stop(struct walk_worker *worker, int reason);

#endif
