/* What is done to background processes: started, ended, fed. By a script in the sandbox, whatever its provider. */
#include "operations/process.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/text.h"
#include "operations/derived/frame.h"
#include "operations/derived/process_box.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FEED_MS = 10 * 1000,      /* that a program may take to read its input */
    FEED_TEXT = 60 * 1000,    /* of one piece, as the script has it */
    FEED_PIECE = 64 * 1024,   /* bytes of it */
    COMMAND_TEXT = 90 * 1000, /* of what a script carries besides itself */
    SECOND_MS = 1000
};

/* The command's text comes from a file: read as a whole, so that `$0` and the like are as with -c. */
static const char from_file[] = "set -- \"$(cat \"$1\" && echo .)\"; eval \"set --\n${1%.}\"";

struct answer {
    char refused[FRAME_WORD + 1];
    uint64_t number;
    uint64_t taken;
    bool unsearched;
};

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct answer *answer = context;

    if (strcmp(name, "refused") == 0)
        snprintf(answer->refused, sizeof(answer->refused), "%s", value);
    else if (strcmp(name, "taken") == 0)
        return frame_number(value, &answer->taken, error);
    else if (strcmp(name, "unsearched") == 0)
        answer->unsearched = true;
    else if (strcmp(name, "id") == 0) {
        answer->number = process_number_of(value);
        return answer->number ? 0 : frame_damaged(error, "the id of the process is none");
    }
    return 0;
}

static int run(const struct file_call *call, struct script *script, struct answer *answer, struct sandlot_error *error)
{
    const struct frame_receiver receiver = {.context = answer, .word = take_word};
    int failed = frame_run(call, script, &receiver, error);

    script_clear(script);
    return failed;
}

/* ---- start ---- */

/* The variables, as commands that export them. NULL when out of memory. */
static char *make_exports(const char *const *environment)
{
    char *text = strdup("");

    for (; text && environment && *environment; environment++) {
        const char *equals = strchr(*environment, '=');
        AUTO_FREE char *value = text_shell_quote(equals + 1);

        if (value && text_append(&text, "export %.*s=%s\n", (int)(equals - *environment), *environment, value))
            continue;
        free(text);
        return NULL;
    }
    return text;
}

static void set_limit(struct script *script, int64_t timeout_ms)
{
    if (timeout_ms > 0)
        script_format(script, "s_limit=%" PRId64 ".%03d\n", timeout_ms / SECOND_MS,
                      (int)(timeout_ms % SECOND_MS));
    else
        script_add(script, "s_limit=\n");
}

static void make_start(struct script *script, const struct process_beginning *beginning, const char *exports)
{
    const struct sandlot_start *request = beginning->request;

    script_init(script);
    script->flags = SANDLOT_COMMAND_LEAVES_WORK;
    script_format(script, "s_home=%s\ns_token=%s\ns_most=%" PRIu64 "\ns_in=%s\ns_two=%s\n",
                  beginning->native ? "" : "${HOME-}", beginning->token, request->log_bytes,
                  request->has_input ? "1" : "", request->separate_errors ? "1" : "");
    script_set(script, "s_cmd", beginning->long_command ? "" : request->command);
    script_set(script, "s_long", beginning->long_command ? beginning->long_command : "");
    if (beginning->long_command)
        script_set(script, "s_from_file", from_file);
    script_set(script, "s_cwd", beginning->working_dir);
    script_set(script, "s_env", exports);
    set_limit(script, request->timeout_ms);
    script_add(script, process_box_tools);
    script_add(script, process_box_supervisor);
    script_add(script, process_box_common);
    script_add(script, process_box_start);
}

bool process_fits(const struct process_beginning *beginning)
{
    AUTO_FREE char *exports = make_exports(beginning->request->environment);
    struct script script;

    if (!exports)
        return true; /* process_begin will say so */
    make_start(&script, beginning, exports);
    bool fits = script_fits(&script) && strlen(beginning->request->command) < COMMAND_TEXT;

    script_clear(&script);
    return fits;
}

/* Why nothing was started. */
static int start_error(const struct process_beginning *beginning, const char *refused, struct sandlot_error *error)
{
    const char *directory = beginning->working_dir;

    if (strcmp(refused, "missing") == 0)
        return error_set(error, SANDLOT_CODE_INVALID_PATH,
                         "the working directory %s is not found in the sandbox; create it first or name another one",
                         directory);
    if (strcmp(refused, "file") == 0 || strcmp(refused, "closed") == 0)
        return error_set(error, SANDLOT_CODE_INVALID_PATH, "the working directory %s cannot be entered (%s)", directory,
                         *refused == 'f' ? "Not a directory" : "Permission denied");
    if (strcmp(refused, "many") == 0)
        return error_set(error, SANDLOT_CODE_QUOTA,
                         "64 background processes run in the sandbox already; end one of them first");
    if (strcmp(refused, "room") == 0)
        return error_set(error, SANDLOT_CODE_QUOTA,
                         "the log may grow to %" PRIu64 " MiB, which is more than half of what the sandbox's disk has "
                         "left; free some space or ask for a smaller log",
                         beginning->request->log_bytes >> 20);
    if (strcmp(refused, "ended") == 0)
        return error_set(error, SANDLOT_CODE_CANCELLED, "the start was taken back; nothing runs");
    if (strcmp(refused, "shell") == 0)
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                         "the process could not be started in the sandbox: its shell did not begin; end some "
                         "of what runs there");
    return error_set(error, SANDLOT_CODE_NO_SPACE,
                     "the sandbox has no folder for what is known of its processes: /tmp, /var/tmp, /dev/shm and HOME "
                     "are full or cannot be written; free some space or change their mode");
}

int process_begin(const struct file_call *call, const struct process_beginning *beginning, uint64_t *number,
                  struct sandlot_error *error)
{
    AUTO_FREE char *exports = make_exports(beginning->request->environment);
    struct answer answer = {0};
    struct script script;

    if (!exports)
        return error_no_memory(error);
    make_start(&script, beginning, exports);
    if (run(call, &script, &answer, error) < 0)
        return -1;
    *number = answer.number;
    return answer.number ? 0 : start_error(beginning, answer.refused, error);
}

int process_undo(const struct file_call *call, const struct process_beginning *beginning, struct sandlot_error *error)
{
    struct answer answer = {0};
    struct script script;

    script_init(&script);
    script_format(&script, "s_home=%s\ns_token=%s\n", beginning->native ? "" : "${HOME-}", beginning->token);
    script_set(&script, "s_long", beginning->long_command ? beginning->long_command : "");
    script_add(&script, process_box_tools);
    script_add(&script, process_box_common);
    script_add(&script, process_box_undo);
    return run(call, &script, &answer, error);
}

/* ---- of one that is there ---- */

/* What a script says that has not done what it was to do. */
static int refused_error(const char *id, const char *refused, struct sandlot_error *error)
{
    if (strncmp(refused, "absent,", strlen("absent,")) == 0)
        return process_error_absent(error, id, refused + strlen("absent,"));
    if (strcmp(refused, "shut") == 0)
        return error_set(error, SANDLOT_CODE_INPUT_CLOSED,
                         "process '%s' has no standard input, or that has been closed; one that takes some is started "
                         "with exec --detach --stdin-open",
                         id);
    if (strncmp(refused, "ended,exited,", strlen("ended,exited,")) == 0)
        return error_set(error, SANDLOT_CODE_PROCESS_ENDED, "process '%s' has ended, with exit code %s", id,
                         refused + strlen("ended,exited,"));
    if (strncmp(refused, "ended,", strlen("ended,")) == 0)
        return error_set(error, SANDLOT_CODE_PROCESS_ENDED,
                         "process '%s' is no more: the sandbox was restarted, or all of its processes were killed", id);
    if (strcmp(refused, "folder") == 0)
        return error_set(error, SANDLOT_CODE_NO_SPACE, "the sandbox's disk has no room for the input; free some space");
    return frame_damaged(error, "there is no answer about the process");
}

static void begin_change(struct script *script, uint64_t number, int64_t hold_ms)
{
    script_init(script);
    script_format(script, "s_home=${HOME-}\ns_number=%" PRIu64 "\ns_hold=%" PRId64 "\n", number, hold_ms / 10);
    script_add(script, process_box_tools);
    script_add(script, process_box_common);
}

int process_signal(const struct file_call *call, uint64_t number, const char *id, const char *name, int64_t grace_ms,
                   struct sandlot_error *error)
{
    struct answer answer = {0};
    struct script script;

    begin_change(&script, number, grace_ms);
    script_format(&script, "s_signal=%s\n", name ? name : "");
    script_add(&script, process_box_signal);
    if (run(call, &script, &answer, error) < 0)
        return -1;
    if (answer.unsearched)
        log_warning("process %s and its group were ended; whether it has left other processes cannot be told, because "
                    "/proc of the sandbox cannot be read",
                    id);
    return *answer.refused ? refused_error(id, answer.refused, error) : 0;
}

/* So many of LENGTH bytes that a script can carry them. */
static size_t piece_of(const char *bytes, size_t length)
{
    size_t piece = length < FEED_PIECE ? length : FEED_PIECE;

    while (script_print_cost(bytes, piece) > FEED_TEXT)
        piece /= 2;
    return piece;
}

int process_feed(const struct file_call *call, uint64_t number, const char *id, const char *bytes, size_t *length,
                 bool shut, uint64_t *taken, struct sandlot_error *error)
{
    size_t piece = piece_of(bytes, *length);
    struct answer answer = {0};
    struct script script;

    begin_change(&script, number, FEED_MS);
    script_add(&script, "s_print() { ");
    script_print(&script, bytes, piece);
    script_format(&script, "; }\ns_feeding=%s\ns_shut=%s\n", piece > 0 ? "1" : "",
                  shut && piece == *length ? "1" : "");
    script_add(&script, process_box_write);
    if (run(call, &script, &answer, error) < 0)
        return -1;
    *length = piece;
    *taken = answer.taken <= piece ? answer.taken : piece;
    return *answer.refused ? refused_error(id, answer.refused, error) : 0;
}
