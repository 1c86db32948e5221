#include "placing.h"

#include "command.h"

#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>

#include <string.h>

enum { FATES_SIZE = 16384, PATH_SIZE = 64 };

/* Files that the command carries: to the folder, where the others have been stored. */
static void add_contents(FILE *stream, const char *folder, const struct placing *files, size_t count)
{
    fprintf(stream,
            "command -v base64 >/dev/null || { echo lacking; exit; }\n"
            "trap 'rm -rf %s' 0\numask 077\nmkdir %s\numask 022\n",
            folder, folder);
    for (size_t i = 0; i < count; i++) {
        if (files[i].left_out || !files[i].content)
            continue;
        fprintf(stream, "base64 -d >%s/%zu <<'end'\n", folder, i);
        base64_print(stream, files[i].content, (size_t)files[i].bytes);
        fputs("end\n", stream);
    }
}

/* How the files get to their places. */
static char *placing_part(const char *folder, const struct placing *files, size_t count)
{
    AUTO_FREE struct placing_file *steps = calloc(count, sizeof(*steps));
    AUTO_FREE char *paths = calloc(count, PATH_SIZE);

    if (!steps || !paths)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        char *staged = paths + i * PATH_SIZE;

        snprintf(staged, PATH_SIZE, "%s/%zu", folder, i);
        steps[i] = (struct placing_file){.staged = staged,
                                         .staged_bytes = files[i].bytes,
                                         .mode = files[i].mode,
                                         .target = files[i].left_out ? NULL : files[i].target};
    }
    return placing_script(folder, steps, count);
}

static char *make_script(const char *folder, const struct placing *files, size_t count)
{
    AUTO_FREE char *placing = placing_part(folder, files, count);
    char *script = NULL;
    size_t size = 0;
    bool carries = false;
    FILE *stream = placing ? open_memstream(&script, &size) : NULL;

    if (!stream)
        return NULL;
    for (size_t i = 0; i < count; i++)
        carries |= files[i].content != NULL;
    if (carries)
        add_contents(stream, folder, files, count);
    fputs(placing, stream);
    if (fclose(stream) == 0)
        return script;
    free(script);
    return NULL;
}

enum sandlot_status placing_run(struct sandlot_call *call, struct sandbox *sandbox, const char *folder,
                                const struct placing *files, size_t count,
                                void (*tell)(void *context, size_t index, const char *error), void *context,
                                bool *lacking)
{
    AUTO_FREE char *script = make_script(folder, files, count);
    AUTO_FREE char *fates = malloc(FATES_SIZE);

    if (!script || !fates)
        return api_no_memory(call);
    enum sandlot_status status = command_run(call, sandbox, script, fates, FATES_SIZE);

    if (status != SANDLOT_OK)
        return status;
    *lacking = strcmp(fates, "lacking\n") == 0;
    placing_read(fates, count, tell, context);
    return SANDLOT_OK;
}
