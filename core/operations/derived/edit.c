#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/write.h"

#include <stdlib.h>
#include <string.h>

enum {
    LARGEST = 64 << 20,      /* a file that is edited here, because the strings are too long for one command */
    SCRIPT_OVERHEAD = 16000, /* of the script without the strings */
    TRIES = 3                /* for a file that changes meanwhile */
};

/*
 * Is the file UTF-8? Every byte above ASCII becomes a letter that says what it may be, everything else the end of a
 * line; then a line is right if it is made of whole characters:
 *   a 80-8F, b 90-9F, c A0-BF continue; d C2-DF, e E0, f E1-EC EE EF, g ED, h F0, i F1-F3, j F4 begin; x is never right
 */
static const char checking[] =
    "s_valid() {\n"
    "s_need tr grep\n"
    "! tr -s '\\000-\\177' '\\n' <\"$s_g\" | tr '\\200-\\377' '"
    "aaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbcccccccccccccccccccccccccccccccc"
    "xxddddddddddddddddddddddddddddddeffffffffffffgffhiiijxxxxxxxxxxx"
    "' | grep -qvxE "
    "'(d[abc]|ec[abc]|f[abc][abc]|g[ab][abc]|h[bc][abc][abc]|i[abc][abc][abc]|ja[abc][abc])*'\n"
    "}\n";

/*
 * A program for awk: its input is the line of facts about the file, unless it is in $s_facts, and then the file, which
 * is one record, for the byte that ends records is never part of UTF-8. A file that awk cannot hold (BusyBox's ends a
 * text at NUL) is "odd". Prints the number of occurrences of the first string that occurs, and the number of that
 * string, and the facts; and writes the new text to $t, if set, and reads it again, for not every awk notices a full
 * disk. But it writes nothing if the file's mode is none of $s_modes, those which $t may get. Looks through the text by
 * windows, because what awk does with a text costs time in proportion to its length.
 */
static const char replacing[] =
    "BEGIN { ORS = \"\"; out = ENVIRON[\"t\"]; facts = ENVIRON[\"s_facts\"]; if (facts != \"\") RS = \"\\377\" }\n"
    "facts == \"\" { facts = $0; RS = \"\\377\"; next }\n"
    "{ records++ }\n"
    "records == 1 { text = $0 }\n"
    "function put(piece) { if (out != \"\") print piece > out }\n"
    "function replace(old, new,    at, length_, window, keep, found, size) {\n"
    "length_ = length(old)\n"
    "keep = length_ - 1\n"
    "size = 8192 + int(whole / 1024)\n"
    "for (at = 1; at <= whole; ) {\n"
    "window = substr(text, at, size + keep)\n"
    "at += length(window)\n"
    "while ((found = index(window, old)) > 0) {\n"
    "put(substr(window, 1, found - 1))\n"
    "put(new)\n"
    "window = substr(window, found + length_)\n"
    "count++\n"
    "}\n"
    "if (at > whole) put(window)\n"
    "else if (length(window) > keep) { put(substr(window, 1, length(window) - keep)); at -= keep }\n"
    "else at -= length(window)\n"
    "}\n"
    "}\n"
    "function written(    piece, size, got) {\n"
    "if (out == \"\") return whole + growth\n"
    "close(out)\n"
    "while ((got = (getline piece < out)) > 0) size += length(piece)\n"
    "return got < 0 ? whole + growth : size\n"
    "}\n"
    "END {\n"
    "whole = length(text)\n"
    "if (facts !~ /^[0-7]+ [0-9]+ [0-9]+:[0-9]+ [0-9]+ [0-9.]+$/) { print \"unknown\"; exit }\n"
    "split(facts, fact, \" \")\n"
    "facts = \" \" facts\n"
    "if (records > 1 || whole != fact[4] + 0) { print \"odd 0 0\" facts; exit }\n"
    "for (i = 1; i <= ENVIRON[\"s_strings\"]; i++) if (index(text, ENVIRON[\"o\" i])) break\n"
    "count = 0\n"
    "if (i <= ENVIRON[\"s_strings\"]) {\n"
    "if (out != \"\" && index(ENVIRON[\"s_modes\"], \" \" fact[1] \" \") == 0) { print \"mode 0 0\" facts; exit }\n"
    "replace(ENVIRON[\"o\" i], ENVIRON[\"n\" i])\n"
    "growth = count * (length(ENVIRON[\"n\" i]) - length(ENVIRON[\"o\" i]))\n"
    "if (written() != whole + growth) { print \"lost 0 0\" facts; exit }\n"
    "}\n"
    "print (text ~ /[\\200-\\377]/ ? \"high \" : \"plain \") count \" \" i facts\n"
    "}\n";

/*
 * Where the shell is bash it holds a small file of ASCII itself, and does without awk; otherwise this does nothing.
 * What other shells cannot parse is in a variable.
 */
static const char holding[] = "IFS= read -r -N 16385 s_x <&5\n"
                              "[ ${#s_x} -le 16384 ] && ! [[ $s_x =~ [^[:print:][:space:]] ]] || return\n"
                              "s_take plain 0 1 $(exec stat -L -c \"%a %h %u:%g %s %Z.%i\" \"$s_g\")\n"
                              /* NUL is not held, and there may be more than was read. */
                              "[ \"$s_size\" = ${#s_x} ] && [ \"$s_state\" ] || return\n"
                              "while [ $s_which -le $s_strings ]; do\n"
                              "s_r=o$s_which s_n=n$s_which s_r=${!s_r} s_n=${!s_n} s_i=${s_x//\"$s_r\"}\n"
                              "[ ${#s_i} = ${#s_x} ] || break\n"
                              "s_which=$((s_which + 1))\n"
                              "done\n"
                              "[ $s_which -gt $s_strings ] || s_count=$(((${#s_x} - ${#s_i}) / ${#s_r}))\n"
                              "s_counted\n"
                              "if [ -z \"$s_same\" ]; then\n"
                              "s_only\n"
                              "s_x=${s_x//\"$s_r\"/\"$s_n\"}\n"
                              "printf %s \"$s_x\" >\"$t\" || s_reason \"$(cat <\"$s_g\" 2>&1 >\"$t\")\"\n"
                              "fi\n"
                              "s_finish\n";

static const char beginning[] = "[ -e \"$f\" ] || s_gone\n"
                                "[ ! -d \"$f\" ] || s_fail eisdir\n"
                                "[ -f \"$f\" ] || s_fail kind\n"
                                "[ -r \"$f\" ] || s_fail eacces\n";

/*
 * A process is most of what this takes, so that stat and awk run side by side, awk waiting for what stat says; the new
 * file is made with the mode that a file usually has, and once more where this one has another.
 *
 * Has the file changed since stat? It has not if it is the one that is open here and was last written before the mark,
 * a pipe that is a little older than what stat said: for this the shell needs no process. The file system's clock may
 * be behind that of pipes: then the new file too looks older than the mark. In doubt stat says it once more.
 */
static const char editing[] =
    "s_need stat\n"
    "if [ -w \"$f\" ]; then s_follow; s_beside; else s_g=$f t=; fi\n"
    "[ \"$s_same\" ] && t=\n"
    "exec 5<\"$s_g\" 6<<.\n"
    "mark\n"
    ".\n"
    "umask 022\n"
    "s_take() { s_how=$1 s_count=$2 s_which=$3 s_mode=$4 s_links=$5 s_owner=$6 s_size=$7 s_state=$8; }\n"
    "s_only() { s_modes=\" $s_mode \"; umask $((777 - s_mode % 1000)); }\n"
    "s_stat() { stat -L -c '%a %h %u:%g %s %Z.%i' \"$s_g\"; }\n"
    "s_changed() { s_word changed 1; s_end; }\n"
    "s_send() { [ $s_size -gt $s_told ] || s_data text <\"$s_g\"; s_end; }\n"
    "s_still() {\n"
    "[ \"$s_g\" -ef /proc/self/fd/5 ] && [ \"$s_g\" -ot /proc/self/fd/6 ] && [ ! \"$t\" -ot /proc/self/fd/6 ] && "
    "return\n"
    "[ \"$(s_stat)\" = \"$s_mode $s_links $s_owner $s_size $s_state\" ]\n"
    "}\n"
    "s_counted() {\n"
    "s_word count $s_count\n"
    "if [ $s_count -eq 0 ] || [ $s_count -gt $s_most ]; then s_send; fi\n"
    "[ \"$s_same\" ] || [ \"$t\" ] || s_fail eacces\n"
    "}\n"
    "s_finish() {\n"
    "if [ -z \"$s_same\" ]; then\n"
    "s_still || s_changed\n"
    "[ \"$s_links\" = 1 ] || s_copy=1\n"
    "s_place\n"
    "fi\n"
    "s_word edited 1\n"
    "s_end\n"
    "}\n";

/* What is left for awk, which the shell need not parse where it holds the file itself. */
static const char with_awk[] =
    "s_need awk\n"
    "s_facts= s_modes=' 644 755 '\n"
    "export t s_strings s_facts s_modes\n"
    "s_look() { s_take $(stat -L -c '%a %h %u:%g %s %Z.%i' \"$s_g\" | awk \"$s_awk\" - \"$s_g\"); }\n"
    "s_odd=$s_nul\n"
    "if [ \"$s_odd\" ]; then s_take odd 0 0 $(s_stat); else s_look; fi\n"
    "if [ \"$s_how\" = mode ]; then s_only; s_look; fi\n"
    "[ \"$s_how\" != unknown ] && [ \"$s_state$s_nul\" != 1 ] || s_need stat_with_-c\n"
    /* Under /proc there is more in it; it is looked at outside. */
    "[ \"$s_size\" != 0 ] || s_send\n"
    "[ \"$s_how\" = odd ] && s_odd=1\n"
    "if [ \"$s_odd\" ] || [ \"$s_how\" = high ]; then s_valid || { s_word binary 1; s_send; }; fi\n"
    "if [ \"$s_odd\" ]; then\n"
    "s_only\n"
    "s_facts=\"$s_mode $s_links $s_owner $s_size $s_state\"\n"
    "s_take $(tr '\\000' '\\376' <\"$s_g\" | awk \"$s_awk\" -)\n"
    "fi\n"
    "case $s_how in\n"
    "odd) s_send;;\n"
    "mode) s_changed;;\n"
    "plain|high) ;;\n"
    "*) s_reason \"$(cat <\"$s_g\" 2>&1 >\"$t\")\";;\n"
    "esac\n"
    "s_counted\n"
    "if [ -z \"$s_same\" ] && [ \"$s_odd\" ]; then\n"
    "tr '\\376' '\\000' <\"$t\" >\"$t.0\" && mv -f \"$t.0\" \"$t\"\n"
    "eval \"s_i=\\$((s_size + s_count * (s_n$s_which - s_o$s_which)))\"\n"
    "[ \"$(stat -c %s \"$t\")\" = $s_i ] || s_reason \"$(cat <\"$s_g\" 2>&1 >\"$t\")\"\n"
    "fi\n"
    "s_finish\n";

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
    script_add(script, editing);
    script_set(script, "s_holding", holding);
    script_add(script, "s_hold() { [ -z \"$BASH_VERSION\" ] || [ \"$s_nul\" ] || eval \"$s_holding\"; }\n"
                       "s_hold\n");
    script_add(script, checking);
    script_set(script, "s_awk", replacing);
    script_add(script, with_awk);
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
