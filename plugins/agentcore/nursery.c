#include "nursery.h"

#include "invoke.h"

#include <sandlot/sdk/cleanup.h>

#include <inttypes.h>
#include <string.h>

enum { START_MS = 5000, LOOKS = 500 /* at a nursery that was just started, a hundredth of a second apart */ };

/* The folder, to s_d. */
#define FIND                                                  \
    "for s_d in \"$PWD\" \"${HOME:-/}\" /var/tmp /tmp; do\n"  \
    "if [ -d \"$s_d\" ] && [ -w \"$s_d\" ]; then break; fi\n" \
    "done\n"                                                  \
    "s_d=$s_d/.sandlot\n"

/* Its folder is also where commands keep their output, unless somebody has said a better one: /tmp is the user's. */
#define FOLDER_OF_JOBS "[ \"${TMPDIR-}\" ] || TMPDIR=$s_d\n"

/*
 * The task. Two of them do no harm: each has a pipe of its own, and the last one is asked. What a shell starts in the
 * background ignores SIGINT for ever, so setsid does it; and it lets nobody wait for a call that has died.
 */
static const char task[] =
    "exec 2>/dev/null\n" FIND "s_u=$(umask)\n"
    "umask 077\n"
    "[ -d \"$s_d\" ] || mkdir \"$s_d\"\n"
    "[ -O \"$s_d\" ] || exit 1\n"
    "if read -r s_p <\"$s_d/pid\" && [ -p \"$s_d/in.$s_p\" ] && kill -0 \"$s_p\"; then exit 0; fi\n"
    "rm -f \"$s_d/in.$$\"\n"
    "mkfifo \"$s_d/in.$$\" && exec 3<>\"$s_d/in.$$\" || exit 1\n"
    "echo $$ >\"$s_d/pid.$$\" && mv -f \"$s_d/pid.$$\" \"$s_d/pid\" || exit 1\n"
    "umask \"$s_u\"\n"
    "s_t=\n"
    "if command -v timeout >/dev/null; then s_t='timeout 900'; fi\n"
    "s_s='setsid -f'\n"
    "$s_s true || { s_s=; set -m; }\n"
    "s_r='exec >\"$1/out.$2\" 3<&-\n"
    "sh \"$1/job.$2\" \"$1\"\n"
    "exec >/dev/null\n"
    "rm -f \"$1/job.$2\" \"$1/out.$2\"'\n"
    "while read -r s_i <&3; do\n"
    "if [ \"$s_s\" ]; then $s_s $s_t sh -c \"$s_r\" sh \"$s_d\" \"$s_i\" </dev/null >/dev/null\n"
    "else $s_t sh -c \"$s_r\" sh \"$s_d\" \"$s_i\" </dev/null >/dev/null & fi\n"
    "done\n";

/* ---- the task ---------------------------------------------------------------------------------------------------- */

static enum sandlot_status start_task(struct sandlot_call *call, struct sandbox *sandbox)
{
    size_t length = 0;
    AUTO_FREE char *body = invoke_body("startCommandExecution", "command", task, &length);
    const struct invocation invocation = {.body = body, .length = length, .longest_ms = START_MS};

    return body ? invoke_surely(call, sandbox, &invocation, "start a task") : http_no_memory(call);
}

enum sandlot_status nursery_open(struct sandlot_call *call, struct sandbox *sandbox)
{
    enum sandlot_status status = api_lock(call, &sandbox->lock);

    if (status != SANDLOT_OK)
        return status;
    if (sandbox->nursery != NURSERY_THERE)
        status = start_task(call, sandbox);
    if (status == SANDLOT_OK)
        sandbox->nursery = NURSERY_THERE;
    pthread_mutex_unlock(&sandbox->lock);
    return status;
}

void nursery_forget(struct sandbox *sandbox)
{
    sandbox->nursery = NURSERY_NONE;
}

void nursery_found(struct sandbox *sandbox)
{
    sandbox->nursery = NURSERY_THERE;
}

bool nursery_is_missing(const struct sandbox *sandbox)
{
    return sandbox->nursery == NURSERY_NONE;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

char *nursery_command(const struct remote_script *script, bool fresh)
{
    char *command = NULL;
    const char *id = script->id;

    if (asprintf(&command,
                 "exec 2>/dev/null\n" FIND "s_n=%d\n"
                 "until read -r s_p <\"$s_d/pid\" && [ -p \"$s_d/in.$s_p\" ] && kill -0 \"$s_p\"; do\n"
                 "[ \"$s_n\" -gt 0 ] || { echo " NURSERY_ABSENT "; exit; }\n"
                 "s_n=$((s_n - 1))\n"
                 "sleep 0.01 || sleep 1\n"
                 "done\n"
                 "umask 077\n"
                 "mkfifo \"$s_d/out.%s\"\n"
                 "cat >\"$s_d/job.%s\" <<'%s'\n"
                 "s_d=$1\n" FOLDER_OF_JOBS "%s\n"
                 "%s\n"
                 "echo %s 1<>\"$s_d/in.$s_p\"\n"
                 "cat \"$s_d/out.%s\"\n"
                 "exit 0\n",
                 fresh ? LOOKS : 0, id, id, id, script->text, id, id, id) < 0)
        return NULL;
    return command;
}

char *nursery_direct_command(const char *script)
{
    char *command = NULL;

    return asprintf(&command, "exec 2>/dev/null\n" FIND FOLDER_OF_JOBS "%s\n", script) < 0 ? NULL : command;
}
