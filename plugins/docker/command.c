/*
 * Commands. A shell of ours runs the user's, whose two streams are one, and keeps the engine's second stream for
 * itself: there it says, behind the mark, that the folder is not there, or how the command has ended. So an output
 * without that end was cut.
 */
#include "command.h"

#include "container.h"
#include "program.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/frames.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/text_sink.h>

#include <signal.h>
#include <string.h>

enum {
    PIECE = 96 * 1024, /* of the command's text: Linux takes 128 KiB in one argument */
    PIECES = 16,
    FIXED_WORDS = 6,
    LONGEST_FRAME = 16 << 20,
    LONGEST_LINE = 128,
    QUIET_MS = 400, /* after the command's end, for what is still under way */
    END_MS = 6000,  /* from the first signal to the end of the output */
    URGENT_MS = 900,
    START_MS = 5000, /* for the engine to start a command, beyond its time limit */
    TIMED_OUT = 124,
    SIGNALLED = 128,
    FIRST_LOOK_MS = 20,
    LONGEST_LOOK_MS = 250,
    LOOKS = 10
};

/* $1 the mark, $2 the folder, $3 a word that puts the rest together, $4 and so on the command. */
static const char shell_script[] =
    "m=$1 w=$3\n"
    "if ! cd -- \"$2\" 2>/dev/null; then\n"
    "    if [ -d \"$2\" ]; then w=closed; elif [ -e \"$2\" ]; then w=file; else w=missing; fi\n"
    "    echo \"$m folder $w\" >&2\n"
    "    exit 126\n"
    "fi\n"
    "shift 3\n"
    "if s=$(command -v bash) && [ -x \"$s\" ]; then :; else s=$(command -v sh) && [ -x \"$s\" ] || s=sh; fi\n"
    "unset OLDPWD\n"
    "if [ \"$w\" ]; then \"$s\" -c \"$w\" \"${s##*/}\" \"$@\" 2>&1\n"
    "else \"$s\" -c \"$1\" \"${s##*/}\" 2>&1; fi\n"
    "c=$?\n"
    "echo \"$m end $c\" >&2\n"
    "exit \"$c\"\n";

/* A command under way. */
struct run {
    struct program program;
    const struct sandlot_sink *output;
    struct sandlot_exit *result;
    struct frames reader;
    struct sandlot_sink streams; /* of the two, through the reader */
    char line[LONGEST_LINE];     /* of what our shell says */
    size_t used;                 /* of it */
    char strange[LONGEST_LINE];  /* the first line of it that is not ours */
    char folder[16];             /* what is wrong with the folder; "": nothing */
    int code;                    /* SANDLOT_EXIT_UNKNOWN: nobody has said */
    bool ended;                  /* that was said */
    int64_t end_ms;              /* how long the output is followed; 0: for ever */
};

/* ---- what comes -------------------------------------------------------------------------------------------------- */

static void take_line(struct run *run)
{
    size_t mark = strlen(run->program.mark);

    run->line[run->used] = '\0';
    run->used = 0;
    if (strncmp(run->line, run->program.mark, mark) != 0 || run->line[mark] != ' ') {
        if (!*run->strange)
            snprintf(run->strange, sizeof(run->strange), "%s", run->line);
        return;
    }
    const char *word = run->line + mark + 1;

    if (strncmp(word, "folder ", 7) == 0)
        snprintf(run->folder, sizeof(run->folder), "%s", word + 7);
    if (strncmp(word, "end ", 4) == 0) {
        run->code = atoi(word + 4) & 255;
        run->ended = true;
    }
}

static void take_words(struct run *run, const char *text, size_t length)
{
    for (; length > 0; text++, length--)
        if (*text == '\n')
            take_line(run);
        else if (run->used < sizeof(run->line) - 1)
            run->line[run->used++] = *text;
}

static enum sandlot_status on_frame(void *context, unsigned char stream, const void *payload, size_t length)
{
    struct run *run = context;

    if (stream == 2) {
        take_words(run, payload, length);
        return SANDLOT_OK;
    }
    if (stream > 1)
        return sandlot_fail(run->program.call, SANDLOT_INTERNAL,
                            "the container engine broke off the output of a command: %.*s; look at its log",
                            length < 200 ? (int)length : 200, (const char *)payload);
    return length > 0 ? run->output->write(run->output, payload, length) : SANDLOT_OK;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* A text too long for one argument comes in pieces, as "$1", "$2", ...: as if it had been one. */
static void write_joiner(char *joiner, size_t capacity, size_t pieces)
{
    size_t at = (size_t)snprintf(joiner, capacity, "eval \"set --\n");

    for (size_t i = 1; i <= pieces; i++)
        at += (size_t)snprintf(joiner + at, capacity - at, "${%zu}", i);
    snprintf(joiner + at, capacity - at, "\"");
}

/* The end of the piece that begins at TEXT: not within a character. */
static size_t piece_length(const char *text)
{
    size_t length = strlen(text);

    if (length <= PIECE)
        return length;
    length = PIECE;
    while (length > PIECE - 4 && ((unsigned char)text[length] & 0xc0) == 0x80)
        length--;
    return length;
}

static enum sandlot_status make_words(struct run *run, const char **words, char *pieces[PIECES], size_t *count)
{
    const char *text = run->program.command->command;
    size_t made = 0;

    for (; *text || made == 0; made++) {
        size_t length = piece_length(text);

        if (made == PIECES)
            return sandlot_fail(run->program.call, SANDLOT_INVALID_ARGUMENT,
                                "the command has more than the %d bytes that can be sent to the sandbox at once; put "
                                "the long part into a file of the sandbox first",
                                PIECES * PIECE);
        pieces[made] = strndup(text, length);
        if (!pieces[made])
            return engine_no_memory(run->program.call);
        words[*count + made] = pieces[made];
        text += length;
    }
    *count += made;
    return SANDLOT_OK;
}

static enum sandlot_status make(struct run *run)
{
    const char *folder = run->program.command->working_dir;
    char joiner[PIECES * 8 + 32] = "";
    char *pieces[PIECES] = {NULL};
    const char *words[FIXED_WORDS + 1 + PIECES] = {
        "sh", "-c", shell_script, "sh", run->program.mark, folder ? folder : run->program.sandbox->working_dir, joiner};
    size_t count = FIXED_WORDS + 1;
    enum sandlot_status status = make_words(run, words, pieces, &count);

    if (count > FIXED_WORDS + 2)
        write_joiner(joiner, sizeof(joiner), count - FIXED_WORDS - 1);
    if (status == SANDLOT_OK)
        status = program_make(&run->program, words, count);
    for (size_t i = 0; i < PIECES; i++)
        free(pieces[i]);
    return status;
}

/* ---- following --------------------------------------------------------------------------------------------------- */

static enum sandlot_status carry(struct run *run, bool with_input)
{
    const struct http_upgrade_traffic traffic = {.input = with_input ? run->program.command->input : NULL,
                                                 .output = &run->streams,
                                                 .wake_fd = -1,
                                                 .end_ms = &run->end_ms};

    return http_upgrade_carry(run->program.call, run->program.stream, &traffic);
}

/* What comes of both streams. Behind the command's end it is waited for while something comes: a child of the command
 * may hold its output for ever. */
static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct run *run = sink->context;
    enum sandlot_status status = frames_add(&run->reader, bytes, length);

    if (run->ended)
        run->end_ms = sandlot_now_ms() + QUIET_MS;
    return status;
}

static bool is_over(const struct sandlot_call *call)
{
    return sandlot_cancelled(call) || (call->deadline_ms != 0 && sandlot_now_ms() >= call->deadline_ms);
}

/* Follows until the output ends, or nothing comes any more after the command has. *LATE: its time is up before. */
static enum sandlot_status follow(struct run *run, bool *late)
{
    enum sandlot_status status = carry(run, true);
    bool limited = status == SANDLOT_TIMEOUT && !is_over(run->program.call);

    *late = limited && !run->ended;
    return limited ? SANDLOT_OK : status;
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status time_is_up(struct run *run)
{
    enum sandlot_status status = program_end_gently(&run->program);

    run->end_ms = sandlot_now_ms() + END_MS;
    carry(run, false);
    run->result->exit_code = TIMED_OUT;
    run->result->timed_out = true;
    return run->ended ? SANDLOT_OK : status;
}

static enum sandlot_status bad_folder(const struct run *run)
{
    const char *folder = run->program.command->working_dir;

    folder = folder ? folder : run->program.sandbox->working_dir;
    if (strcmp(run->folder, "missing") == 0)
        return sandlot_fail(run->program.call, SANDLOT_INVALID_ARGUMENT,
                            "the working directory %.300s was not found in the sandbox; make it first", folder);
    return sandlot_fail(run->program.call, SANDLOT_INVALID_ARGUMENT, "the working directory %.300s %s; choose another",
                        folder, strcmp(run->folder, "file") == 0 ? "is no directory" : "may not be entered");
}

/* A container that ends takes the command with it, a moment before the engine says of it that it has ended. */
static bool container_has_ended(const struct run *run, bool killed)
{
    int pause_ms = FIRST_LOOK_MS;
    struct attempt attempt;

    for (int i = 0; i < (killed ? LOOKS : 1); i++) {
        AUTO_CONTAINER struct container container = {0};

        attempt_begin(&attempt, run->program.call, 0);
        enum sandlot_status status =
            container_find(&attempt.call, run->program.sandbox->docker, run->program.sandbox->id, &container);

        if (status == SANDLOT_OK && (!container.document || !container.running))
            return true;
        if (status != SANDLOT_OK) /* Podman says that of one that is just going */
            return engine_says(attempt.reason, "no such container");
        if (pause_longer(&attempt.call, "the container engine", &pause_ms, LONGEST_LOOK_MS) != SANDLOT_OK)
            return false;
    }
    return false;
}

/* The stream has ended without a word of the shell's end: the shell was killed, could not be started, or the stream was
 * cut. */
static enum sandlot_status without_word(struct run *run)
{
    struct sandlot_call *call = run->program.call;
    struct attempt attempt;
    bool running = true;
    int code = SANDLOT_EXIT_UNKNOWN;

    attempt_begin(&attempt, call, 0);
    run->program.call = &attempt.call;
    enum sandlot_status status = program_code(&run->program, &running, &code);

    run->program.call = call;
    if (container_has_ended(run, status == SANDLOT_OK && !running && code == SIGNALLED + SIGKILL))
        return sandlot_fail(run->program.call, SANDLOT_NOT_FOUND,
                            "container %s ended or was removed while the command ran; sandlot list shows those that "
                            "there are",
                            run->program.sandbox->id);
    if (status == SANDLOT_CANCELLED || status == SANDLOT_TIMEOUT) {
        program_end(&run->program);
        return attempt_fail(&attempt, status);
    }
    if (status != SANDLOT_OK || running)
        return program_end_cut(&run->program);
    if (code == 126 || code == 127)
        return sandlot_fail(run->program.call, SANDLOT_DEPENDENCY_MISSING,
                            "the container has no shell that runs%s%.120s; use an image with sh",
                            *run->strange ? ": " : "", run->strange);
    if (code < SIGNALLED)
        return sandlot_fail(run->program.call, SANDLOT_UNAVAILABLE,
                            "the command has ended, but not all that it printed has come from the container engine; "
                            "look at what it did before you try again");
    run->result->exit_code = code;
    run->result->note = "the shell of the command was killed: by a limit of the sandbox, or by the command itself";
    return SANDLOT_OK;
}

static enum sandlot_status conclude(struct run *run, enum sandlot_status status, bool late)
{
    if (late)
        return time_is_up(run);
    if (status == SANDLOT_OK && *run->folder)
        return bad_folder(run);
    if (status == SANDLOT_OK && run->ended)
        status = frames_end(&run->reader);
    else if (status == SANDLOT_OK)
        status = without_word(run);
    if (run->ended)
        run->result->exit_code = run->code;
    if (status != SANDLOT_OK)
        program_end(&run->program);
    return status;
}

/* An engine that says nothing is not waited for longer than the command may take, and a little more. */
static enum sandlot_status start(struct run *run)
{
    struct sandlot_call *call = run->program.call;
    int64_t limit_ms = run->program.command->timeout_ms;
    struct attempt attempt;

    attempt_begin(&attempt, call, limit_ms > 0 ? limit_ms + START_MS : 0);
    run->program.call = &attempt.call;
    enum sandlot_status status = make(run);

    if (status == SANDLOT_OK)
        status = program_start(&run->program);
    run->program.call = call;
    if (status == SANDLOT_TIMEOUT && !is_over(call))
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "the container engine did not tell what became of the command; see whether it works, and "
                            "try again");
    return status == SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

static enum sandlot_status run_program(struct run *run)
{
    int64_t limit_ms = run->program.command->timeout_ms;
    bool late = false;
    enum sandlot_status status = start(run);

    run->end_ms = limit_ms > 0 ? sandlot_now_ms() + limit_ms : 0;
    if (status == SANDLOT_OK)
        status = follow(run, &late);
    return conclude(run, status, late);
}

enum sandlot_status command_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                    const struct sandlot_command *command, const struct sandlot_sink *output,
                                    struct sandlot_exit *result)
{
    struct run run = {.program = {.call = call, .sandbox = sandbox, .command = command},
                      .output = output,
                      .result = result,
                      .code = SANDLOT_EXIT_UNKNOWN};
    enum sandlot_status status = engine_meet(call, provider);

    if (status != SANDLOT_OK)
        return status;
    random_digits(run.program.mark, PROGRAM_MARK);
    frames_init(&run.reader, call, &frame_format_engine, LONGEST_FRAME, on_frame, &run);
    run.streams = (struct sandlot_sink){.size = sizeof(run.streams), .context = &run, .write = take};
    status = run_program(&run);
    frames_clear(&run.reader);
    program_clear(&run.program);
    return status;
}

void command_clean_up(struct sandlot_call *call, void *sandbox, const char *script)
{
    struct sandbox *place = sandbox;
    const struct sandlot_command command = {
        .size = sizeof(command), .command = script, .working_dir = "/", .timeout_ms = URGENT_MS};
    struct sandlot_exit result = {.size = sizeof(result)};
    struct text_sink nothing;
    struct attempt attempt;
    char none[1];

    text_sink_init(&nothing, none, sizeof(none));
    attempt_begin_urgent(&attempt, call, URGENT_MS);
    command_execute(&attempt.call, place->docker, place, &command, &nothing.sink, &result);
}
