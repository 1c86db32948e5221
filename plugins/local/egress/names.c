#include "names.h"

#include <string.h>

enum { HEADER = 12, LABEL_MOST = 63, TYPE_ADDRESS = 1, CLASS_INTERNET = 1, LIFE_S = 5 };

/* Of the second pair of bytes. */
enum { IS_ANSWER = 0x80, OPERATION = 0x78, RECURSION_WANTED = 0x01, RECURSION_THERE = 0x80 };

enum { FORMAT_ERROR = 1, NO_SUCH_NAME = 3, NOT_IMPLEMENTED = 4 };

static unsigned number_at(const unsigned char *bytes)
{
    return (unsigned)bytes[0] << 8 | bytes[1];
}

/* Reads a name of labels, none of which may lead elsewhere, into TEXT with dots. How many bytes it takes, 0: malformed.
 */
static size_t read_name(const unsigned char *bytes, size_t length, char text[HOST_SIZE], size_t *text_length)
{
    size_t at = 0;

    *text_length = 0;
    while (at < length && bytes[at] != 0) {
        const size_t label = bytes[at++];

        if (label > LABEL_MOST || label > length - at || *text_length + label + 1 >= HOST_SIZE)
            return 0;
        if (*text_length > 0)
            text[(*text_length)++] = '.';
        memcpy(text + *text_length, bytes + at, label);
        *text_length += label;
        at += label;
    }
    return at < length ? at + 1 : 0;
}

/* What is no host stays without a name: nothing is told of it. A dot within a label would make it another's. */
static void take_host(const unsigned char *bytes, const char *text, size_t length, struct host *host)
{
    for (size_t at = 0; bytes[at] != 0; at += bytes[at] + 1U)
        if (memchr(bytes + at + 1, '.', bytes[at]))
            return;
    if (!host_parse(text, length, host) || host->is_address)
        *host = (struct host){.is_address = false};
}

bool names_read(const unsigned char *bytes, size_t length, struct names_question *question)
{
    char text[HOST_SIZE];
    size_t text_length;

    *question = (struct names_question){.length = 0};
    if (length < HEADER || bytes[2] & IS_ANSWER)
        return false;
    if (bytes[2] & OPERATION) {
        question->refusal = NOT_IMPLEMENTED;
        return true;
    }
    const size_t name = read_name(bytes + HEADER, length - HEADER, text, &text_length);

    if (number_at(bytes + 4) != 1 || name == 0 || length - HEADER - name < 4) {
        question->refusal = FORMAT_ERROR;
        return true;
    }
    const unsigned char *kind = bytes + HEADER + name;

    question->length = HEADER + name + 4;
    question->for_address = number_at(kind) == TYPE_ADDRESS && number_at(kind + 2) == CLASS_INTERNET;
    take_host(bytes + HEADER, text, text_length, &question->host);
    return true;
}

/* The name of the question, an address of version 4, for so many seconds. */
static size_t write_address(const address *value, unsigned char *at)
{
    static const unsigned char head[] = {0xc0, HEADER, 0, TYPE_ADDRESS, 0, CLASS_INTERNET, 0, 0, 0, LIFE_S, 0, 4};

    memcpy(at, head, sizeof(head));
    memcpy(at + sizeof(head), value->s6_addr + 12, 4);
    return sizeof(head) + 4;
}

size_t names_write(const unsigned char *bytes, const struct names_question *question, enum names_answer answer,
                   const address *value, unsigned char result[NAMES_MOST])
{
    const unsigned code = question->refusal ? question->refusal : answer == NAMES_UNKNOWN ? NO_SUCH_NAME : 0;
    const bool asked = question->length > 0;
    const bool told = code == 0 && answer == NAMES_ADDRESS;

    memset(result, 0, HEADER);
    memcpy(result, bytes, 2);
    result[2] = (unsigned char)(IS_ANSWER | (bytes[2] & (OPERATION | RECURSION_WANTED)));
    result[3] = (unsigned char)(RECURSION_THERE | code);
    result[5] = asked;
    result[7] = told;
    if (asked)
        memcpy(result + HEADER, bytes + HEADER, question->length - HEADER);
    const size_t length = asked ? question->length : HEADER;

    return told ? length + write_address(value, result + length) : length;
}
