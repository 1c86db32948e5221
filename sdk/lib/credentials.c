#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>

#include <stdlib.h>
#include <string.h>

const char *credential_find(struct sandlot_call *call, const char *names, const char **found)
{
    for (const char *name = names; *name;) {
        size_t length = strcspn(name, "|");
        AUTO_FREE char *copy = strndup(name, length);
        const char *value = copy && length ? call->host->environment(call, copy) : NULL;

        if (value && value[strspn(value, " \t\r\n")]) { /* blanks alone are no key */
            if (found)
                *found = name;
            return value;
        }
        name += length + (name[length] == '|');
    }
    return NULL;
}

char *credential_source(struct sandlot_call *call, const char *names)
{
    const char *found = NULL;
    char *own = NULL;

    if (!credential_find(call, names, &found) || asprintf(&own, "SANDLOT_%.*s", (int)strcspn(found, "|"), found) < 0)
        return NULL;
    if (!call->host->environment(call, own))
        memmove(own, own + strlen("SANDLOT_"), strlen(own) - strlen("SANDLOT_") + 1);
    return own;
}

/* "A", "A or B", "A, B or C", each behind PREFIX, into TEXT of CAPACITY bytes. */
static void spell(char *text, size_t capacity, const char *prefix, const char *names)
{
    size_t used = 0;

    for (const char *name = names; *name;) {
        size_t length = strcspn(name, "|");
        const char *joint = name == names ? "" : strchr(name, '|') ? ", " : " or ";
        int written = snprintf(text + used, capacity - used, "%s%s%.*s", joint, prefix, (int)length, name);

        if (written < 0 || (size_t)written >= capacity - used)
            return;
        used += (size_t)written;
        name += length + (name[length] == '|');
    }
}

enum sandlot_status credential_require(struct sandlot_call *call, const char *service, const char *names,
                                       const char **value)
{
    const char *found;
    const char *key = credential_find(call, names, &found);
    char plain[256] = "";
    char prefixed[256] = "";

    spell(plain, sizeof(plain), "", names);
    spell(prefixed, sizeof(prefixed), "SANDLOT_", names);
    if (!key)
        return sandlot_fail(call, SANDLOT_AUTH,
                            "there is no key for %s; set %s (or %s) in the environment or in a .env file", service,
                            plain, prefixed);
    for (const char *at = key; *at; at++)
        if ((unsigned char)*at <= ' ' || *at == 0x7f)
            return sandlot_fail(call, SANDLOT_AUTH,
                                "the value of %.*s holds a blank, a newline or another control character, which no key "
                                "for %s does; set it again without",
                                (int)strcspn(found, "|"), found, service);
    *value = key;
    return SANDLOT_OK;
}

enum sandlot_status credential_open_client(struct sandlot_call *call, const char *names, struct http_options options,
                                           struct http_client **client)
{
    enum sandlot_status status = credential_require(call, options.service, names, &options.bearer);
    AUTO_FREE char *key_from = credential_source(call, names);

    options.key_from = key_from;
    return status == SANDLOT_OK ? http_client_open(call, &options, client) : status;
}
