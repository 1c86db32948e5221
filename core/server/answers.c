#include "server/answers.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <json-c/json.h>
#include <stdarg.h>
#include <string.h>

/* All texts up to NULL, one behind the other. */
static char *join(const char *first, ...)
{
    va_list texts;
    size_t length = 0;

    va_start(texts, first);
    for (const char *text = first; text; text = va_arg(texts, const char *))
        length += strlen(text);
    va_end(texts);
    char *result = malloc(length + 1);
    char *out = result;

    if (!result)
        return NULL;
    va_start(texts, first);
    for (const char *text = first; text; text = va_arg(texts, const char *))
        out = stpcpy(out, text);
    va_end(texts);
    return result;
}

/*
 * Takes TEXT over and returns it with U+2028 and U+2029, which only stand in strings, as escapes: JSON allows them, but
 * readers of lines in some languages take them for the end of one.
 */
static char *escape_separators(char *text)
{
    static const char lead[] = "\xe2\x80";
    size_t count = 0;

    for (const char *at = text; at && (at = strstr(at, lead)); at += 2)
        count += at[2] == '\xa8' || at[2] == '\xa9';
    char *result = count ? malloc(strlen(text) + 3 * count + 1) : NULL;

    if (!result)
        return text; /* without memory it stays as it is, which is no error */
    char *out = result;

    for (const char *at = text; *at;) {
        bool separator = strncmp(at, lead, 2) == 0 && (at[2] == '\xa8' || at[2] == '\xa9');

        if (separator)
            out = stpcpy(out, at[2] == '\xa8' ? "\\u2028" : "\\u2029");
        else
            *out++ = *at;
        at += separator ? 3 : 1;
    }
    *out = '\0';
    free(text);
    return result;
}

char *json_quote(const char *text, size_t length)
{
    size_t clean_length;
    AUTO_FREE char *clean = text_utf8_replace(text, length, &clean_length);
    struct json_object *string = clean ? json_object_new_string_len(clean, (int)clean_length) : NULL;
    const char *quoted =
        json_object_to_json_string_ext(string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    char *result = string && quoted ? strdup(quoted) : NULL;

    json_object_put(string);
    return result;
}

char *answer_error(const char *id, enum rpc_code code, const char *message, const char *data)
{
    AUTO_FREE char *quoted = json_quote(message, strlen(message));
    AUTO_FREE char *number = text_format("%d", (int)code);

    if (!quoted || !number)
        return NULL;
    return join("{\"jsonrpc\":\"2.0\"", id ? ",\"id\":" : "", id ? id : "", ",\"error\":{\"code\":", number,
                ",\"message\":", quoted, data ? ",\"data\":" : "", data ? data : "", "}}", (char *)NULL);
}

char *answer_result(const char *id, const char *result, const char *info, const char *meta)
{
    if (!info && !meta)
        return join("{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":{", result, "}}", (char *)NULL);
    return join("{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"result\":{", info ? "\"resultType\":\"complete\"" : "",
                info && *result ? "," : "", result, info || *result ? "," : "", "\"_meta\":{",
                info ? "\"" META_PREFIX "serverInfo\":" : "", info ? info : "", info && meta ? "," : "",
                meta ? meta : "", "}}}", (char *)NULL);
}

/* The members of an object, without its brackets; NULL if there are none. To be freed. */
static char *members(const char *object)
{
    const char *opening = object ? strchr(object, '{') : NULL;
    const char *closing = object ? strrchr(object, '}') : NULL;

    if (!opening || !closing || closing < opening)
        return NULL;
    opening++;
    if (opening + strspn(opening, " \t\r\n") == closing)
        return NULL;
    return strndup(opening, (size_t)(closing - opening));
}

/*
 * CONTENT with INNER as the "_meta" of its last block; NULL if it has none, or without memory. There, because some
 * hosts hand the model the whole result as JSON once that has a "_meta" of its own, and only the text otherwise.
 */
static char *with_meta(const char *content, const char *inner)
{
    const char *end = strrchr(content, '}');
    AUTO_FREE char *blocks = end ? strndup(content, (size_t)(end - content)) : NULL;

    return blocks ? join(blocks, ",\"_meta\":{", inner, "}", end, (char *)NULL) : NULL;
}

char *answer_tool(const char *id, const char *content, const char *meta, bool is_error, const char *info)
{
    AUTO_FREE char *inner = members(meta);
    AUTO_FREE char *told = inner ? with_meta(content, inner) : NULL;
    AUTO_FREE char *result =
        join("\"content\":", told ? told : content, ",\"isError\":", is_error ? "true" : "false", (char *)NULL);

    return result ? escape_separators(answer_result(id, result, info, told ? NULL : inner)) : NULL;
}

char *answer_content(const char *text)
{
    AUTO_FREE char *quoted = json_quote(text, strlen(text));

    return quoted ? join("[{\"type\":\"text\",\"text\":", quoted, "}]", (char *)NULL) : NULL;
}

char *notice_progress(const char *token, int64_t elapsed_ms, const char *message, size_t length)
{
    AUTO_FREE char *quoted = length ? json_quote(message, length) : NULL;
    AUTO_FREE char *elapsed = text_format("%lld.%03d", (long long)(elapsed_ms / 1000), (int)(elapsed_ms % 1000));

    if (!elapsed)
        return NULL;
    return join("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":", token,
                ",\"progress\":", elapsed, quoted ? ",\"message\":" : "", quoted ? quoted : "", "}}", (char *)NULL);
}

char *notice_subscribed(const char *id)
{
    return join("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{"
                "\"notifications\":{},\"_meta\":{\"" META_PREFIX "subscriptionId\":",
                id, "}}}", (char *)NULL);
}
