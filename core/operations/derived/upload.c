/* upload: all in one command where it is short or standard input can be fed, else piece by piece. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/placing.h"
#include "operations/derived/transfer.h"
#include "operations/derived/upload_box.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE = 768,   /* bytes that become one line of standard input */
    TRAILER = 69, /* bytes that end it */
    PLACE_MAXIMUM = 8192,
    CLEAN_UP_MS = 10 * 1000,
    MODE_BITS = 07777
};

/* ---- scripts ---- */

/* A new file gets the mode that was asked for; one that is there keeps its own. */
static void add_mode(struct script *script, uint32_t mode)
{
    if (mode)
        script_format(script, "[ \"$s_mode\" ] || { s_need chmod; chmod %o \"$t\"; }\n",
                      (unsigned int)(mode & MODE_BITS));
}

/* Adds the function s_put, which prints BYTES: as text where that is short, else from base64. */
static bool add_put(struct script *script, const void *bytes, size_t length)
{
    size_t encoded = base64_length(length);

    if (script_print_cost(bytes, length) <= encoded) {
        script_add(script, "s_put() { ");
        script_print(script, bytes, length);
        script_add(script, "; }\n");
        return true;
    }
    AUTO_FREE char *text = base64_encode(bytes, length);

    if (!text)
        return false;
    script_add(script, "s_need base64\ns_put() { echo ");
    script_add(script, text);
    script_add(script, " | base64 -d; }\n");
    return true;
}

static int take_place(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    (void)name;
    return frame_bytes_add(context, length > 0 ? bytes : "", length > 0 ? length : 1, error);
}

/*
 * Runs SCRIPT until it works or cannot be expected to. PLACE, if not NULL, gets its data record as a string. It is the
 * same script each time, so the temporary file that it makes is the same.
 */
static int run_again(const struct file_call *call, const struct script *script, struct frame_bytes *place,
                     struct sandlot_error *error)
{
    const struct frame_receiver receiver = {.context = place, .data = place ? take_place : NULL};

    for (int tries = 1;; tries++) {
        const struct file_call step = transfer_step(call, script->length);
        struct sandlot_error why = {0};

        if (place)
            place->length = 0;
        if (frame_run(&step, script, &receiver, &why) == 0)
            return 0;
        if (!transfer_again(call, tries, &why)) {
            error_set(error, why.code, "%s", why.message);
            sandlot_error_clear(&why);
            return -1;
        }
        sandlot_error_clear(&why);
    }
}

static void sums_of(const void *bytes, size_t length, char text[SUMS_TEXT])
{
    struct sums sums;

    sums_init(&sums);
    sums_add(&sums, bytes, length);
    sums_text(&sums, text);
}

/* ---- one command ---- */

static int upload_at_once(const struct file_call *call, const void *bytes, size_t length, uint32_t mode,
                          struct sandlot_error *error)
{
    char sums[SUMS_TEXT];
    CLEANUP(script_clear) struct script script;

    sums_of(bytes, length, sums);
    script_init(&script);
    script_set(&script, "f", call->path);
    script_add_sums(&script);
    script_add_placing(&script);
    if (!add_put(&script, bytes, length))
        return error_no_memory(error);
    script_format(&script, "s_target\ns_create s_put\ns_same %s <\"$t\"\n", sums);
    add_mode(&script, mode);
    script_add(&script, "s_place\ns_end\n");
    return run_again(call, &script, NULL, error);
}

/* ---- several files in one command ---- */

/* How many FILES, from the first on, a command is about. */
struct some {
    struct small_file *files;
    size_t count;
};

static const char *name_of(const struct small_file *file)
{
    const char *slash = strrchr(file->path, '/');

    return slash ? slash + 1 : "";
}

static size_t folder_length(const struct small_file *file)
{
    size_t length = (size_t)(name_of(file) - file->path);

    return length > 1 ? length - 1 : 1; /* the root */
}

/* One that every shell takes as it stands, and what prints sums on a line of its own. */
static bool is_plain(const struct small_file *file)
{
    const char *name = name_of(file);

    for (const char *at = file->path; *at; at++)
        if ((unsigned char)*at < ' ' || *at == '\177')
            return false;
    return *file->path == '/' && *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
           text_utf8_valid(file->path, strlen(file->path));
}

/* The number of its folder: that of the first file there. */
static size_t folder_of(const struct some *some, size_t number)
{
    const struct small_file *file = &some->files[number];
    const size_t length = folder_length(file);
    size_t i = 0;

    while (i < number && !(is_plain(&some->files[i]) && folder_length(&some->files[i]) == length &&
                           strncmp(some->files[i].path, file->path, length) == 0))
        i++;
    return i;
}

static bool begins_folder(const struct some *some, size_t number)
{
    return is_plain(&some->files[number]) && folder_of(some, number) == number;
}

static bool add_word(struct script *script, const char *text, size_t length)
{
    AUTO_FREE char *copy = strndup(text, length);
    AUTO_FREE char *word = copy ? text_shell_quote(copy) : NULL;

    script_add(script, " ");
    script_add(script, word ? word : "");
    return word;
}

/* The numbered folders of all, of which those have a place whose files have room in the command. */
static void add_folders(struct script *script, const struct some *some)
{
    script_add(script, "mkdir");
    for (size_t i = 0; i < some->count; i++)
        if (begins_folder(some, i))
            script_format(script, " %zu", i);
    script_add(script, "\n");
}

static bool add_folder(struct script *script, const struct small_file *file, size_t number)
{
    script_format(script, "N %zu", number);
    bool added = add_word(script, file->path, folder_length(file));

    script_add(script, "\n");
    return added;
}

static bool add_one(struct script *script, const struct some *some, size_t number)
{
    const struct small_file *file = &some->files[number];
    const unsigned int mode = file->mode & MODE_BITS;
    char sums[SUMS_TEXT];

    if (!is_plain(file))
        return true;
    sums_of(file->bytes, file->length, sums);
    bool added = !begins_folder(some, number) || add_folder(script, file, number);

    added = added && add_put(script, file->bytes, file->length);
    script_format(script, "P %zu %zu", number, folder_of(some, number));
    added = added && add_word(script, name_of(file), strlen(name_of(file)));
    if (mode)
        script_format(script, " %o %03o '%s'\n", mode, ~mode & 0777, sums);
    else
        script_format(script, " 0 $u '%s'\n", sums);
    return added;
}

/* The last of several for one path is to stay. */
static bool is_repeated(const struct some *some, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (strcmp(some->files[i].path, some->files[number].path) == 0)
            return true;
    return false;
}

static int take_moved(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    const struct some *some = context;
    uint64_t number;

    if (strcmp(name, "moved") != 0 || frame_number(value, &number, error) < 0 || number >= some->count)
        return frame_damaged(error, "there is a record that nobody asked for");
    some->files[number].moved = true;
    return 0;
}

/* As many files as a command has room for. */
static bool add_files(struct script *script, struct some *some)
{
    const size_t most = some->count;
    bool added = true;

    add_folders(script, some);
    for (some->count = 0; some->count < most && added && !is_repeated(some, some->count); some->count++) {
        const size_t before = script->length;

        added = add_one(script, some, some->count);
        if (!script->text || script->length + strlen(upload_box_some_end) > SCRIPT_BUDGET) {
            script->length = before;
            break;
        }
    }
    return added && script->text;
}

size_t derived_upload_some(const struct file_call *call, struct small_file *files, size_t count)
{
    struct some some = {files, count};
    const struct frame_receiver receiver = {.context = &some, .word = take_moved};
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_add_sums(&script);
    script_add(&script, upload_box_some);
    /* One alone is no less effort. */
    if (!add_files(&script, &some) || some.count < 2)
        return 1;
    script.text[script.length] = '\0';
    script_add(&script, upload_box_some_end);
    const struct file_call step = transfer_step(call, script.length);

    frame_run(&step, &script, &receiver, NULL);
    return some.count;
}

/* ---- one command with standard input ---- */

/*
 * The file as base64, and after it, as its last bytes, a trailer with the sum and size, which are known only then. What
 * arrives without its trailer is not whole.
 */
struct feed {
    struct sandlot_source source;
    const struct file_call *call;
    int fd;
    const char *head; /* what was read of the file before */
    size_t head_length;
    char mark[9];
    struct sums sums;
    uint64_t told; /* bytes of which the caller knows that they have moved */
    bool ended;
    char trailer[TRAILER + 1];
    size_t trailer_at;
    char raw[16 * LINE];
    char text[16 * (LINE / 3 * 4 + 1) + 8];
    size_t text_at;
    size_t text_length;
    struct sandlot_error problem;
};

static int fill_raw(struct feed *feed, size_t *length)
{
    *length = 0;
    if (feed->head_length > 0) {
        *length = feed->head_length < sizeof(feed->raw) ? feed->head_length : sizeof(feed->raw);
        memcpy(feed->raw, feed->head, *length);
        feed->head += *length;
        feed->head_length -= *length;
    }
    if (!feed->ended && *length < sizeof(feed->raw)) {
        ptrdiff_t got =
            transfer_read(feed->call, feed->fd, feed->raw + *length, sizeof(feed->raw) - *length, &feed->problem);

        if (got < 0)
            return -1;
        *length += (size_t)got;
    }
    sums_add(&feed->sums, feed->raw, *length);
    if (feed->call->moved && *length > 0)
        feed->call->moved(feed->call->context, *length);
    feed->told += *length;
    if (!feed->ended && *length < sizeof(feed->raw)) {
        feed->ended = true;
        char sums[SUMS_TEXT];

        sums_text(&feed->sums, sums);
        snprintf(feed->trailer, sizeof(feed->trailer), "%s %43s %15llu\n", feed->mark, sums,
                 (unsigned long long)feed->sums.cksum.bytes);
    }
    while (feed->ended && *length < sizeof(feed->raw) && feed->trailer_at < TRAILER)
        feed->raw[(*length)++] = feed->trailer[feed->trailer_at++];
    return 0;
}

static int fill_text(struct feed *feed)
{
    size_t length;

    feed->text_at = feed->text_length = 0;
    if (feed->trailer_at == TRAILER)
        return 0;
    if (fill_raw(feed, &length) < 0)
        return -1;
    for (size_t at = 0; at < length; at += LINE) {
        size_t line = length - at < LINE ? length - at : LINE;

        base64_encode_to(feed->text + feed->text_length, feed->raw + at, line);
        feed->text_length += base64_length(line);
        feed->text[feed->text_length++] = '\n';
    }
    return 0;
}

static enum sandlot_status read_feed(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct feed *feed = source->context;

    if (feed->text_at == feed->text_length && fill_text(feed) < 0)
        return feed->problem.code == SANDLOT_CODE_CANCELLED ? SANDLOT_CANCELLED : SANDLOT_INTERNAL;
    *length = feed->text_length - feed->text_at < capacity ? feed->text_length - feed->text_at : capacity;
    memcpy(buffer, feed->text + feed->text_at, *length);
    feed->text_at += *length;
    return SANDLOT_OK;
}

/*
 * Uploads HEAD and what follows it in SOURCE_FD. *FED: it was fed, and the source is used up; if not, nothing has
 * happened.
 */
static int upload_fed(const struct file_call *call, struct feed *feed, uint32_t mode, uint64_t size, bool *fed,
                      struct sandlot_error *error)
{
    const struct file_call step = transfer_step(call, size);
    CLEANUP(script_clear) struct script script;
    struct sandlot_error why = {0};

    script_init(&script);
    snprintf(feed->mark, sizeof(feed->mark), "%.8s", script.mark);
    script_set(&script, "f", call->path);
    script_set(&script, "m", feed->mark);
    script_add_sums(&script);
    script_add_placing(&script);
    script_add(&script, upload_box_feed);
    add_mode(&script, mode);
    script_add(&script, "s_place\ns_end\n");
    feed->source = (struct sandlot_source){sizeof(feed->source), feed, read_feed, -1};
    int failed = frame_run_fed(&step, &script, &feed->source, NULL, &why);

    *fed = !failed || feed->told > 0 || feed->ended || why.code != SANDLOT_CODE_NOT_SUPPORTED;
    if (failed && error_is_set(&feed->problem))
        error_set(error, feed->problem.code, "%s", feed->problem.message);
    if (failed)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    sandlot_error_clear(&feed->problem);
    return failed;
}

/* ---- piece by piece ---- */

static int put_piece(const struct file_call *call, const void *bytes, size_t length, uint64_t offset,
                     const char *remote_path, struct sandlot_error *error)
{
    char sums[SUMS_TEXT];
    CLEANUP(script_clear) struct script script;

    sums_of(bytes, length, sums);
    script_init(&script);
    script_set(&script, "f", call->path);
    script_set(&script, "u", remote_path);
    script_add_sums(&script);
    script_format(&script, "c=%d o=%llu k='%s' n=%zu\n", TRANSFER_PIECE, (unsigned long long)(offset / TRANSFER_PIECE),
                  sums, length);
    if (!add_put(&script, bytes, length))
        return error_no_memory(error);
    script_add(&script, upload_box_piece);
    int failed = run_again(call, &script, NULL, error);

    if (!failed && call->moved)
        call->moved(call->context, length);
    return failed;
}

/* What script LOST has made, if it got so far, though its answer never came: an empty temporary file. */
static void abandon_beginning(const struct file_call *call, const struct script *lost)
{
    struct file_call last = *call;
    CLEANUP(script_clear) struct script script;

    last.cancel_fd = -1;
    last.deadline_ms = sandlot_now_ms() + CLEAN_UP_MS;
    script_init(&script);
    script_set(&script, "f", call->path);
    script_add_placing(&script);
    script_format(&script, "s_target\nt=${t%%/*}/.sandlot-%.*s\ns_end\n", SCRIPT_MARK / 2, lost->mark);
    frame_run(&last, &script, NULL, NULL);
}

/* Where the temporary file may be made, empty. */
static int begin_pieces(const struct file_call *call, struct frame_bytes *place, struct sandlot_error *error)
{
    CLEANUP(script_clear) struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_add_placing(&script);
    script_add(&script, "s_target\ns_create true\nprintf %s \"$t\" | s_data place\nt=\ns_end\n");
    if (run_again(call, &script, place, error) < 0) {
        abandon_beginning(call, &script);
        return -1;
    }
    return place->length > 1 ? 0 : frame_damaged(error, "a path is missing");
}

/* Takes the temporary file away, also when the call was cancelled. */
static void abandon_pieces(const struct file_call *call, const char *place)
{
    struct file_call last = *call;
    CLEANUP(script_clear) struct script script;

    last.cancel_fd = -1;
    last.deadline_ms = sandlot_now_ms() + CLEAN_UP_MS;
    script_init(&script);
    script_set(&script, "u", place);
    script_add(&script, "rm -f \"$u\"\ns_end\n");
    frame_run(&last, &script, NULL, NULL);
}

/* An answer that was lost may have been that all is in its place. */
static int end_pieces(const struct file_call *call, const char *place, const struct sums *sums, uint32_t mode,
                      struct sandlot_error *error)
{
    char text[SUMS_TEXT];
    CLEANUP(script_clear) struct script script;

    sums_text(sums, text);
    script_init(&script);
    script_set(&script, "f", call->path);
    script_set(&script, "u", place);
    script_add_sums(&script);
    script_add_placing(&script);
    script_format(&script,
                  "s_target\n"
                  "t=\n"
                  "[ -e \"$u\" ] || { s_same %s <\"$s_g\"; s_end; }\n"
                  "t=$u\n"
                  "s_same %s <\"$t\"\n",
                  text, text);
    add_mode(&script, mode);
    script_add(&script, "s_place\ns_end\n");
    return run_again(call, &script, NULL, error);
}

static int put_all(const struct file_call *call, int source_fd, char *piece, size_t length, const char *place,
                   struct sums *sums, struct sandlot_error *error)
{
    while (length > 0) {
        if (put_piece(call, piece, length, sums->cksum.bytes, place, error) < 0)
            return -1;
        sums_add(sums, piece, length);
        if (length < TRANSFER_PIECE)
            break;
        ptrdiff_t got = transfer_read(call, source_fd, piece, TRANSFER_PIECE, error);

        if (got < 0)
            return -1;
        length = (size_t)got;
    }
    return 0;
}

/* PIECE has the first LENGTH bytes of the file, and room for TRANSFER_PIECE. */
static int upload_in_pieces(const struct file_call *call, int source_fd, char *piece, size_t length, uint32_t mode,
                            uint64_t *bytes, struct sandlot_error *error)
{
    struct frame_bytes place = {.maximum = PLACE_MAXIMUM};
    struct sums sums;
    int failed = begin_pieces(call, &place, error);

    sums_init(&sums);
    if (!failed) {
        failed = put_all(call, source_fd, piece, length, place.bytes, &sums, error) < 0 ||
                         end_pieces(call, place.bytes, &sums, mode, error) < 0
                     ? -1
                     : 0;
        if (failed)
            abandon_pieces(call, place.bytes);
    }
    *bytes = sums.cksum.bytes;
    frame_bytes_clear(&place);
    return failed;
}

/* ---- upload ---- */

/* Bytes that are left in a regular file; else a great many. */
static uint64_t size_left(int fd)
{
    struct stat status;
    off_t at = lseek(fd, 0, SEEK_CUR);

    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || at < 0)
        return UINT64_MAX;
    return status.st_size > at ? (uint64_t)(status.st_size - at) : 0;
}

/* More than one command can carry. PIECE is full. */
static int upload_long(const struct file_call *call, int source_fd, char *piece, uint32_t mode, uint64_t *bytes,
                       struct sandlot_error *error)
{
    AUTO_FREE struct feed *feed = calloc(1, sizeof(*feed));
    off_t after = lseek(source_fd, 0, SEEK_CUR);
    struct sandlot_error why = {0};
    bool fed;

    if (!feed)
        return error_no_memory(error);
    sums_init(&feed->sums);
    feed->call = call;
    feed->fd = source_fd;
    feed->head = piece;
    feed->head_length = TRANSFER_PIECE;
    int failed = upload_fed(call, feed, mode, size_left(source_fd), &fed, &why);

    *bytes = feed->sums.cksum.bytes;
    /* What can be read again goes another way if this one was damaged, or needs more tools. */
    bool may = failed && after >= 0 && (why.code == SANDLOT_CODE_MISSING_TOOL || transfer_again(call, 1, &why));
    bool again = failed && (!fed || (may && lseek(source_fd, after, SEEK_SET) == after));

    if (failed && !again)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return again ? upload_in_pieces(call, source_fd, piece, TRANSFER_PIECE, mode, bytes, error) : failed;
}

int derived_upload(const struct file_call *call, int source_fd, uint32_t mode, uint64_t *bytes,
                   struct sandlot_error *error)
{
    AUTO_FREE char *piece = malloc(TRANSFER_PIECE);

    if (!piece)
        return error_no_memory(error);
    ptrdiff_t length = transfer_read(call, source_fd, piece, TRANSFER_PIECE, error);

    if (length < 0)
        return -1;
    if (length == TRANSFER_PIECE)
        return upload_long(call, source_fd, piece, mode, bytes, error);
    if (upload_at_once(call, piece, (size_t)length, mode, error) < 0)
        return -1;
    *bytes = (uint64_t)length;
    if (call->moved && length > 0)
        call->moved(call->context, (uint64_t)length);
    return 0;
}

int derived_make_directory(const struct file_call *call, struct sandlot_error *error)
{
    CLEANUP(script_clear) struct script script;

    /* The directories of a file in it. */
    script_init(&script);
    script_set(&script, "f", call->path);
    script_add_placing(&script);
    script_add(&script, "s_need mkdir\n"
                        "s_g=$f/.\n"
                        "[ ! -e \"$f\" ] || [ -d \"$f\" ] || s_fail enotdir\n"
                        "s_folders\n"
                        "s_end\n");
    return run_again(call, &script, NULL, error);
}
