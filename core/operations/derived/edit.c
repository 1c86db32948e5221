#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/edit_box.h"
#include "operations/derived/frame.h"
#include "operations/derived/placing.h"

#include <stdlib.h>
#include <string.h>

enum {
    LARGEST = 64 << 20,      /* a file that is edited here, because the strings are too long for one command */
    SCRIPT_OVERHEAD = 16000, /* of the script without the strings */
    TRIES = 3                /* for a file that changes meanwhile */
};

static const char beginning[] = "[ -e \"$f\" ] || s_gone\n"
                                "[ ! -d \"$f\" ] || s_fail eisdir\n"
                                "[ -f \"$f\" ] || s_fail kind\n"
                                "[ -r \"$f\" ] && true <\"$f\" || s_fail eacces\n";

struct editing {
    uint64_t count;
    bool edited;
    bool binary;
    bool changed;
    bool has_text;
    struct frame_bytes text;
};

static int take_word(void *context, const char *name, const char *value, struct sandlot_error *error)
{
    struct editing *state = context;

    if (strcmp(name, "count") == 0)
        return frame_number(value, &state->count, error);
    state->edited |= strcmp(name, "edited") == 0;
    state->binary |= strcmp(name, "binary") == 0;
    state->changed |= strcmp(name, "changed") == 0;
    return 0;
}

static int take_data(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    struct editing *state = context;

    (void)name;
    state->has_text = true;
    return frame_bytes_add(&state->text, length > 0 ? bytes : "", length, error);
}

/* ---- in the sandbox ---- */

static bool has_nul(const struct edit_wish *wish)
{
    return memchr(wish->old_string, '\0', wish->old_length) || memchr(wish->new_string, '\0', wish->new_length);
}

/* Adds variable NAME NUMBER for awk, which finds it in its environment. NUL travels as another byte that UTF-8 never
 * has. */
static bool add_string(struct script *script, char name, size_t number, const char *text, size_t length)
{
    AUTO_FREE char *copy = malloc(length + 1);
    char variable[16] = {name, (char)('1' + number)};

    if (!copy)
        return false;
    for (size_t i = 0; i < length; i++)
        copy[i] = text[i] ? text[i] : (char)0xfe;
    copy[length] = '\0';
    script_set(script, variable, copy);
    script_format(script, "export %s; s_%s=%zu\n", variable, variable, length);
    return true;
}

static bool make_script(struct script *script, const struct file_call *call, const struct edit_wish *wish)
{
    struct edit_candidates candidates;
    bool made = edit_candidates_make(wish, &candidates);
    bool same =
        wish->old_length == wish->new_length && memcmp(wish->old_string, wish->new_string, wish->old_length) == 0;

    script_init(script);
    script_set(script, "f", call->path);
    script_format(script, "s_strings=%zu s_most=%s s_told=%d s_same=%s s_nul=%s\n", candidates.count,
                  wish->replace_all ? "2147483647" : "1", EDIT_DIAGNOSED, same ? "1" : "", has_nul(wish) ? "1" : "");
    for (size_t i = 0; made && i < candidates.count; i++) {
        const struct edit_candidate *candidate = &candidates.items[i];

        made = add_string(script, 'o', i, candidate->old_string, candidate->old_length) &&
               add_string(script, 'n', i, candidate->new_string, candidate->new_length);
    }
    edit_candidates_clear(&candidates);
    script_add_placing(script);
    script_add(script, beginning);
    script_add(script, edit_box_editing);
    script_add(script, edit_box_holding);
    script_add(script, "s_hold() { [ -z \"$BASH_VERSION\" ] || [ \"$s_nul\" ] || eval \"$s_holding\"; }\n"
                       "s_hold\n");
    script_add(script, edit_box_checking);
    script_add(script, edit_box_replacing);
    script_add(script, edit_box_with_awk);
    return made && script->text;
}

/* ---- here ---- */

/* The edit of a TEXT that was sent: usually to say why it cannot be done. */
static int edit_here(const struct file_call *call, const struct edit_wish *wish, const struct frame_bytes *text,
                     uint64_t *occurrences, struct sandlot_error *error)
{
    AUTO_FREE char *result = NULL;
    size_t length = 0;

    if (edit_apply(wish, text->bytes, text->length, &result, &length, occurrences, error) < 0)
        return -1;
    return result ? derived_write(call, result, length, error) : 0;
}

static int edit_long(const struct file_call *call, const struct edit_wish *wish, uint64_t *occurrences,
                     struct sandlot_error *error)
{
    struct editing state = {.text.maximum = LARGEST};
    const struct frame_receiver receiver = {.context = &state, .word = take_word, .data = take_data};
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_add(&script, beginning);
    script_format(&script,
                  "s_need stat\n"
                  "[ $(stat -L -c %%s \"$f\") -le %d ] || { s_word large 1; s_end; }\n"
                  "s_data text <\"$f\"\n"
                  "s_end\n",
                  LARGEST);
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    if (!failed && !state.has_text)
        failed =
            error_set(error, SANDLOT_CODE_TOO_LARGE,
                      "File '%s' is larger than %d MiB, the most that can be edited; change it with a command such "
                      "as sed",
                      call->shown, LARGEST >> 20);
    if (!failed)
        failed = edit_here(call, wish, &state.text, occurrences, error);
    frame_bytes_clear(&state.text);
    return failed;
}

/* Once. 1: done; 0: the file has changed meanwhile; -1: failed. */
static int edit_once(const struct file_call *call, const struct edit_wish *wish, const struct script *script,
                     uint64_t *occurrences, struct sandlot_error *error)
{
    struct editing state = {.text.maximum = EDIT_DIAGNOSED};
    const struct frame_receiver receiver = {.context = &state, .word = take_word, .data = take_data};
    int failed = frame_run(call, script, &receiver, error);

    if (!failed && !state.edited && !state.changed) {
        if (state.has_text)
            failed = edit_here(call, wish, &state.text, occurrences, error);
        else
            failed = state.binary ? edit_error_not_text(wish, error) : edit_error(wish, state.count, error);
    } else if (!failed) {
        *occurrences = state.count;
    }
    frame_bytes_clear(&state.text);
    return failed ? -1 : !state.changed;
}

int derived_edit(const struct file_call *call, const struct edit_wish *wish, uint64_t *occurrences,
                 struct sandlot_error *error)
{
    struct script script;
    int done = 0;

    *occurrences = 0;
    if (wish->old_length == 0 || wish->old_length + wish->new_length > SCRIPT_BUDGET - SCRIPT_OVERHEAD)
        return edit_long(call, wish, occurrences, error);
    if (!make_script(&script, call, wish)) {
        script_clear(&script);
        return error_no_memory(error);
    }
    bool fits = script_fits(&script);

    for (int left = TRIES; fits && done == 0 && left > 0; left--)
        done = edit_once(call, wish, &script, occurrences, error);
    script_clear(&script);
    if (!fits)
        return edit_long(call, wish, occurrences, error);
    if (done == 0)
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR,
                         "File '%s' was not edited: something else in the sandbox kept changing it meanwhile; read it "
                         "again and repeat the edit when it is quiet",
                         call->shown);
    return done < 0 ? -1 : 0;
}
