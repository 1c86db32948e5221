#include "grpc_answer.h"

#include "text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { HIGHEST_CODE = GRPC_UNAUTHENTICATED };

static const char *const names[] = {
    "OK",        "CANCELLED",       "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS",  "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",    "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED",
};

const char *grpc_code_name(int code)
{
    return code >= 0 && code <= HIGHEST_CODE ? names[code] : "an unknown code";
}

int grpc_code_of_http(int status)
{
    switch (status) {
    case 400:
        return GRPC_INTERNAL;
    case 401:
        return GRPC_UNAUTHENTICATED;
    case 403:
        return GRPC_PERMISSION_DENIED;
    case 404:
        return GRPC_UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
        return GRPC_UNAVAILABLE;
    default:
        return GRPC_UNKNOWN;
    }
}

enum sandlot_status grpc_status_of(int code)
{
    switch (code) {
    case GRPC_OK:
        return SANDLOT_OK;
    case GRPC_UNAUTHENTICATED:
    case GRPC_PERMISSION_DENIED:
        return SANDLOT_AUTH;
    case GRPC_NOT_FOUND:
        return SANDLOT_NOT_FOUND;
    case GRPC_INVALID_ARGUMENT:
    case GRPC_OUT_OF_RANGE:
    case GRPC_ALREADY_EXISTS:
    case GRPC_FAILED_PRECONDITION:
    case GRPC_ABORTED:
        return SANDLOT_INVALID_ARGUMENT;
    case GRPC_RESOURCE_EXHAUSTED:
        return SANDLOT_EXHAUSTED;
    case GRPC_UNIMPLEMENTED:
        return SANDLOT_UNSUPPORTED;
    case GRPC_DEADLINE_EXCEEDED:
        return SANDLOT_TIMEOUT;
    default:
        return SANDLOT_UNAVAILABLE;
    }
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static int hex_digit(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Percent-encoded UTF-8. What is badly escaped stays as it is. */
static void read_text(struct grpc_verdict *verdict, const char *value, size_t length)
{
    char decoded[GRPC_LONGEST_TEXT];
    size_t used = 0;

    for (size_t at = 0; at < length && used < sizeof(decoded); at++) {
        int high = value[at] == '%' && length - at > 2 ? hex_digit(value[at + 1]) : -1;
        int low = high >= 0 ? hex_digit(value[at + 2]) : -1;

        decoded[used++] = low >= 0 ? (char)(high << 4 | low) : value[at];
        at += low >= 0 ? 2 : 0;
    }
    sdk_one_line(verdict->text, sizeof(verdict->text), decoded, used);
}

/* Decimal, and nothing besides. A number that is no code is a failure all the same. */
static int read_code(const char *value, size_t length)
{
    int code = 0;

    if (length == 0 || length > 9)
        return GRPC_UNKNOWN;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)value[i]))
            return GRPC_UNKNOWN;
        code = code * 10 + (value[i] - '0');
    }
    return code;
}

static int base64_digit(char digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return digit - 'A';
    if (digit >= 'a' && digit <= 'z')
        return digit - 'a' + 26;
    if (digit >= '0' && digit <= '9')
        return digit - '0' + 52;
    return digit == '+' || digit == '-' ? 62 : digit == '/' || digit == '_' ? 63 : -1;
}

/* Base64, which may come without its padding. */
static void read_details(struct grpc_verdict *verdict, const char *value, size_t length)
{
    free(verdict->details);
    verdict->details = NULL;
    verdict->details_length = 0;
    while (length > 0 && value[length - 1] == '=')
        length--;
    unsigned char *bytes = length > 0 && length <= GRPC_LONGEST_DETAILS ? malloc(length) : NULL;
    unsigned int group = 0;
    size_t used = 0;

    for (size_t i = 0; bytes && i < length; i++) {
        int digit = base64_digit(value[i]);

        if (digit < 0) {
            free(bytes);
            return;
        }
        group = group << 6 | (unsigned int)digit;
        if (i % 4 != 0)
            bytes[used++] = (unsigned char)(group >> (6 - 2 * (i % 4)));
    }
    verdict->details = bytes;
    verdict->details_length = used;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* The value of a line "NAME: value" if it has that name, without blanks around; NULL otherwise. */
static const char *value_of(const char *line, size_t length, const char *name, size_t *value_length)
{
    size_t at = strlen(name);

    if (length <= at || strncasecmp(line, name, at) != 0 || line[at] != ':')
        return NULL;
    for (at++; at < length && (line[at] == ' ' || line[at] == '\t');)
        at++;
    while (length > at && isspace((unsigned char)line[length - 1]))
        length--;
    *value_length = length - at;
    return line + at;
}

static bool is_grpc_type(const char *value, size_t length)
{
    static const char type[] = "application/grpc";
    size_t own = sizeof(type) - 1;

    return length >= own && strncasecmp(value, type, own) == 0 &&
           (length == own || value[own] == '+' || value[own] == ';');
}

static void read_line(struct grpc_verdict *verdict, const char *line, size_t length)
{
    size_t size = 0;
    const char *value = value_of(line, length, "grpc-status", &size);

    verdict->first_over = verdict->first_over || length == 0 || (length == 1 && *line == '\r');
    if (value) {
        verdict->code = read_code(value, size);
        verdict->trailing = verdict->first_over;
    } else if ((value = value_of(line, length, "grpc-message", &size))) {
        read_text(verdict, value, size);
    } else if ((value = value_of(line, length, "content-type", &size))) {
        verdict->is_grpc = is_grpc_type(value, size);
    } else if ((value = value_of(line, length, "grpc-status-details-bin", &size))) {
        read_details(verdict, value, size);
    }
}

void grpc_verdict_read(struct grpc_verdict *verdict, const char *headers, size_t length)
{
    *verdict = (struct grpc_verdict){.code = GRPC_NO_CODE};
    for (size_t at = 0; at < length;) {
        const char *end = memchr(headers + at, '\n', length - at);
        size_t size = end ? (size_t)(end - headers) - at : length - at;

        read_line(verdict, headers + at, size);
        at += size + 1;
    }
}

void grpc_verdict_clear(struct grpc_verdict *verdict)
{
    free(verdict->details);
    *verdict = (struct grpc_verdict){.code = GRPC_NO_CODE};
}

const char *grpc_hint_after(enum sandlot_status status)
{
    switch (status) {
    case SANDLOT_AUTH:
        return "check that the key is right, has not expired, and may do this";
    case SANDLOT_NOT_FOUND:
        return "check the name or id, or whether it has been deleted";
    case SANDLOT_EXHAUSTED:
        return "wait before trying again, or ask for a higher limit";
    case SANDLOT_UNSUPPORTED:
        return "do without it, or look for a newer version of the provider";
    case SANDLOT_INVALID_ARGUMENT:
        return "check the parameters of the request";
    case SANDLOT_TIMEOUT:
        return "try again, or allow more time";
    default:
        return "try again later";
    }
}
