/*
 * A box's question for a name, which may be any bytes. What is answered must be the question over again, a code, and an
 * address only where one was asked for; and the address that is told must lead back to the name.
 */
#include "egress/aliases.h"
#include "egress/names.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_that)
{
    if (!true_that)
        abort();
}

static void try_answer(const uint8_t *data, const struct names_question *question, enum names_answer answer,
                       const address *value)
{
    unsigned char result[NAMES_MOST];
    const size_t length = names_write(data, question, answer, value, result);

    must(length >= 12 && length <= sizeof(result) && memcmp(result, data, 2) == 0 && result[2] & 0x80);
    must(question->length == 0 || memcmp(result + 12, data + 12, question->length - 12) == 0);
    must(question->refusal ? (result[3] & 15U) == question->refusal && result[7] == 0 : result[5] == 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct aliases aliases = {NULL, 0};
    struct names_question question;
    address value = {0};
    struct host again;

    if (!names_read(data, size, &question))
        return 0;
    must(question.length <= size && (question.length == 0 || !question.refusal));
    if (*question.host.name) {
        must(!question.refusal && !question.host.is_address);
        must(host_parse(question.host.name, strlen(question.host.name), &again) && host_equals(&again, &question.host));
        must(aliases_give(&aliases, &question.host, &value));
        must(host_equals(aliases_find(&aliases, &value), &question.host));
    }
    for (enum names_answer answer = NAMES_UNKNOWN; answer <= NAMES_ADDRESS; answer++)
        try_answer(data, &question, answer, &value);
    free(aliases.names);
    return 0;
}
