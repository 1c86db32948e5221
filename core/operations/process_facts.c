/* What the folder of background processes says, read with the mistrust that a sandbox deserves. */
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "operations/derived/frame.h"
#include "operations/process.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DIGITS = 18, FACTS = 11, LATE_CODE = 124, HIGHEST_CODE = 255 };

const char *const process_places[PROCESS_PLACES] = {"/tmp/" PROCESS_FOLDER, "/var/tmp/" PROCESS_FOLDER, "/dev/shm/" PROCESS_FOLDER};

bool process_number(const char *text, size_t length, uint64_t *number)
{
    *number = 0;
    if (length == 0 || length > MOST_DIGITS || (text[0] == '0' && length > 1))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

uint64_t process_number_of(const char *id)
{
    uint64_t number;

    return id[0] == 'p' && process_number(id + 1, strlen(id + 1), &number) ? number : 0;
}

void process_set_id(struct sandlot_process *process, uint64_t number)
{
    snprintf(process->id, sizeof(process->id), "p%llu", (unsigned long long)number % 100000000000000ULL);
}

bool process_set_command(struct sandlot_process *process, const char *bytes, size_t length)
{
    bool cut = length > PROCESS_COMMAND;
    size_t shown = cut ? PROCESS_COMMAND : length;

    /* Not within a character. */
    while (cut && shown > 0 && ((unsigned char)bytes[shown] & 0xc0) == 0x80)
        shown--;
    AUTO_FREE char *text = text_utf8_replace(bytes, shown, NULL);

    free(process->command);
    process->command = text ? text_format("%s%s", text, cut ? "..." : "") : NULL;
    return process->command;
}

/* The next word of TEXT, up to one of ENDS; NULL: there is none. */
static const char *next_word(const char **text, const char *ends, size_t *length)
{
    const char *at = *text;

    *length = strcspn(at, ends);
    *text = at + *length + (at[*length] ? 1 : 0);
    return at;
}

static uint64_t next_number(const char **text, const char *ends)
{
    size_t length;
    const char *word = next_word(text, ends, &length);
    uint64_t number;

    return process_number(word, length, &number) ? number : 0;
}

static int64_t milliseconds(uint64_t seconds)
{
    return seconds < INT64_MAX / 1000 ? (int64_t)seconds * 1000 : 0;
}

void process_read_meta(const char *text, struct sandlot_process *process)
{
    process->started_at_ms = milliseconds(next_number(&text, " \n"));
    next_number(&text, " \n"); /* the bytes of log to keep are the pump's */
    process->separate_errors = next_number(&text, " \n") == 1;
}

static void set_exit(struct sandlot_process *process, uint64_t code, bool late, uint64_t seconds)
{
    process->state = SANDLOT_PROCESS_EXITED;
    process->timed_out = late;
    process->has_exit_code = late || code <= HIGHEST_CODE;
    process->exit_code = late ? LATE_CODE : process->has_exit_code ? (int)code : -1;
    process->ended_at_ms = milliseconds(seconds);
}

bool process_read_exit(const char *text, struct sandlot_process *process)
{
    size_t length;
    uint64_t code;
    uint64_t seconds;
    const char *word = next_word(&text, " \n", &length);

    if (!process_number(word, length, &code))
        return false;
    bool late = next_number(&text, " \n") == 1;

    word = next_word(&text, " \n", &length);
    if (!process_number(word, length, &seconds))
        return false;
    set_exit(process, code, late, seconds);
    return true;
}

int process_read_facts(const char *word, struct sandlot_process *process, struct sandlot_error *error)
{
    size_t length;
    const char *state = next_word(&word, ",", &length);
    uint64_t numbers[FACTS - 1];

    for (size_t i = 0; i < FACTS - 1; i++)
        numbers[i] = next_number(&word, ",");
    process->started_at_ms = milliseconds(numbers[2]);
    process->input_open = numbers[4] == 1;
    process->separate_errors = numbers[5] == 1;
    process->output_first = numbers[6];
    process->output_total = numbers[7];
    process->errors_first = numbers[8];
    process->errors_total = numbers[9];
    process->exit_code = -1;
    if (length == 6 && strncmp(state, "exited", length) == 0)
        set_exit(process, numbers[0], numbers[1] == 1, numbers[3]);
    else if (length == 7 && strncmp(state, "running", length) == 0)
        process->state = SANDLOT_PROCESS_RUNNING;
    else if (length == 4 && strncmp(state, "lost", length) == 0)
        process->state = SANDLOT_PROCESS_LOST;
    else
        return frame_damaged(error, "the state of a process is unknown");
    return 0;
}

int process_error_absent(struct sandlot_error *error, const char *id, const char *ids)
{
    AUTO_FREE char *shown = NULL;

    while (*ids) {
        size_t length;
        const char *word = next_word(&ids, ",", &length);

        if (length > 0)
            text_append(&shown, "%s%.*s", shown ? ", " : "", (int)length, word);
    }
    return error_set(error, SANDLOT_CODE_PROCESS_NOT_FOUND, "process '%s' not found in the sandbox; %s%s", id,
                     shown ? "there are: " : "there are none; 'exec --detach' starts one", shown ? shown : "");
}

int process_error_one_log(struct sandlot_error *error, const char *id)
{
    return error_set(error, SANDLOT_CODE_USAGE,
                     "process '%s' has no log of its own for standard error; what it prints there is in that of its "
                     "output",
                     id);
}

void sandlot_process_clear(struct sandlot_process *process)
{
    if (!process)
        return;
    free(process->command);
    process->command = NULL;
}
