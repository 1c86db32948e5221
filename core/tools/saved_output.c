#include "tools/saved_output.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

enum { MAKING_MS = 20 * 1000, ANSWER_MAXIMUM = 1 << 16 };

#define NAME "sandlot-output-"
#define FILE_NAME "output.txt"

/* "sandlot-output-" and digits that nobody can guess. NULL with the error. */
static char *random_name(struct sandlot_error *error)
{
    uint64_t bits[2];
    char *name = NULL;

    if (getrandom(bits, sizeof(bits), 0) == (ssize_t)sizeof(bits))
        name = text_format(NAME "%016" PRIx64 "%016" PRIx64, bits[0], bits[1]);
    if (!name)
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "no random name could be made");
    return name;
}

/* The path of the file in the directory NAME from what the shell printed, whose last line it is. It comes from the
 * sandbox: only what can be such a path is taken for one. To be freed; NULL if it cannot. */
static char *path_in_answer(const char *output, size_t length, const char *name)
{
    const char *newline = memrchr(output, '\n', length);
    const char *path = newline ? newline + 1 : output;
    size_t size = strlen(path);
    AUTO_FREE char *end = text_format("/%s/" FILE_NAME, name);

    if (!end || path + size != output + length || size > SAVED_PATH_MAXIMUM || size < strlen(end) || path[0] != '/')
        return NULL;
    AUTO_FREE char *visible = text_visible(path);

    if (!visible || strcmp(visible, path) != 0 || strcmp(path + size - strlen(end), end) != 0)
        return NULL;
    return strdup(path);
}

/* Makes the directory below BASE, an expression of the shell, and returns the path of the file that is to be in it. */
static char *make_directory(struct sandlot_session *session, const char *base, const char *name,
                            struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    /* NAME and BASE are ours. What the shell says when it starts stands on lines before the last one. */
    AUTO_FREE char *command = text_format("unset CDPATH; umask 077; cd -- %s && mkdir %s && cd %s && "
                                          "printf '\\n%%s/" FILE_NAME "' \"$(pwd -P)\"",
                                          base, name, name);
    struct sandlot_execution execution = {.size = sizeof(execution),
                                          .command = command,
                                          .timeout_ms = MAKING_MS,
                                          .output_limit = ANSWER_MAXIMUM,
                                          .cancellation = cancellation};
    struct sandlot_result result = {.size = sizeof(result)};

    if (!command) {
        error_no_memory(error);
        return NULL;
    }
    if (sandlot_execute(session, &execution, &result, error) < 0)
        return NULL;
    char *path = result.exit_code == 0 ? path_in_answer(result.output, result.output_length, name) : NULL;

    sandlot_result_clear(&result);
    if (!path)
        error_set(error, SANDLOT_CODE_PERMISSION_DENIED,
                  "no directory for it could be made below $TMPDIR, /tmp or the working directory");
    return path;
}

static void remove_directory(struct sandlot_session *session, const char *path)
{
    AUTO_FREE char *directory = strndup(path, strlen(path) - strlen("/" FILE_NAME));
    struct sandlot_remove request = {.size = sizeof(request), .path = directory};

    if (directory)
        sandlot_remove_file(session, &request, NULL);
}

static char *save_below(struct sandlot_session *session, const char *base, const char *text, size_t length,
                        struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    AUTO_FREE char *name = random_name(error);
    AUTO_FREE char *path = name ? make_directory(session, base, name, cancellation, error) : NULL;
    struct sandlot_write request = {
        .size = sizeof(request), .path = path, .content = text, .content_length = length, .cancellation = cancellation};

    if (!path)
        return NULL;
    if (sandlot_write_file(session, &request, error) < 0) {
        remove_directory(session, path);
        return NULL;
    }
    return TAKE(path);
}

char *saved_output(struct sandlot_session *session, const char *text, size_t length,
                   struct sandlot_cancellation *cancellation, struct sandlot_error *error)
{
    static const char *const bases[] = {"\"${TMPDIR:-/tmp}\"", "."};
    struct sandlot_error why = {0};
    char *path = NULL;

    for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]) && !path; i++) {
        if (why.code == SANDLOT_CODE_CANCELLED)
            break;
        sandlot_error_clear(&why);
        path = save_below(session, bases[i], text, length, cancellation, &why);
    }
    if (!path)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return path;
}
