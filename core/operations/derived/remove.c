#include "operations/derived/derived.h"
#include "operations/derived/frame.h"

int derived_remove(const struct file_call *call, struct sandlot_error *error)
{
    struct script script;

    script_init(&script);
    script_set(&script, "f", call->path);
    script_set(&script, "w", call->session->working_dir);
    /* What counts is whether it is gone, not what rm says. BusyBox's says nothing of a directory that it cannot read.
     */
    script_add(&script, "[ -e \"$f\" ] || [ -L \"$f\" ] || s_gone\n"
                        "s_need rm\n"
                        "if [ -d \"$f\" ] && [ ! -L \"$f\" ] && cd -P \"$f\"; then\n"
                        /* Behind a link to "/" bash begins what it says with two slashes. */
                        "s_p=${PWD#/} s_p=/${s_p#/}\n"
                        "if cd -P \"$w\"; then\n"
                        "s_w=${PWD#/}\n"
                        "case /${s_w#/}/ in \"${s_p%/}/\"*) s_fail working;; esac\n"
                        "fi\n"
                        /* A mount cannot be removed, but rm notices only when all below it is gone. */
                        "if [ -r /proc/self/mountinfo ]; then\n"
                        /* bash has a quick way to see that there is none: read goes back to where a line ends, and for
                         * each the system makes the whole list anew. */
                        "s_w=\n"
                        "[ -z \"$BASH_VERSION\" ] || read -r -N 1048576 s_w </proc/self/mountinfo\n"
                        "[ ${#s_w} -lt 1048576 ] || s_w=\n"
                        "case $s_p in *[!A-Za-z0-9/._-]*) s_w=;; esac\n"
                        "case $s_w in\n"
                        "''|*\" $s_p \"*|*\" $s_p/\"*)\n"
                        "while read -r s_n s_n s_n s_n s_w s_n; do\n"
                        "case $s_w in *\\\\*) s_w=$(printf '%b.' \"$s_w\") s_w=${s_w%.};; esac\n"
                        "case $s_w in \"$s_p\"|\"$s_p\"/*) s_fail ebusy;; esac\n"
                        "done </proc/self/mountinfo;;\n"
                        "esac\n"
                        "fi\n"
                        "cd /\n"
                        "fi\n"
                        "rm -rf \"$f\"\n"
                        "[ ! -e \"$f\" ] && [ ! -L \"$f\" ] && s_end\n"
                        /* Once more for what it says: to catch that takes a process more. */
                        "s_m=$(rm -rf \"$f\" 2>&1)\n"
                        "[ ! -e \"$f\" ] && [ ! -L \"$f\" ] && s_end\n"
                        "[ \"$s_m\" ] || s_fail eacces\n"
                        "s_reason \"$s_m\"\n");
    int failed = frame_run(call, &script, NULL, error);

    script_clear(&script);
    return failed;
}
