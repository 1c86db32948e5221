#include "cli/usage.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "cli/command.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { USAGE_STATUS = 2 };

int usage_error(const struct command *command, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *raw = text_format_v(format, arguments);
    va_end(arguments);
    AUTO_FREE char *line = raw ? text_visible(raw) : NULL;

    fprintf(stderr, "sandlot: %s\n", line ? line : "out of memory");
    /* An agent's host shows one line of a server that does not start. */
    if (command && strcmp(command->name, "mcp") == 0)
        return USAGE_STATUS;
    fprintf(stderr, "Try 'sandlot %s%s--help' for more.\n", command ? command->name : "", command ? " " : "");
    return USAGE_STATUS;
}

int usage_without_command(void)
{
    fputs("Usage: sandlot [OPTIONS] COMMAND [OPTIONS] [--] [ARGUMENTS]\n"
          "sandlot: no command was given; 'sandlot help' lists those there are\n",
          stderr);
    return USAGE_STATUS;
}
