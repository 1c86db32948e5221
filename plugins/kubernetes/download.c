/*
 * A file is the standard output of a program that reads it, behind a line that says which state of the file that is: so
 * after a break the rest can be asked for, as long as nobody has changed the file.
 */
#include "command.h"
#include "files.h"
#include "pod.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/printed_download.h>

#include <string.h>

enum { ATTEMPTS = 5, FIRST_PAUSE_MS = 200, LONGEST_PAUSE_MS = 2000, LONGEST_TAG = 160 };

static const char reading[] = "export " POD_CONNECTED "1\n"
                              "[ ! -d \"$1\" ] || exit 21\n"
                              "{ stat -L -c '%d.%i.%s.%Y.%Z' -- \"$1\" || echo -; } 2>/dev/null\n"
                              "if [ \"$2\" = 1 ]; then exec cat <\"$1\"; else exec tail -c \"+$2\" <\"$1\"; fi";

/* What comes. */
struct arriving {
    struct sandlot_sink sink;
    const struct sandlot_sink *to;
    uint64_t bytes;
    enum sandlot_status status; /* of the host's sink */
    char tag[LONGEST_TAG];      /* of the first answer */
    char now[LONGEST_TAG];      /* of this one */
    size_t tag_length;
    bool tagged; /* this one's is whole */
    bool changed;
};

/* Takes the line from the beginning of BYTES. How many bytes that were. */
static size_t take_tag(struct arriving *arriving, const char *bytes, size_t length)
{
    size_t used = 0;

    while (used < length && !arriving->tagged) {
        char one = bytes[used++];

        arriving->tagged = one == '\n' || arriving->tag_length == LONGEST_TAG - 1;
        arriving->now[arriving->tag_length] = one == '\n' ? '\0' : one;
        arriving->tag_length += one != '\n' && !arriving->tagged;
    }
    if (!arriving->tagged)
        return used;
    arriving->now[arriving->tag_length] = '\0';
    if (arriving->bytes == 0)
        memcpy(arriving->tag, arriving->now, sizeof(arriving->tag));
    arriving->changed = arriving->bytes > 0 && (strcmp(arriving->tag, arriving->now) != 0 || *arriving->now == '-');
    return used;
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct arriving *arriving = sink->context;
    size_t used = arriving->tagged ? 0 : take_tag(arriving, bytes, length);

    if (arriving->changed)
        return SANDLOT_INTERNAL; /* ends it; nobody hears of it */
    if (used == length)
        return SANDLOT_OK;
    arriving->status = arriving->to->write(arriving->to, (const char *)bytes + used, length - used);
    if (arriving->status == SANDLOT_OK)
        arriving->bytes += length - used;
    return arriving->status;
}

static enum sandlot_status fetch(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                 struct arriving *arriving, struct exec_status *ended)
{
    char begin[32];
    const char *const words[] = {"sh", "-c", reading, "sandlot-download", path, begin, NULL};
    struct exec exec;

    snprintf(begin, sizeof(begin), "%llu", (unsigned long long)arriving->bytes + 1);
    arriving->tagged = false;
    arriving->tag_length = 0;
    enum sandlot_status status = sandbox_exec(call, sandbox, words, false, false, &exec);

    if (status != SANDLOT_OK)
        return status;
    status = sandbox_finish(call, sandbox, &exec, &arriving->sink);
    *ended = exec.status;
    exec_free(&exec);
    if (status == SANDLOT_OK && !ended->ran)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Kubernetes could not read a file: %s; try again", ended->why);
    return status;
}

/* Until it has all come, has been refused, or no more can be done. */
static enum sandlot_status fetch_all(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                     struct arriving *arriving, struct exec_status *ended)
{
    int pause_ms = FIRST_PAUSE_MS;

    for (int number = 1;; number++) {
        struct attempt attempt;

        attempt_begin(&attempt, call, 0);
        enum sandlot_status status = fetch(&attempt.call, sandbox, path, arriving, ended);

        if (status == SANDLOT_OK || arriving->changed || arriving->status != SANDLOT_OK)
            return arriving->changed ? SANDLOT_OK : arriving->status != SANDLOT_OK ? arriving->status : status;
        if (status != SANDLOT_UNAVAILABLE || number == ATTEMPTS)
            return attempt_fail(&attempt, status);
        status = pause_longer(call, "Kubernetes", &pause_ms, LONGEST_PAUSE_MS);
        if (status != SANDLOT_OK)
            return status;
    }
}

/* The sandbox knows best what is the matter with a file. */
static enum sandlot_status explain(struct sandlot_call *call, struct sandbox *sandbox, const struct sandlot_file *file,
                                   size_t index, const struct sandlot_transfer *transfer)
{
    const struct script_place place = {.provider = sandbox->kubernetes, .sandbox = sandbox, .execute = command_execute};
    char word[PRINTED_DOWNLOAD_WORD];
    enum sandlot_status status = printed_download_why(call, &place, file->path, word);

    if (status == SANDLOT_OK)
        transfer->done(transfer, index, *word ? word : "it cannot be read to its end; try again", 0);
    return status;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *handle, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    struct arriving arriving = {.to = file->sink};
    struct exec_status ended = {0};

    arriving.sink = (struct sandlot_sink){.size = sizeof(arriving.sink), .context = &arriving, .write = take};
    enum sandlot_status status = fetch_all(call, handle, file->path, &arriving, &ended);

    if (status != SANDLOT_OK)
        return status;
    if (!arriving.changed && ended.exit_code != 0)
        return explain(call, handle, file, index, transfer);
    transfer->done(transfer, index, arriving.changed ? "the file changed while it was downloaded; try again" : NULL,
                   arriving.bytes);
    return SANDLOT_OK;
}

PRINTED_DOWNLOAD(files_download, command_execute, .one = download_one, .least = 16, .utf8 = true)
