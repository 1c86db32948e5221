#include "operations/derived/write.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/cksum.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"

#include <string.h>

static const char placing[] = "s_clean() { [ -z \"$t\" ] || rm -f \"$t\" \"$t.0\"; }\n"
                              "s_folders() {\n"
                              "s_p=${s_g%/*}\n"
                              "[ -d \"${s_p:-/}\" ] && return\n"
                              "s_m=$(mkdir -p \"$s_p\" 2>&1)\n"
                              "[ -d \"$s_p\" ] || { eval \"$s_no_folder\"; s_reason \"$s_m\"; }\n"
                              "}\n"
                              "s_follow() {\n"
                              "s_need mv rm\n"
                              "s_g=$f s_mode= s_copy=\n"
                              "if [ -L \"$f\" ]; then\n"
                              "s_need readlink\n"
                              "s_g=$(readlink -f \"$f\" && echo .) || { s_w=$f; s_lost; s_gone; }\n"
                              "s_g=${s_g%??}\n"
                              "fi\n"
                              "s_n=${s_g##*/}\n"
                              "[ ${#s_n} -le 255 ] && [ ${#s_g} -lt 4096 ] || s_fail enametoolong\n"
                              "[ -e \"$s_g\" ] || { s_folders; return; }\n"
                              "[ ! -d \"$s_g\" ] || s_fail eisdir\n"
                              "[ -f \"$s_g\" ] || s_fail kind\n"
                              "[ -w \"$s_g\" ] || s_fail eacces\n"
                              "}\n"
                              "s_beside() {\n"
                              "s_p=${s_g%/*}\n"
                              "t=${s_p:-/}/.sandlot-$s_a\n"
                              "[ -w \"${s_p:-/}\" ] && [ -x \"${s_p:-/}\" ] && return\n"
                              "[ -e \"$s_g\" ] || s_fail eacces\n"
                              "t=${TMPDIR:-/tmp}/.sandlot-$s_a s_copy=1\n"
                              "}\n"
                              "s_target() {\n"
                              "s_follow\n"
                              "if [ -e \"$s_g\" ]; then\n"
                              "s_need stat\n"
                              "set -- $(stat -c '%a %h %u:%g' \"$s_g\")\n"
                              "[ $# = 3 ] || s_need stat_with_-c\n"
                              "s_mode=$1 s_owner=$3\n"
                              "[ \"$2\" = 1 ] || s_copy=1\n"
                              /* Each digit is at most 7, so nothing is borrowed. */
                              "umask $((777 - s_mode % 1000))\n"
                              "fi\n"
                              "s_beside\n"
                              "}\n"
                              /* The shell's own message about a full disk does not say so; cat's does. */
                              "s_create() {\n"
                              "\"$@\" >\"$t\" && return\n"
                              "s_m=$({ \"$@\" | cat >\"$t\"; } 2>&1)\n"
                              "s_reason \"$s_m\"\n"
                              "}\n"
                              "s_check() {\n"
                              "if command -v cksum >/dev/null; then\n"
                              "s_m=$(cksum <\"$t\")\n"
                              "[ \"${s_m%% *}\" = \"$1\" ] || s_fail damaged\n"
                              "else\n"
                              "s_need wc\n"
                              "[ $(wc -c <\"$t\") = \"$2\" ] || s_fail damaged\n"
                              "fi\n"
                              "}\n"
                              "s_place() {\n"
                              "if [ \"$s_mode\" ] && [ -z \"$s_copy\" ]; then\n"
                              "[ -O \"$s_g\" ] && [ -G \"$s_g\" ] || chown \"$s_owner\" \"$t\" || s_copy=1\n"
                              "case $s_mode in *[1357]*|????*) chmod \"$s_mode\" \"$t\" || s_copy=1;; esac\n"
                              "fi\n"
                              "if [ -z \"$s_copy\" ]; then\n"
                              "mv -f \"$t\" \"$s_g\" && { t=; return; }\n"
                              "[ \"$s_mode\" ] || s_fail eacces\n"
                              "fi\n"
                              "s_m=$(cat <\"$t\" 2>&1 >\"$s_g\") || s_reason \"$s_m\"\n"
                              "}\n";

/* Why the directories of $s_g cannot be made: a name that cannot be one is told apart from one that must not be made.
 * It is parsed when it is needed. */
static const char no_folder[] = "s_r=${s_p#/} s_w=\n"
                                "while [ \"$s_r\" ]; do\n"
                                "s_w=$s_w/${s_r%%/*}\n"
                                "case $s_r in */*) s_r=${s_r#*/};; *) s_r=;; esac\n"
                                "[ ! -e \"$s_w\" ] || [ -d \"$s_w\" ] || s_fail enotdir\n"
                                "[ -e \"$s_w\" ] || [ ! -L \"$s_w\" ] || { s_lost; s_fail enoent; }\n"
                                "done\n";

void script_add_placing(struct script *script)
{
    script_set(script, "s_no_folder", no_folder);
    script_add(script, placing);
}

static void add_check(struct script *script, const void *content, size_t length)
{
    struct cksum sum = {0};

    cksum_add(&sum, content, length);
    script_format(script, "s_check %lu %zu\n", (unsigned long)cksum_value(&sum), length);
}

/* All of it in one command. That the command has not been damaged shows in the length of what is to be printed; that
 * all of it was written, in how printf ends. A sum of it would take one process more, a tenth to a quarter of the
 * whole. */
static int write_at_once(const struct file_call *call, const void *content, size_t length, struct script *script,
                         struct sandlot_error *error)
{
    script_add_placing(script);
    script_add(script, "s_x=");
    script_quote_format(script, content, length);
    script_format(script,
                  "\n[ ${#s_x} = %zu ] || s_fail damaged\n"
                  "s_put() { printf -- \"$s_x\"; }\n"
                  "s_target\n"
                  "s_create s_put\n"
                  "s_place\n"
                  "s_end\n",
                  script_print_cost(content, length));
    return frame_run(call, script, NULL, error);
}

static int take_place(void *context, const char *name, const void *bytes, size_t length, struct sandlot_error *error)
{
    (void)name;
    return frame_bytes_add(context, length > 0 ? bytes : "", length > 0 ? length : 1, error);
}

/* Makes sure that the file may be written, and learns where a temporary file may lie. */
static int prepare(const struct file_call *call, struct frame_bytes *place, struct sandlot_error *error)
{
    const struct frame_receiver receiver = {.context = place, .data = take_place};
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_add_placing(&script);
    script_add(&script, "s_target\ns_create true\n"
                        "printf %s \"$t\" | s_data place\n"
                        "t=\n"
                        "s_end\n");
    int failed = frame_run(call, &script, &receiver, error);

    script_clear(&script);
    if (failed)
        return -1;
    return place->length > 1 ? 0 : frame_damaged(error, "a path is missing");
}

/* Puts the temporary file PLACE in the place of the file; CONTENT NULL: removes it. */
static int finish(const struct file_call *call, const char *place, const void *content, size_t length,
                  struct sandlot_error *error)
{
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_set(&script, "u", place);
    script_add_placing(&script);
    if (content) {
        script_add(&script, "s_target\nt=$u\n");
        add_check(&script, content, length);
        script_add(&script, "s_place\ns_end\n");
    } else {
        script_add(&script, "t=$u\ns_end\n");
    }
    int failed = frame_run(call, &script, NULL, error);

    script_clear(&script);
    return failed;
}

static int write_in_pieces(const struct file_call *call, const void *content, size_t length,
                           struct sandlot_error *error)
{
    struct frame_bytes place = {.maximum = 8192};
    int failed = prepare(call, &place, error);

    if (!failed && derived_put(call, content, length, place.bytes, error) < 0) {
        finish(call, place.bytes, NULL, 0, NULL);
        failed = -1;
    } else if (!failed) {
        failed = finish(call, place.bytes, content, length, error);
        if (failed)
            finish(call, place.bytes, NULL, 0, NULL); /* should it be there still */
    }
    frame_bytes_clear(&place);
    return failed;
}

int derived_write(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error)
{
    struct script script;
    int failed;

    script_init(&script);
    script_set(&script, "f", call->path);
    if (script.length + sizeof(placing) + 256 + script_print_cost(content, length) <= SCRIPT_BUDGET)
        failed = write_at_once(call, content, length, &script, error);
    else
        failed = write_in_pieces(call, content, length, error);
    script_clear(&script);
    return failed;
}
