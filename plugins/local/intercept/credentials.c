#include "credentials.h"

#include "../credentials.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- reading ---- */

/* The texts that are left. */
struct texts {
    const char *at;
    const char *end;
};

/* NULL: there is none. */
static const char *next_text(struct texts *texts)
{
    const char *text = texts->at;
    const char *end = text < texts->end ? memchr(text, '\0', (size_t)(texts->end - text)) : NULL;

    if (!end)
        return NULL;
    texts->at = end + 1;
    return text;
}

/* Would it still be one field of a head, and not the beginning of another? */
static bool is_field_value(const char *value)
{
    for (const char *at = value; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
            return false;
    return true;
}

static bool read_one(struct texts *texts, struct credential *credential)
{
    const char *host = next_text(texts);
    const char *header = next_text(texts);
    const char *plain = next_text(texts);
    const char *placeholder = next_text(texts);
    const char *value = next_text(texts);

    if (!value || !*value || !*header || !is_field_value(value) || !is_field_value(header))
        return false;
    *credential = (struct credential){
        .header = header, .placeholder = placeholder, .value = value, .plain = strcmp(plain, CREDENTIALS_PLAIN) == 0};
    return host_parse(host, strlen(host), &credential->host) && !credential->host.is_address;
}

bool credentials_read(const char *bytes, size_t length, struct credentials *credentials)
{
    struct texts texts = {bytes, bytes + length};

    credentials->count = 0;
    for (const char *word; (word = next_text(&texts));) {
        if (strcmp(word, CREDENTIALS_AUTHORITIES) == 0) {
            credentials->authorities = next_text(&texts);
            return credentials->authorities && texts.at == texts.end && credentials->count > 0;
        }
        if (strcmp(word, CREDENTIALS_ONE) != 0 || credentials->count == CREDENTIALS_MOST ||
            !read_one(&texts, &credentials->list[credentials->count]))
            return false;
        credentials->count++;
    }
    return false;
}

/* ---- which ---- */

static bool is_for(const struct credential *credential, const struct host *host, uint16_t port)
{
    enum { HTTP = 80, HTTPS = 443 };

    return (port == HTTPS || (port == HTTP && credential->plain)) && host_equals(&credential->host, host);
}

bool credentials_cover(const struct credentials *credentials, const struct host *host, uint16_t port)
{
    for (size_t i = 0; i < credentials->count; i++)
        if (is_for(&credentials->list[i], host, port))
            return true;
    return false;
}

/* ---- texts ---- */

void written_clear(struct written *written)
{
    for (size_t i = 0; i < written->count; i++) {
        explicit_bzero(written->texts[i], strlen(written->texts[i]));
        free(written->texts[i]);
    }
    written->count = written->length = 0;
}

/* A text of at most LENGTH bytes and a NUL, filled with NUL. NULL: out of memory, or there are too many. */
static char *new_text(struct written *written, size_t length)
{
    if (written->count == HEAD_FIELDS || written->length + length > CREDENTIALS_WRITTEN)
        return NULL;
    char *text = calloc(1, length + 1);

    if (!text)
        return NULL;
    written->texts[written->count++] = text;
    written->length += length;
    return text;
}

static size_t occurrences(struct span text, const char *wanted)
{
    const size_t length = strlen(wanted);
    size_t count = 0;

    for (const char *at; (at = memmem(text.at, text.length, wanted, length)); count++) {
        text.length -= (size_t)(at - text.at) + length;
        text.at = at + length;
    }
    return count;
}

/* TEXT with the value where the placeholder was, COUNT times. Its NUL stands behind *LENGTH bytes; NULL: no memory. */
static char *replaced(struct written *written, struct span text, const struct credential *credential, size_t count)
{
    const size_t old = strlen(credential->placeholder);
    const size_t new = strlen(credential->value);
    char *result = new_text(written, text.length - count * old + count * new);
    char *out = result;

    for (const char *at; result && (at = memmem(text.at, text.length, credential->placeholder, old));) {
        out = mempcpy(out, text.at, (size_t)(at - text.at));
        out = mempcpy(out, credential->value, new);
        text.length -= (size_t)(at - text.at) + old;
        text.at = at + old;
    }
    if (result)
        memcpy(out, text.at, text.length);
    return result;
}

/* ---- Basic ---- */

static const char basic[] = "Basic ";

static bool is_basic(struct span value)
{
    return value.length >= sizeof(basic) && strncasecmp(value.at, basic, sizeof(basic) - 1) == 0;
}

/* User and password of Basic, decoded; its length, 0 if it is none. */
static size_t decode(struct span value, char *decoded)
{
    struct span coded = {value.at + sizeof(basic) - 1, value.length - sizeof(basic) + 1};

    while (coded.length && *coded.at == ' ')
        coded.at++, coded.length--;
    const int length =
        coded.length % 4 || coded.length < 4
            ? 0
            : EVP_DecodeBlock((unsigned char *)decoded, (const unsigned char *)coded.at, (int)coded.length);

    if (length <= 0)
        return 0;
    /* It counts what the padding stands for. */
    return (size_t)length - (coded.at[coded.length - 1] == '=') - (coded.at[coded.length - 2] == '=');
}

static char *encode(struct written *written, const char *pair)
{
    const size_t length = strlen(pair);
    char *text = new_text(written, sizeof(basic) - 1 + (length + 2) / 3 * 4);

    if (text)
        EVP_EncodeBlock((unsigned char *)stpcpy(text, basic), (const unsigned char *)pair, (int)length);
    return text;
}

/* ---- fields ---- */

/* Puts the value in the place of the placeholder in VALUE, within Basic too. False: no memory. */
static bool replace(struct written *written, const struct credential *credential, struct span *value)
{
    size_t count = occurrences(*value, credential->placeholder);
    char *text = NULL;

    if (count > 0) {
        text = replaced(written, *value, credential, count);
    } else if (is_basic(*value)) {
        char *decoded = new_text(written, value->length);
        const size_t length = decoded ? decode(*value, decoded) : 0;
        const struct span pair = {decoded, length};

        /* With a NUL in it, it is none that anybody made of the placeholder. */
        count = length && strlen(decoded) == length ? occurrences(pair, credential->placeholder) : 0;
        if (count == 0)
            return decoded;
        char *with = replaced(written, pair, credential, count);

        text = with ? encode(written, with) : NULL;
    } else {
        return true;
    }
    if (text)
        *value = (struct span){text, strlen(text)};
    return text;
}

static void drop(struct head *head, const char *name)
{
    size_t kept = 0;

    for (size_t i = 0; i < head->count; i++)
        if (!span_is(head->fields[i].name, name))
            head->fields[kept++] = head->fields[i];
    head->count = kept;
}

/* The only field NAME. False: there are too many fields. */
static bool set(struct head *head, const char *name, const char *value)
{
    drop(head, name);
    if (head->count == HEAD_FIELDS)
        return false;
    head->fields[head->count++] = (struct field){{name, strlen(name)}, {value, strlen(value)}, true};
    return true;
}

static bool apply(const struct credential *credential, struct head *head, struct written *written)
{
    if (!*credential->placeholder)
        return set(head, credential->header, credential->value);
    for (size_t i = 0; i < head->count; i++)
        if (span_is(head->fields[i].name, credential->header) && !replace(written, credential, &head->fields[i].value))
            return false;
    return true;
}

bool credentials_apply(const struct credentials *credentials, const struct host *host, uint16_t port, struct head *head,
                       struct written *written)
{
    *written = (struct written){.count = 0};
    for (size_t i = 0; i < credentials->count; i++)
        if (is_for(&credentials->list[i], host, port) && !apply(&credentials->list[i], head, written))
            return false;
    return set(head, "Accept-Encoding", "identity");
}
