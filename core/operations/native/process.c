/*
 * Background processes where the sandbox's root is open: what is known of them is read from their folder and from the
 * sandbox's /proc, and nothing runs there. The folder is the sandbox's to fill with what it likes: no link is
 * followed, nothing but a regular file is read, and of everything no more than its bound.
 */
#include "operations/process.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/native/open.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
    TEXT_SIZE = 512,          /* of a small file of the folder, and of /proc/PID/stat */
    MOST_SEGMENTS = 1024,     /* of one log; there are 256 at most and a few */
    MOST_ENTRIES = 16 * 1024, /* of one folder that are looked at */
    BEGIN_S = 60,             /* within which a supervisor has begun */
    FIRST_PAUSE_MS = 4,
    LONGEST_PAUSE_MS = 100,
    IDS_SIZE = 240,
    BUFFER = 256 * 1024
};

/* The parts of a log. */
struct segments {
    uint64_t first[MOST_SEGMENTS]; /* byte of each, in order */
    size_t count;
};

/* ---- the folder ---- */

/* Opens NAME of FOLDER_FD (or the path NAME of the root ROOT_FD) if it is a folder of the sandbox's user. -1: it is
 * not. */
static int open_own_folder(const struct native_root *root, int folder_fd, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    AUTO_CLOSE int fd = folder_fd < 0 ? native_open(root->fd, name, flags) : openat(folder_fd, name, flags);
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == root->shared->uid ? take_fd(&fd) : -1;
}

static int open_file(int folder_fd, const char *name)
{
    AUTO_CLOSE int fd = openat(folder_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;

    return fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) ? take_fd(&fd) : -1;
}

/* The beginning of what FD holds, with NUL after it; "" if it cannot be read. */
static size_t read_text(int fd, char *text, size_t size)
{
    size_t used = 0;

    while (fd >= 0 && used < size - 1) {
        ssize_t got = read(fd, text + used, size - 1 - used);

        if (got <= 0)
            break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return used;
}

static void read_small(int folder_fd, const char *name, char text[TEXT_SIZE])
{
    AUTO_CLOSE int fd = open_file(folder_fd, name);

    read_text(fd, text, TEXT_SIZE);
}

/* ---- the state ---- */

/* When the process began of whose /proc/PID/stat TEXT is, in ticks; NULL: it makes no sense. *STATE is 'Z' for one that
 * is dead. */
static const char *start_of(const char *text, char *state, size_t *length)
{
    const char *at = strrchr(text, ')'); /* its name may hold anything */

    if (!at || at[1] != ' ' || !at[2])
        return NULL;
    at += 2;
    *state = *at;
    for (int field = 3; field < 22; field++) {
        at = strchr(at, ' ');
        if (!at)
            return NULL;
        at++;
    }
    *length = strcspn(at, " \n");
    return at;
}

/* Is the supervisor still the process that SUPER tells of? After a restart another may have its number. */
static bool is_alive(int root_fd, const char *super)
{
    char path[64];
    char text[TEXT_SIZE];
    size_t digits = strspn(super, "0123456789");
    size_t length;
    size_t length_now;
    char state;

    if (digits == 0 || digits > 10)
        return false;
    snprintf(path, sizeof(path), "/proc/%.*s/stat", (int)digits, super);
    AUTO_CLOSE int fd = native_open(root_fd, path, O_RDONLY);

    if (fd < 0)
        return errno != ENOENT;
    read_text(fd, text, sizeof(text));
    const char *before = start_of(super, &state, &length);
    const char *now = start_of(text, &state, &length_now);

    return before && now && state != 'Z' && length == length_now && strncmp(before, now, length) == 0;
}

/* Without a supervisor yet: it is about to begin, or whoever was to begin it has died. */
static bool is_young(int folder_fd)
{
    struct stat status;

    return fstat(folder_fd, &status) == 0 && time(NULL) - status.st_mtime < BEGIN_S;
}

static void read_state(const struct native_root *root, int folder_fd, struct sandlot_process *process)
{
    char text[TEXT_SIZE];
    struct stat status;

    process->exit_code = -1;
    read_small(folder_fd, "meta", text);
    process_read_meta(text, process);
    read_small(folder_fd, "exit", text);
    if (process_read_exit(text, process))
        return;
    read_small(folder_fd, "super", text);
    bool running = *text ? is_alive(root->fd, text) : is_young(folder_fd);

    /* It may have ended between the two looks: what it wrote before counts. */
    if (!running) {
        read_small(folder_fd, "exit", text);
        if (process_read_exit(text, process))
            return;
    }
    process->state = running ? SANDLOT_PROCESS_RUNNING : SANDLOT_PROCESS_LOST;
    process->input_open =
        running && fstatat(folder_fd, "shut", &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(status.st_mode);
}

static bool read_command(int folder_fd, struct sandlot_process *process)
{
    char text[PROCESS_COMMAND + 2];
    AUTO_CLOSE int fd = open_file(folder_fd, "command");
    size_t length = read_text(fd, text, sizeof(text));

    return process_set_command(process, text, length);
}

/* ---- the log ---- */

static int compare(const void *a, const void *b)
{
    const uint64_t *one = a;
    const uint64_t *other = b;

    return *one < *other ? -1 : *one > *other;
}

static void find_segments(int folder_fd, char log, struct segments *segments)
{
    AUTO_CLOSE int fd = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    AUTO_DIRECTORY DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    uint64_t first;

    segments->count = 0;
    if (directory)
        take_fd(&fd); /* the stream's */
    for (size_t seen = 0; directory && seen < MOST_ENTRIES && (entry = readdir(directory)); seen++) {
        const char *name = entry->d_name;

        if (name[0] == log && name[1] == '.' && segments->count < MOST_SEGMENTS &&
            process_number(name + 2, strlen(name + 2), &first))
            segments->first[segments->count++] = first;
    }
    qsort(segments->first, segments->count, sizeof(segments->first[0]), compare);
}

/* Opens the segment that begins with byte FIRST, and tells how much there is of it. */
static int open_segment(int folder_fd, char log, uint64_t first, uint64_t *bytes)
{
    char name[32];
    struct stat status;

    snprintf(name, sizeof(name), "%c.%" PRIu64, log, first);
    AUTO_CLOSE int fd = open_file(folder_fd, name);

    *bytes = 0;
    if (fd < 0 || fstat(fd, &status) < 0)
        return -1;
    *bytes = (uint64_t)status.st_size;
    return take_fd(&fd);
}

static void measure(int folder_fd, char log, uint64_t *first, uint64_t *total)
{
    struct segments segments;
    uint64_t bytes;

    *first = *total = 0;
    find_segments(folder_fd, log, &segments);
    if (segments.count == 0)
        return;
    *first = segments.first[0];
    AUTO_CLOSE int fd = open_segment(folder_fd, log, segments.first[segments.count - 1], &bytes);

    *total = segments.first[segments.count - 1] + bytes;
}

static void measure_logs(int folder_fd, struct sandlot_process *process)
{
    measure(folder_fd, 'o', &process->output_first, &process->output_total);
    if (process->separate_errors)
        measure(folder_fd, 'e', &process->errors_first, &process->errors_total);
}

/* Opens the segment in which byte *AT is, *FIRST its own first; in a gap *AT becomes that of what comes next. -1: there
 * is nothing from there on. */
static int open_at(int folder_fd, char log, uint64_t *at, uint64_t *first)
{
    struct segments segments;
    uint64_t bytes;
    size_t i = 0;

    find_segments(folder_fd, log, &segments);
    while (i + 1 < segments.count && segments.first[i + 1] <= *at)
        i++;
    for (; i < segments.count; i++) {
        AUTO_CLOSE int fd = open_segment(folder_fd, log, segments.first[i], &bytes);

        *first = segments.first[i];
        if (*at < *first)
            *at = *first;
        if (fd >= 0 && *at >= *first && *at - *first < bytes)
            return take_fd(&fd);
    }
    return -1;
}

/* ---- one process ---- */

/* Opens the folder of process NUMBER. -1: there is none. */
static int find_process(const struct native_root *root, uint64_t number)
{
    char name[32];

    snprintf(name, sizeof(name), "p%" PRIu64, number);
    for (size_t i = 0; i < PROCESS_PLACES; i++) {
        AUTO_CLOSE int base = open_own_folder(root, -1, process_places[i]);
        int fd = base >= 0 ? open_own_folder(root, base, name) : -1;

        if (fd >= 0)
            return fd;
    }
    return -1;
}

/* Two of the places may be one and the same folder. Is number I the first of its kind? */
static bool is_first_place(const struct native_root *root, size_t i)
{
    AUTO_CLOSE int fd = open_own_folder(root, -1, process_places[i]);
    struct stat status;
    struct stat earlier;

    if (fd < 0 || fstat(fd, &status) < 0)
        return false;
    while (i-- > 0) {
        AUTO_CLOSE int other = open_own_folder(root, -1, process_places[i]);

        if (other >= 0 && fstat(other, &earlier) == 0 && earlier.st_ino == status.st_ino &&
            earlier.st_dev == status.st_dev)
            return false;
    }
    return true;
}

/* Calls EACH with the folder of every process, until it returns false. 0 or -1 with the error. */
static int walk_base(const struct file_call *call, const struct native_root *root, const char *place,
                     bool (*each)(void *context, int folder_fd, uint64_t number), void *context,
                     struct sandlot_error *error)
{
    AUTO_CLOSE int fd = open_own_folder(root, -1, place);
    const int base = fd;
    AUTO_DIRECTORY DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    size_t found = 0;

    if (!directory)
        return 0;
    take_fd(&fd); /* the stream's */
    for (size_t seen = 0; seen < MOST_ENTRIES && found < PROCESS_MOST && (entry = readdir(directory)); seen++) {
        uint64_t number = process_number_of(entry->d_name);
        AUTO_CLOSE int folder = number ? open_own_folder(root, base, entry->d_name) : -1;
        int stop = native_stop(call);

        if (stop)
            return file_error_errno(error, call, stop);
        found += folder >= 0;
        if (folder >= 0 && !each(context, folder, number))
            return 0;
    }
    return 0;
}

struct numbers {
    size_t count;
    uint64_t all[PROCESS_MOST];
};

static bool add_number(void *context, int folder_fd, uint64_t number)
{
    struct numbers *numbers = context;

    (void)folder_fd;
    if (numbers->count < PROCESS_MOST)
        numbers->all[numbers->count++] = number;
    return true;
}

/* The first ones in their order, for a file system has one of its own. */
static void write_ids(struct numbers *numbers, char ids[IDS_SIZE])
{
    size_t length = 0;

    qsort(numbers->all, numbers->count, sizeof(numbers->all[0]), compare);
    for (size_t i = 0; i < numbers->count && length + 32 < IDS_SIZE; i++)
        length += (size_t)snprintf(ids + length, IDS_SIZE - length, ",p%" PRIu64, numbers->all[i]);
}

static int absent(const struct file_call *call, const struct native_root *root, const char *id,
                  struct sandlot_error *error)
{
    struct numbers numbers = {0};
    char ids[IDS_SIZE] = "";

    for (size_t i = 0; i < PROCESS_PLACES; i++)
        if (is_first_place(root, i) && walk_base(call, root, process_places[i], add_number, &numbers, error) < 0)
            return -1;
    write_ids(&numbers, ids);
    return process_error_absent(error, id, ids);
}

/* ---- list ---- */

struct listing {
    const struct native_root *root;
    bool (*each)(void *context, struct sandlot_process *process);
    void *context;
    bool stopped;
    bool no_memory;
};

static bool add_process(void *context, int folder_fd, uint64_t number)
{
    struct listing *listing = context;
    struct sandlot_process process = {.size = sizeof(process)};

    process_set_id(&process, number);
    read_state(listing->root, folder_fd, &process);
    measure_logs(folder_fd, &process);
    listing->no_memory = !read_command(folder_fd, &process);
    listing->stopped = listing->no_memory || !listing->each(listing->context, &process);
    if (listing->no_memory)
        sandlot_process_clear(&process);
    return !listing->stopped;
}

static int list(const struct file_call *call, bool (*each)(void *context, struct sandlot_process *process),
                void *context, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;

    if (native_begin(call, &root, error) < 0)
        return -1;
    struct listing listing = {.root = &root, .each = each, .context = context};

    for (size_t i = 0; i < PROCESS_PLACES && !listing.stopped; i++)
        if (is_first_place(&root, i) && walk_base(call, &root, process_places[i], add_process, &listing, error) < 0)
            return -1;
    return listing.no_memory ? error_no_memory(error) : 0;
}

/* ---- look ---- */

/* Where to begin, once: *AT is from then on the byte that is wanted next. */
static void settle_beginning(const struct process_look *look, const struct sandlot_process *process, uint64_t *at)
{
    uint64_t total = look->errors ? process->errors_total : process->output_total;

    if (look->from < 0)
        *at = total > (uint64_t)0 - (uint64_t)look->from ? total + (uint64_t)look->from : 0;
    else
        *at = (uint64_t)look->from < total ? (uint64_t)look->from : total;
}

/* One look at the process: its state, and the segment with the byte that is wanted, if there is one. *FIRST is the
 * segment's own. Acts as the sandbox's user no longer than that. */
static int look_once(const struct file_call *call, const struct process_look *look, bool begun,
                     struct process_sight *sight, int *segment_fd, uint64_t *first, struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;
    struct sandlot_process *process = &sight->process;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int folder = find_process(&root, look->number);

    if (folder < 0)
        return absent(call, &root, look->id, error);
    read_state(&root, folder, process);
    if (look->errors && !process->separate_errors)
        return process_error_one_log(error, look->id);
    measure_logs(folder, process);
    if (look->with_command && !process->command && !read_command(folder, process))
        return error_no_memory(error);
    if (!look->log)
        return 0;
    if (!begun)
        settle_beginning(look, process, &sight->next);
    *segment_fd = open_at(folder, look->errors ? 'e' : 'o', &sight->next, first);
    return 0;
}

/* Hands out what the segment holds from sight->next on. How long that takes whoever gets it does not count: a pager may
 * stand still for an hour. */
static int hand_out(const struct file_call *call, const struct process_look *look, struct process_sight *sight,
                    int segment_fd, uint64_t first, struct sandlot_error *error)
{
    AUTO_FREE char *buffer = malloc(BUFFER);
    struct file_call reading = *call;

    if (!buffer)
        return error_no_memory(error);
    while (!sight->stopped && sight->handed < look->most) {
        const uint64_t left = look->most - sight->handed;
        ssize_t got = pread(segment_fd, buffer, left < BUFFER ? (size_t)left : BUFFER, (off_t)(sight->next - first));
        int stop = native_stop(&reading);

        if (stop)
            return file_error_errno(error, call, stop);
        if (got <= 0)
            break;
        const int64_t handed_at_ms = sandlot_now_ms();

        sight->stopped = !look->output(look->context, sight->next, buffer, (size_t)got);
        reading.deadline_ms += sandlot_now_ms() - handed_at_ms;
        sight->next += (uint64_t)got;
        sight->handed += (uint64_t)got;
    }
    return 0;
}

/* Waits a little, longer each time. 0, or -1 when it was cancelled. */
static int pause_a_little(const struct file_call *call, int *pause_ms, int64_t until_ms, struct sandlot_error *error)
{
    struct pollfd cancel = {call->cancel_fd, POLLIN, 0};
    int64_t left = until_ms - sandlot_now_ms();

    poll(&cancel, 1, left < *pause_ms ? (int)(left > 0 ? left : 0) : *pause_ms);
    *pause_ms = *pause_ms * 5 / 4 + 1;
    if (*pause_ms > LONGEST_PAUSE_MS)
        *pause_ms = LONGEST_PAUSE_MS;
    return cancellation_check(call->cancel_fd, error);
}

static int look(const struct file_call *call, const struct process_look *look, struct process_sight *sight,
                struct sandlot_error *error)
{
    const int64_t until_ms = sandlot_now_ms() + look->hold_ms;
    int pause_ms = FIRST_PAUSE_MS;
    uint64_t first = 0;

    process_set_id(&sight->process, look->number);
    for (bool begun = false;; begun = true) {
        AUTO_CLOSE int segment = -1;

        if (look_once(call, look, begun, sight, &segment, &first, error) < 0)
            return -1;
        if (segment >= 0)
            return hand_out(call, look, sight, segment, first, error);
        if (sight->process.state != SANDLOT_PROCESS_RUNNING || sandlot_now_ms() >= until_ms)
            return 0;
        if (pause_a_little(call, &pause_ms, until_ms, error) < 0)
            return -1;
    }
}

const struct process_route native_processes = {.list = list, .look = look};
