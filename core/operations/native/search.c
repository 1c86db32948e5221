/* grep: the lines that hold a text. */
#include "operations/native/walk.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/native/native.h"
#include "operations/native/needle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

enum {
    BUFFER = 256 * 1024,      /* most files are read at once */
    BINARY_HEAD = 32 * 1024,  /* where a NUL says that a file is binary */
    LONG_PIECE = 1024 * 1024, /* read at a time of a line longer than the buffer */
    FIRST_LINES = 4096        /* room for the matching lines of one file at first */
};

/* ---- what was found ---- */

/* A matching line; its text follows. */
struct record {
    int64_t line;
    size_t length;
};

/* The matching lines of one file. */
struct file_lines {
    uint64_t count;
    size_t length; /* of the records */
    char *records;
    char path[]; /* below the start */
};

/* What all threads look for. */
struct hunt {
    const struct file_call *call;
    const struct search *search;
    struct needle needle;
    int64_t deadline_ms;
    uint64_t wanted; /* matches: one more than are told, which tells that there are more */
};

/* What one thread has found, and what it works with. */
struct searcher {
    const struct hunt *hunt;
    struct walk_worker *worker; /* NULL: one file is searched, without a walk */
    int stopped;                /* errno why that file was not searched to its end */
    char *buffer;
    size_t capacity;
    /* Of the file under way. */
    char *records;
    size_t records_length;
    size_t records_capacity;
    uint64_t count;
    /* Of those before. */
    struct file_lines **files;
    size_t file_count;
    size_t file_capacity;
    uint64_t matches;
    uint64_t bytes;
    const char *bound; /* what comes after this path is not told; NULL: not known yet */
    bool dropped;      /* there are, or may be, more matches than these */
};

static void give_up(struct searcher *searcher, int reason)
{
    if (searcher->worker)
        walk_stop(searcher->worker, reason);
    else
        searcher->stopped = reason;
}

static bool goes_on(struct searcher *searcher)
{
    if (searcher->worker)
        return walk_goes_on(searcher->worker);
    int reason = native_stop(searcher->hunt->call);

    if (!reason && sandlot_now_ms() >= searcher->hunt->deadline_ms)
        reason = ETIMEDOUT;
    if (reason)
        give_up(searcher, reason);
    return !reason;
}

/* Room for LENGTH more bytes after the records. */
static char *reserve_record(struct searcher *searcher, size_t length)
{
    size_t wanted = searcher->records_length + sizeof(struct record) + length;

    if (wanted > searcher->records_capacity) {
        size_t capacity = wanted > FIRST_LINES ? wanted + wanted / 2 : FIRST_LINES;
        char *records = realloc(searcher->records, capacity);

        if (!records) {
            give_up(searcher, ENOMEM);
            return NULL;
        }
        searcher->records = records;
        searcher->records_capacity = capacity;
    }
    return searcher->records + searcher->records_length + sizeof(struct record);
}

static void finish_record(struct searcher *searcher, int64_t line, size_t length)
{
    const struct record record = {line, length};

    memcpy(searcher->records + searcher->records_length, &record, sizeof(record));
    searcher->records_length += sizeof(record) + length;
    searcher->count++;
}

/* Has this file alone all that can be told? */
static bool has_enough(const struct searcher *searcher)
{
    return searcher->count >= searcher->hunt->wanted || searcher->records_length >= MATCHES_BYTES_MAXIMUM;
}

static int compare_files(const void *left, const void *right)
{
    const struct file_lines *const *a = left;
    const struct file_lines *const *b = right;

    return strcmp((*a)->path, (*b)->path);
}

/* What a file and its matches take, much as in the answer. */
static uint64_t weight(const struct file_lines *file)
{
    return file->length + strlen(file->path);
}

static void file_lines_free(struct file_lines *file)
{
    free(file->records);
    free(file);
}

/*
 * Throws away what comes after enough matches in the order of paths. What is left does not depend on which thread was
 * first at which file; and what would come after it need not be searched.
 */
static void reduce(struct searcher *searcher)
{
    size_t kept = 0;

    qsort(searcher->files, searcher->file_count, sizeof(*searcher->files), compare_files);
    searcher->matches = 0;
    searcher->bytes = 0;
    while (kept < searcher->file_count && searcher->matches < searcher->hunt->wanted &&
           searcher->bytes < MATCHES_BYTES_MAXIMUM) {
        searcher->matches += searcher->files[kept]->count;
        searcher->bytes += weight(searcher->files[kept++]);
    }
    searcher->dropped = searcher->dropped || kept < searcher->file_count;
    while (searcher->file_count > kept)
        file_lines_free(searcher->files[--searcher->file_count]);
    searcher->bound = searcher->files[kept - 1]->path;
}

static bool reserve_file(struct searcher *searcher)
{
    if (searcher->file_count < searcher->file_capacity)
        return true;
    size_t capacity = searcher->file_capacity ? searcher->file_capacity * 2 : 64;
    struct file_lines **files = reallocarray(searcher->files, capacity, sizeof(struct file_lines *));

    if (!files)
        return false;
    searcher->files = files;
    searcher->file_capacity = capacity;
    return true;
}

/* Puts the matches of the file under way, if there are any, to those of the others. */
static void finish_file(struct searcher *searcher, const char *path, size_t path_length)
{
    struct file_lines *file = NULL;

    if (searcher->count == 0)
        return;
    char *records = reserve_file(searcher) ? malloc(searcher->records_length) : NULL;

    file = records ? malloc(sizeof(*file) + path_length + 1) : NULL;
    if (!file) {
        free(records);
        give_up(searcher, ENOMEM);
        return;
    }
    memcpy(records, searcher->records, searcher->records_length);
    *file = (struct file_lines){.count = searcher->count, .length = searcher->records_length, .records = records};
    memcpy(file->path, path, path_length + 1);
    searcher->files[searcher->file_count++] = file;
    searcher->matches += searcher->count;
    searcher->bytes += weight(file);
    if (searcher->matches / 4 >= searcher->hunt->wanted || searcher->bytes >= 2 * MATCHES_BYTES_MAXIMUM)
        reduce(searcher);
}

/* ---- one file ---- */

/* A file while it is read piece by piece. */
struct reading {
    int fd;
    uint64_t offset; /* of the buffer in the file */
    size_t length;   /* bytes in the buffer */
    bool ended;      /* they are the last */
    int64_t line;    /* that is under way where the buffer begins */
    bool in_long_line;
    bool reported;        /* that long line is among the matches */
    uint64_t line_offset; /* where it began */
};

/* Reads until the buffer is full or the file ends; what cannot be read ends it too. */
static void fill(struct searcher *searcher, struct reading *reading)
{
    while (!reading->ended && reading->length < searcher->capacity) {
        ssize_t got = read(reading->fd, searcher->buffer + reading->length, searcher->capacity - reading->length);

        if (got > 0)
            reading->length += (size_t)got;
        else if (got == 0 || errno != EINTR)
            reading->ended = true;
    }
}

/* Forgets what the buffer holds before REST. */
static void consume(struct searcher *searcher, struct reading *reading, const char *rest)
{
    size_t done = (size_t)(rest - searcher->buffer);

    memmove(searcher->buffer, rest, reading->length - done);
    reading->length -= done;
    reading->offset += done;
}

/* The matching lines from AT, where a line begins, to END. */
static void search_lines(struct searcher *searcher, struct reading *reading, const char *at, const char *end)
{
    const char *counted = at;
    const char *hit;

    while (!has_enough(searcher) && (hit = needle_find(&searcher->hunt->needle, at, end))) {
        const char *before = memrchr(at, '\n', (size_t)(hit - at));
        const char *start = before ? before + 1 : at;
        const char *stop = memchr(hit, '\n', (size_t)(end - hit));
        size_t length = (size_t)((stop ? stop : end) - start);
        char *text = reserve_record(searcher, length);

        if (!text)
            return;
        reading->line += count_lines(counted, start);
        counted = start;
        memcpy(text, start, length);
        finish_record(searcher, reading->line, length);
        at = stop ? stop + 1 : end;
    }
    if (!reading->ended)
        reading->line += count_lines(counted, end);
}

/* Reads again, from its beginning, a line that is longer than the buffer. */
static void report_long_line(struct searcher *searcher, struct reading *reading)
{
    size_t length = 0;

    reading->reported = true;
    /* There is room for the record itself, whatever ends the loop. */
    if (!reserve_record(searcher, 0))
        return;
    while (length < MATCHES_BYTES_MAXIMUM && goes_on(searcher)) {
        char *text = reserve_record(searcher, length + LONG_PIECE);
        ssize_t got = text ? pread(reading->fd, text + length, LONG_PIECE, (off_t)(reading->line_offset + length)) : 0;
        const char *stop = got > 0 ? memchr(text + length, '\n', (size_t)got) : NULL;

        if (got < 0 && errno == EINTR)
            continue;
        if (stop)
            length = (size_t)(stop - text);
        else if (got > 0)
            length += (size_t)got;
        if (stop || got <= 0)
            break;
    }
    finish_record(searcher, reading->line, length);
}

/* Goes on inside a line of which nothing but the buffer is there. True: its end was found, and *AT is after it. */
static bool search_long_line(struct searcher *searcher, struct reading *reading, const char **at)
{
    const struct needle *needle = &searcher->hunt->needle;
    const char *end = searcher->buffer + reading->length;
    const char *stop = memchr(searcher->buffer, '\n', reading->length);

    if (!reading->reported && needle_find(needle, searcher->buffer, stop ? stop : end))
        report_long_line(searcher, reading);
    if (stop) {
        reading->in_long_line = false;
        reading->line++;
        *at = stop + 1;
        return true;
    }
    /* The text may begin in this piece and end in the next. */
    size_t kept = needle->length ? needle->length - 1 : 0;

    consume(searcher, reading, reading->length > kept ? end - kept : searcher->buffer);
    return false;
}

/* Searches what the buffer holds, and keeps of it what is needed together with what comes next. */
static void search_piece(struct searcher *searcher, struct reading *reading)
{
    const char *at = searcher->buffer;
    const char *end = searcher->buffer + reading->length;

    if (reading->in_long_line && !search_long_line(searcher, reading, &at))
        return;
    const char *last = reading->ended ? NULL : memrchr(at, '\n', (size_t)(end - at));
    const char *stop = reading->ended ? end : last ? last + 1 : at;

    search_lines(searcher, reading, at, stop);
    if (reading->ended)
        return;
    consume(searcher, reading, stop);
    if (reading->length == searcher->capacity) {
        reading->in_long_line = true;
        reading->reported = false;
        reading->line_offset = reading->offset;
    }
}

static bool prepare_buffer(struct searcher *searcher)
{
    size_t least = 2 * searcher->hunt->needle.length;

    if (searcher->buffer)
        return true;
    searcher->capacity = least > BUFFER ? least : BUFFER;
    searcher->buffer = malloc(searcher->capacity);
    if (!searcher->buffer)
        give_up(searcher, ENOMEM);
    return searcher->buffer;
}

static void search_file(struct searcher *searcher, int fd)
{
    struct reading reading = {.fd = fd, .line = 1};
    struct stat status;

    searcher->count = 0;
    searcher->records_length = 0;
    /* Something else may have taken the place of the file since its directory was read. */
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !prepare_buffer(searcher))
        return;
    fill(searcher, &reading);
    const char *end = searcher->buffer + reading.length;

    if (reading.ended && !needle_find(&searcher->hunt->needle, searcher->buffer, end))
        return;
    if (memchr(searcher->buffer, '\0', reading.length < BINARY_HEAD ? reading.length : BINARY_HEAD))
        return;
    search_piece(searcher, &reading);
    while (!reading.ended && !has_enough(searcher) && goes_on(searcher)) {
        fill(searcher, &reading);
        search_piece(searcher, &reading);
    }
    searcher->dropped = searcher->dropped || searcher->records_length >= MATCHES_BYTES_MAXIMUM;
}

/* ---- all files ---- */

/* Comes everything below the directory RELATIVE, or RELATIVE itself, after what can still be told? */
static bool is_beyond(const struct searcher *searcher, const struct walk_entry *entry)
{
    if (!searcher->bound)
        return false;
    int order = strncmp(entry->relative, searcher->bound, entry->relative_length);

    if (order == 0)
        return entry->type == DT_DIR && '/' > (unsigned char)searcher->bound[entry->relative_length];
    return order > 0;
}

static bool visit(void *state, const struct walk_entry *entry)
{
    struct searcher *searcher = state;
    const struct pattern *filter = searcher->hunt->search->filter;

    if (is_beyond(searcher, entry))
        return false;
    if (entry->type == DT_DIR)
        return !filter || pattern_may_enter(filter, entry->relative);
    if (entry->type != DT_REG || (filter && !pattern_matches(filter, entry->relative)))
        return false;
    AUTO_CLOSE int fd =
        openat(entry->directory, entry->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (fd < 0) {
        /* Without descriptors nothing would be found any more. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            walk_stop(entry->worker, errno);
        return false;
    }
    searcher->worker = entry->worker;
    search_file(searcher, fd);
    finish_file(searcher, entry->relative, entry->relative_length);
    return false;
}

static void searcher_clear(struct searcher *searcher)
{
    while (searcher->file_count > 0)
        file_lines_free(searcher->files[--searcher->file_count]);
    free(searcher->files);
    free(searcher->buffer);
    free(searcher->records);
}

/* Where matches go in the end. */
struct outcome {
    const struct search *search;
    struct matches *found;
    uint64_t bytes;
    bool truncated; /* no more is taken */
};

/* Hands over the lines of FILE under its path in the sandbox. False when out of memory. */
static bool hand_over(struct outcome *outcome, const struct file_lines *file, const char *path)
{
    const char *kept = matches_path(outcome->found, path);

    for (size_t at = 0; kept && at < file->length && !outcome->truncated;) {
        struct record record;

        if ((outcome->search->maximum && outcome->found->count >= outcome->search->maximum) ||
            outcome->bytes >= MATCHES_BYTES_MAXIMUM || outcome->found->bytes >= MATCHES_BYTES_MAXIMUM) {
            outcome->truncated = true;
            return true;
        }
        memcpy(&record, file->records + at, sizeof(record));
        at += sizeof(record);
        if (!matches_add(outcome->found, kept, record.line, file->records + at, record.length))
            return false;
        at += record.length;
        outcome->bytes += sizeof(record) + record.length;
    }
    return kept;
}

/* Hands over FILES, which are sorted. */
static bool hand_over_all(struct outcome *outcome, const char *directory, struct file_lines **files, size_t count)
{
    size_t prefix = strcmp(directory, "/") == 0 ? 0 : strlen(directory);

    for (size_t i = 0; i < count && !outcome->truncated; i++) {
        size_t length = strlen(files[i]->path);
        AUTO_FREE char *path = malloc(prefix + 1 + length + 1);

        if (!path)
            return false;
        memcpy(path, directory, prefix);
        path[prefix] = '/';
        memcpy(path + prefix + 1, files[i]->path, length + 1);
        if (!hand_over(outcome, files[i], path))
            return false;
    }
    return true;
}

static bool join(struct outcome *outcome, const char *directory, struct searcher searchers[WALK_THREADS])
{
    size_t count = 0;
    size_t at = 0;

    for (int i = 0; i < WALK_THREADS; i++)
        count += searchers[i].file_count;
    AUTO_FREE struct file_lines **files = calloc(count + 1, sizeof(struct file_lines *));

    if (!files)
        return false;
    for (int i = 0; i < WALK_THREADS; i++) {
        if (searchers[i].file_count > 0)
            memcpy(files + at, searchers[i].files, searchers[i].file_count * sizeof(struct file_lines *));
        at += searchers[i].file_count;
    }
    qsort(files, count, sizeof(*files), compare_files);
    return hand_over_all(outcome, directory, files, count);
}

/* What the end of a search for REASON means. */
static int conclude(const struct hunt *hunt, int reason, bool enough_memory, struct sandlot_error *error)
{
    if (reason && reason != ETIMEDOUT)
        return file_error_errno(error, hunt->call, reason);
    return enough_memory ? 0 : error_no_memory(error);
}

static int search_below(const struct hunt *hunt, const struct native_root *root, int start_fd, struct matches *found,
                        bool *truncated, struct sandlot_error *error)
{
    struct searcher searchers[WALK_THREADS];
    struct outcome outcome = {.search = hunt->search, .found = found};

    for (int i = 0; i < WALK_THREADS; i++)
        searchers[i] = (struct searcher){.hunt = hunt};
    const struct walk_plan plan = {.root = root,
                                   .start_fd = start_fd,
                                   .deadline_ms = hunt->deadline_ms,
                                   .cancel_fd = hunt->call->cancel_fd,
                                   .states = searchers,
                                   .state_size = sizeof(searchers[0]),
                                   .visit = visit};
    int reason = walk(&plan);
    bool useful = !reason || reason == ETIMEDOUT;
    bool enough_memory = !useful || join(&outcome, hunt->call->path, searchers);

    *truncated = outcome.truncated || reason == ETIMEDOUT;
    for (int i = 0; i < WALK_THREADS; i++) {
        *truncated = *truncated || searchers[i].dropped;
        searcher_clear(&searchers[i]);
    }
    return conclude(hunt, reason, enough_memory, error);
}

static int search_one(const struct hunt *hunt, int fd, struct matches *found, bool *truncated,
                      struct sandlot_error *error)
{
    struct searcher searcher = {.hunt = hunt};
    struct outcome outcome = {.search = hunt->search, .found = found};
    bool enough_memory = true;

    search_file(&searcher, fd);
    const struct file_lines file = {
        .count = searcher.count, .length = searcher.records_length, .records = searcher.records};

    if (searcher.count > 0)
        enough_memory = hand_over(&outcome, &file, hunt->call->path);
    *truncated = outcome.truncated || searcher.dropped || searcher.stopped == ETIMEDOUT;
    searcher_clear(&searcher);
    return conclude(hunt, searcher.stopped, enough_memory, error);
}

int native_search(const struct file_call *call, const struct search *search, struct matches *found, bool *truncated,
                  struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    const struct hunt hunt = {.call = call,
                              .search = search,
                              .needle = needle_make(search->text, search->length),
                              .deadline_ms = walk_deadline(call, FILE_GREP_MS),
                              .wanted =
                                  search->maximum && search->maximum < UINT64_MAX ? search->maximum + 1 : UINT64_MAX};
    AUTO_CLOSE int start_fd = walk_open(call, root.fd);

    if (start_fd >= 0)
        return search_below(&hunt, &root, start_fd, found, truncated, error);
    if (errno != ENOTDIR)
        return native_failed(call, root.fd, errno, error);
    struct stat status;
    AUTO_CLOSE int fd = native_open_file(call, root.fd, &status, error);

    return fd < 0 ? -1 : search_one(&hunt, fd, found, truncated, error);
}
