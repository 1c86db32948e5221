#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"

#include <string.h>

static const char looking[] = "[ -e \"$f\" ] || s_gone\n"
                              "[ -r \"$f\" ] || s_fail eacces\n"
                              "[ ! -d \"$f\" ] || s_fail eisdir\n"
                              "[ -f \"$f\" ] || s_fail kind\n"
                              "s_need head stat\n"
                              "s_code\n";

/*
 * The first bytes, where they are wanted, through a descriptor whose position then tells how many these were: to ask
 * for the size before would take a process more, and a process is most of what this takes. A shell that cannot tell
 * whether head failed goes the other way.
 */
static const char front[] = "if command set -o pipefail && read -r s_n </proc/self/fdinfo/0; then\n"
                            "{\n"
                            "echo \"front=-$s_k\"\n"
                            "head -c $((s_window + 1)) <&3 | $s_c\n"
                            "s_x=$?\n"
                            "echo ';'\n"
                            "read -r s_n s_size </proc/self/fdinfo/3\n"
                            "} 3<\"$f\"\n"
                            "[ \"$s_x\" = 0 ] || s_fail eio\n"
                            "s_word size $s_size\n"
                            "[ $s_size -gt $s_whole ] || s_end\n"
                            "s_size=$(stat -L -c %s \"$f\")\n"
                            "else\n";

/*
 * A file that says how long it is. If what came has another length, because the file has changed since, or is one of
 * those under /sys, it is sent once more and counted.
 */
static const char whole[] = "s_size=$(stat -L -c %s \"$f\")\n"
                            "if [ ${s_size:-0} -gt 0 ] && [ $s_size -le $s_whole ]; then\n"
                            "s_word size $s_size\n"
                            "s_flow whole <\"$f\"\n"
                            "s_end\n"
                            "fi\n";

/* One that says that it is empty, as those under /proc, or too much. */
static const char counted[] = "if [ ${s_size:-0} -le $s_whole ]; then\n"
                              "s_d=$(head -c $((s_whole + 1)) \"$f\" | $s_c)\n"
                              /* Text of so many characters may stand for more than is to be sent as a whole. */
                              "if [ ${#s_d} -lt $s_whole ] || [ ${s_size:-0} -gt 0 ]; then\n"
                              "echo \"whole=${#s_d}$s_k$s_d;\"\n"
                              "s_end\n"
                              "fi\n"
                              "s_d=\n"
                              "fi\n"
                              "head -c $s_head \"$f\" | s_data head\n";

/*
 * Finds where the wanted line begins, and counts lines. A record of awk is what lies between two "\n"; it holds a line
 * more for every "\r" but one at its end. BusyBox's awk ends a text at NUL, so that another byte stands in for it; only
 * lengths count here.
 */
static const char finding[] =
    "s_need awk tr tail\n"
    "set -- $(tr '\\000' '\\001' <\"$f\" | awk -v wanted=$s_wanted -v size=$s_size -v counted=$s_counted '\n"
    "BEGIN { at = -1; lines = 0; bytes = 0 }\n"
    "{\n"
    "here = 1\n"
    "pieces = index($0, \"\\r\") ? split($0, piece, \"\\r\") : 0\n"
    "if (pieces) here = piece[pieces] == \"\" ? pieces - 1 : pieces\n"
    "if (at < 0 && wanted < lines + here) {\n"
    "at = bytes\n"
    "for (i = 1; i <= wanted - lines; i++) at += length(piece[i]) + 1\n"
    "}\n"
    "lines += here\n"
    "bytes += length($0) + 1\n"
    "if (at >= 0 && (size > counted || bytes > counted)) { cut = 1; exit }\n"
    "}\n"
    "END { printf \"%.0f %.0f\", at, cut ? -1 : lines }')\n"
    "[ $# = 2 ] || s_fail eio\n"
    "[ $2 -lt 0 ] || s_word lines $2\n"
    "[ $1 -lt 0 ] || [ \"$s_n\" = pos: ] || tail -c +$(($1 + 1)) \"$f\" | head -c $((s_window + 1)) | s_data window\n";

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
    script_add(script, looking);
    if (in_front)
        script_add(script, front);
    script_add(script, count ? "s_size=$(stat -L -c %s \"$f\")\n" : whole);
    script_add(script, counted);
    if (in_front)
        script_add(script, "fi\n");
    if (needs_lines)
        script_add(script, finding);
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
