/* sandlot input: standard input for a background process. */
#include "base/cleanup.h"
#include "base/error.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/process_command.h"
#include "cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { PIECE = 256 * 1024, POLL_MS = 100 };

/* Waits until there is something to read. False after a signal. */
static bool wait_readable(void)
{
    for (;;) {
        struct pollfd input = {STDIN_FILENO, POLLIN, 0};

        if (signals_received())
            return false;
        int ready = poll(&input, 1, POLL_MS);

        if (ready > 0 || (ready < 0 && errno != EINTR))
            return true;
    }
}

/* The next bytes of standard input; 0 at its end, -1 with the error. */
static ssize_t read_piece(char *buffer, struct sandlot_error *error)
{
    ssize_t got = -1;

    errno = EINTR;
    while (got < 0 && errno == EINTR) {
        if (!wait_readable())
            return error_set(error, SANDLOT_CODE_CANCELLED, "cancelled while standard input was read");
        got = read(STDIN_FILENO, buffer, PIECE);
    }
    if (got < 0)
        error_set(error, SANDLOT_CODE_USAGE, "standard input cannot be read: %s", strerror(errno));
    return got;
}

static int pass(const struct context *context, struct sandlot_session *session, uint64_t *total,
                struct sandlot_error *error)
{
    const struct options *options = context->options;
    AUTO_FREE char *buffer = malloc(PIECE);
    ssize_t got;

    if (!buffer)
        return error_no_memory(error);
    while ((got = read_piece(buffer, error)) > 0) {
        uint64_t taken = 0;
        int failed = sandlot_write_process(session, options->arguments[0], buffer, (size_t)got, false, &taken,
                                           context->cancellation, error);

        *total += taken;
        if (failed)
            return -1;
    }
    /* Also where there was nothing to pass on: an unknown process is told. */
    if (got == 0 && (options->given & OPTION_CLOSE || *total == 0))
        return sandlot_write_process(session, options->arguments[0], NULL, 0, options->given & OPTION_CLOSE, NULL,
                                     context->cancellation, error);
    return (int)got;
}

static int work(const struct context *context, struct sandlot_session *session, const void *input,
                struct answer *answer, struct sandlot_error *error)
{
    (void)input;
    uint64_t total = 0;
    int failed = pass(context, session, &total, error);

    answer->object = json_object_new_object();
    json_object_object_add(answer->object, "id", json_text(context->options->arguments[0]));
    json_object_object_add(answer->object, "bytes", json_object_new_int64((int64_t)total));
    return failed;
}

int command_input(const struct options *options)
{
    return process_command(options, work);
}
