/*
 * sandlot/sdk/printed_download.h - download of the table, over a service that reads one file at a time, or none at all.
 *
 *   PRINTED_DOWNLOAD(acme_download, acme_execute, .one = download_one, .least = 16)
 *
 * Several files are printed by a script, one behind the other, in exact bytes, as far as the vendor wants that: one
 * request for all. Very many small ones go as batch.h has it. What a script cannot say for sure goes the vendor's own
 * way, which has the last word on what is wrong with a file. A file that changes while it is printed is left to the
 * host, which asks again.
 */
#ifndef SANDLOT_SDK_PRINTED_DOWNLOAD_H
#define SANDLOT_SDK_PRINTED_DOWNLOAD_H

#include <sandlot/provider.h>
#include <sandlot/sdk/script.h>

#ifdef __cplusplus
extern "C" {
#endif

struct printed_download_vendor {
    struct script_place scripts;

    /* Downloads FILE and tells TRANSFER of it under INDEX, or leaves it to the host. NULL: the service has no way. */
    enum sandlot_status (*one)(struct sandlot_call *call, void *sandbox, const struct sandlot_file *file, size_t index,
                               const struct sandlot_transfer *transfer);

    uint64_t printed; /* so many bytes of several files a script may print; 0: all go by `one`; without `one` it is not
                         looked at */
    size_t least;     /* from so many files on, small ones go as batch.h has it; 0: never */
    bool utf8;        /* `one` takes paths in UTF-8 only: a script prints the others */
};

/* download of the table. */
enum sandlot_status printed_download(struct sandlot_call *call, const struct printed_download_vendor *vendor,
                                     const struct sandlot_file *files, size_t count,
                                     const struct sandlot_transfer *transfer);

/* The same as a function NAME of the table, whose scripts EXECUTE_ runs, the function of the table. Behind them stand
 * further fields of the struct above. */
#define PRINTED_DOWNLOAD(name, execute_, ...)                                                                         \
    enum sandlot_status name(struct sandlot_call *call, void *provider, void *sandbox,                                \
                             const struct sandlot_file *files, size_t count, const struct sandlot_transfer *transfer) \
    {                                                                                                                 \
        const struct printed_download_vendor vendor = {                                                               \
            .scripts = {.provider = provider, .sandbox = sandbox, .execute = (execute_)}, __VA_ARGS__};               \
        return printed_download(call, &vendor, files, count, transfer);                                               \
    }

enum { PRINTED_DOWNLOAD_WORD = 32 };

/* Asks the sandbox what is the matter with the file PATH: one of the words of sandlot_transfer, "" for nothing. For a
 * service that refuses without saying why. */
enum sandlot_status printed_download_why(struct sandlot_call *call, const struct script_place *place, const char *path,
                                         char word[PRINTED_DOWNLOAD_WORD]);

#ifdef __cplusplus
}
#endif

#endif
