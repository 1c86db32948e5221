/*
 * sandlot/sdk/staged_upload.h - upload of the table over a service that can store bytes and run a script.
 *
 * Services write files that are cut when a connection breaks, overwrite what is there as bytes come, make no folders
 * and set no modes. So files go to places that nobody looks at, and one script puts those that came whole into theirs:
 * see placing.h. All of that is here; what is left to a vendor is to have bytes stored:
 *
 *   static enum sandlot_status store(struct sandlot_call *call, void *sandbox, struct staged_files *staged)
 *   {
 *       const struct sandlot_file *file = staged->files;    with `single` there is one
 *       const struct http_request request = {..., .body = {.source = file->source, .length = file->length}};
 *
 *       enum sandlot_status status = http_send(call, client, &request, &response);
 *       staged->lost = status == SANDLOT_UNAVAILABLE && response.status == 0;
 *       return status;
 *   }
 *
 *   STAGED_UPLOAD(acme_upload, acme_execute, .clean_up = clean_up, .store = store, .single = true, .carries = true,
 *                 .least = 16)
 *
 * REQUESTS  Up to 48 KiB of contents travel in the script itself, if the vendor wants that: one request. Else there is
 * one to store and one to place; where the service takes one file at a time, small ones are stored as one and cut up in
 * the sandbox. Very many small files go together: see batch.h.
 *
 * FAILURES  A file that came in part is never seen, and is not told of: the host asks again. What was stored and comes
 * to nothing is removed, also after a cancellation. Memory is constant but for what a vendor's way keeps.
 */
#ifndef SANDLOT_SDK_STAGED_UPLOAD_H
#define SANDLOT_SDK_STAGED_UPLOAD_H

#include <sandlot/provider.h>
#include <sandlot/sdk/script.h>

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

struct staged_upload;

/* Files to be stored. */
struct staged_files {
    /* PATH: a new file, unseen; SOURCE, to be read to its end or its LENGTH (UINT64_MAX: unknown), once; MODE: 0600 */
    const struct sandlot_file *files;
    size_t count;

    /* `done` takes what the service says of single files that it does not store: index, a sentence or one of the words,
     * 0. Of others nothing is to be said. */
    const struct sandlot_transfer *refused;

    FILE *first; /* takes lines for sh that are to run before anything is placed: joining pieces, say */
    bool lost;   /* to be set if it fails because an answer was lost: the files may be there, which is looked at */

    struct staged_upload *upload; /* private */
};

struct staged_upload_vendor {
    struct script_place scripts;

    /* Stores STAGED. SANDLOT_OK: all that was not refused is there; a file that turns out to be shorter than what was
     * read is left to the host. */
    enum sandlot_status (*store)(struct sandlot_call *call, void *sandbox, struct staged_files *staged);

    /* Runs a short SCRIPT that removes what was stored, in less than a second although the call may be over, and never
     * mind what comes of it: remote_clean_up of remote_command.h. */
    void (*clean_up)(struct sandlot_call *call, void *sandbox, const char *script);

    const char *prefix; /* of the unseen files; NULL: "/tmp/.sandlot-". A relative one is seen from scripts.folder */
    uint32_t mode;      /* of new files that bring none; 0: as they were stored */
    bool single;        /* the service takes one file at a time */
    bool carries;       /* small contents travel in the script */
    size_t least;       /* from so many files on, small ones go as batch.h has it; 0: never */
};

/* upload of the table. */
enum sandlot_status staged_upload(struct sandlot_call *call, const struct staged_upload_vendor *vendor,
                                  const struct sandlot_file *files, size_t count,
                                  const struct sandlot_transfer *transfer);

/* The same as a function NAME of the table, whose scripts EXECUTE_ runs, the function of the table. Behind them stand
 * further fields of the struct above. */
#define STAGED_UPLOAD(name, execute_, ...)                                                                            \
    enum sandlot_status name(struct sandlot_call *call, void *provider, void *sandbox,                                \
                             const struct sandlot_file *files, size_t count, const struct sandlot_transfer *transfer) \
    {                                                                                                                 \
        const struct staged_upload_vendor vendor = {                                                                  \
            .scripts = {.provider = provider, .sandbox = sandbox, .execute = (execute_)}, __VA_ARGS__};               \
        return staged_upload(call, &vendor, files, count, transfer);                                                  \
    }

/*
 * `put` of remote_command.h: SOURCE goes to the new file PATH by VENDOR's `store`, one file, and what that has to say
 * in `first` is done. Not for a `store` that places what it stores.
 */
enum sandlot_status staged_put(struct sandlot_call *call, const struct staged_upload_vendor *vendor, const char *path,
                               const struct sandlot_source *source, uint64_t length);

/* The same as a function NAME; EXECUTE_ is one of REMOTE_COMMAND. */
#define STAGED_PUT(name, execute_, store_)                                                                  \
    enum sandlot_status name(struct sandlot_call *call, void *sandbox, const char *path,                    \
                             const struct sandlot_source *source, uint64_t length)                          \
    {                                                                                                       \
        const struct staged_upload_vendor vendor = {.scripts = {.sandbox = sandbox, .execute = (execute_)}, \
                                                    .store = (store_)};                                     \
        return staged_put(call, &vendor, path, source, length);                                             \
    }

/*
 * For a `store` whose service can store and run a script in one request: the script that places the files as far as
 * they have been read, to be freed (NULL: no memory), and what it has printed. Nothing more is done for files whose
 * fate is known then. The text is taken apart; true: every fate is known.
 */
char *staged_upload_script(const struct staged_files *staged);
bool staged_upload_fates(struct staged_files *staged, char *text);

#ifdef __cplusplus
}
#endif

#endif
