#include "operations/derived/script.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "operations/derived/script_box.h"
#include "operations/file_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

static bool make_room(struct script *script, size_t more)
{
    size_t wanted = script->length + more + 1;

    if (!script->text)
        return false;
    if (wanted <= script->capacity)
        return true;
    size_t capacity = wanted + wanted / 2;
    char *grown = realloc(script->text, capacity);

    if (!grown) {
        free(script->text);
        script->text = NULL;
        return false;
    }
    script->text = grown;
    script->capacity = capacity;
    return true;
}

static void add_bytes(struct script *script, const char *bytes, size_t length)
{
    if (!make_room(script, length))
        return;
    memcpy(script->text + script->length, bytes, length);
    script->length += length;
    script->text[script->length] = '\0';
}

void script_add(struct script *script, const char *text)
{
    add_bytes(script, text, strlen(text));
}

void script_format(struct script *script, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (text) {
        script_add(script, text);
        return;
    }
    free(script->text);
    script->text = NULL;
}

static void make_mark(char mark[SCRIPT_MARK + 1])
{
    unsigned char random[SCRIPT_MARK / 2] = {0};
    size_t got = 0;

    while (got < sizeof(random)) {
        ssize_t more = getrandom(random + got, sizeof(random) - got, 0);

        if (more > 0)
            got += (size_t)more;
    }
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(mark + 2 * i, 3, "%02x", random[i]);
}

void script_init(struct script *script)
{
    *script = (struct script){.capacity = strlen(script_box_prologue) + strlen(script_box_rare) + 4096};
    script->text = malloc(script->capacity);
    make_mark(script->mark);
    script_add(script, script_box_prologue);
    script_add(script, script_box_rare);
    script_format(script, "s_near=%d\ns_a=%.*s\ns_b='%s>'\necho \"<$s_a$s_b\"\n", FILE_NEIGHBOURS, SCRIPT_MARK / 2,
                  script->mark, script->mark + SCRIPT_MARK / 2);
}

void script_clear(struct script *script)
{
    free(script->text);
    script->text = NULL;
}

void script_set(struct script *script, const char *name, const char *value)
{
    if (!text_utf8_valid(value, strlen(value)) || strpbrk(value, "\r\b\033")) {
        /* Commands are UTF-8, and may pass a terminal. The "." keeps newlines at the end. */
        script_format(script, "%s=$(", name);
        script_print(script, value, strlen(value));
        script_format(script, "; echo .)\n%s=${%s%%.}\n", name, name);
        return;
    }
    AUTO_FREE char *word = text_shell_quote(value);

    if (word) {
        script_format(script, "%s=%s\n", name, word);
        return;
    }
    free(script->text);
    script->text = NULL;
}

/* How BYTE is written in the format of printf(1), which is itself in single quotes. */
static size_t print_byte(unsigned char byte, char out[8])
{
    static const char plain[] = " !\"#$&()*+,-./:;<=>?@[]^_`{|}~";

    if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
        (byte && strchr(plain, byte))) {
        out[0] = (char)byte;
        return 1;
    }
    if (byte == '%' || byte == '\\' || byte == '\n') {
        out[0] = byte == '%' ? '%' : '\\';
        out[1] = byte == '\n' ? 'n' : (char)byte;
        return 2;
    }
    return (size_t)snprintf(out, 8, "\\%03o", byte);
}

size_t script_print_cost(const void *bytes, size_t length)
{
    size_t cost = 0;
    char out[8];

    for (size_t i = 0; i < length; i++)
        cost += print_byte(((const unsigned char *)bytes)[i], out);
    return cost;
}

void script_quote_format(struct script *script, const void *bytes, size_t length)
{
    if (!make_room(script, script_print_cost(bytes, length) + 2))
        return;
    char *at = script->text + script->length;

    *at++ = '\'';
    for (size_t i = 0; i < length; i++) {
        char out[8];
        size_t size = print_byte(((const unsigned char *)bytes)[i], out);

        memcpy(at, out, size);
        at += size;
    }
    *at++ = '\'';
    *at = '\0';
    script->length = (size_t)(at - script->text);
}

void script_print(struct script *script, const void *bytes, size_t length)
{
    script_add(script, "printf -- ");
    script_quote_format(script, bytes, length);
}

bool script_fits(const struct script *script)
{
    return script->text && script->length <= SCRIPT_BUDGET;
}
