#include "upload.h"

#include "command.h"
#include "staging.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/text_sink.h>

#include <string.h>

enum {
    NAME_SIZE = 64,
    FATES_SIZE = 16384,
    CARRIED = 48 * 1024, /* so many bytes of content fit into a command */
    GROUP = 3            /* that begin four characters of it */
};

struct upload {
    struct staging staging;
    const struct sandlot_transfer *transfer;
    const struct sandlot_file *files;
    size_t count;
    struct placing_file *placing;
    char (*names)[NAME_SIZE];
    size_t *pieces;
    bool *told;
    char **carried; /* contents that the command brings along; NULL: they were staged */
};

/* ---- placing ----------------------------------------------------------------------------------------------------- */

/* A shell line that joins the pieces 0 to COUNT - 1 of NAME, without ".0", to the first. */
static void add_joining(FILE *stream, const char *name, size_t count)
{
    if (count > 1)
        fprintf(stream,
                "i=1; while [ \"$i\" -lt %zu ] && cat %s.\"$i\" >>%s.0; do rm -f %s.\"$i\"; i=$((i + 1)); done\n",
                count, name, name, name);
}

/* Shell lines that write the file NAME.0. */
static void add_content(FILE *stream, const char *name, const char *content, size_t length)
{
    fprintf(stream, "base64 -d >%s.0 <<'end'\n", name);
    base64_print(stream, content, length);
    fputs("end\n", stream);
}

/* What joins all pieces and then places the files; to be freed. It prints all at its end, for a command that prints
 * sooner is answered sooner, and asked again. */
static char *make_script(const struct upload *upload)
{
    AUTO_FREE char *placing = placing_script(upload->staging.folder, upload->placing, upload->count);
    char *script = NULL;
    size_t size = 0;
    FILE *stream = placing ? open_memstream(&script, &size) : NULL;

    if (!stream)
        return NULL;
    fputs("(\n", stream);
    if (upload->carried)
        fprintf(stream, "mkdir -m 700 %s\n", upload->staging.folder);
    for (size_t i = 0; i < upload->count; i++) {
        char name[NAME_SIZE];

        snprintf(name, sizeof(name), "%s/%zu", upload->staging.folder, i);
        if (upload->carried)
            add_content(stream, name, upload->carried[i], (size_t)upload->placing[i].staged_bytes);
        add_joining(stream, name, upload->pieces[i]);
    }
    fprintf(stream, "%s\n) | { fates=$(cat); printf '%%s\\n' \"$fates\"; }\n", placing);
    if (fclose(stream) == 0)
        return script;
    free(script);
    return NULL;
}

static void tell(void *context, size_t index, const char *error)
{
    struct upload *upload = context;

    if (!upload->told[index])
        upload->transfer->done(upload->transfer, index, error, error ? 0 : upload->placing[index].staged_bytes);
    upload->told[index] = true;
}

static enum sandlot_status place(struct upload *upload)
{
    AUTO_FREE char *script = make_script(upload);
    AUTO_FREE char *fates = malloc(FATES_SIZE);
    struct text_sink sink;

    if (!script || !fates)
        return api_no_memory(upload->staging.call);
    text_sink_init(&sink, fates, FATES_SIZE);
    enum sandlot_status status = command_run(upload->staging.call, upload->staging.sandbox, script, &sink.sink);

    if (status == SANDLOT_OK)
        placing_read(fates, upload->count, tell, upload);
    return status;
}

/* ---- upload ------------------------------------------------------------------------------------------------------ */

/* How much there is to be sent; UINT64_MAX: nobody knows. */
static uint64_t length_of_all(const struct sandlot_file *files, size_t count)
{
    uint64_t all = 0;

    for (size_t i = 0; i < count; i++) {
        if (files[i].length >= UINT64_MAX - all - GROUP)
            return UINT64_MAX;
        all += files[i].length + GROUP;
    }
    return all;
}

static void note_file(struct upload *upload, size_t index, uint64_t bytes)
{
    const struct sandlot_file *file = &upload->files[index];

    snprintf(upload->names[index], NAME_SIZE, "%s/%zu.0", upload->staging.folder, index);
    upload->placing[index] = (struct placing_file){
        .staged = upload->names[index], .staged_bytes = bytes, .mode = file->mode, .target = file->path};
}

static enum sandlot_status stage_all(struct upload *upload)
{
    enum sandlot_status status = SANDLOT_OK;

    for (size_t i = 0; i < upload->count && status == SANDLOT_OK; i++) {
        const struct sandlot_file *file = &upload->files[i];
        uint64_t bytes = 0;

        status = staging_add(&upload->staging, i, file->source, file->length, &upload->pieces[i], &bytes);
        note_file(upload, i, bytes);
    }
    return status == SANDLOT_OK ? staging_finish(&upload->staging) : status;
}

static enum sandlot_status carry(struct upload *upload, size_t index)
{
    const struct sandlot_file *file = &upload->files[index];
    size_t wanted = (size_t)file->length;
    size_t got = 1;
    size_t length = 0;
    enum sandlot_status status = SANDLOT_OK;

    upload->carried[index] = malloc(wanted + 1);
    if (!upload->carried[index])
        return api_no_memory(upload->staging.call);
    while (status == SANDLOT_OK && length < wanted && got > 0) {
        got = 0;
        status = file->source->read(file->source, upload->carried[index] + length, wanted - length, &got);
        length += got;
    }
    note_file(upload, index, length);
    if (status == SANDLOT_OK && length < wanted)
        return sandlot_fail(upload->staging.call, SANDLOT_INVALID_ARGUMENT,
                            "the content of %.200s ended before its announced length; upload it again", file->path);
    return status;
}

/* Small files need no request of their own. */
static enum sandlot_status carry_all(struct upload *upload)
{
    enum sandlot_status status = SANDLOT_OK;

    upload->carried = calloc(upload->count, sizeof(*upload->carried));
    if (!upload->carried)
        return api_no_memory(upload->staging.call);
    for (size_t i = 0; i < upload->count && status == SANDLOT_OK; i++)
        status = carry(upload, i);
    return status;
}

static enum sandlot_status upload_all(struct upload *upload)
{
    upload->placing = calloc(upload->count, sizeof(*upload->placing));
    upload->names = calloc(upload->count, sizeof(*upload->names));
    upload->pieces = calloc(upload->count, sizeof(*upload->pieces));
    upload->told = calloc(upload->count, sizeof(*upload->told));
    if (!upload->placing || !upload->names || !upload->pieces || !upload->told)
        return api_no_memory(upload->staging.call);
    enum sandlot_status status =
        length_of_all(upload->files, upload->count) <= CARRIED ? carry_all(upload) : stage_all(upload);

    if (status == SANDLOT_OK)
        status = place(upload);
    if (status != SANDLOT_OK)
        staging_drop(&upload->staging);
    return status;
}

enum sandlot_status upload_files(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_file *files, size_t count,
                                 const struct sandlot_transfer *transfer)
{
    struct upload upload = {.transfer = transfer, .files = files, .count = count};

    (void)provider;
    if (count == 0)
        return SANDLOT_OK;
    enum sandlot_status status = staging_open(&upload.staging, call, sandbox, length_of_all(files, count));

    if (status == SANDLOT_OK)
        status = upload_all(&upload);
    staging_close(&upload.staging);
    free(upload.placing);
    free(upload.names);
    free(upload.pieces);
    free(upload.told);
    for (size_t i = 0; upload.carried && i < count; i++)
        free(upload.carried[i]);
    free(upload.carried);
    return status;
}

/* ---- a file for a command ---------------------------------------------------------------------------------------- */

/* Its pieces go to PATH, once: whoever comes a second time finds them gone and the file there. */
static enum sandlot_status join(struct staging *staging, const char *path, size_t pieces)
{
    AUTO_FREE char *target = shell_word(path);
    AUTO_FREE char *script = NULL;
    const char *folder = staging->folder;

    if (!target || asprintf(&script,
                            "umask 077\n"
                            "if [ -d %s ]; then\n"
                            "i=1\n"
                            "while [ \"$i\" -lt %zu ]; do\n"
                            "cat %s/0.\"$i\" >>%s/0.0 || exit\n"
                            ": >%s/0.\"$i\"\n"
                            "i=$((i + 1))\n"
                            "done\n"
                            "chmod 600 %s/0.0\n"
                            "mv -f %s/0.0 %s && rm -rf %s\n"
                            "fi\n"
                            "[ ! -f %s ] || echo placed-%zu\n",
                            folder, pieces, folder, folder, folder, folder, folder, target, folder, target, pieces) < 0)
        return api_no_memory(staging->call);
    return command_do(staging->call, staging->sandbox, script, "placed-");
}

enum sandlot_status upload_new_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                    const struct sandlot_source *source, uint64_t length)
{
    struct staging staging;
    size_t pieces = 0;
    uint64_t bytes = 0;
    enum sandlot_status status = staging_open(&staging, call, sandbox, length);

    if (status == SANDLOT_OK)
        status = staging_add(&staging, 0, source, length, &pieces, &bytes);
    if (status == SANDLOT_OK)
        status = staging_finish(&staging);
    if (status == SANDLOT_OK)
        status = join(&staging, path, pieces);
    if (status != SANDLOT_OK && staging.body)
        staging_drop(&staging);
    staging_close(&staging);
    return status;
}
