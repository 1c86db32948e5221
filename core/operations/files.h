/*
 * Operations on the files of a sandbox: one call, and the two routes on which it may go.
 *
 * The public functions (files.c) check what the caller wants, resolve its path and choose the route: `native` where
 * the provider opens the sandbox's root for us, `derived`, by commands in the sandbox, everywhere else. A route
 * finds facts; what they mean is decided by the code that both share (page.h, edit_text.h, pattern.h, entries.h,
 * file_error.h), so that an answer is the same to the byte on both.
 */
#ifndef SANDLOT_OPERATIONS_FILES_H
#define SANDLOT_OPERATIONS_FILES_H

#include "operations/edit_text.h"
#include "operations/entries.h"
#include "operations/page.h"
#include "operations/pattern.h"
#include "session/session.h"

#include <sandlot/sandlot.h>

/* What is being done; messages and the meaning of errors depend on it. */
enum file_verb {
    FILE_READ,
    FILE_WRITE,
    FILE_EDIT,
    FILE_LIST,
    FILE_GLOB,
    FILE_GREP,
    FILE_REMOVE,
    FILE_UPLOAD,
    FILE_DOWNLOAD
};

/* One operation under way. Lives on the caller's stack. */
/* What all files of one download may be together. */
struct byte_bound {
    uint64_t maximum;
    uint64_t left;
};

struct file_call {
    struct sandlot_session *session;
    enum file_verb verb;
    const char *path;    /* absolute, without ".", ".." and repeated slashes; no slash at the end but of "/" */
    const char *shown;   /* as the caller gave it, for messages */
    int64_t deadline_ms; /* CLOCK_MONOTONIC */
    int cancel_fd;       /* -1: none */
    void (*moved)(void *context, uint64_t bytes); /* transfers: so many more bytes have moved; NULL: nobody asks */
    void *context;
    const struct byte_bound *bound; /* download: no more bytes than are left are written; the one who is told of those
                                       that have moved counts them */
};

/* What grep looks for. */
struct search {
    const char *text;
    size_t length;
    const struct pattern *filter; /* NULL: all files */
    uint64_t maximum;             /* matches; 0: all */
};

/* A file that is here as a whole: for the sandbox, or from it. */
struct small_file {
    const char *path;  /* as that of a call */
    const void *bytes; /* filled in by a download, as LENGTH is */
    size_t length;
    uint32_t mode; /* as that of upload */
    bool moved;    /* filled in */
};

/* Each returns 0, or -1 with the error. Results are empty before, and are the caller's to clear in any case. */
struct file_route {
    int (*read)(const struct file_call *call, const struct page_wish *wish, struct sandlot_page *page,
                struct sandlot_error *error);
    int (*write)(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error);
    int (*edit)(const struct file_call *call, const struct edit_wish *wish, uint64_t *occurrences,
                struct sandlot_error *error);
    /* Unsorted: files.c sorts. */
    int (*list)(const struct file_call *call, struct entries *entries, struct sandlot_error *error);
    /* Unsorted, at most ENTRIES_FOUND_MAXIMUM + 1. *TRUNCATED: there may be more. */
    int (*find)(const struct file_call *call, const struct pattern *pattern, bool directories, struct entries *found,
                bool *truncated, struct sandlot_error *error);
    /* Sorted, at most search->maximum. *TRUNCATED: there is or may be more. */
    int (*search)(const struct file_call *call, const struct search *search, struct matches *found, bool *truncated,
                  struct sandlot_error *error);
    /* Leaves the working directory and what holds it alone, by whatever links the path leads there. */
    int (*remove)(const struct file_call *call, struct sandlot_error *error);

    /* Moves one file: all that SOURCE_FD holds, replacing the file as a whole; parents are made. MODE: permission bits
     * of a new file, 0 for the usual. *BYTES is what was moved. */
    int (*upload)(const struct file_call *call, int source_fd, uint32_t mode, uint64_t *bytes,
                  struct sandlot_error *error);
    int (*download)(const struct file_call *call, int target_fd, uint64_t *bytes, struct sandlot_error *error);
    /*
     * Uploads several small files with less effort than one by one; NULL: there is nothing to be gained. It tries as
     * many of FILES, from the first one on, as go together, and returns how many these are. Those of them that are not
     * MOVED are for upload, which can tell why. The path of CALL is not looked at.
     */
    size_t (*upload_some)(const struct file_call *call, struct small_file *files, size_t count);
    /* The same the other way: those that are MOVED lie in BYTES, where there is room for ROOM. */
    size_t (*download_some)(const struct file_call *call, struct small_file *files, size_t count, char *bytes,
                            size_t room);
    /* Makes the directory and its parents; fine if it is there. */
    int (*make_directory)(const struct file_call *call, struct sandlot_error *error);
    /* Every regular file and every directory below call->path (itself not), links not followed, their paths absolute,
     * with is_dir and bytes. An unreadable directory is an error. */
    int (*tree)(const struct file_call *call, struct entries *entries, struct sandlot_error *error);
};

extern const struct file_route native_route;  /* native/native.c */
extern const struct file_route derived_route; /* derived/derived.c */

/* The route for this session. NULL with the error if it has none, or if its sandbox has gone. */
const struct file_route *file_route_of(const struct file_call *call, struct sandlot_error *error);

/* Limits of one call. */
enum {
    FILE_CALL_MS = 60 * 1000,
    FILE_GLOB_MS = 5 * 1000,
    FILE_GREP_MS = 15 * 1000,
    FILE_STALL_MS = 120 * 1000 /* of a transfer in which nothing moves */
};

#endif
