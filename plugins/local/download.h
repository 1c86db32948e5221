/*
 * A folder in the state folder for what is being fetched, gone with the call. What a program that was killed leaves the
 * next keeper removes: it is in use as long as somebody holds a lock on the folder above.
 */
#ifndef SANDLOT_LOCAL_DOWNLOAD_H
#define SANDLOT_LOCAL_DOWNLOAD_H

#include "client.h"

#include <pthread.h>
#include <sandlot/sdk/attempt.h>

struct download {
    struct attempt attempt; /* its call ends with the outer one, and when there is too much in the folder */
    char *path;             /* absolute, without links */
    uint64_t limit;         /* bytes on the disk */
    int folders_fd;         /* the folder above, with the lock */
    int too_much_fd;        /* an eventfd */
    int end_fd;             /* an eventfd */
    int cancel_fd;          /* readable when one of them, or the outer call's, is */
    pthread_t watcher;
    bool watched;
    bool exceeded;
};

/* Makes the folder, and watches it from then on, at most LIMIT bytes; tells CALL's host of its progress. To be ended in
 * any case. */
enum sandlot_status download_begin(struct client *client, struct sandlot_call *call, uint64_t limit,
                                   struct download *download);

/* Stops watching. download->exceeded says what it has seen. */
void download_stop(struct download *download);

/* Removes it, and all that is in it. */
void download_end(struct download *download);

#endif
