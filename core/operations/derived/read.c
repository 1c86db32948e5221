#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/read_box.h"

#include <string.h>

struct reading {
    struct frame_bytes head; /* of the file, or all of it */
    struct frame_bytes window;
    bool whole;
    bool front; /* head is as much as a window has */
    bool has_lines;
    uint64_t lines;
    uint64_t size; /* that the file says it has; 0: nothing is known */
};

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct reading *reading = context;

    if (strcmp(name, "size") == 0)
        return frame_number(value, &reading->size, error);
    reading->has_lines = true;
    return frame_number(value, &reading->lines, error);
}

static int take_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct reading *reading = context;

    if (strcmp(name, "window") == 0)
        return frame_bytes_add(&reading->window, bytes, length, error);
    reading->whole = strcmp(name, "whole") == 0;
    reading->front = strcmp(name, "front") == 0;
    return frame_bytes_add(&reading->head, bytes, length, error);
}

/* COUNT: do not believe what the file says of its size, but count what comes. */
static void make_script(struct script *script, const struct file_call *call, const struct page_wish *wish, bool count)
{
    /* Where the name or the limit says already that no lines are wanted. */
    bool needs_lines = page_needs_lines(wish, "", 0);
    bool in_front = needs_lines && wish->offset == 0 && !count;

    script_init(script);
    script_set(script, "f", call->path);
    script_format(script, "s_whole=%d\ns_head=%d\ns_window=%d\ns_counted=%d\ns_wanted=%lld\n", PAGE_WHOLE, PAGE_HEAD,
                  PAGE_WINDOW, PAGE_COUNTED, (long long)wish->offset);
    script_add(script, read_box_looking);
    if (in_front)
        script_add(script, read_box_front);
    script_add(script, count ? "s_size=$(stat -L -c %s \"$f\")\n" : read_box_whole);
    script_add(script, read_box_counted);
    if (in_front)
        script_add(script, read_box_front_end);
    if (needs_lines)
        script_add(script, read_box_finding);
    script_add(script, "s_end\n");
}

/* Did all come that should? */
static bool is_complete(struct reading *reading)
{
    if (!reading->front)
        return reading->size == 0 || reading->head.length == reading->size;
    reading->whole = reading->size <= PAGE_WHOLE;
    return reading->head.length == (reading->size <= PAGE_WINDOW ? reading->size : PAGE_WINDOW + 1);
}

static int fill(const struct page_wish *wish, const struct reading *reading, struct sandlot_page *page,
                struct sandlot_error *error)
{
    const struct frame_bytes *window = reading->whole || reading->front ? &reading->head : &reading->window;
    struct page_source source = {.head = reading->head.bytes,
                                 .head_length = reading->head.length,
                                 .window = window->bytes,
                                 .window_length = window->length,
                                 .first_line = reading->whole ? 0 : wish->offset,
                                 .whole = reading->whole,
                                 .window_ends = window->length <= PAGE_WINDOW,
                                 .total_lines = reading->has_lines ? (int64_t)reading->lines : -1};

    if (source.window_length > PAGE_WINDOW)
        source.window_length = PAGE_WINDOW;
    return page_fill(wish, &source, page, error);
}

static int receive_file(const struct file_call *call, const struct page_wish *wish, bool count, struct reading *reading,
                        struct sandlot_error *error)
{
    const struct frame_receiver receiver = {.context = reading, .word = take_word, .data = take_data};
    struct script script;

    make_script(&script, call, wish, count);
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    return failed;
}

int derived_read(const struct file_call *call, const struct page_wish *wish, struct sandlot_page *page,
                 struct sandlot_error *error)
{
    struct reading reading = {.head.maximum = PAGE_WINDOW + 1, .window.maximum = PAGE_WINDOW + 1};
    int failed = receive_file(call, wish, false, &reading, error);

    if (!failed && !is_complete(&reading)) {
        reading.head.length = reading.window.length = 0;
        failed = receive_file(call, wish, true, &reading, error);
    }
    /* So that there is an address even if there are no bytes. */
    if (!failed)
        failed = frame_bytes_add(&reading.head, "", 0, error);
    if (!failed)
        failed = frame_bytes_add(&reading.window, "", 0, error);
    if (!failed)
        failed = fill(wish, &reading, page, error);
    frame_bytes_clear(&reading.head);
    frame_bytes_clear(&reading.window);
    return failed;
}
