/* One file of an upload or download on its way, and the request that it is part of. */
#ifndef SANDLOT_OPERATIONS_TRANSFER_FILE_H
#define SANDLOT_OPERATIONS_TRANSFER_FILE_H

#include "operations/file_error.h"
#include "operations/local_file.h"
#include "operations/stall.h"
#include "session/path_lock.h"
#include "session/transfer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Files that may wait to be moved together, or that a vendor is given at once. Where a service needs five requests to
 * give a command its input, fewer would be more than one request for each hundred files. */
enum { TRANSFER_BATCH = 1024 };

/* One file on its way. */
struct moving {
    struct transfer *transfer;
    size_t index; /* of its item */
    char *path;   /* in the sandbox, as the caller hears of it */
    char *remote; /* the same, made plain */
    char *local_path;
    const char *relative; /* part of a tree: its path below the transfer's folder; NULL: it is not */
    int fd;               /* of the caller, without local_path */
    uint32_t mode;
    struct local_file local;
    struct path_lock lock; /* an upload's */
    bool locked;
    struct sandlot_source source;
    struct sandlot_sink sink;
    bool takes_turns; /* its file on this machine is open only while its bytes move */
    bool waiting;     /* and it has not been yet */
    bool kept;        /* it is in its place on this machine, or will not be */
    bool settled;     /* its fate is known: PROBLEM, or all of it has moved */
    struct sandlot_error problem;
    uint64_t bytes;
};

struct transfer {
    struct sandlot_session *session;
    struct sandlot_transfer_request request;
    bool upload;
    bool vendor; /* the provider has a transfer of its own */
    struct stall stall;
    int folder_fd;                       /* where the tree that is being downloaded goes */
    const struct file_route *some_route; /* the one that moves small files together; NULL: none does */
    struct moving batch[TRANSFER_BATCH];
    size_t batch_size;
    size_t count;
    uint64_t done;
    struct byte_bound bound; /* of a download */
    uint64_t total;
    size_t unknown;               /* items whose size is not part of TOTAL (yet) */
    struct sandlot_error first;   /* what goes wrong first */
    struct sandlot_error stopped; /* what keeps all that follow from being moved */
};

/* ---- what the caller hears ---- */

/* So many BYTES of CONTEXT, a struct transfer, have moved. */
void transfer_moved(void *context, uint64_t bytes);

/* After an error with CODE nothing that follows can work either. */
bool transfer_stops_all(enum sandlot_code code);

/* Tells the fate of a file: the PROBLEM, if there is one, or that all of its BYTES have moved. */
void transfer_report(struct transfer *transfer, size_t index, const char *path, const struct sandlot_error *problem,
                     uint64_t bytes);

/* ---- one file ---- */

/* For a file of the sandbox: PATH, of which errors say SHOWN. */
struct file_call transfer_call_of(struct transfer *transfer, const char *path, const char *shown);

/* Opens its end on this machine. 0, or -1 with the error. */
int moving_open(struct moving *moving, struct sandlot_error *error);

/* What has come of it will not be kept, or comes again: others may use its part of the bound. What went into a pipe or
 * a descriptor of the caller stays there. */
void moving_give_back(struct moving *moving);

/* Its fate is known: its problem, or that all of it has moved. */
void moving_settle(struct moving *moving);

/* Its problem is errno, of a write to this machine. */
void moving_cannot_write(struct moving *moving);

/* What was received gets its name on this machine. */
void moving_commit(struct moving *moving);

/* All of it has come: the same, and its file is closed. */
void moving_keep(struct moving *moving);

/* Locks all of FILES, whose paths differ, always in the same order, so that two that wait for each other cannot be. A
 * file whose lock is not to be had is settled. */
void moving_lock_all(struct moving *const *files, size_t count);

void moving_unlock(struct moving *moving);

/* Moves it alone, on the route of all other file operations. 0, or -1 with the error. */
int moving_on_route(struct moving *moving, struct sandlot_error *error);

/* Frees what it has. */
void moving_clear(struct moving *moving);

#endif
