#include "placing.h"
#include "text.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>

#include <sandlot/sdk/quoting.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MODE_BITS = 07777 };

static bool write_file(FILE *stream, size_t index, const struct placing_file *file)
{
    AUTO_FREE char *staged = shell_word(file->staged);
    AUTO_FREE char *target = shell_word(file->target);

    if (!staged || !target)
        return false;
    char cut[48] = "- -";

    if (file->part)
        snprintf(cut, sizeof(cut), "%" PRIu64 " %" PRIu64, file->offset, file->bytes);
    fprintf(stream, "place %zu %s %" PRIu64 " %s %o %s\n", index, staged, file->staged_bytes, cut,
            (unsigned int)(file->mode & MODE_BITS), target);
    return true;
}

char *placing_script(const char *prefix, const struct placing_file *files, size_t count)
{
    AUTO_FREE char *word = shell_word(prefix);
    char *script = NULL;
    size_t size = 0;
    FILE *stream = word ? open_memstream(&script, &size) : NULL;
    bool whole = stream != NULL;

    if (stream)
        fprintf(stream, "s=%s\n%s", word, placing_script_text);
    for (size_t i = 0; i < count && whole; i++)
        whole = !files[i].target || write_file(stream, i, &files[i]);
    return sdk_text_end(stream, &script, whole);
}

void placing_read(char *output, size_t count, placing_tell tell, void *context)
{
    static const struct {
        const char *word;
        const char *error;
    } fates[] = {{"placed", NULL},
                 {"unwritten", "it could not be written whole; look whether the disk of the sandbox is full"},
                 {"special", "something is there that is no regular file"},
                 {"permission_denied", "permission_denied"},
                 {"is_directory", "is_directory"},
                 {"invalid_path", "invalid_path"}};
    char *rest = NULL;

    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *word;
        unsigned long index = strtoul(line, &word, 10);

        if (word == line || *word != ' ' || index >= count)
            continue;
        for (size_t i = 0; i < sizeof(fates) / sizeof(*fates); i++)
            if (strcmp(word + 1, fates[i].word) == 0)
                tell(context, index, fates[i].error);
    }
}
