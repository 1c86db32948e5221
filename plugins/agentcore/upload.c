#include "upload.h"

#include "command.h"
#include "staging.h"

#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/random.h>
#include <sandlot/sdk/staged_upload.h>

#include <string.h>

enum { NAME_SIZE = 32 };

/* ---- several files ----------------------------------------------------------------------------------------------- */

/* How much there is to be sent; UINT64_MAX: nobody knows. */
static uint64_t length_of_all(const struct sandlot_file *files, size_t count)
{
    enum { GROUP = 3 }; /* bytes that begin four characters of base64 */
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++) {
        if (files[i].length >= UINT64_MAX - all - GROUP)
            return UINT64_MAX;
        all += files[i].length + GROUP;
    }
    return all;
}

/* Shell lines that join the pieces NAME, NAME.1, NAME.2 and so on. */
static void add_joining(FILE *stream, const char *name, size_t count)
{
    if (count > 1)
        fprintf(stream, "i=1; while [ \"$i\" -lt %zu ] && cat %s.\"$i\" >>%s; do rm -f %s.\"$i\"; i=$((i + 1)); done\n",
                count, name, name, name);
}

static enum sandlot_status store(struct sandlot_call *call, void *sandbox, struct staged_files *staged)
{
    struct staging staging;
    enum sandlot_status status = staging_open(&staging, call, sandbox, length_of_all(staged->files, staged->count));

    for (size_t i = 0; i < staged->count && status == SANDLOT_OK; i++) {
        const struct sandlot_file *file = &staged->files[i];
        size_t pieces = 0;

        status = staging_add(&staging, file->path, file->source, file->length, &pieces);
        add_joining(staged->first, file->path, pieces);
    }
    if (status == SANDLOT_OK)
        status = staging_finish(&staging);
    staging_close(&staging);
    return status;
}

/* ---- a file for a command ---------------------------------------------------------------------------------------- */

/* Its pieces go to PATH, once: whoever comes a second time finds them gone and the file there. */
static enum sandlot_status join(struct staging *staging, const char *folder, const char *path, size_t pieces)
{
    AUTO_FREE char *target = shell_word(path);
    AUTO_FREE char *script = NULL;

    if (!target || asprintf(&script,
                            "umask 077\n"
                            "s=%s\n"
                            "if [ -d $s ]; then\n"
                            "i=1\n"
                            "while [ \"$i\" -lt %zu ]; do\n"
                            "cat $s/0.\"$i\" >>$s/0 || exit\n"
                            ": >$s/0.\"$i\"\n"
                            "i=$((i + 1))\n"
                            "done\n"
                            "chmod 600 $s/0\n"
                            "mv -f $s/0 %s && rm -rf $s\n"
                            "fi\n"
                            "[ ! -f %s ] || echo placed-%zu\n",
                            folder, pieces, target, target, pieces) < 0)
        return http_no_memory(staging->call);
    return command_do(staging->call, staging->sandbox, script, "placed-");
}

static enum sandlot_status send_new_file(struct staging *staging, const char *folder, const char *path,
                                         const struct sandlot_source *source, uint64_t length)
{
    char name[NAME_SIZE + 2];
    size_t pieces = 0;

    snprintf(name, sizeof(name), "%s/0", folder);
    enum sandlot_status status = staging_add(staging, name, source, length, &pieces);

    if (status == SANDLOT_OK)
        status = staging_finish(staging);
    return status == SANDLOT_OK ? join(staging, folder, path, pieces) : status;
}

enum sandlot_status upload_new_file(struct sandlot_call *call, void *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    struct staging staging;
    char folder[NAME_SIZE] = STAGING_PREFIX;
    char script[NAME_SIZE + 16];
    enum sandlot_status status = staging_open(&staging, call, sandbox, length);

    random_digits(folder + strlen(folder), 16);
    if (status == SANDLOT_OK)
        status = send_new_file(&staging, folder, path, source, length);
    if (status != SANDLOT_OK && staging.body) {
        snprintf(script, sizeof(script), "rm -rf %s\n", folder);
        command_clean_up(call, sandbox, script);
    }
    staging_close(&staging);
    return status;
}

enum sandlot_status upload_files(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    const struct staged_upload_vendor vendor = {.scripts = command_place(sandbox),
                                                .clean_up = command_clean_up,
                                                .store = store,
                                                .prefix = STAGING_PREFIX,
                                                .carries = true,
                                                .least = BATCH_MOVED + 1};

    (void)provider;
    return staged_upload(call, &vendor, files, count, transfer);
}
