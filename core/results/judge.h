/* What has become of the base: the sandbox's files against those that were there before, and against the folder that
 * would get them. */
#ifndef SANDLOT_RESULTS_JUDGE_H
#define SANDLOT_RESULTS_JUDGE_H

#include "results/box.h"

/* Beyond this a file goes into no patch, and is not held in memory. */
#define RESULTS_PATCH_MAXIMUM (UINT64_C(64) << 20)

struct change {
    const char *path;
    enum sandlot_change_kind kind;
    const struct node *before; /* what the base had; NULL: nothing */
    struct node *after;        /* what the sandbox has; NULL: nothing */
    const char *risk;          /* NULL, or why to look at it first */
    bool never;                /* for the reason in RISK, or PROBLEM, it is neither exported nor applied */
    char *problem;             /* NULL, or why its bytes are not to be had, or cannot go where they belong */
    bool binary;
    bool conflict; /* the folder has neither what the base had nor what the sandbox has */
    bool there;    /* the folder has it already */
    bool together; /* it goes with a path above it that has a risk */
    struct stood { /* in the folder at its path, when that was looked at */
        enum node_type type;
        uint64_t bytes;
        int64_t modified_ns;
    } stood;
    size_t index; /* of what was fetched */
    bool fetched;
};

/* How much is to be known. */
enum judging {
    JUDGE_LIST,  /* what has changed */
    JUDGE_PATCH, /* and the bytes that a patch needs */
    JUDGE_ALL    /* and all bytes, from here on unchanging */
};

struct results {
    struct sandlot_session *session;
    struct sandlot_changes_request request;
    int cancel_fd;
    enum judging how;
    struct base base;
    struct box box;
    int folder_fd;       /* to compare with and apply to; -1: it is not there, which only a tar does not need */
    bool own_folder;     /* and it is the base's own */
    char **paths;        /* of the request, made plain */
    struct nodes before; /* sorted */
    struct nodes after;
    struct change *changes; /* risky ones first, then by path */
    size_t count;
    size_t capacity;
};

/* Finds all changes. NEEDS_FOLDER: not without the folder. 0 or -1. To be cleared in any case. */
int results_gather(struct sandlot_session *session, const struct sandlot_changes_request *request, enum judging how,
                   bool needs_folder, struct results *results, struct sandlot_error *error);
void results_clear(struct results *results);

/* CHANGE as the public header has it. Its texts are the change's. */
struct sandlot_change results_public(const struct change *change);

/* The bytes of the file at CHANGE's path now, in the sandbox (fetched if need be) or in the folder; to be freed. NULL
 * with the error; *LENGTH bytes. */
char *results_new_bytes(struct results *results, struct change *change, size_t *length, struct sandlot_error *error);
char *results_old_bytes(const struct results *results, const struct change *change, size_t *length,
                        struct sandlot_error *error);

/* Fetches the file of CHANGE unless it has been. A problem is noted there. 0 or -1. */
int results_fetch(struct results *results, struct change *const *changes, size_t count, struct sandlot_error *error);

#endif
