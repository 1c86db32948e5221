#include "http_client.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/json.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_PLAIN = 500, LONGEST_SAID = 512, SENTENCE = 1024 };

enum sandlot_status http_status_of(int status)
{
    switch (status) {
    case 401:
    case 403:
        return SANDLOT_AUTH;
    case 404:
    case 410:
        return SANDLOT_NOT_FOUND;
    case 402:
    case 429:
        return SANDLOT_EXHAUSTED;
    case 405:
    case 501:
        return SANDLOT_UNSUPPORTED;
    case 408:
    case 409:
    case 423:
    case 425:
        return SANDLOT_UNAVAILABLE;
    default:
        break;
    }
    if (status >= 500 && status < 600)
        return SANDLOT_UNAVAILABLE;
    return status >= 400 && status < 500 ? SANDLOT_INVALID_ARGUMENT : SANDLOT_INTERNAL;
}

bool http_is_accepted(const struct http_request *request, int status)
{
    if (status >= 200 && status < 300)
        return true;
    for (const int *accepted = request->accepted; accepted && *accepted; accepted++)
        if (*accepted == status)
            return true;
    return false;
}

/* ---- what a service says ----------------------------------------------------------------------------------------- */

/* The text of ERROR at the places where services put it, NULL if there is none. */
static const char *find_text(struct json_object *error, int depth)
{
    static const char *const keys[] = {"message", "msg",        "error_description", "detail",  "details",
                                       "error",   "errors",     "errorMessage",      "Message", "title",
                                       "reason",  "description"};

    if (depth > 4)
        return NULL;
    if (json_object_is_type(error, json_type_string))
        return json_object_get_string_len(error) > 0 ? json_object_get_string(error) : NULL;
    if (json_object_is_type(error, json_type_array))
        return json_object_array_length(error) > 0 ? find_text(json_object_array_get_idx(error, 0), depth + 1) : NULL;
    if (!json_object_is_type(error, json_type_object))
        return NULL;
    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        const char *text = find_text(json_object_object_get(error, keys[i]), depth + 1);

        if (text)
            return text;
    }
    return NULL;
}

/* The text in BODY, uncut and raw, to be freed; NULL if there is none. */
static char *error_text(const char *body, size_t length)
{
    struct json_object *document = json_read_document(body, length, NULL);
    const char *text = find_text(document, 0);
    char *copy = text ? strdup(text) : NULL;

    json_object_put(document);
    if (document || length > LONGEST_PLAIN)
        return copy;
    size_t blanks = strspn(length ? body : "", " \t\r\n");

    /* A web page says nothing to a person at a terminal, and text that looks like broken JSON nothing either. */
    return length == 0 || strchr("<{[", body[blanks]) ? NULL : strndup(body, length);
}

void http_error_text(const char *body, size_t length, char *text, size_t capacity)
{
    AUTO_FREE char *terminated = length ? strndup(body, length) : NULL;
    AUTO_FREE char *raw = terminated ? error_text(terminated, strlen(terminated)) : NULL;

    sdk_one_line(text, capacity, raw ? raw : "", raw ? strlen(raw) : 0);
}

bool http_mentions(const struct http_response *response, const char *word)
{
    char said[LONGEST_SAID];

    http_error_text(response->body, response->length, said, sizeof(said));
    return strcasestr(said, word);
}

/* ---- telling ---------------------------------------------------------------------------------------------------- */

/* What is told: without secrets first, only then cut, lest a part of a secret is not recognized. */
__attribute__((format(printf, 3, 0))) static void make_line(struct http_client *client, char line[SENTENCE],
                                                            const char *format, va_list arguments)
{
    char *text = NULL;

    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    if (text)
        sdk_redact(&client->secrets, text);
    sdk_one_line(line, SENTENCE, text ? text : "there is not enough memory", text ? strlen(text) : 26);
    free(text);
}

enum sandlot_status http_fail(struct sandlot_call *call, struct http_client *client, enum sandlot_status status,
                              const char *format, ...)
{
    char line[SENTENCE];
    va_list arguments;

    va_start(arguments, format);
    make_line(client, line, format, arguments);
    va_end(arguments);
    return (call->host->fail)(call, status, line);
}

void http_trace(struct sandlot_call *call, struct http_client *client, const char *format, ...)
{
    char line[SENTENCE];
    va_list arguments;

    va_start(arguments, format);
    make_line(client, line, format, arguments);
    va_end(arguments);
    call->host->log(call, SANDLOT_LOG_DEBUG, line);
}

void http_key_hint(char *text, size_t capacity, const char *key_from)
{
    snprintf(text, capacity, "check that the key%s%.100s is right, has not expired, and may do this",
             key_from ? " in " : "", key_from ? key_from : "");
}

/* ABOUT_KEY: see http_key_hint. */
static const char *hint(const struct http_client *client, const struct http_request *request, int status,
                        const char *about_key)
{
    bool refused = http_status_of(status) == SANDLOT_AUTH;

    if (refused && (client->key_from || !request->error_hint))
        return about_key;
    if (request->error_hint)
        return request->error_hint;
    if (status >= 300 && status < 400)
        return "set the base address to where the service is now";
    if (status == 402)
        return "check the plan and balance of the account";
    switch (http_status_of(status)) {
    case SANDLOT_NOT_FOUND:
        return strcmp(request->method, "POST") == 0
                   ? "check names and ids, and whether the base address is the right one"
                   : "check the name or id, or whether it has been deleted";
    case SANDLOT_EXHAUSTED:
        return "wait before trying again, or ask for a higher limit";
    case SANDLOT_UNSUPPORTED:
        return "do without it";
    case SANDLOT_UNAVAILABLE:
        return "try again later";
    case SANDLOT_INVALID_ARGUMENT:
        return "check the parameters of the request";
    default:
        return "report it to the author of the provider";
    }
}

enum sandlot_status http_response_fail(struct sandlot_call *call, struct http_client *client,
                                       const struct http_request *request, const struct http_response *response)
{
    const struct http_request same = {.method = response->method};
    AUTO_FREE char *url = http_shown_url(response->url ? response->url : "", false);
    AUTO_FREE char *raw = response->body ? error_text(response->body, response->length) : NULL;
    char said[HTTP_LONGEST_MESSAGE + 1] = "";
    char tries[64] = "";
    char wait[96] = "";
    char number[128] = "";
    char about_key[HTTP_KEY_HINT];
    const char *id = client->id_header ? http_header(response, client->id_header) : NULL;

    request = request ? request : &same;
    http_key_hint(about_key, sizeof(about_key), client->key_from);
    if (raw) {
        sdk_redact(&client->secrets, raw);
        sdk_one_line(said, sizeof(said), raw, strlen(raw));
    }
    if (response->attempts > 1)
        snprintf(tries, sizeof(tries), " (%d attempts)", response->attempts);
    if (response->retry_ms > 0)
        snprintf(wait, sizeof(wait), "; it wants to be left alone for %lld s",
                 (long long)(response->retry_ms + 999) / 1000);
    if (id && *id)
        snprintf(number, sizeof(number), "; it calls the request %.100s", id);
    return http_fail(call, client, http_status_of(response->status), "%s answered %s %s with status %d%s%s%s%s%s%s; %s",
                     client->service, request->method, url ? url : "?", response->status, *said ? ": \"" : "", said,
                     *said ? "\"" : "", tries, wait, number, hint(client, request, response->status, about_key));
}

enum sandlot_status http_no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a request; free some");
}
