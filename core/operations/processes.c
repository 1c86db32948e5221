/* The public operations on background processes: what the caller wants is checked and the route chosen. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/sized.h"
#include "base/text.h"
#include "operations/input.h"
#include "operations/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

enum {
    HOLD_MS = 20 * 1000, /* of one question at most */
    HOLD_MARGIN_MS = 40 * 1000,
    UNDO_MS = 10 * 1000,
    START_TRIES = 2,
    DEFAULT_GRACE_MS = 5000,
    LONGEST_GRACE_MS = 10 * 60 * 1000
};

#define LEAST_LOG (UINT64_C(1) << 20)
#define MOST_LOG (UINT64_C(1) << 30)

static struct file_call call_of(struct sandlot_session *session, enum file_verb verb, const char *shown,
                                int64_t limit_ms, const struct sandlot_cancellation *cancellation)
{
    return (struct file_call){.session = session,
                              .verb = verb,
                              .path = "/",
                              .shown = shown,
                              .deadline_ms = sandlot_now_ms() + limit_ms,
                              .cancel_fd = cancellation_fd(cancellation)};
}

/* The way to what is known of processes. NULL with the error. */
static const struct process_route *route_of(const struct file_call *call, struct sandlot_error *error)
{
    const struct file_route *route = NULL;

    if (cancellation_check(call->cancel_fd, error) < 0)
        return NULL;
    if (!call->session->provider->table.execute) {
        error_set(error, SANDLOT_CODE_NOT_SUPPORTED,
                  "%s: running commands is not supported by this provider; it only serves files",
                  call->session->provider->entry->name);
        return NULL;
    }
    route = file_route_of(call, error);
    return !route ? NULL : route == &native_route ? &native_processes : &derived_processes;
}

/* ---- start ---- */

static int check_start(struct sandlot_start *request, struct sandlot_error *error)
{
    if (!request->command || !request->command[strspn(request->command, " \t\n")])
        return error_set(error, SANDLOT_CODE_USAGE, "the command must not be empty");
    if (request->timeout_ms < 0)
        return error_set(error, SANDLOT_CODE_USAGE, "the time limit must not be negative");
    if (request->working_dir && request->working_dir[0] != '/')
        return error_set(error, SANDLOT_CODE_USAGE, "the working directory %s is not an absolute path in the sandbox",
                         request->working_dir);
    if (check_variables(request->environment, error) < 0)
        return -1;
    if (request->log_bytes == 0)
        request->log_bytes = SANDLOT_DEFAULT_LOG_BYTES;
    if (request->log_bytes < LEAST_LOG || request->log_bytes > MOST_LOG)
        return error_set(error, SANDLOT_CODE_USAGE, "a log keeps from 1 MiB to 1 GiB");
    request->timeout_ms = session_command_timeout(request->timeout_ms);
    return 0;
}

static void make_token(char token[PROCESS_TOKEN + 1])
{
    unsigned char random[PROCESS_TOKEN / 2] = {0};
    size_t got = 0;

    while (got < sizeof(random)) {
        ssize_t more = getrandom(random + got, sizeof(random) - got, 0);

        got += more > 0 ? (size_t)more : 0;
    }
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
}

/* Puts a command that no script can carry into the file PATH of the sandbox. */
static int put_command(const struct file_call *call, const struct file_route *route, const char *command,
                       const char *path, struct sandlot_error *error)
{
    AUTO_CLOSE int fd = memfd_create("sandlot-command", MFD_CLOEXEC);
    const size_t length = strlen(command);
    struct file_call putting = *call;
    uint64_t bytes = 0;

    if (fd < 0 || write(fd, command, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET) != 0)
        return error_no_memory(error);
    putting.verb = FILE_UPLOAD;
    putting.path = putting.shown = path;
    return route->upload(&putting, fd, 0600, &bytes, error);
}

/* May the request have arrived although this came back? */
static bool is_unclear(enum sandlot_code code)
{
    switch (code) {
    case SANDLOT_CODE_TIMEOUT:
    case SANDLOT_CODE_NETWORK:
    case SANDLOT_CODE_CANCELLED:
    case SANDLOT_CODE_PROVIDER_CRASHED:
    case SANDLOT_CODE_PROVIDER_ERROR:
    case SANDLOT_CODE_TRUNCATED_TRANSPORT:
    case SANDLOT_CODE_INTERNAL_ERROR:
        return true;
    default:
        return false;
    }
}

/* It failed, with ERROR, and may run all the same: ended, or told. */
static void take_back(struct sandlot_session *session, const struct process_beginning *beginning,
                      struct sandlot_error *error)
{
    const struct file_call call = call_of(session, FILE_WRITE, "the start of a process", UNDO_MS, NULL);
    struct sandlot_error why = {0};

    if (process_undo(&call, beginning, &why) < 0 && error && error->message) {
        AUTO_FREE char *said = error->message;

        error->message = text_format("%s; the process may run in the sandbox: look with 'ps'", said);
    }
    sandlot_error_clear(&why);
}

/* Once more after an answer that was lost: the token finds what the first request has started. */
static int begin(const struct file_call *call, const struct process_beginning *beginning, uint64_t *number,
                 struct sandlot_error *error)
{
    for (int tries = 1;; tries++) {
        struct sandlot_error why = {0};

        if (process_begin(call, beginning, number, &why) == 0)
            return 0;
        if (tries < START_TRIES && is_unclear(why.code) && why.code != SANDLOT_CODE_CANCELLED &&
            sandlot_now_ms() < call->deadline_ms) {
            sandlot_error_clear(&why);
            continue;
        }
        error_set(error, why.code, "%s", why.message);
        if (is_unclear(why.code))
            take_back(call->session, beginning, error);
        sandlot_error_clear(&why);
        return -1;
    }
}

int sandlot_start_process(struct sandlot_session *session, const struct sandlot_start *request,
                          char id[SANDLOT_PROCESS_ID_SIZE], struct sandlot_error *error)
{
    struct sandlot_start own;
    char token[PROCESS_TOKEN + 1];
    char path[64];
    uint64_t number = 0;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_start, command), "sandlot_start", error) <
            0 ||
        check_start(&own, error) < 0)
        return -1;
    const struct file_call call =
        call_of(session, FILE_WRITE, "the start of a process", FILE_CALL_MS, own.cancellation);
    const struct process_route *route = route_of(&call, error);

    if (!route)
        return -1;
    make_token(token);
    struct process_beginning beginning = {.request = &own,
                                          .working_dir = own.working_dir ? own.working_dir : session->working_dir,
                                          .token = token,
                                          .native = route == &native_processes};

    if (!process_fits(&beginning)) {
        snprintf(path, sizeof(path), "/tmp/.sandlot-%s", token);
        beginning.long_command = path;
        if (put_command(&call, beginning.native ? &native_route : &derived_route, own.command, path, error) < 0)
            return -1;
    }
    if (begin(&call, &beginning, &number, error) < 0)
        return -1;
    snprintf(id, SANDLOT_PROCESS_ID_SIZE, "p%llu", (unsigned long long)number % 100000000000000ULL);
    return 0;
}

/* ---- list ---- */

struct gathered {
    struct sandlot_process *items;
    size_t count;
    size_t capacity;
    bool no_memory;
};

static bool gather(void *context, struct sandlot_process *process)
{
    struct gathered *gathered = context;

    if (gathered->count == gathered->capacity) {
        size_t capacity = gathered->capacity ? gathered->capacity * 2 : 16;
        struct sandlot_process *grown = realloc(gathered->items, capacity * sizeof(*grown));

        gathered->no_memory = !grown;
        if (!grown) {
            sandlot_process_clear(process);
            return false;
        }
        gathered->items = grown;
        gathered->capacity = capacity;
    }
    gathered->items[gathered->count++] = *process;
    return true;
}

static void gathered_clear(struct gathered *gathered)
{
    for (size_t i = 0; i < gathered->count; i++)
        sandlot_process_clear(&gathered->items[i]);
    free(gathered->items);
}

static int compare_processes(const void *a, const void *b)
{
    uint64_t one = process_number_of(((const struct sandlot_process *)a)->id);
    uint64_t other = process_number_of(((const struct sandlot_process *)b)->id);

    return one < other ? -1 : one > other;
}

int sandlot_list_processes(struct sandlot_session *session, struct sandlot_cancellation *cancellation,
                           bool (*each)(void *context, const struct sandlot_process *process), void *context,
                           struct sandlot_error *error)
{
    const struct file_call call = call_of(session, FILE_LIST, "the processes", FILE_CALL_MS, cancellation);
    const struct process_route *route = route_of(&call, error);
    CLEANUP(gathered_clear) struct gathered gathered = {0};

    if (!route || route->list(&call, gather, &gathered, error) < 0)
        return -1;
    if (gathered.no_memory)
        return error_no_memory(error);
    if (gathered.count > 1)
        qsort(gathered.items, gathered.count, sizeof(gathered.items[0]), compare_processes);
    for (size_t i = 0; i < gathered.count && each(context, &gathered.items[i]); i++)
        continue;
    return 0;
}

/* ---- follow ---- */

/* One follower: what is to be looked at next, and until when. */
struct following {
    const struct sandlot_follow *request;
    struct process_look look;
    struct process_sight sight;
    int64_t until_ms; /* INT64_MAX: no limit */
    uint64_t handed;
    bool is_late;   /* the time was up when it was last looked */
    uint64_t there; /* then: what there was at the first such look */
};

static int64_t hold_of(const struct following *following)
{
    int64_t left = following->until_ms - sandlot_now_ms();

    return left <= 0 ? 0 : left < HOLD_MS ? left : HOLD_MS;
}

static bool is_done(const struct following *following)
{
    const struct process_sight *sight = &following->sight;
    const struct sandlot_follow *request = following->request;
    const bool wants_all = request->most == 0;

    if (sight->stopped || (!wants_all && following->handed >= request->most))
        return true;
    if (sight->handed > 0 && request->wait_ms && request->first_news)
        return true;
    /* A program that prints as fast as it is read would never leave nothing to hand out. */
    if (following->is_late && sight->next >= following->there)
        return true;
    return sight->handed == 0 &&
           (sight->process.state != SANDLOT_PROCESS_RUNNING || sandlot_now_ms() >= following->until_ms);
}

static int look_again(struct sandlot_session *session, struct following *following, struct sandlot_error *error)
{
    const struct sandlot_follow *request = following->request;
    struct process_look *look = &following->look;
    const bool was_late = following->is_late;

    /* When the time is up, which is at once without a wait, what is there is all; but that may take several looks. */
    look->hold_ms = hold_of(following);
    following->is_late = look->hold_ms == 0;
    look->most = request->most ? request->most - following->handed : UINT64_MAX;
    following->sight.handed = 0;
    const struct file_call call =
        call_of(session, FILE_READ, request->id, look->hold_ms + HOLD_MARGIN_MS, request->cancellation);
    const struct process_route *route = route_of(&call, error);

    if (!route || route->look(&call, look, &following->sight, error) < 0)
        return -1;
    const struct sandlot_process *process = &following->sight.process;

    if (!was_late)
        following->there = look->errors ? process->errors_total : process->output_total;
    following->handed += following->sight.handed;
    look->with_command = !following->sight.process.command;
    look->from = (int64_t)following->sight.next;
    return 0;
}

static int follow(struct sandlot_session *session, struct following *following, struct sandlot_error *error)
{
    do {
        if (look_again(session, following, error) < 0)
            return -1;
    } while (!is_done(following));
    return 0;
}

int sandlot_follow_process(struct sandlot_session *session, const struct sandlot_follow *request, uint64_t *next,
                           struct sandlot_process *process, struct sandlot_error *error)
{
    struct sandlot_follow own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_follow, id), "sandlot_follow", error) < 0 ||
        (process && sized_check(process, SIZED_UP_TO(struct sandlot_process, command), "sandlot_process", error) < 0))
        return -1;
    if (!own.id || own.wait_ms < -1)
        return error_set(error, SANDLOT_CODE_USAGE, "%s",
                         own.id ? "the time to wait must not be negative" : "the id of the process is missing");
    struct following following = {.request = &own,
                                  .look = {.number = process_number_of(own.id),
                                           .id = own.id,
                                           .log = own.output != NULL,
                                           .errors = own.errors,
                                           .from = own.from,
                                           .with_command = process != NULL,
                                           .output = own.output,
                                           .context = own.context},
                                  .sight = {.process.size = sizeof(following.sight.process)}};

    following.until_ms = own.wait_ms < 0 ? INT64_MAX : sandlot_now_ms() + session_command_timeout(own.wait_ms);
    int failed = follow(session, &following, error);

    if (!failed && next)
        *next = following.sight.next;
    if (!failed && process)
        sized_write(process, &following.sight.process, sizeof(following.sight.process));
    else
        sandlot_process_clear(&following.sight.process);
    return failed;
}

/* ---- signal and input ---- */

static bool is_signal(const char *name)
{
    static const char *const names[] = {"TERM", "INT", "HUP", "QUIT", "USR1", "USR2", "STOP", "CONT", "KILL"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

int sandlot_signal_process(struct sandlot_session *session, const struct sandlot_signal *request,
                           struct sandlot_error *error)
{
    struct sandlot_signal own;

    if (sized_read(&own, sizeof(own), request, SIZED_UP_TO(struct sandlot_signal, id), "sandlot_signal", error) < 0)
        return -1;
    if (!own.id)
        return error_set(error, SANDLOT_CODE_USAGE, "the id of the process is missing");
    if (own.name && !is_signal(own.name))
        return error_set(error, SANDLOT_CODE_USAGE,
                         "'%s' is no signal that can be sent; there are TERM, INT, HUP, QUIT, USR1, USR2, STOP, CONT "
                         "and KILL",
                         own.name);
    if (own.grace_ms < 0 || own.grace_ms > LONGEST_GRACE_MS)
        return error_set(error, SANDLOT_CODE_USAGE, "the time until KILL must be from 0 to ten minutes");
    const int64_t grace_ms = own.grace_ms ? own.grace_ms : DEFAULT_GRACE_MS;
    const struct file_call call = call_of(session, FILE_WRITE, own.id, grace_ms + FILE_CALL_MS, own.cancellation);

    return process_signal(&call, process_number_of(own.id), own.id, own.name, grace_ms, error);
}

/* A program that has not read all of it in time. */
static int full_error(struct sandlot_error *error, const char *id, uint64_t taken, size_t length)
{
    return error_set(error, SANDLOT_CODE_NO_SPACE,
                     "process '%s' has taken %llu of %zu bytes of input and reads no more: its pipe is full; write the "
                     "rest when it does",
                     id, (unsigned long long)taken, length);
}

int sandlot_write_process(struct sandlot_session *session, const char *id, const void *bytes, size_t length, bool close,
                          uint64_t *taken, struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    uint64_t total = 0;
    uint64_t got = 0;
    size_t piece;

    if (taken)
        *taken = 0;
    if (!id || (!bytes && length > 0))
        return error_set(error, SANDLOT_CODE_USAGE, "the %s is missing", id ? "input" : "id of the process");
    do {
        const struct file_call call = call_of(session, FILE_WRITE, id, FILE_CALL_MS, cancellation);

        piece = length - (size_t)total;
        got = 0;
        int failed = cancellation_check(call.cancel_fd, error) < 0 ||
                     process_feed(&call, process_number_of(id), id, length ? (const char *)bytes + total : "", &piece,
                                  close, &got, error) < 0;

        total += got;
        if (taken)
            *taken = total;
        if (failed)
            return -1;
    } while (total < length && got == piece);
    return total == length ? 0 : full_error(error, id, total, length);
}
