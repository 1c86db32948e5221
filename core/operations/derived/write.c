#include "operations/derived/write.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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
                              "set -- $(exec stat -c '%a %h %u:%g' \"$s_g\")\n"
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

/* Can the shell have it as a word? Then it need not look at each character as at that of a format. */
static bool is_plain(const char *content, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((content[i] < ' ' || content[i] > '~') && content[i] != '\n')
            return false;
    }
    return true;
}

/* Sets s_x to what printf(1) with the words that are returned makes CONTENT of; *COST is its length. NULL: no memory.
 */
static const char *add_content(struct script *script, const void *content, size_t length, size_t *cost)
{
    if (!is_plain(content, length)) {
        script_add(script, "s_x=");
        script_quote_format(script, content, length);
        script_add(script, "\n");
        *cost = script_print_cost(content, length);
        return "--";
    }
    AUTO_FREE char *text = strndup(content, length);

    if (!text)
        return NULL;
    script_set(script, "s_x", text);
    *cost = length;
    return "%s";
}

/* All of it in one command. That the command has not been damaged shows in the length of what is to be printed; that
 * all of it was written, in how printf ends. A sum of it would take one process more, a tenth to a quarter of the
 * whole. */
static int write_at_once(const struct file_call *call, const void *content, size_t length, struct script *script,
                         struct sandlot_error *error)
{
    size_t cost;

    script_add_placing(script);
    const char *how = add_content(script, content, length, &cost);

    if (!how)
        return error_no_memory(error);
    script_format(script,
                  "[ ${#s_x} = %zu ] || s_fail damaged\n"
                  "s_put() { printf %s \"$s_x\"; }\n"
                  "s_target\n"
                  "s_create s_put\n"
                  "s_place\n"
                  "s_end\n",
                  cost, how);
    return frame_run(call, script, NULL, error);
}

/* More than one command can carry goes the way of an upload. */
static int write_long(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error)
{
    AUTO_CLOSE int fd = memfd_create("content", MFD_CLOEXEC);
    uint64_t bytes;

    for (size_t at = 0; fd >= 0 && at < length;) {
        ssize_t put = write(fd, (const char *)content + at, length - at);

        if (put < 0 && errno != EINTR)
            return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "%s: its content cannot be kept in memory: %s",
                             call->shown, strerror(errno));
        at += put > 0 ? (size_t)put : 0;
    }
    if (fd < 0 || lseek(fd, 0, SEEK_SET) < 0)
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "%s: its content cannot be kept in memory: %s",
                         call->shown, strerror(errno));
    return derived_upload(call, fd, 0, &bytes, error);
}

int derived_write(const struct file_call *call, const void *content, size_t length, struct sandlot_error *error)
{
    struct script script;
    int failed;

    script_init(&script);
    script_set(&script, "f", call->path);
    if (script.length + sizeof(placing) + sizeof(no_folder) + 256 + script_print_cost(content, length) <= SCRIPT_BUDGET)
        failed = write_at_once(call, content, length, &script, error);
    else
        failed = write_long(call, content, length, error);
    script_clear(&script);
    return failed;
}
