#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/process.h>

#include "process_child.h"
#include "text.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
    CHUNK = 65536,
    GRACE_MS = 500, /* from SIGTERM to SIGKILL */
    REAP_MS = 300,  /* from SIGKILL to giving up */
    LONGEST_WAIT_MS = 60000,
    TIMEOUT_CODE = 124,
    TAIL_SIZE = 600,
    DEFAULT_OUTPUT_LIMIT = 1 << 20
};

/* What is polled, by place. */
enum { EXITED, CANCEL, REPORT, OUTPUT, ERRORS, INPUT, SOURCE, WATCHED };

struct run {
    struct sandlot_call *call;
    const struct process_options *options;
    struct sdk_child child;
    enum sandlot_status status; /* what the call comes to */
    int64_t limit_at;           /* timeout_ms, INT64_MAX for none */
    bool timed_out;
    bool ending; /* it was asked to end */
    bool killed;
    int64_t next_at; /* while it is ending: when patience is over */
    bool exited;
    char *chunk;   /* for output */
    char *pending; /* input that the program has not taken yet */
    size_t pending_at;
    size_t pending_length;
};

/* ---- ending it early --------------------------------------------------------------------------------------------- */

static void begin_end(struct run *run, enum sandlot_status status)
{
    if (run->status == SANDLOT_OK)
        run->status = status;
    if (run->ending)
        return;
    run->ending = true;
    run->next_at = sandlot_now_ms() + GRACE_MS;
    sdk_child_terminate(&run->child);
}

static void check_clocks(struct run *run)
{
    int64_t now = sandlot_now_ms();

    if (run->ending && now >= run->next_at && !run->killed) {
        run->killed = true;
        run->next_at = now + REAP_MS;
        sdk_child_kill(&run->child);
    }
    if (run->ending)
        return;
    if (run->call->deadline_ms && now >= run->call->deadline_ms) {
        begin_end(run, sandlot_fail(run->call, SANDLOT_TIMEOUT,
                                    "%s was not done by the deadline and was ended; try again "
                                    "with more time",
                                    sdk_program_name(run->options)));
    } else if (now >= run->limit_at) {
        run->timed_out = true;
        begin_end(run, SANDLOT_OK);
    }
}

/* Is there nothing more that could be done about a program that does not go away? */
static bool hopeless(const struct run *run)
{
    return run->killed && sandlot_now_ms() >= run->next_at;
}

static int wait_ms(const struct run *run)
{
    int64_t now = sandlot_now_ms();
    int64_t next = run->ending ? run->next_at : run->limit_at;
    int64_t left = next <= now ? 0 : next - now;

    if (left > LONGEST_WAIT_MS)
        left = LONGEST_WAIT_MS;
    return run->ending ? (int)left : sandlot_remaining_ms(run->call, (int)left);
}

/* ---- input ------------------------------------------------------------------------------------------------------- */

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* write(2) to a pipe whose reader may be gone, without a SIGPIPE for the host. */
static ssize_t write_quietly(int fd, const void *bytes, size_t length)
{
    static const struct timespec at_once = {0, 0};
    sigset_t broken;
    sigset_t before;
    sigset_t waiting;

    sigemptyset(&broken);
    sigaddset(&broken, SIGPIPE);
    sigpending(&waiting);
    pthread_sigmask(SIG_BLOCK, &broken, &before);
    ssize_t written = write(fd, bytes, length);
    int saved = errno;

    if (written < 0 && saved == EPIPE && !sigismember(&waiting, SIGPIPE))
        while (sigtimedwait(&broken, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return written;
}

static void read_source(struct run *run)
{
    const struct sandlot_source *source = run->options->input;
    size_t length = 0;
    enum sandlot_status status = source->read(source, run->pending, CHUNK, &length);

    if (status != SANDLOT_OK)
        begin_end(run, status);
    if (status != SANDLOT_OK || length == 0) {
        close_fd(&run->child.input);
        return;
    }
    run->pending_at = 0;
    run->pending_length = length;
}

static void feed(struct run *run)
{
    ssize_t written =
        write_quietly(run->child.input, run->pending + run->pending_at, run->pending_length - run->pending_at);

    if (written < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (written < 0) { /* it does not want to read on, which is its right */
        close_fd(&run->child.input);
        return;
    }
    run->pending_at += (size_t)written;
    if (run->pending_at == run->pending_length)
        run->pending_at = run->pending_length = 0;
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Passes on at most MOST bytes of *FD; false when there are none now or any more. */
static bool pass_on(struct run *run, int *fd, const struct sandlot_sink *sink, size_t most)
{
    ssize_t length = read(*fd, run->chunk, most < CHUNK ? most : CHUNK);

    if (length < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (length <= 0) {
        close_fd(fd);
        return false;
    }
    /* After a failure of the sink nothing more goes to it, but the pipe is emptied, so that the program can end. */
    if (run->status == SANDLOT_OK) {
        enum sandlot_status status = sink->write(sink, run->chunk, (size_t)length);

        if (status != SANDLOT_OK)
            begin_end(run, status);
    }
    return true;
}

/* What was in the pipe when the program ended; others who hold the pipe might go on writing for ever. */
static void drain(struct run *run, int *fd, const struct sandlot_sink *sink)
{
    int waiting = 0;

    if (*fd < 0 || ioctl(*fd, FIONREAD, &waiting) < 0)
        return;
    for (size_t left = (size_t)waiting; left > 0 && *fd >= 0;) {
        size_t most = left < CHUNK ? left : CHUNK;

        if (!pass_on(run, fd, sink, most))
            return;
        left -= most;
    }
}

/* ---- the loop ---------------------------------------------------------------------------------------------------- */

static void watch(const struct run *run, struct pollfd *fds)
{
    const struct sdk_child *child = &run->child;
    const bool hungry = child->input >= 0 && run->pending_length == 0;

    fds[EXITED] = (struct pollfd){child->exited, POLLIN, 0};
    fds[CANCEL] = (struct pollfd){run->ending ? -1 : run->call->cancel_fd, POLLIN, 0};
    fds[REPORT] = (struct pollfd){child->report, POLLIN, 0};
    fds[OUTPUT] = (struct pollfd){child->output, POLLIN, 0};
    fds[ERRORS] = (struct pollfd){child->errors, POLLIN, 0};
    /* A program that closes its input is seen (POLLERR) while there is nothing to write, too. */
    fds[INPUT] = (struct pollfd){child->input, hungry && run->options->input->poll_fd >= 0 ? 0 : POLLOUT, 0};
    fds[SOURCE] = (struct pollfd){hungry ? run->options->input->poll_fd : -1, POLLIN, 0};
}

static void serve_input(struct run *run, const struct pollfd *fds)
{
    if (run->child.input < 0)
        return;
    if (fds[INPUT].revents & POLLERR) {
        close_fd(&run->child.input);
        return;
    }
    if (run->pending_length == 0 && (fds[SOURCE].revents || (fds[SOURCE].fd < 0 && fds[INPUT].revents)))
        read_source(run);
    if (run->child.input >= 0 && run->pending_length > 0)
        feed(run);
}

static void serve(struct run *run, const struct pollfd *fds)
{
    struct sdk_child *child = &run->child;

    if (fds[REPORT].revents || (fds[EXITED].revents && child->report >= 0)) {
        enum sandlot_status status = sdk_child_report(run->call, run->options, child);

        if (run->status == SANDLOT_OK)
            run->status = status;
    }
    if (fds[CANCEL].revents)
        begin_end(run, sandlot_fail(run->call, SANDLOT_CANCELLED,
                                    "%s was ended, because the call was cancelled; run it "
                                    "again if it is needed",
                                    sdk_program_name(run->options)));
    if (fds[OUTPUT].revents)
        pass_on(run, &child->output, run->options->output, CHUNK);
    if (fds[ERRORS].revents)
        pass_on(run, &child->errors, run->options->errors, CHUNK);
    if (run->ending)
        close_fd(&child->input);
    serve_input(run, fds);
    run->exited = fds[EXITED].revents != 0;
}

static void follow(struct run *run)
{
    struct pollfd fds[WATCHED];

    while (!run->exited && !hopeless(run)) {
        watch(run, fds);
        if (poll(fds, WATCHED, wait_ms(run)) > 0)
            serve(run, fds);
        check_clocks(run);
    }
}

/* The program is gone, or will not go. */
static void finish(struct run *run, struct sandlot_exit *result)
{
    if (run->exited) {
        drain(run, &run->child.output, run->options->output);
        drain(run, &run->child.errors, run->options->errors);
    }
    if (run->ending)
        sdk_child_kill(&run->child); /* before it is waited for, while its number is nobody else's */
    int code = run->exited ? sdk_child_wait(&run->child) : SANDLOT_EXIT_UNKNOWN;

    if (!run->exited)
        run->call->host->log(
            run->call, SANDLOT_LOG_WARNING,
            "a program that was killed does not end; the kernel holds it, most likely in a file system");
    if (!result)
        return;
    result->timed_out = run->timed_out;
    result->exit_code = run->timed_out ? TIMEOUT_CODE : code;
}

static void log_end(const struct run *run, int64_t began, const struct sandlot_exit *result)
{
    char line[256];

    snprintf(line, sizeof(line), "%.100s: exit code %d after %lld ms%s", sdk_program_name(run->options),
             result->exit_code, (long long)(sandlot_now_ms() - began), run->ending ? ", ended early" : "");
    run->call->host->log(run->call, SANDLOT_LOG_DEBUG, line);
}

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_EXHAUSTED, "out of memory; try again with less going on");
}

/* Has the call ended before the program could begin? */
static enum sandlot_status check_call(struct sandlot_call *call, const struct process_options *options)
{
    if (!options->arguments || !options->arguments[0] || !*options->arguments[0])
        return sandlot_fail(call, SANDLOT_INTERNAL, "no program was named; this is a fault of the provider");
    if (sandlot_cancelled(call))
        return sandlot_fail(call, SANDLOT_CANCELLED, "%s was not begun, because the call was cancelled",
                            sdk_program_name(options));
    if (call->deadline_ms && sandlot_remaining_ms(call, 1) == 0)
        return sandlot_fail(call, SANDLOT_TIMEOUT, "%s was not begun, because the deadline had passed; allow more time",
                            sdk_program_name(options));
    return SANDLOT_OK;
}

enum sandlot_status process_run(struct sandlot_call *call, const struct process_options *options,
                                struct sandlot_exit *result)
{
    struct sandlot_exit unasked = {.size = sizeof(unasked)};
    struct run run = {.call = call, .options = options};
    int64_t began = sandlot_now_ms();
    enum sandlot_status status = check_call(call, options);

    if (status != SANDLOT_OK)
        return status;
    AUTO_FREE char *chunk = malloc(CHUNK);
    AUTO_FREE char *pending = options->input ? malloc(CHUNK) : NULL;

    if (!chunk || (options->input && !pending))
        return no_memory(call);
    run.chunk = chunk;
    run.pending = pending;
    run.limit_at = options->timeout_ms > 0 ? began + options->timeout_ms : INT64_MAX;
    run.status = sdk_child_start(call, options, &run.child);
    if (run.status == SANDLOT_OK) {
        follow(&run);
        finish(&run, result ? result : &unasked);
        log_end(&run, began, result ? result : &unasked);
    }
    sdk_child_close(&run.child);
    return run.status;
}

/* ---- reading what a program prints
 * ----------------------------------------------------------------------------------- */

struct reading {
    struct sandlot_call *call;
    const struct process_options *options;
    struct sdk_buffer output;
    bool wanted;
    char tail[TAIL_SIZE]; /* the end of standard error */
    size_t tail_length;
    bool tail_cut;
};

static enum sandlot_status keep_output(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct reading *reading = sink->context;

    if (!reading->wanted)
        return SANDLOT_OK;
    switch (sdk_buffer_add(&reading->output, bytes, length)) {
    case SDK_GROWN:
        return SANDLOT_OK;
    case SDK_TOO_LONG:
        return sandlot_fail(reading->call, SANDLOT_INTERNAL,
                            "%s printed more than %zu bytes, which was not expected; check its version",
                            sdk_program_name(reading->options), reading->output.limit);
    case SDK_NO_MEMORY:
        break;
    }
    return no_memory(reading->call);
}

static enum sandlot_status keep_tail(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct reading *reading = sink->context;
    const char *at = bytes;

    if (length > TAIL_SIZE) {
        at += length - TAIL_SIZE;
        length = TAIL_SIZE;
        reading->tail_cut = true;
    }
    if (reading->tail_length + length > TAIL_SIZE) {
        size_t gone = reading->tail_length + length - TAIL_SIZE;

        memmove(reading->tail, reading->tail + gone, reading->tail_length - gone);
        reading->tail_length -= gone;
        reading->tail_cut = true;
    }
    memcpy(reading->tail + reading->tail_length, at, length);
    reading->tail_length += length;
    return SANDLOT_OK;
}

/* The program itself says why; what it says is a stranger's text. */
static enum sandlot_status explain_failure(const struct reading *reading, int code)
{
    enum sandlot_status status = reading->options->failure ? reading->options->failure : SANDLOT_INTERNAL;
    const char *program = sdk_program_name(reading->options);
    const char *begin = reading->tail;
    const char *end = reading->tail + reading->tail_length;
    char line[TAIL_SIZE + 8];

    while (reading->tail_cut && begin < end && ((unsigned char)*begin & 0xc0) == 0x80)
        begin++; /* the rest of a character */
    sdk_one_line(line, sizeof(line), begin, (size_t)(end - begin));
    if (!*line)
        return sandlot_fail(reading->call, status,
                            "%s failed with exit code %d and without a word; run it by hand to see "
                            "why",
                            program, code);
    return sandlot_fail(reading->call, status, "%s failed with exit code %d and said: %s%s", program, code,
                        reading->tail_cut ? "..." : "", line);
}

static enum sandlot_status hand_over(struct reading *reading, char **text, size_t *length)
{
    if (!text)
        return SANDLOT_OK;
    while (reading->output.length > 0 && reading->output.bytes[reading->output.length - 1] == '\n')
        reading->output.bytes[--reading->output.length] = '\0';
    size_t count = reading->output.length;

    *text = sdk_buffer_take(&reading->output);
    if (!*text)
        return no_memory(reading->call);
    if (length)
        *length = count;
    return SANDLOT_OK;
}

enum sandlot_status process_read(struct sandlot_call *call, const struct process_options *options, char **text,
                                 size_t *length)
{
    const uint64_t limit = options->output_limit ? options->output_limit : DEFAULT_OUTPUT_LIMIT;
    struct reading reading = {.call = call,
                              .options = options,
                              .wanted = text,
                              .output.limit = limit < SIZE_MAX / 2 ? (size_t)limit : SIZE_MAX / 2};
    const struct sandlot_sink output = {sizeof(output), &reading, keep_output};
    const struct sandlot_sink errors = {sizeof(errors), &reading, keep_tail};
    struct process_options both = *options;
    struct sandlot_exit result = {.size = sizeof(result)};

    both.output = &output;
    both.errors = &errors;
    enum sandlot_status status = process_run(call, &both, &result);

    if (status == SANDLOT_OK && result.timed_out)
        status = sandlot_fail(call, SANDLOT_TIMEOUT, "%s was not done after %lld ms and was ended; try again later",
                              sdk_program_name(options), (long long)options->timeout_ms);
    else if (status == SANDLOT_OK && result.exit_code != 0)
        status = explain_failure(&reading, result.exit_code);
    if (status == SANDLOT_OK)
        status = hand_over(&reading, text, length);
    sdk_buffer_clear(&reading.output);
    return status;
}
