#include "cli/file_command.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/sandbox.h"
#include "cli/terminal_filter.h"

#include <errno.h>
#include <string.h>

enum { FIRST_CAPACITY = 64 * 1024 };

/* TEXT on standard output, made harmless where that is a terminal. */
static void print_text(const struct answer *answer)
{
    struct terminal_filter filter = {0};
    AUTO_FREE char *clean = NULL;

    if (isatty(STDOUT_FILENO) != 1) {
        output_write(answer->text, answer->length);
        return;
    }
    clean = malloc(answer->length + 2 * (size_t)TERMINAL_FILTER_SLACK);
    if (!clean)
        return;
    size_t length = terminal_filter(&filter, answer->text, answer->length, clean);

    output_write(clean, length + terminal_filter_end(&filter, clean + length));
}

/* The exit status. ERROR: what went wrong first, if anything did. */
static int print_answer(const struct options *options, struct answer *answer, const struct sandlot_error *error)
{
    if (!options->json && answer->text)
        print_text(answer);
    if (error_is_set(error) && !options->json && answer->told)
        return error_exit_status(error->code);
    if (error_is_set(error) && (!options->json || !answer->object))
        return report_error(options, error);
    if (!options->json || !answer->object) /* all of it was printed as it came */
        return 0;
    if (error_is_set(error))
        report_error_in(answer->object, error);
    output_json(json_object_get(answer->object));
    return error_is_set(error) ? error_exit_status(error->code) : 0;
}

/* What a command does, and with what. */
struct task {
    file_work work;
    const void *input;
};

/* Who names no sandbox gets a new one: what was done to its files is seldom meant to go with it. */
static void warn_of_loss(const struct options *options)
{
    if (!options->sandbox_id && !options->scope)
        progress_message(NULL, SANDLOT_MESSAGE_WARNING,
                         "this was done in a new sandbox, which is deleted again; to keep what was done, name one with "
                         "--sandbox-id ID ('sandlot create' makes it) or --scope KEY");
}

static int work_and_close(const struct context *context, struct sandlot_session *session, const void *input)
{
    const struct task *task = input;
    struct answer answer = {0};
    struct sandlot_error error = {0};
    struct sandlot_error closing = {0};

    task->work(context, session, task->input, &answer, &error);
    sandbox_close(context, session, &closing);
    if (answer.changed)
        warn_of_loss(context->options);
    answer.told = answer.told || !error_is_set(&error); /* of what is wrong with the closing */
    int status = print_answer(context->options, &answer, error_is_set(&error) ? &error : &closing);

    json_object_put(answer.object);
    free(answer.text);
    sandlot_error_clear(&error);
    sandlot_error_clear(&closing);
    return context_status(status);
}

int file_command(const struct options *options, file_work work, const void *input)
{
    const struct task task = {work, input};

    return sandbox_command(options, NULL, work_and_close, &task);
}

int answer_with_bytes(struct answer *answer, char *text, size_t length, struct sandlot_error *error)
{
    char *line = text ? realloc(text, length + 2) : NULL;

    if (!line) {
        free(text);
        return error_no_memory(error);
    }
    memcpy(line + length, "\n", 2);
    answer->text = line;
    answer->length = length + 1;
    return 0;
}

int answer_with_text(struct answer *answer, char *text, struct sandlot_error *error)
{
    return answer_with_bytes(answer, text, text ? strlen(text) : 0, error);
}

int answer_with_object(struct answer *answer, struct json_object *object, struct sandlot_error *error)
{
    answer->object = object;
    return object ? 0 : error_no_memory(error);
}

void json_add_path(struct json_object *object, const char *path)
{
    size_t length = strlen(path);

    json_object_object_add(object, "path", json_text(path));
    if (text_utf8_valid(path, length))
        return;
    AUTO_FREE char *encoded = base64_encode(path, length);

    json_object_object_add(object, "path_base64", encoded ? json_object_new_string(encoded) : NULL);
}

/* Makes room for more. */
static bool grow(char **bytes, size_t *capacity)
{
    size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    char *grown = realloc(*bytes, wanted);

    if (!grown)
        return false;
    *bytes = grown;
    *capacity = wanted;
    return true;
}

static int read_all(size_t maximum, char **bytes, size_t *length, struct sandlot_error *error)
{
    size_t capacity = 0;

    for (*length = 0; *length <= maximum;) {
        if (capacity - *length < 2 && !grow(bytes, &capacity))
            return error_no_memory(error);
        ssize_t got = read(STDIN_FILENO, *bytes + *length, capacity - *length - 1);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return error_set(error, SANDLOT_CODE_USAGE, "standard input cannot be read: %s", strerror(errno));
        if (got == 0)
            break;
        *length += (size_t)got;
    }
    if (*length > maximum)
        return error_set(error, SANDLOT_CODE_TOO_LARGE,
                         "standard input holds more than %zu bytes; use 'sandlot upload' for large files", maximum);
    (*bytes)[*length] = '\0';
    return 0;
}

char *read_standard_input(const struct options *options, size_t maximum, size_t *length, int *status)
{
    struct sandlot_error error = {0};
    AUTO_FREE char *bytes = NULL;

    if (read_all(maximum, &bytes, length, &error) == 0)
        return TAKE(bytes);
    *status = report_error(options, &error);
    sandlot_error_clear(&error);
    return NULL;
}
