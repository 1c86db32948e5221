#include "base/error.h"

#include "base/cleanup.h"
#include "base/redact.h"
#include "base/text.h"

#include <string.h>

/* Indexed by enum sandlot_code. Exit status: registry rules 11.7. */
static const struct {
    const char *name;
    int exit_status;
} codes[] = {
    [SANDLOT_CODE_OK] = {"ok", 0},
    [SANDLOT_CODE_USAGE] = {"usage", 2},
    [SANDLOT_CODE_UNKNOWN_PROVIDER] = {"unknown_provider", 2},
    [SANDLOT_CODE_PROVIDER_UNAVAILABLE] = {"provider_unavailable", 3},
    [SANDLOT_CODE_AUTH] = {"auth", 3},
    [SANDLOT_CODE_SANDBOX_NOT_FOUND] = {"sandbox_not_found", 3},
    [SANDLOT_CODE_NOT_SUPPORTED] = {"not_supported", 1},
    [SANDLOT_CODE_QUOTA] = {"quota", 3},
    [SANDLOT_CODE_TIMEOUT] = {"timeout", 3},
    [SANDLOT_CODE_NETWORK] = {"network", 3},
    [SANDLOT_CODE_SETUP_FAILED] = {"setup_failed", 1},
    [SANDLOT_CODE_CANCELLED] = {"cancelled", 1},
    [SANDLOT_CODE_PROVIDER_CRASHED] = {"provider_crashed", 3},
    [SANDLOT_CODE_PROVIDER_ERROR] = {"provider_error", 3},
    [SANDLOT_CODE_FILE_NOT_FOUND] = {"file_not_found", 1},
    [SANDLOT_CODE_PERMISSION_DENIED] = {"permission_denied", 1},
    [SANDLOT_CODE_IS_DIRECTORY] = {"is_directory", 1},
    [SANDLOT_CODE_INVALID_PATH] = {"invalid_path", 1},
    [SANDLOT_CODE_NO_SPACE] = {"no_space", 1},
    [SANDLOT_CODE_INTERNAL_ERROR] = {"internal_error", 1},
    [SANDLOT_CODE_NOT_A_FILE] = {"not_a_file", 1},
    [SANDLOT_CODE_NOT_A_DIRECTORY] = {"not_a_directory", 1},
    [SANDLOT_CODE_PATH_NOT_FOUND] = {"path_not_found", 1},
    [SANDLOT_CODE_NOT_A_TEXT_FILE] = {"not_a_text_file", 1},
    [SANDLOT_CODE_STRING_NOT_FOUND] = {"string_not_found", 1},
    [SANDLOT_CODE_MULTIPLE_OCCURRENCES] = {"multiple_occurrences", 1},
    [SANDLOT_CODE_EMPTY_OLD_STRING] = {"empty_old_string", 1},
    [SANDLOT_CODE_OFFSET_OUT_OF_RANGE] = {"offset_out_of_range", 1},
    [SANDLOT_CODE_TOO_LARGE] = {"too_large", 1},
    [SANDLOT_CODE_INVALID_PATTERN] = {"invalid_pattern", 1},
    [SANDLOT_CODE_PATTERN_TOO_BROAD] = {"pattern_too_broad", 1},
    [SANDLOT_CODE_MISSING_TOOL] = {"missing_tool", 1},
    [SANDLOT_CODE_TRUNCATED_TRANSPORT] = {"truncated_transport", 3},
    [SANDLOT_CODE_PROCESS_NOT_FOUND] = {"process_not_found", 1},
    [SANDLOT_CODE_PROCESS_ENDED] = {"process_ended", 1},
    [SANDLOT_CODE_INPUT_CLOSED] = {"input_closed", 1},
    [SANDLOT_CODE_PORT_CLOSED] = {"port_closed", 1},
    [SANDLOT_CODE_CONFLICT] = {"conflict", 1},
};

const char *sandlot_code_name(enum sandlot_code code)
{
    if ((size_t)code >= sizeof(codes) / sizeof(codes[0]))
        return "internal_error";
    return codes[code].name;
}

int error_exit_status(enum sandlot_code code)
{
    if ((size_t)code >= sizeof(codes) / sizeof(codes[0]))
        return 1;
    return codes[code].exit_status;
}

enum sandlot_code error_code_of_status(enum sandlot_status status, bool created)
{
    switch (status) {
    case SANDLOT_OK:
        return SANDLOT_CODE_OK;
    case SANDLOT_NOT_FOUND:
        return SANDLOT_CODE_SANDBOX_NOT_FOUND;
    case SANDLOT_AUTH:
        return SANDLOT_CODE_AUTH;
    case SANDLOT_INVALID_ARGUMENT:
        return created ? SANDLOT_CODE_PROVIDER_ERROR : SANDLOT_CODE_USAGE;
    case SANDLOT_UNSUPPORTED:
        return SANDLOT_CODE_NOT_SUPPORTED;
    case SANDLOT_UNAVAILABLE:
        return SANDLOT_CODE_NETWORK;
    case SANDLOT_TIMEOUT:
        return SANDLOT_CODE_TIMEOUT;
    case SANDLOT_CANCELLED:
        return SANDLOT_CODE_CANCELLED;
    case SANDLOT_EXHAUSTED:
        return SANDLOT_CODE_QUOTA;
    case SANDLOT_DEPENDENCY_MISSING:
        return SANDLOT_CODE_PROVIDER_UNAVAILABLE;
    case SANDLOT_INTERNAL:
        break;
    }
    return SANDLOT_CODE_PROVIDER_ERROR;
}

/* A message for when there is no memory for another: it is never freed. */
static char no_memory[] = "out of memory";

static void store(struct sandlot_error *error, enum sandlot_code code, char *message)
{
    error->code = code;
    error->message = message ? message : no_memory;
}

void sandlot_error_clear(struct sandlot_error *error)
{
    if (!error)
        return;
    if (error->message != no_memory)
        free(error->message);
    *error = (struct sandlot_error){0};
}

int error_set_v(struct sandlot_error *error, enum sandlot_code code, const char *format, va_list arguments)
{
    if (!error || error_is_set(error))
        return -1;
    AUTO_FREE char *raw = text_format_v(format, arguments);
    AUTO_FREE char *clean = raw ? redact(raw) : NULL;
    store(error, code, clean ? text_visible(clean) : NULL);
    return -1;
}

int error_set(struct sandlot_error *error, enum sandlot_code code, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    error_set_v(error, code, format, arguments);
    va_end(arguments);
    return -1;
}

int error_no_memory(struct sandlot_error *error)
{
    if (error && !error_is_set(error))
        store(error, SANDLOT_CODE_INTERNAL_ERROR, NULL);
    return -1;
}

/* Says BEFORE and AFTER around the message of ERROR, NULL nothing. */
static int say_around(struct sandlot_error *error, const char *before, const char *after)
{
    struct sandlot_error old = *error;

    *error = (struct sandlot_error){0};
    error_set(error, old.code, "%s%s%s", before ? before : "", old.message, after ? after : "");
    sandlot_error_clear(&old);
    return -1;
}

int error_prefix(struct sandlot_error *error, const char *format, ...)
{
    if (!error_is_set(error))
        return -1;
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *prefix = text_format_v(format, arguments);
    va_end(arguments);
    return say_around(error, prefix, NULL);
}

int error_append(struct sandlot_error *error, const char *format, ...)
{
    if (!error_is_set(error))
        return -1;
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *suffix = text_format_v(format, arguments);
    va_end(arguments);
    return say_around(error, NULL, suffix);
}
