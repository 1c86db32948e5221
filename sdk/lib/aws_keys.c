/* Credentials themselves: taken over from wherever they were found, and let go. */
#include "aws_profile.h"

#include <sandlot/sdk/json.h>
#include <sandlot/sdk/timestamp.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STALE_MS = 5 * 60 * 1000 };

void aws_credentials_clear(struct aws_credentials *credentials)
{
    free(credentials->key_id);
    free(credentials->secret);
    free(credentials->token);
    free(credentials->source);
    *credentials = (struct aws_credentials){0};
}

bool aws_credentials_are_stale(const struct aws_credentials *credentials)
{
    return credentials->expires_at_ms != 0 && (int64_t)time(NULL) * 1000 + STALE_MS >= credentials->expires_at_ms;
}

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for AWS credentials; free some");
}

/* They become headers. */
static bool is_fit(const char *text)
{
    for (; text && *text; text++)
        if ((unsigned char)*text <= ' ' || (unsigned char)*text >= 0x7f)
            return false;
    return true;
}

enum sandlot_status aws_credentials_take(struct sandlot_call *call, const char *place, const char *key_id,
                                         const char *secret, const char *token, struct aws_credentials *credentials)
{
    bool tokened = token && *token;

    if (!is_fit(key_id) || !is_fit(secret) || !is_fit(token))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "the AWS credentials in %.300s hold a blank, a newline or another character that no key "
                            "has; set them again without",
                            place);
    credentials->key_id = strdup(key_id);
    credentials->secret = strdup(secret);
    credentials->token = tokened ? strdup(token) : NULL;
    credentials->source = strdup(place);
    bool complete = credentials->key_id && credentials->secret && (credentials->token || !tokened);

    return complete && credentials->source ? SANDLOT_OK : no_memory(call);
}

enum sandlot_status aws_credentials_read(struct sandlot_call *call, const char *who, const char *text, size_t length,
                                         const char *token, struct aws_credentials *credentials)
{
    struct json_error error = {""};
    struct json_object *document = json_read_document(text, length, &error);
    const char *key_id = NULL;
    const char *secret = NULL;
    const char *session = NULL;
    const char *expiration = NULL;
    enum sandlot_status status;

    if (document && json_read_string(document, "AccessKeyId", &key_id, &error) &&
        json_read_string(document, "SecretAccessKey", &secret, &error) &&
        json_find_string(document, token, &session, &error) &&
        json_find_string(document, "Expiration", &expiration, &error)) {
        credentials->expires_at_ms = timestamp_read(expiration);
        status = aws_credentials_take(call, who, key_id, secret, session, credentials);
    } else {
        status = sandlot_fail(call, SANDLOT_AUTH, "what %.200s says of AWS credentials %s; look what is wrong with it",
                              who, error.text);
    }
    json_object_put(document);
    return status;
}
