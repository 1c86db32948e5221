/* How the setup script gets into the sandbox: as a private file, never as an argument that `ps` would show. */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The script's own umask must be the sandbox's, hence it is put back before the script runs. */
#define RUN_SCRIPT \
    "if command -v bash >/dev/null 2>&1; then bash \"$d/setup\" </dev/null; else sh \"$d/setup\" </dev/null; fi"
#define FOLDER "${TMPDIR:-/tmp}/sandlot-setup.%016llx"
#define FROM_INPUT                                                                                   \
    "u=$(umask); umask 077; d=" FOLDER "; mkdir -- \"$d\" || exit 125; "                             \
    "trap 'rm -rf -- \"$d\"' EXIT; trap 'exit 143' TERM; trap 'exit 130' INT; trap 'exit 129' HUP; " \
    "cat >\"$d/setup\" || exit 125; umask \"$u\"; " RUN_SCRIPT

/* For removing what a setup that was cut off left behind. */
enum { CLEAN_UP_MS = 10 * 1000 };

/* Base64 of so much at a time stays far below the limit of one argument (128 KiB on Linux). */
enum { CHUNK = 48 * 1024 };

struct text_source {
    struct sandlot_source source;
    const char *at;
    size_t left;
};

static enum sandlot_status read_text(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    struct text_source *text = source->context;

    *length = text->left < capacity ? text->left : capacity;
    memcpy(buffer, text->at, *length);
    text->at += *length;
    text->left -= *length;
    return SANDLOT_OK;
}

static enum sandlot_status to_receiver(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    const struct sandlot_session_options *options = sink->context;

    if (options->setup_output)
        options->setup_output(options->context, bytes, length);
    return SANDLOT_OK;
}

static int run(struct sandlot_session *session, const char *command, const struct sandlot_source *input,
               const struct sandlot_session_options *options, int64_t timeout_ms, struct sandlot_exit *result,
               enum sandlot_status *status, struct sandlot_error *error)
{
    struct sandlot_command request = {.size = sizeof(request),
                                      .command = command,
                                      .working_dir = session->working_dir,
                                      .timeout_ms = timeout_ms,
                                      .input = input};
    struct sandlot_sink sink = {.size = sizeof(sink), .context = (void *)options, .write = to_receiver};

    *result = (struct sandlot_exit){.size = sizeof(*result)};
    return session_run(session, &request, &sink, result, session_command_deadline(request.timeout_ms),
                       cancellation_fd(options->cancellation), status, error);
}

static char *base64(const char *bytes, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char *text = malloc((length + 2) / 3 * 4 + 1);
    char *out = text;

    for (size_t i = 0; text && i < length; i += 3) {
        size_t left = length - i;
        unsigned int group = (unsigned int)(unsigned char)bytes[i] << 16;

        group |= left > 1 ? (unsigned int)(unsigned char)bytes[i + 1] << 8 : 0;
        group |= left > 2 ? (unsigned int)(unsigned char)bytes[i + 2] : 0;
        *out++ = letters[group >> 18];
        *out++ = letters[group >> 12 & 63];
        *out++ = left > 1 ? letters[group >> 6 & 63] : '=';
        *out++ = left > 2 ? letters[group & 63] : '=';
    }
    if (text)
        *out = '\0';
    return text;
}

/* The script in pieces, one command each, then the run. */
static int carry_and_run(struct sandlot_session *session, const char *text, uint64_t folder,
                         const struct sandlot_session_options *options, struct sandlot_exit *result,
                         struct sandlot_error *error)
{
    size_t length = strlen(text);

    for (size_t at = 0; at == 0 || at < length; at += CHUNK) {
        AUTO_FREE char *piece = base64(text + at, length - at < CHUNK ? length - at : CHUNK);
        AUTO_FREE char *command =
            text_format("umask 077; d=" FOLDER "; %sprintf %%s '%s' | base64 -d >>\"$d/setup\"",
                        (unsigned long long)folder, at ? "" : "mkdir -- \"$d\" && ", piece ? piece : "");

        if (!piece || !command)
            return error_no_memory(error);
        if (run(session, command, NULL, options, SANDLOT_DEFAULT_TIMEOUT_MS, result, NULL, error) < 0)
            return -1;
        if (result->exit_code != 0)
            return error_set(error, SANDLOT_CODE_SETUP_FAILED,
                             "the setup script could not be brought into the sandbox (status %d); it needs mkdir, "
                             "printf and base64 there and a writable temporary folder",
                             result->exit_code);
    }
    AUTO_FREE char *command = text_format(
        "d=" FOLDER "; trap 'rm -rf -- \"$d\"' EXIT; trap 'exit 143' TERM; " RUN_SCRIPT, (unsigned long long)folder);

    return command ? run(session, command, NULL, options, SANDLOT_DEFAULT_TIMEOUT_MS, result, NULL, error)
                   : error_no_memory(error);
}

/* A sandbox that was attached to outlives what was cut off, and the script may hold secrets. Not cancellable, best
 * effort. */
static void remove_folder(struct sandlot_session *session, uint64_t folder)
{
    static const struct sandlot_session_options nobody = {.size = sizeof(nobody)};
    AUTO_FREE char *command = text_format("rm -rf -- \"" FOLDER "\"", (unsigned long long)folder);
    struct sandlot_exit result;

    if (command)
        run(session, command, NULL, &nobody, CLEAN_UP_MS, &result, NULL, NULL);
}

/* By standard input, or in pieces where the provider cannot feed that. */
static int bring_and_run(struct sandlot_session *session, const char *text, uint64_t folder,
                         const struct sandlot_session_options *options, struct sandlot_exit *result,
                         struct sandlot_error *error)
{
    struct text_source input = {.at = text, .left = strlen(text)};
    AUTO_FREE char *command = text_format(FROM_INPUT, (unsigned long long)folder);
    struct sandlot_error refused = {0};
    enum sandlot_status status = SANDLOT_OK;

    if (!command)
        return error_no_memory(error);
    input.source = (struct sandlot_source){sizeof(input.source), &input, read_text, -1};
    if (run(session, command, &input.source, options, SANDLOT_DEFAULT_TIMEOUT_MS, result, &status, &refused) == 0)
        return 0;
    bool pieces = status == SANDLOT_UNSUPPORTED && session->provider->table.execute;

    if (!pieces)
        error_set(error, refused.code, "%s", refused.message);
    sandlot_error_clear(&refused);
    return pieces ? carry_and_run(session, text, folder, options, result, error) : -1;
}

int session_run_setup(struct sandlot_session *session, const char *text, const struct sandlot_session_options *options,
                      struct sandlot_error *error)
{
    struct sandlot_exit result = {.size = sizeof(result)};
    uint64_t folder;

    if (getrandom(&folder, sizeof(folder), 0) != (ssize_t)sizeof(folder))
        return error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "no random numbers for the setup script's folder");
    int ran = bring_and_run(session, text, folder, options, &result, error);

    if (ran < 0 || result.timed_out)
        remove_folder(session, folder);
    if (ran < 0)
        return -1;
    if (result.timed_out)
        return error_set(
            error, SANDLOT_CODE_SETUP_FAILED,
            "%s: cannot set the sandbox up: the setup script %s did not end within %d minutes; make it shorter or "
            "start long work in the background",
            sandlot_session_provider(session), options->setup_file, (int)(SANDLOT_DEFAULT_TIMEOUT_MS / 60000));
    if (result.exit_code != 0)
        return error_set(error, SANDLOT_CODE_SETUP_FAILED,
                         "%s: cannot set the sandbox up: the setup script %s ended with status %d; its output says why",
                         sandlot_session_provider(session), options->setup_file, result.exit_code);
    return 0;
}
