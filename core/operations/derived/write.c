#include "base/cleanup.h"
#include "base/error.h"
#include "operations/derived/derived.h"
#include "operations/derived/frame.h"
#include "operations/derived/placing.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* All of it in one command: SCRIPT, which can place it. That the command has not been damaged shows in the length of
 * what is to be printed; that all of it was written, in how printf ends. A sum of it would take one process more, a
 * tenth to a quarter of the whole. */
static int write_at_once(const struct file_call *call, const void *content, size_t length, struct script *script,
                         struct sandlot_error *error)
{
    size_t cost;

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
    script_add_placing(&script);
    if (script.length + 256 + script_print_cost(content, length) <= SCRIPT_BUDGET)
        failed = write_at_once(call, content, length, &script, error);
    else
        failed = write_long(call, content, length, error);
    script_clear(&script);
    return failed;
}
