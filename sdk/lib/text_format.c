#include <sandlot/sdk/text_format.h>

#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

char *text_format(const char *format, ...)
{
    va_list arguments;
    char *text;

    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);

    va_end(arguments);
    return length < 0 ? NULL : text;
}

bool text_is_word(const char *text)
{
    const char *at = text;

    while (*at > ' ' && *at < 0x7f)
        at++;
    return at != text && *at == '\0';
}

bool text_is_utf8(const char *text)
{
    return sdk_utf8_valid(text, strlen(text));
}
