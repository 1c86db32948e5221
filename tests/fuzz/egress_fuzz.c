/*
 * What a box sends to its way out, which may be anything. The first byte says which reader gets the rest. A request
 * that is let through must, read again as the server will read it, be one request, to the very host that was decided
 * on.
 */
#include "egress/body.h"
#include "egress/head.h"
#include "egress/hello.h"
#include "egress/policy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool true_that)
{
    if (!true_that)
        abort();
}

/* Reads BYTES of the server's side. */
static void read_as_server(const char *bytes, size_t length, const struct target *wanted)
{
    struct target within = *wanted;
    struct target found;
    struct head head;
    size_t seen = 0;

    must(head_find_end(bytes, length, &seen) == (long)length);
    must(head_parse(bytes, length, HEAD_REQUEST, &head));
    must(head_target(&head, &within, &found));
    must(host_equals(&found.host, &wanted->host) && found.port == wanted->port);
}

static void try_request(const char *text, size_t length, const struct target *within)
{
    static char written[HEAD_MOST + 512];
    struct head head;
    struct target target;
    enum framing framing;
    uint64_t body;
    size_t seen = 0;
    const long end = head_find_end(text, length, &seen);

    if (end <= 0 || !head_parse(text, (size_t)end, HEAD_REQUEST, &head) || !head_target(&head, within, &target))
        return;
    must(target.port > 0 && *target.host.name);
    if (target.tunnel || !head_framing(&head, HEAD_REQUEST, &framing, &body))
        return;
    const size_t used = head_write_request(&head, &target, true, written, sizeof(written));

    must(used <= sizeof(written));
    /* With its host longer, and a line more, it may have become too long for the reader. */
    if (used && used <= HEAD_MOST && head.count + 2 <= HEAD_FIELDS)
        read_as_server(written, used, &target);
}

static void try_answer(const char *text, size_t length)
{
    static char written[HEAD_MOST + 512];
    struct head head;
    enum framing framing;
    uint64_t body;
    size_t seen = 0;
    const long end = head_find_end(text, length, &seen);

    if (end <= 0 || !head_parse(text, (size_t)end, HEAD_ANSWER, &head))
        return;
    head_framing(&head, HEAD_ANSWER, &framing, &body);
    must(head_write_answer(&head, true, written, sizeof(written)) <= sizeof(written));
}

/* A body must end at the same place however its bytes come. */
static void try_body(const char *text, size_t length)
{
    struct body whole;
    struct body parts;
    long sum = 0;

    body_begin(&whole, FRAMING_CHUNKED, 0);
    body_begin(&parts, FRAMING_CHUNKED, 0);
    const long taken = body_take(&whole, text, length);

    for (size_t at = 0; at < length && sum >= 0 && !parts.ended; at++) {
        const long one = body_take(&parts, text + at, 1);

        sum = one < 0 ? -1 : sum + one;
    }
    must(taken == sum && taken <= (long)length);
}

static void try_hello(const uint8_t *data, size_t size)
{
    char name[HELLO_NAME_SIZE];

    if (hello_parse(data, size, name) == HELLO_FINE)
        must(strlen(name) < HELLO_NAME_SIZE);
}

static void try_host(const char *text, size_t length)
{
    struct host host;
    struct host again;
    char brackets[HOST_SIZE + 2];

    if (!host_parse(text, length, &host))
        return;
    snprintf(brackets, sizeof(brackets), strchr(host.name, ':') ? "[%s]" : "%s", host.name);
    must(host_parse(brackets, strlen(brackets), &again) && host_equals(&host, &again));
}

static void try_list(const char *text)
{
    struct policy policy;
    char rule[RULE_SIZE];

    if (!policy_read(text, &policy))
        return;
    for (size_t i = 0; i < policy.count; i++)
        policy_rule(&policy.entries[i], rule);
    policy_clear(&policy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct target within = {.tunnel = true, .port = 80};

    if (size == 0)
        return 0;
    char *text = malloc(size);

    must(text && host_parse("a.b", 3, &within.host));
    memcpy(text, data + 1, size - 1);
    text[size - 1] = '\0';
    switch (data[0] % 7) {
    case 0:
        try_request(text, size - 1, NULL);
        break;
    case 1:
        try_request(text, size - 1, &within);
        break;
    case 2:
        try_answer(text, size - 1);
        break;
    case 3:
        try_body(text, size - 1);
        break;
    case 4:
        try_hello(data + 1, size - 1);
        break;
    case 5:
        try_host(text, size - 1);
        break;
    default:
        try_list(text);
    }
    free(text);
    return 0;
}
