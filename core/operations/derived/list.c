#include "base/error.h"
#include "base/text.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/list_box.h"
#include "operations/file_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct listing {
    uint64_t count;
    struct frame_bytes entries;
    bool again;                /* the first time too few came */
    bool failed;               /* stat, of some of them */
    struct frame_bytes linked; /* links to directories, each followed by "/" */
};

/* The most that a directory may hold, in bytes of its listing. */
#define LISTING_MAXIMUM ((size_t)256 << 20)

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct listing *received = context;

    (void)name;
    return frame_number(value, &received->count, error);
}

static int take_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct listing *received = context;

    return frame_bytes_add(strcmp(name, "linked") == 0 ? &received->linked : &received->entries, bytes, length, error);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Cuts the names of LINKED, which ends with NUL, apart and sorts them; *NAMES is to be freed. */
static bool sort_linked(const struct frame_bytes *linked, const char ***names, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < linked->length; i++)
        *count += linked->bytes[i] == '/';
    *names = calloc(*count + 1, sizeof(**names));
    if (!*names)
        return false;
    char *at = linked->bytes;

    for (size_t i = 0; i < *count; i++) {
        (*names)[i] = at;
        at = strchr(at, '/');
        *at++ = '\0';
    }
    qsort(*names, *count, sizeof(**names), compare_names);
    return true;
}

/* One entry: TEXT is "/MODE SIZE TIME NAME" with NUL after it. */
static int add_entry(const struct file_call *call, const char *text, const char *const *linked, size_t linked_count,
                     struct entries *entries, struct sandlot_error *error)
{
    unsigned int mode;
    unsigned long long bytes;
    long long seconds;
    int at = 0;

    if (sscanf(text, "/%x %llu %lld%n", &mode, &bytes, &seconds, &at) != 3 || text[at] != ' ' || !text[at + 1])
        return frame_damaged(error, "a line of the listing makes no sense");
    const char *name = text + at + 1;

    if (strcmp(name, "./-") == 0)
        name += 2;
    struct sandlot_file_entry *entry = entries_add(entries, call->path, name, strlen(name));

    if (!entry)
        return error_no_memory(error);
    entry->is_symlink = (mode & 0170000) == 0120000;
    entry->is_dir = (mode & 0170000) == 0040000 ||
                    (entry->is_symlink && bsearch(&name, linked, linked_count, sizeof(*linked), compare_names));
    entry->bytes = bytes;
    entry->modified_at_ms = seconds * 1000;
    return 0;
}

/* Takes the line with stat's status off the end. */
static int take_status(struct listing *received, struct sandlot_error *error)
{
    struct frame_bytes *lines = &received->entries;
    const char *slash = lines->length > 2 ? memrchr(lines->bytes, '/', lines->length) : NULL;
    const char *end = slash ? lines->bytes + lines->length - 1 : NULL; /* of the last line */
    int64_t status;
    char word[8];

    if (!slash || *end != '\n' || end - slash > (ptrdiff_t)sizeof(word) || (slash > lines->bytes && slash[-1] != '\n'))
        return frame_damaged(error, "the end of the listing is missing");
    snprintf(word, sizeof(word), "%.*s", (int)(end - slash - 1), slash + 1);
    if (!text_parse_integer(word, &status))
        return frame_damaged(error, "the end of the listing is missing");
    received->failed = status != 0;
    lines->length = (size_t)(slash - lines->bytes);
    return 0;
}

static int add_entries(const struct file_call *call, struct listing *received, struct entries *entries,
                       struct sandlot_error *error)
{
    const char **linked = NULL;
    size_t linked_count;
    int failed = 0;

    if (received->again && take_status(received, error) < 0)
        return -1;
    if (frame_bytes_add(&received->entries, "\n", 2, error) < 0 || frame_bytes_add(&received->linked, "", 1, error) < 0)
        return -1;
    if (!sort_linked(&received->linked, &linked, &linked_count))
        return error_no_memory(error);
    char *at = received->entries.bytes;

    while (*at && *at != '\n' && !failed) {
        char *end = strstr(at, "\n/");

        /* Two line ends are at the end: stat's, and the one that was put there. */
        end = end ? end : received->entries.bytes + received->entries.length - 3;
        *end = '\0';
        failed = add_entry(call, at, linked, linked_count, entries, error);
        at = end + 1;
    }
    free(linked);
    return failed;
}

static int receive_listing(const struct file_call *call, struct listing *received, struct sandlot_error *error)
{
    const struct frame_receiver receiver = {.context = received, .word = take_word, .data = take_data};
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_set(&script, "s_again", received->again ? "1" : "");
    script_add(&script, list_box);
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    return failed;
}

int derived_list(const struct file_call *call, struct entries *entries, struct sandlot_error *error)
{
    struct listing received = {.entries.maximum = LISTING_MAXIMUM, .linked.maximum = LISTING_MAXIMUM};
    int failed = 0;

    /* Fewer than there were names may have gone meanwhile: then it is done once more. Some cannot be looked at. */
    for (int tries = 0; tries < 2 && !failed; tries++) {
        entries_clear(entries);
        received.entries.length = received.linked.length = 0;
        received.again = tries > 0;
        failed = receive_listing(call, &received, error);
        if (!failed && received.count > 0)
            failed = add_entries(call, &received, entries, error);
        if (entries->count == received.count)
            break;
    }
    if (!failed && received.count > 0 && entries->count == 0)
        failed = file_error_tool(error, call, "stat with -c");
    if (!failed && entries->count != received.count && !received.failed)
        failed = frame_damaged(error, "entries are missing");
    frame_bytes_clear(&received.entries);
    frame_bytes_clear(&received.linked);
    return failed;
}
