/* sandlot logs: what a background process has printed. */
#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/process_command.h"
#include "cli/progress.h"
#include "cli/sandbox.h"
#include "cli/terminal_filter.h"
#include "cli/usage.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_WINDOW = 64 * 1024, WINDOW_GROWTH = 8 };

#define LARGEST_WINDOW (INT64_C(1) << 30)

/* Where the log goes: standard output as it comes, or all of it into memory. */
struct receiver {
    bool kept;
    bool to_terminal;
    bool begun;
    bool no_memory;
    struct terminal_filter filter;
    uint64_t from; /* the first byte that came */
    uint64_t next;
    uint64_t skipped; /* bytes that were no longer kept */
    char *bytes;
    size_t length;
    size_t capacity;
};

static bool keep(struct receiver *receiver, const void *bytes, size_t length)
{
    if (receiver->length + length > receiver->capacity) {
        size_t capacity = (receiver->length + length) * 2;
        char *grown = realloc(receiver->bytes, capacity);

        receiver->no_memory = !grown;
        if (!grown)
            return false;
        receiver->bytes = grown;
        receiver->capacity = capacity;
    }
    memcpy(receiver->bytes + receiver->length, bytes, length);
    receiver->length += length;
    return true;
}

static bool show(struct receiver *receiver, const void *bytes, size_t length)
{
    if (!receiver->to_terminal)
        return output_write(bytes, length);
    AUTO_FREE char *clean = malloc(length + TERMINAL_FILTER_SLACK);

    return clean && output_write(clean, terminal_filter(&receiver->filter, bytes, length, clean));
}

/* Counts what is missing between what came last and what comes now. */
static void count_skipped(struct receiver *receiver, uint64_t offset)
{
    if (!receiver->begun)
        receiver->from = offset;
    else if (offset > receiver->next)
        receiver->skipped += offset - receiver->next;
    receiver->begun = true;
}

static bool on_output(void *context, uint64_t offset, const void *bytes, size_t length)
{
    struct receiver *receiver = context;

    count_skipped(receiver, offset);
    receiver->next = offset + length;
    return receiver->kept ? keep(receiver, bytes, length) : show(receiver, bytes, length);
}

/* Where the last LINES lines of what the receiver holds begin; its length if there are none. */
static size_t last_lines(const struct receiver *receiver, int64_t lines)
{
    size_t at = receiver->length;

    if (lines == 0 || at == 0)
        return at;
    /* A line end at the very end ends the last line. */
    for (at--; at > 0; at--)
        if (receiver->bytes[at - 1] == '\n' && --lines == 0)
            return at;
    return 0;
}

/* The byte with which the last lines begin: looked for in more and more of the end. 0 or -1. */
static int find_tail(const struct context *context, struct sandlot_session *session, int64_t *from,
                     struct sandlot_error *error)
{
    const struct options *options = context->options;

    for (int64_t window = FIRST_WINDOW;; window *= WINDOW_GROWTH) {
        struct receiver receiver = {.kept = true};
        struct sandlot_process process = {.size = sizeof(process)};
        uint64_t next = 0;
        const struct sandlot_follow request = {.size = sizeof(request),
                                               .id = options->arguments[0],
                                               .from = -window,
                                               .output = on_output,
                                               .context = &receiver,
                                               .cancellation = context->cancellation};
        int failed = sandlot_follow_process(session, &request, &next, &process, error);
        size_t at = failed ? 0 : last_lines(&receiver, options->tail);
        bool all = process.output_total - process.output_first <= (uint64_t)window;

        *from = (int64_t)(receiver.begun ? receiver.from + at : next);
        sandlot_process_clear(&process);
        free(receiver.bytes);
        if (failed || receiver.no_memory)
            return failed ? failed : error_no_memory(error);
        if (at > 0 || all || options->tail == 0 || window >= LARGEST_WINDOW)
            return 0;
    }
}

static int receive(const struct context *context, struct sandlot_session *session, struct receiver *receiver,
                   struct sandlot_process *process, struct sandlot_error *error)
{
    const struct options *options = context->options;
    int64_t from = options->from;

    if (options->given & OPTION_TAIL && find_tail(context, session, &from, error) < 0)
        return -1;
    const struct sandlot_follow request = {.size = sizeof(request),
                                           .id = options->arguments[0],
                                           .from = from,
                                           .most = options->max_bytes,
                                           .wait_ms = options->given & OPTION_FOLLOW ? -1 : 0,
                                           .output = on_output,
                                           .context = receiver,
                                           .cancellation = context->cancellation};

    uint64_t next = 0;

    if (sandlot_follow_process(session, &request, &next, process, error) < 0)
        return -1;
    count_skipped(receiver, next);
    receiver->next = next;
    if (from >= 0 && receiver->from > (uint64_t)from)
        receiver->skipped += receiver->from - (uint64_t)from;
    return receiver->no_memory ? error_no_memory(error) : 0;
}

static struct json_object *log_object(const struct receiver *receiver, const struct sandlot_process *process)
{
    struct json_object *object = json_object_new_object();
    const char *bytes = receiver->bytes ? receiver->bytes : "";

    json_object_object_add(object, "id", json_object_new_string(process->id));
    json_object_object_add(object, "state", json_object_new_string(process_state_name(process->state)));
    json_object_object_add(object, "exit_code",
                           process->has_exit_code ? json_object_new_int(process->exit_code) : NULL);
    json_object_object_add(object, "from", json_object_new_int64((int64_t)receiver->from));
    json_object_object_add(object, "next", json_object_new_int64((int64_t)receiver->next));
    json_object_object_add(object, "skipped", json_object_new_int64((int64_t)receiver->skipped));
    if (text_utf8_valid(bytes, receiver->length)) {
        json_object_object_add(object, "output", json_bytes(bytes, receiver->length));
        return object;
    }
    AUTO_FREE char *encoded = base64_encode(bytes, receiver->length);

    json_object_object_add(object, "encoding", json_object_new_string("base64"));
    json_object_object_add(object, "output", encoded ? json_object_new_string(encoded) : NULL);
    return object;
}

static int report(const struct options *options, struct receiver *receiver, const struct sandlot_process *process,
                  const struct sandlot_error *error)
{
    char rest[TERMINAL_FILTER_SLACK];

    if (receiver->to_terminal)
        output_write(rest, terminal_filter_end(&receiver->filter, rest));
    if (error_is_set(error) && !output_failed())
        return report_error(options, error);
    if (options->json)
        output_json(log_object(receiver, process));
    else if (receiver->skipped)
        progress_line("sandlot: %llu bytes of the log are left out: they are no longer kept in the sandbox",
                      (unsigned long long)receiver->skipped);
    return 0;
}

static int print_and_close(const struct context *context, struct sandlot_session *session, const void *input)
{
    (void)input;
    const struct options *options = context->options;
    struct receiver receiver = {.kept = options->json, .to_terminal = !options->json && isatty(STDOUT_FILENO) == 1};
    struct sandlot_process process = {.size = sizeof(process)};
    struct sandlot_error error = {0};
    struct sandlot_error closing = {0};

    receive(context, session, &receiver, &process, &error);
    sandbox_close(context, session, &closing);
    int status = report(options, &receiver, &process, error_is_set(&error) ? &error : &closing);

    free(receiver.bytes);
    sandlot_process_clear(&process);
    sandlot_error_clear(&error);
    sandlot_error_clear(&closing);
    return context_status(status);
}

int command_logs(const struct options *options)
{
    int status = process_command_check(options);

    if (status == 0 && options->json && options->given & OPTION_FOLLOW)
        status = usage_error(options->command, "--json prints one object and cannot go with --follow; ask again with "
                                               "--from, the \"next\" of the object before");
    if (status == 0 && options->given & OPTION_TAIL && options->given & OPTION_FROM)
        status = usage_error(options->command, "--from and --tail exclude each other");
    return status ? status : sandbox_command(options, NULL, print_and_close, NULL);
}
