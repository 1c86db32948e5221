/*
 * sandlot/sdk/batch.h - many small files to or from a sandbox by one command, for services whose own ways take a
 * request, or a process, for each.
 *
 * Up: small files travel as one archive, the standard input of a script that unpacks it and moves what came whole into
 * its place, a folder at a time. Down: a script prints them one behind the other. Either is a request or two for some
 * hundred files. What is out of the ordinary - large files, strange names, links, files that may not be read or
 * written, a sandbox without tar - is left to the vendor's own way, which has the last word on what is wrong.
 *
 *   BATCH_UPLOAD(acme_upload, acme_execute, .move = upload_some, .least = 16)
 *
 * Memory is constant: at most some 4 MiB of contents up, and what a sink of execute gets down.
 */
#ifndef SANDLOT_SDK_BATCH_H
#define SANDLOT_SDK_BATCH_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct batch_vendor {
    void *provider;
    void *sandbox;

    /* As in the table of the provider. The standard input of commands must work for batch_upload. */
    enum sandlot_status (*execute)(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result);

    /* The vendor's own way, for at most BATCH_MOVED files at once; as upload or download in the table. */
    enum sandlot_status (*move)(struct sandlot_call *call, void *provider, void *sandbox,
                                const struct sandlot_file *files, size_t count,
                                const struct sandlot_transfer *transfer);

    size_t least; /* fewer files than that go the vendor's own way at once */
};

enum { BATCH_MOVED = 32 };

/* upload and download of the table. A file whose fate was not told is to be asked for again, as always. */
enum sandlot_status batch_upload(struct sandlot_call *call, const struct batch_vendor *vendor,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer);
enum sandlot_status batch_download(struct sandlot_call *call, const struct batch_vendor *vendor,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer);

/* batch_upload as a function NAME of the table, whose scripts EXECUTE_ runs, the function of the table. Behind them
 * stand further fields of the struct above. */
#define BATCH_UPLOAD(name, execute_, ...)                                                                             \
    enum sandlot_status name(struct sandlot_call *call, void *provider, void *sandbox,                                \
                             const struct sandlot_file *files, size_t count, const struct sandlot_transfer *transfer) \
    {                                                                                                                 \
        const struct batch_vendor vendor = {                                                                          \
            .provider = provider, .sandbox = sandbox, .execute = (execute_), __VA_ARGS__};                            \
        return batch_upload(call, &vendor, files, count, transfer);                                                   \
    }

#ifdef __cplusplus
}
#endif

#endif
