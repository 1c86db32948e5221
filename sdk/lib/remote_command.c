/* One command from its first script to its end. */
#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/remote_command.h>
#include <sandlot/sdk/text_sink.h>

#include "remote_command_answer.h"
#include "remote_command_pace.h"
#include "remote_command_script.h"
#include "script_mark.h"

#include <ctype.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_HOLD_MS = 20000,
    SHORTEST_HOLD_MS = 200,
    FIRST_PATIENCE_MS = 1500,
    LONGEST_PATIENCE_MS = 10000,
    SCRIPT_PATIENCE_MS = 60 * 60 * 1000, /* longer than any script is held */
    KILL_MS = 900,                       /* what a cancelled call has left */
    START_MARGIN_MS = 5000,
    LAST_HOLD_MS = 1000,        /* of the last script, beyond the command's limit */
    SLOWEST_BYTES_PER_MS = 256, /* of a line on which input is carried */
    TIMED_OUT_CODE = 124
};

static const struct remote_pace default_pace = {.linger_s = 45,
                                                .first_pause_ms = 250,
                                                .longest_pause_ms = 10000,
                                                .give_up_ms = 60000,
                                                .most_failures = 9,
                                                .grace_ms = 15000,
                                                .answer_ms = 6000};

static const char note_lost[] = "the sandbox was restarted, or ended all processes, while the command ran";

/* A command under way. */
struct run {
    struct sandlot_call *call;
    const struct remote_channel *channel;
    const struct remote_pace *pace;
    struct sandlot_exit *result;
    struct remote_job job;
    struct remote_output output;
    int64_t begun_ms;    /* when the first script was sent */
    int64_t limited_ms;  /* from when on the command's time limit counts: the same, or the end of the last wait */
    int64_t progress_ms; /* when something last came */
    int64_t patience_ms;
    int failures;      /* since then */
    bool sent;         /* a script that starts the job: from here on it may run */
    bool known;        /* the sandbox has told of the job */
    bool stalled;      /* the last script had no answer within its limit */
    char reason[1024]; /* of the last answer that was lost */
};

static enum sandlot_status out_of_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to run a command; free some");
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static int64_t sooner(int64_t one_ms, int64_t other_ms)
{
    return one_ms < other_ms ? one_ms : other_ms;
}

/* What is left of the command's time limit; INT64_MAX: it has none. */
static int64_t limit_left_ms(const struct run *run)
{
    int64_t limit_ms = run->job.command->timeout_ms;
    int64_t left_ms = limit_ms - (sandlot_now_ms() - run->limited_ms);

    return limit_ms <= 0 ? INT64_MAX : left_ms > 0 ? left_ms : 0;
}

static bool is_overdue(const struct run *run)
{
    int64_t limit_ms = run->job.command->timeout_ms;
    int64_t grace_ms = run->stalled ? 0 : run->pace->grace_ms;

    return limit_ms > 0 && sandlot_now_ms() - run->limited_ms > limit_ms + grace_ms;
}

static bool is_past_deadline(const struct sandlot_call *call)
{
    return call->deadline_ms != 0 && sandlot_now_ms() >= call->deadline_ms;
}

/* Waits before asking again. False: the call is over. */
static bool pause_after_failure(const struct run *run)
{
    int64_t most_ms = run->pace->first_pause_ms;
    uint32_t random;

    for (int i = 1; i < run->failures && most_ms < run->pace->longest_pause_ms; i++)
        most_ms *= 2;
    most_ms = sooner(most_ms, run->pace->longest_pause_ms);
    random_bytes(&random, sizeof(random));
    return pause_for(run->call, most_ms / 2 + (int64_t)(random % (uint64_t)(most_ms / 2 + 1)));
}

/* How long output may wait for more of it. Nobody watches a script of the SDK: each answer before its end is a request
 * for nothing, and their number would depend on how busy the sandbox is. */
static int64_t first_patience_ms(const struct sandlot_command *command)
{
    bool is_script = SANDLOT_HAS(command, flags) && (command->flags & SCRIPT_MARK);

    return is_script ? SCRIPT_PATIENCE_MS : FIRST_PATIENCE_MS;
}

static int64_t next_patience_ms(int64_t patience_ms)
{
    return patience_ms >= LONGEST_PATIENCE_MS ? patience_ms : sooner(patience_ms * 2, LONGEST_PATIENCE_MS);
}

/*
 * May the next script start the job? Not when the sandbox could already have forgotten it: then it would run twice. And
 * not when the job has been heard of.
 */
static bool may_start(const struct run *run)
{
    int64_t memory_ms = (int64_t)run->pace->linger_s * 1000;
    int64_t margin_ms = sooner(START_MARGIN_MS, memory_ms / 4);

    return !run->sent || (!run->known && sandlot_now_ms() - run->begun_ms < memory_ms - margin_ms);
}

/* ---- the channel ------------------------------------------------------------------------------------------------- */

/* The call that a channel's `run` gets. */
struct sending {
    struct attempt attempt; /* first, so that the call leads here */
    int64_t limit_ms;       /* for the script and its answer; 0: none of its own */
    int64_t waited_ms;      /* until when a wait lasted; 0: there was none */
};

void remote_wait_begin(struct sandlot_call *call)
{
    call->deadline_ms = ((struct sending *)call)->attempt.outer->deadline_ms;
}

void remote_wait_end(struct sandlot_call *call)
{
    struct sending *sending = (struct sending *)call;
    int64_t outer_ms = sending->attempt.outer->deadline_ms;

    sending->waited_ms = sandlot_now_ms();
    if (sending->limit_ms > 0)
        call->deadline_ms = sooner(sending->waited_ms + sending->limit_ms, outer_ms != 0 ? outer_ms : INT64_MAX);
}

/* What a channel's `put` reads, and the call that it gets: the service has the command's own time limit and a little
 * more to take what it was given, but what the source takes is not its fault. */
struct carried {
    struct sending sending; /* first, as above */
    struct sandlot_source source;
    const struct sandlot_source *own;
    uint64_t bytes;
};

/* Whose turn is it? Without a source that can be waited for, the service's. */
static void give_turn(struct carried *carried)
{
    struct sending *sending = &carried->sending;
    struct pollfd more = {carried->own->poll_fd, POLLIN, 0};
    int64_t limit_ms = sending->limit_ms + (int64_t)(carried->bytes / SLOWEST_BYTES_PER_MS);
    int64_t outer_ms = sending->attempt.outer->deadline_ms;
    int64_t end_ms = sandlot_now_ms() + limit_ms;
    bool waits_for_source = more.fd >= 0 && poll(&more, 1, 0) == 0;

    if (sending->limit_ms > 0)
        sending->attempt.call.deadline_ms =
            waits_for_source ? outer_ms : sooner(end_ms, outer_ms != 0 ? outer_ms : INT64_MAX);
}

static enum sandlot_status read_carried(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    struct carried *carried = source->context;
    enum sandlot_status status = carried->own->read(carried->own, buffer, capacity, length);

    carried->bytes += status == SANDLOT_OK ? *length : 0;
    give_turn(carried);
    return status;
}

/* Writes OWN, of LENGTH bytes, to the file PATH of the sandbox. */
static enum sandlot_status carry(struct run *run, const char *path, const struct sandlot_source *own, uint64_t length)
{
    int64_t limit_ms = run->job.command->timeout_ms;
    struct carried carried = {.sending.limit_ms = limit_ms > 0 ? limit_ms + run->pace->answer_ms : 0, .own = own};

    attempt_begin(&carried.sending.attempt, run->call, 0);
    carried.source = (struct sandlot_source){
        .size = sizeof(carried.source), .context = &carried, .read = read_carried, .poll_fd = own->poll_fd};
    give_turn(&carried);
    enum sandlot_status status =
        run->channel->put(&carried.sending.attempt.call, run->channel->context, path, &carried.source, length);
    const char *reason = carried.sending.attempt.reason;

    if (status == SANDLOT_TIMEOUT)
        return sandlot_fail(run->call, is_past_deadline(run->call) ? SANDLOT_TIMEOUT : SANDLOT_UNAVAILABLE,
                            "the sandbox did not take the command's input in time%s%.400s; the command was not "
                            "started, try again or allow more time",
                            *reason ? ": " : "", reason);
    return status != SANDLOT_OK && *reason ? attempt_fail(&carried.sending.attempt, status) : status;
}

/* ---- what must be there before ----------------------------------------------------------------------------------- */

static enum sandlot_status check_environment(struct sandlot_call *call, const char *const *variables)
{
    for (; variables && *variables; variables++) {
        const char *at = *variables;

        if (isalpha((unsigned char)*at) || *at == '_')
            while (isalnum((unsigned char)*at) || *at == '_')
                at++;
        if (at == *variables || *at != '=')
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "\"%.*s\" is no name for a variable of the command; use letters, digits and \"_\"",
                                (int)strcspn(*variables, "="), *variables);
    }
    return SANDLOT_OK;
}

/* Does a script that starts the job with its command fit? */
static bool fits(const struct remote_job *job)
{
    struct remote_ask ask = {.start = true, .from = INT64_MAX, .hold_ms = INT64_MAX, .patience_ms = INT64_MAX};
    struct sdk_buffer text = {.limit = REMOTE_SCRIPT_MAXIMUM};
    bool fitting = remote_script_ask(&text, job, &ask);

    sdk_buffer_clear(&text);
    return fitting;
}

struct text_source {
    struct sandlot_source source;
    const char *text;
    size_t left;
};

static enum sandlot_status read_text(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct text_source *text = source->context;

    *length = text->left < capacity ? text->left : capacity;
    memcpy(buffer, text->text, *length);
    text->text += *length;
    text->left -= *length;
    return SANDLOT_OK;
}

/* A file name that nobody can guess; hidden, for people list /tmp. */
static void name_file(char path[64])
{
    char token[REMOTE_TOKEN_SIZE];

    random_digits(token, REMOTE_TOKEN_DIGITS);
    snprintf(path, 64, "/tmp/.sandlot-%s", token);
}

static enum sandlot_status put_command(struct run *run)
{
    const char *command = run->job.command->command;
    struct text_source text = {.text = command, .left = strlen(command)};

    name_file(run->job.text);
    if (!run->channel->put || !fits(&run->job))
        return sandlot_fail(run->call, SANDLOT_INVALID_ARGUMENT,
                            "the command and its environment have more than the %d bytes that can be sent to the "
                            "sandbox at once; put the long part into a file of the sandbox first",
                            REMOTE_SCRIPT_MAXIMUM);
    text.source =
        (struct sandlot_source){.size = sizeof(text.source), .context = &text, .read = read_text, .poll_fd = -1};
    return carry(run, run->job.text, &text.source, text.left);
}

/* Files that must be in the sandbox before the command. */
static enum sandlot_status prepare(struct run *run)
{
    const struct sandlot_command *command = run->job.command;
    enum sandlot_status status = check_environment(run->call, command->environment);

    if (status != SANDLOT_OK)
        return status;
    if (command->input && !run->channel->put)
        return sandlot_fail(run->call, SANDLOT_UNSUPPORTED,
                            "commands of this sandbox have no standard input; put it into a file of the sandbox and "
                            "redirect the command's input from that");
    if (command->input)
        name_file(run->job.input);
    if (!fits(&run->job))
        status = put_command(run);
    if (status == SANDLOT_OK && command->input)
        status = carry(run, run->job.input, command->input, UINT64_MAX);
    return status;
}

/* ---- scripts ----------------------------------------------------------------------------------------------------- */

/* Sends SCRIPT. What the channel says of a failure is kept until it is known whether the command fails by it. */
static enum sandlot_status send_script(struct run *run, const struct remote_script *script, int64_t limit_ms,
                                       struct remote_answer *answer)
{
    struct sending sending = {.limit_ms = limit_ms};
    char reason[sizeof(run->reason)] = "";

    if (script->urgent)
        attempt_begin_urgent(&sending.attempt, run->call, KILL_MS);
    else
        attempt_begin(&sending.attempt, run->call, limit_ms);
    enum sandlot_status status =
        run->channel->run(&sending.attempt.call, run->channel->context, script, &answer->sink, reason, sizeof(reason));

    remote_answer_finish(answer);
    if (script->urgent)
        return status;
    run->stalled = limit_ms > 0 && status != SANDLOT_OK && is_past_deadline(&sending.attempt.call);
    if (sending.waited_ms > 0)
        run->limited_ms = sending.waited_ms;
    if (status == SANDLOT_TIMEOUT && !is_past_deadline(run->call))
        status = SANDLOT_UNAVAILABLE; /* it was this request's own limit */
    if (*reason || *sending.attempt.reason)
        snprintf(run->reason, sizeof(run->reason), "%s", *reason ? reason : sending.attempt.reason);
    if (status != SANDLOT_OK && status != SANDLOT_UNAVAILABLE && run->output.status == SANDLOT_OK)
        run->call->host->fail(run->call, status,
                              *run->reason ? run->reason : "the sandbox refused to run the command; try again");
    return status;
}

/* Its own kind of call, for what a channel may do with it. */
void remote_clean_up(struct sandlot_call *call, const struct remote_channel *channel, const char *script)
{
    struct sending sending = {0};
    char id[RANDOM_UUID_SIZE];
    char reason[128];
    char nothing[1];
    struct text_sink dropped;
    const struct remote_script last = {.text = script, .id = id, .longest_ms = KILL_MS, .urgent = true};

    random_uuid(id);
    text_sink_init(&dropped, nothing, sizeof(nothing));
    attempt_begin_urgent(&sending.attempt, call, KILL_MS);
    channel->run(&sending.attempt.call, channel->context, &last, &dropped.sink, reason, sizeof(reason));
}

/* ---- ending a command before its time ---------------------------------------------------------------------------- */

static bool send_kill(struct run *run)
{
    struct remote_ask ask = {0};
    struct remote_answer answer;
    struct sdk_buffer text = {.limit = REMOTE_SCRIPT_MAXIMUM};

    random_uuid(ask.id);
    random_digits(ask.token, REMOTE_TOKEN_DIGITS);
    remote_answer_init(&answer, &run->output, ask.token);
    if (remote_script_kill(&text, &run->job, &ask)) {
        const struct remote_script script = {.text = text.bytes, .id = ask.id, .longest_ms = KILL_MS, .urgent = true};

        send_script(run, &script, 0, &answer);
    }
    sdk_buffer_clear(&text);
    return answer.verdict == REMOTE_KILLED;
}

/* Ends the command and removes its files. Whether the sandbox has said so matters only to a call that does not fail
 * anyhow.
 */
static bool kill_job(struct run *run)
{
    int64_t begun_ms = sandlot_now_ms();
    bool killed = false;

    if (!run->sent && !*run->job.input && !*run->job.text)
        return true;
    run->output.status = SANDLOT_OK; /* the sink may have refused; this answer is not for it */
    run->output.sealed = true;
    while (!(killed = send_kill(run)) && sandlot_now_ms() - begun_ms < KILL_MS / 3) {
        struct timespec moment = {0, 50 * 1000 * 1000};

        nanosleep(&moment, NULL);
    }
    return killed;
}

/* The call is over although no function of the channel has said so. */
static enum sandlot_status end_call(struct run *run)
{
    bool cancelled = sandlot_cancelled(run->call);
    enum sandlot_status status =
        cancelled
            ? sandlot_fail(run->call, SANDLOT_CANCELLED,
                           "the command was cancelled; run it again if that was "
                           "not meant")
            : sandlot_fail(run->call, SANDLOT_TIMEOUT,
                           "the command was not done in time%s%.400s; allow more time, or see why the sandbox does "
                           "not answer",
                           *run->reason ? ": " : "", run->reason);

    kill_job(run);
    return status;
}

static enum sandlot_status give_up(struct run *run)
{
    const char *reason = *run->reason ? run->reason : "answers ended early";

    return sandlot_fail(run->call, SANDLOT_UNAVAILABLE,
                        "the sandbox did not tell what became of the command, though it was asked %d times (%.400s); "
                        "the command may still run: look before you run it again",
                        run->failures, reason);
}

/* The time limit has long passed, and the sandbox has not told that it ended the command. */
static enum sandlot_status end_overdue(struct run *run)
{
    remote_output_finish(&run->output);
    if (!kill_job(run) || !run->known)
        return give_up(run);
    run->result->timed_out = true;
    run->result->exit_code = TIMED_OUT_CODE;
    return SANDLOT_OK;
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status conclude(struct run *run, const struct remote_answer *answer)
{
    enum sandlot_status status = remote_output_finish(&run->output);

    if (answer->verdict == REMOTE_LOST) {
        run->result->exit_code = SANDLOT_EXIT_UNKNOWN;
        run->result->note = note_lost;
        return status;
    }
    run->result->timed_out = answer->late;
    run->result->exit_code = answer->late ? TIMED_OUT_CODE : answer->code;
    return status;
}

/* What the sandbox says of a job that it has not begun, or could not go on with. */
static enum sandlot_status fail_job(struct run *run, const char *error)
{
    const char *directory = run->job.working_dir ? run->job.working_dir : "";

    if (strcmp(error, "full") == 0) {
        remote_output_finish(&run->output);
        return sandlot_fail(run->call, SANDLOT_EXHAUSTED,
                            "the sandbox's disk has no room for the output of the command, which was ended; free some "
                            "space, or set TMPDIR to a folder that has it");
    }
    if (*run->job.input || *run->job.text)
        kill_job(run); /* nothing runs, but files wait for it */
    if (strcmp(error, "missing") == 0)
        return sandlot_fail(run->call, SANDLOT_INVALID_ARGUMENT,
                            "the working directory %.500s is not found in the sandbox; create it first or name another "
                            "one",
                            directory);
    if (strcmp(error, "file") == 0 || strcmp(error, "closed") == 0)
        return sandlot_fail(run->call, SANDLOT_INVALID_ARGUMENT,
                            "the working directory %.500s cannot be entered (%s); %s", directory,
                            *error == 'f' ? "Not a directory" : "Permission denied",
                            *error == 'f' ? "name another one" : "change its mode or name another one");
    if (strcmp(error, "input") == 0)
        return sandlot_fail(run->call, SANDLOT_INTERNAL,
                            "the command's input was put into %s%s, but commands cannot read it there; see that files "
                            "and commands of the sandbox belong to the same user",
                            run->job.input, *run->job.input ? "" : run->job.text);
    return sandlot_fail(run->call, SANDLOT_UNAVAILABLE,
                        "the sandbox has no folder for a command's output: /tmp, /var/tmp, TMPDIR and HOME are full or "
                        "cannot be written; free some space or change their mode");
}

static enum sandlot_status fail_absent(struct run *run)
{
    return sandlot_fail(
        run->call, SANDLOT_UNAVAILABLE,
        "the sandbox does not know (any more) what became of the command%s%.400s; it may have run: look "
        "before you run it again",
        *run->reason ? ", and an answer was lost before: " : "", run->reason);
}

/* Looks at the answer to one sending. True: *STATUS is the command's. */
static bool is_over(struct run *run, struct remote_answer *answer, enum sandlot_status *status)
{
    bool heard = answer->progressed || answer->verdict == REMOTE_MORE;

    if (heard) {
        run->known = true;
        run->failures = 0;
        run->progress_ms = sandlot_now_ms();
    }
    switch (answer->verdict) {
    case REMOTE_END:
    case REMOTE_LOST:
        *status = conclude(run, answer);
        return true;
    case REMOTE_ERROR:
        *status = fail_job(run, answer->error);
        return true;
    case REMOTE_ABSENT:
        run->failures++;
        if (may_start(run))
            return false;
        *status = fail_absent(run);
        return true;
    case REMOTE_MORE:
        run->patience_ms = next_patience_ms(run->patience_ms);
        return false;
    default:
        run->failures++;
        return false;
    }
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static int64_t hold_of(const struct run *run)
{
    int64_t hold_ms = run->channel->hold_ms > 0 ? run->channel->hold_ms : DEFAULT_HOLD_MS;

    hold_ms = sandlot_remaining_ms(run->call, (int)sooner(hold_ms, INT32_MAX));
    return hold_ms < SHORTEST_HOLD_MS ? SHORTEST_HOLD_MS : hold_ms;
}

/* A command with a time limit is not waited for much longer than that, though the line be dead: its last script ends
 * with the limit, and the answer has some seconds to come. The limit of sending; 0: none of its own. */
static int64_t limit_hold(const struct run *run, int64_t *hold_ms)
{
    int64_t left_ms = limit_left_ms(run);

    if (run->pace->answer_ms <= 0 || left_ms >= *hold_ms - LAST_HOLD_MS)
        return 0;
    *hold_ms = left_ms + LAST_HOLD_MS;
    return *hold_ms + run->pace->answer_ms;
}

/* One script and its answer. */
static enum sandlot_status ask_once(struct run *run, struct remote_answer *answer)
{
    struct remote_ask ask = {.start = may_start(run),
                             .sealed = run->output.sealed,
                             .streams = run->channel->streams,
                             .answer_bytes = run->channel->answer_bytes,
                             .from = run->output.offset,
                             .hold_ms = hold_of(run),
                             .patience_ms = run->patience_ms};
    int64_t limit_ms = limit_hold(run, &ask.hold_ms);
    struct sdk_buffer text = {.limit = REMOTE_SCRIPT_MAXIMUM};
    enum sandlot_status status;

    random_uuid(ask.id);
    random_digits(ask.token, REMOTE_TOKEN_DIGITS);
    remote_answer_init(answer, &run->output, ask.token);
    if (!remote_script_ask(&text, &run->job, &ask)) {
        status = out_of_memory(run->call);
    } else {
        const struct remote_script script = {.text = text.bytes, .id = ask.id, .longest_ms = ask.hold_ms};

        run->sent = run->sent || ask.start;
        status = send_script(run, &script, limit_ms, answer);
    }
    answer->token = ""; /* it was this function's */
    sdk_buffer_clear(&text);
    return status;
}

static bool is_hopeless(const struct run *run)
{
    return run->failures >= run->pace->most_failures ||
           (run->failures > 1 && sandlot_now_ms() - run->progress_ms > run->pace->give_up_ms);
}

/* The channel refuses, or the sink, or the call is over. */
static enum sandlot_status end_with(struct run *run, enum sandlot_status status)
{
    if (status != SANDLOT_NOT_FOUND && status != SANDLOT_AUTH)
        kill_job(run);
    return status;
}

static enum sandlot_status ask_until_over(struct run *run)
{
    struct remote_answer answer;

    for (;;) {
        enum sandlot_status status = ask_once(run, &answer);

        if (run->output.status != SANDLOT_OK)
            return end_with(run, run->output.status);
        if (answer.verdict == REMOTE_END || answer.verdict == REMOTE_LOST)
            status = SANDLOT_OK; /* however the connection ended: this is complete */
        if (status != SANDLOT_OK && status != SANDLOT_UNAVAILABLE)
            return end_with(run, status);
        if (is_over(run, &answer, &status))
            return status;
        if (sandlot_cancelled(run->call) || is_past_deadline(run->call))
            return end_call(run);
        if (is_overdue(run))
            return end_overdue(run);
        if (is_hopeless(run))
            return give_up(run);
        if (run->failures > 0 && !pause_after_failure(run))
            return end_call(run);
    }
}

enum sandlot_status remote_command_run_at(struct sandlot_call *call, const struct remote_channel *channel,
                                          const struct sandlot_command *command, const struct sandlot_sink *output,
                                          struct sandlot_exit *result, const struct remote_pace *pace)
{
    struct run run = {.call = call,
                      .channel = channel,
                      .pace = pace,
                      .result = result,
                      .job = {.command = command,
                              .working_dir = command->working_dir ? command->working_dir : channel->working_dir,
                              .linger_s = pace->linger_s},
                      .patience_ms = first_patience_ms(command)};

    random_uuid(run.job.id);
    random_digits(run.job.seal, REMOTE_TOKEN_DIGITS);
    if (!remote_output_open(&run.output, output, run.job.seal))
        return out_of_memory(call);
    enum sandlot_status status = prepare(&run);

    run.begun_ms = run.limited_ms = run.progress_ms = sandlot_now_ms();
    if (status == SANDLOT_OK)
        status = ask_until_over(&run);
    else
        kill_job(&run); /* a file may have been written in part */
    remote_output_close(&run.output);
    return status;
}

enum sandlot_status remote_command_run(struct sandlot_call *call, const struct remote_channel *channel,
                                       const struct sandlot_command *command, const struct sandlot_sink *output,
                                       struct sandlot_exit *result)
{
    const char *sooner_ms = getenv("SANDLOT_TEST_GIVE_UP_MS"); /* tests of a service that never answers need not wait */
    struct remote_pace pace = default_pace;

    if (sooner_ms && strtoll(sooner_ms, NULL, 10) > 0)
        pace.give_up_ms = sooner(strtoll(sooner_ms, NULL, 10), default_pace.give_up_ms);
    return remote_command_run_at(call, channel, command, output, result, &pace);
}
