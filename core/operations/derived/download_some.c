/* Many small files at once: in one command, one behind the other, with one sum for all. */
#include "base/cleanup.h"
#include "operations/derived/derived.h"
#include "operations/derived/download_box.h"
#include "operations/derived/frame.h"
#include "operations/derived/transfer.h"

#include <stdio.h>
#include <string.h>

enum { SMALL = 256 * 1024, NAME_SIZE = 24 };

struct some {
    struct small_file *files;
    size_t count;
    char *bytes;
    size_t room;
    size_t next;    /* the first one that has not had its turn */
    size_t shown;   /* one more than the last one that was named */
    uint64_t sizes; /* of all that were named, together */
    uint64_t came;
    char sum[SUMS_TOLD + 1];
    bool same; /* after all was sent */
};

static int make_no_sense(struct sandlot_error *error)
{
    return frame_damaged(error, "what it says of several files makes no sense");
}

/* They come in the order of their numbers, each with its size behind it. */
static int take_number(struct some *some, const char *name, uint64_t number, struct sandlot_error *error)
{
    if (strcmp(name, "file") == 0 && number >= some->shown && number < some->count) {
        some->shown = (size_t)number + 1;
    } else if (strcmp(name, "size") == 0 && some->shown > 0 && number <= some->room - some->sizes) {
        some->files[some->shown - 1].bytes = some->bytes + some->sizes;
        some->files[some->shown - 1].length = (size_t)number;
        some->sizes += number;
    } else if (strcmp(name, "next") == 0 && number > 0 && number >= some->shown && number < some->count) {
        some->next = (size_t)number;
    } else if (strcmp(name, "same") == 0) {
        some->same = true;
    } else {
        return make_no_sense(error);
    }
    return 0;
}

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct some *some = context;
    uint64_t number;

    if (strcmp(name, "sum") == 0 && strlen(value) <= SUMS_TOLD) {
        memcpy(some->sum, value, strlen(value) + 1);
        return 0;
    }
    return frame_number(value, &number, error) < 0 ? -1 : take_number(some, name, number, error);
}

static int take_bytes(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct some *some = context;

    if (strcmp(name, "bytes") != 0 || length > some->sizes - some->came)
        return make_no_sense(error);
    if (length > 0)
        memcpy(some->bytes + some->came, bytes, length);
    some->came += length;
    return 0;
}

static bool are_whole(const struct some *some)
{
    struct sums sums;

    sums_init(&sums);
    sums_add(&sums, some->bytes, some->came);
    return some->same && some->came == some->sizes && sums_match(&sums, some->sum);
}

/* As many as fit into one command. */
static void name_files(struct script *script, struct some *some, size_t count)
{
    char name[NAME_SIZE];

    while (some->count < count) {
        const size_t before = script->length;

        snprintf(name, sizeof(name), "p%zu", some->count);
        script_set(script, name, some->files[some->count].path);
        if (script->text && script->length + strlen(download_box_some) + NAME_SIZE > SCRIPT_BUDGET) {
            script->text[script->length = before] = '\0';
            return;
        }
        some->count++;
    }
}

size_t derived_download_some(const struct file_call *call, struct small_file *files, size_t count, char *bytes,
                             size_t room)
{
    struct some some = {.files = files, .bytes = bytes, .room = room};
    const struct frame_receiver receiver = {&some, take_word, take_bytes};
    const struct file_call step = transfer_step(call, room);
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_add_sums(&script);
    script_format(&script, "c=%d n=%zu\n", SMALL, room);
    name_files(&script, &some, count);
    script_format(&script, "m=%zu\n", some.count);
    script_add(&script, download_box_some);
    some.next = some.count;
    /* One alone is no less effort. */
    if (some.count < 2)
        return 1;
    bool whole = frame_run(&step, &script, &receiver, NULL) == 0 && are_whole(&some);

    for (size_t i = 0; i < some.shown; i++)
        files[i].moved = whole && files[i].bytes;
    return whole ? some.next : some.count;
}
