/*
 * What a box sends to a host with credentials, and what the host answers: either may be anything. The first byte says
 * which. A changed request holds a secret only in the field that it is for, and an answer is masked as a whole however
 * its bytes come.
 */
#include "intercept/credentials.h"
#include "intercept/mask.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "a-secret-of-24-bytes-and"
static const char secrets[] = "credential\0a.b\0Authorization\0\0placeholder-of-16\0" SECRET "\0"
                              "credential\0a.b\0X-Key\0\0\0" SECRET "\0authorities\0";

static void must(bool true_that)
{
    if (!true_that)
        abort();
}

static bool has_secret(struct span span)
{
    return memmem(span.at, span.length, SECRET, strlen(SECRET));
}

static void try_request(const char *text, size_t length)
{
    static char result[4 * HEAD_MOST + CREDENTIALS_WRITTEN];
    static struct head head;
    struct credentials credentials;
    struct target target = {.port = 443, .path = {"/", 1}};
    struct written written;
    size_t seen = 0;
    const long end = head_find_end(text, length, &seen);

    must(credentials_read(secrets, sizeof(secrets), &credentials) && host_parse("a.b", 3, &target.host));
    if (end <= 0 || !head_parse(text, (size_t)end, HEAD_REQUEST, &head) || memmem(text, length, SECRET, strlen(SECRET)))
        return;
    if (credentials_apply(&credentials, &target.host, target.port, &head, &written)) {
        must(head_size(&head) <= sizeof(result));
        must(head_write_request(&head, &target, false, result, head_size(&head)) > 0);
        for (size_t i = 0; i < head.count; i++)
            must(!has_secret(head.fields[i].value) || span_is(head.fields[i].name, "authorization") ||
                 span_is(head.fields[i].name, "x-key"));
    }
    written_clear(&written);
}

/* The bytes come in pieces whose lengths are the first bytes, with as many others between them as are held in pieces.
 */
static void try_answer(const uint8_t *data, size_t size)
{
    const size_t pieces = size < 32 ? size : 32;
    const size_t length = size - pieces;
    struct mask mask = {0};
    char *whole = malloc(length + 1);
    char *parts = malloc(length + 1);

    must(whole && parts && mask_add(&mask, "abababac", 8) && mask_add(&mask, "ababab-longer", 13));
    memcpy(whole, data + pieces, length);
    memcpy(parts, data + pieces, length);
    mask_feed(&mask, whole, 0, length);
    mask_release(&mask, whole, false);
    for (size_t at = 0, i = 0; at < length; i++) {
        size_t part = 1 + data[i % pieces] % 16;

        part = part > length - at ? length - at : part;
        mask_feed(&mask, parts, at, part);
        at += part;
        must(mask_held(&mask, at) <= at);
    }
    mask_release(&mask, parts, false);
    must(memcmp(whole, parts, length) == 0 && !memmem(parts, length, "abababac", 8));
    mask_clear(&mask);
    free(whole);
    free(parts);
}

static void try_secrets(const char *text, size_t length)
{
    struct credentials credentials;

    if (!credentials_read(text, length, &credentials))
        return;
    for (size_t i = 0; i < credentials.count; i++)
        must(*credentials.list[i].value && !strpbrk(credentials.list[i].value, "\r\n"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    switch (data[0] % 3) {
    case 0:
        try_request((const char *)data + 1, size - 1);
        break;
    case 1:
        try_answer(data + 1, size - 1);
        break;
    default:
        try_secrets((const char *)data + 1, size - 1);
    }
    return 0;
}
