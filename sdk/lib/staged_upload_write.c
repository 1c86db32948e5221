/* The script that puts staged files into their places. */
#include "staged_upload.h"
#include "text.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>
#include <sandlot/sdk/quoting.h>

#include <stdlib.h>

static char *write_placing(const struct staged_upload *upload)
{
    AUTO_FREE struct placing_file *places = calloc(upload->count, sizeof(*places));

    for (size_t i = 0; places && i < upload->count; i++) {
        const struct staged_file *file = &upload->files[i];

        places[i] = (struct placing_file){.staged = file->name,
                                          .staged_bytes = file->together ? file->stored : file->bytes,
                                          .part = file->together,
                                          .offset = file->begin,
                                          .bytes = file->bytes,
                                          .mode = file->file->mode ? file->file->mode : upload->vendor->mode,
                                          .target = file->told ? NULL : file->file->path};
    }
    return places ? placing_script(upload->prefix, places, upload->count) : NULL;
}

/* Unpacks the contents where other files are stored. */
static bool write_contents(const struct staged_upload *upload, FILE *stream)
{
    AUTO_FREE char *prefix = shell_word(upload->prefix);

    if (!prefix)
        return false;
    fprintf(stream,
            "command -v base64 >/dev/null || { echo " STAGED_LACKING "exit; }\n"
            "s=%s\n"
            "trap 'rm -rf \"$s\"*' 0\n"
            "mkdir -m 700 \"$s\"\n",
            prefix);
    for (size_t i = 0; i < upload->count; i++) {
        fprintf(stream, "base64 -d >\"$s/%zu\" <<'end'\n", i);
        base64_print(stream, upload->files[i].content, (size_t)upload->files[i].bytes);
        fputs("end\n", stream);
    }
    return true;
}

/* All of its output comes at its end, lest a service that answers once is asked twice. */
char *staged_upload_write(const struct staged_upload *upload, bool carried)
{
    AUTO_FREE char *placing = write_placing(upload);
    char *script = NULL;
    size_t size = 0;
    FILE *stream = placing ? open_memstream(&script, &size) : NULL;

    if (!stream)
        return NULL;
    fputs("(\n", stream);
    bool whole = !carried || write_contents(upload, stream);

    fprintf(stream, "%s%s\n) | { fates=$(cat); printf '%%s\\n' \"$fates\"; }\n", upload->first ? upload->first : "",
            placing);
    return sdk_text_end(stream, &script, whole);
}
