#include "session/setup_script.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SCRIPT_MAXIMUM = 1024 * 1024 };

/* Variables that mean something of their own inside the sandbox: the script's ${HOME} is the sandbox's. */
static bool belongs_to_sandbox(const char *name)
{
    static const char *const names[] = {"HOME",     "PATH",   "PWD",  "OLDPWD", "USER",  "LOGNAME", "SHELL",
                                        "HOSTNAME", "TMPDIR", "LANG", "TERM",   "SHLVL", "_"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "LC_", 3) == 0;
}

static size_t name_length(const char *text)
{
    size_t length = 0;

    if (!isascii((unsigned char)*text) || (!isalpha((unsigned char)*text) && *text != '_'))
        return 0;
    while (isascii((unsigned char)text[length]) && (isalnum((unsigned char)text[length]) || text[length] == '_'))
        length++;
    return length;
}

/* The variable of a "${NAME}" at TEXT that is to be expanded, to be freed; NULL: leave the text as it is. */
static char *variable_at(const char *text, const struct environment *environment, const char **value)
{
    if (text[0] != '$' || text[1] != '{')
        return NULL;
    size_t length = name_length(text + 2);

    if (length == 0 || text[2 + length] != '}')
        return NULL;
    AUTO_FREE char *name = strndup(text + 2, length);

    if (!name || belongs_to_sandbox(name))
        return NULL;
    *value = environment_get(environment, name);
    return *value ? TAKE(name) : NULL;
}

char *setup_script_expand(const char *text, const struct environment *environment, char **expanded)
{
    char *result = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&result, &length);

    *expanded = NULL;
    if (!out)
        return NULL;
    while (*text) {
        const char *value = NULL;
        AUTO_FREE char *name = variable_at(text, environment, &value);

        if (!name) {
            fputc(*text++, out);
            continue;
        }
        fputs(value, out);
        text += strlen(name) + 3;
        if (!text_has_word(*expanded, name))
            text_append(expanded, *expanded ? " %s" : "%s", name); /* only for the log */
    }
    if (fclose(out) != 0) {
        free(result);
        return NULL;
    }
    return result;
}

char *setup_script_read(const char *path, const struct environment *environment, struct sandlot_error *error)
{
    AUTO_FREE char *absolute = path_absolute(path, NULL);
    size_t length = 0;
    AUTO_FREE char *text = absolute ? path_read_file(absolute, SCRIPT_MAXIMUM, &length) : NULL;
    AUTO_FREE char *names = NULL;

    if (!text)
        error_set(error, SANDLOT_CODE_USAGE,
                  "cannot read the setup script %s: %s; correct the path given to --sandbox-setup",
                  absolute ? absolute : path, errno == EFBIG ? "it is larger than 1 MiB" : path_read_problem(errno));
    else if (memchr(text, '\0', length))
        error_set(error, SANDLOT_CODE_USAGE, "the setup script %s holds a NUL byte; it must be a text file", absolute);
    else if (!text_utf8_valid(text, length))
        error_set(error, SANDLOT_CODE_USAGE, "the setup script %s is not UTF-8; convert it with iconv", absolute);
    else {
        char *result = setup_script_expand(text, environment, &names);

        if (!result)
            error_no_memory(error);
        else if (names)
            log_info("setup script: expanded %s", names);
        return result;
    }
    return NULL;
}
