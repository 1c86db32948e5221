/* Reading a page: most files are read in one go; of large ones only as much as the page needs. */
#include "base/cleanup.h"
#include "base/error.h"
#include "operations/file_error.h"
#include "operations/native/native.h"
#include "operations/native/open.h"
#include "operations/page.h"

#include <errno.h>

enum {
    FIRST_BYTES = 8 * 1024,  /* room for a file that does not say how long it is, as those under /proc */
    PIECE = 4 * 1024 * 1024, /* read between two looks at the time */
    SCAN_BYTES = 256 * 1024
};

/* Twice the room, at most MAXIMUM bytes. */
static bool grow(char **bytes, size_t *capacity, size_t maximum)
{
    size_t wanted = *capacity < maximum / 2 ? *capacity * 2 : maximum;
    char *grown = realloc(*bytes, wanted);

    if (!grown)
        return false;
    *bytes = grown;
    *capacity = wanted;
    return true;
}

char *native_load(const struct file_call *call, int fd, uint64_t size, size_t maximum, size_t *length)
{
    /* One byte more than there should be: a read that does not fill it has met the end. */
    size_t capacity = size == 0 ? FIRST_BYTES : size < maximum ? (size_t)size + 1 : maximum;
    AUTO_FREE char *bytes = malloc(capacity);
    size_t used = 0;

    while (bytes && used < maximum) {
        int stop = native_stop(call);

        if (stop) {
            errno = stop;
            return NULL;
        }
        if (used == capacity && !grow(&bytes, &capacity, maximum))
            return NULL;
        ssize_t got = read(fd, bytes + used, capacity - used < PIECE ? capacity - used : PIECE);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return NULL;
        used += (size_t)got;
        if (got == 0 || (used == size && used < capacity))
            break;
    }
    *length = used;
    return TAKE(bytes);
}

/* pread(2) until LENGTH bytes are there or the file ends. -1 with errno. */
static ssize_t read_at(int fd, char *bytes, size_t length, uint64_t at)
{
    size_t used = 0;

    while (used < length) {
        ssize_t got = pread(fd, bytes + used, length - used, (off_t)(at + used));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        used += (size_t)got;
    }
    return (ssize_t)used;
}

/* Feeds the file FD to SCAN: to its end if it is short enough to be counted, else until the wanted line is found.
 * *ENDED: all of it was fed. 0 or -1 with errno. */
static int scan_lines(const struct file_call *call, int fd, uint64_t size, struct line_scan *scan, bool *ended)
{
    AUTO_FREE char *buffer = malloc(SCAN_BYTES);

    *ended = false;
    while (buffer && (!scan->found || (size <= PAGE_COUNTED && scan->bytes <= PAGE_COUNTED))) {
        int stop = native_stop(call);

        if (stop) {
            errno = stop;
            return -1;
        }
        ssize_t got = read_at(fd, buffer, SCAN_BYTES, scan->bytes);

        if (got < 0)
            return -1;
        line_scan_feed(scan, buffer, (size_t)got);
        *ended = got < SCAN_BYTES;
        if (*ended)
            break;
    }
    return buffer ? 0 : -1;
}

/* Finds the lines of the page in a file of which SOURCE has the head. WINDOW has room for PAGE_WINDOW + 1 bytes. */
static int find_window(const struct file_call *call, int fd, uint64_t size, const struct page_wish *wish, char *window,
                       struct page_source *source)
{
    struct line_scan scan;
    bool ended;

    line_scan_init(&scan, wish->offset);
    if (scan_lines(call, fd, size, &scan, &ended) < 0)
        return -1;
    ssize_t got = scan.found ? read_at(fd, window, PAGE_WINDOW + 1, scan.found_at) : 0;

    if (got < 0)
        return -1;
    source->window = window;
    source->window_length = got > PAGE_WINDOW ? PAGE_WINDOW : (size_t)got;
    source->window_ends = got <= PAGE_WINDOW;
    source->first_line = wish->offset;
    source->total_lines = ended ? line_scan_total(&scan) : -1;
    return 0;
}

static int read_large(const struct file_call *call, int root_fd, int fd, uint64_t size, const struct page_wish *wish,
                      struct page_source *source, struct sandlot_page *page, struct sandlot_error *error)
{
    AUTO_FREE char *window = NULL;

    if (page_needs_lines(wish, source->head, source->head_length)) {
        window = malloc(PAGE_WINDOW + 1);
        if (!window || find_window(call, fd, size, wish, window, source) < 0)
            return native_failed(call, root_fd, errno, error);
    }
    return page_fill(wish, source, page, error);
}

int native_read(const struct file_call *call, const struct page_wish *wish, struct sandlot_page *page,
                struct sandlot_error *error)
{
    AUTO_ROOT struct native_root root = NATIVE_NO_ROOT;
    struct stat status;

    if (native_begin(call, &root, error) < 0)
        return -1;
    AUTO_CLOSE int fd = native_open_file(call, root.fd, &status, error);

    if (fd < 0)
        return -1;
    size_t length = 0;
    AUTO_FREE char *bytes = native_load(call, fd, (uint64_t)status.st_size, PAGE_WHOLE + 1, &length);

    if (!bytes)
        return native_failed(call, root.fd, errno, error);
    struct page_source source = {.head = bytes, .head_length = length, .total_lines = -1};

    if (length > PAGE_WHOLE)
        return read_large(call, root.fd, fd, (uint64_t)status.st_size, wish, &source, page, error);
    source.whole = source.window_ends = true;
    source.window = bytes;
    source.window_length = length;
    return page_fill(wish, &source, page, error);
}
