/* The shared files: sections in brackets, keys, and keys below keys, which are indented. */
#include <sandlot/sdk/aws_credentials.h>

#include "aws_profile.h"
#include "text.h"

#include <sandlot/sdk/cleanup.h>

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 20 };

static const char byte_order_mark[] = "\357\273\277"; /* what editors of Windows may begin a file with */

/* ---- reading a file --------------------------------------------------------------------------------------------- */

/* Where a file is: by the variable NAME, else NAME_AT_HOME below the home folder; to be freed. */
static char *path_of(struct sandlot_call *call, const char *variable, const char *name_at_home)
{
    const char *said = call->host->environment(call, variable);
    const char *home = call->host->environment(call, "HOME");

    if (said && strncmp(said, "~/", 2) == 0 && home)
        return sdk_format("%s%s", home, said + 1);
    if (said)
        return strdup(said);
    return home ? sdk_format("%s/.aws/%s", home, name_at_home) : strdup("");
}

/* The text of the file, "" if it is not there; NULL when out of memory. */
static char *read_file(struct sandlot_call *call, const char *path)
{
    struct sdk_buffer text = {.limit = LARGEST_FILE};
    char block[4096];
    char warning[512];
    FILE *file = *path ? fopen(path, "re") : NULL;
    bool whole = file || !*path || errno == ENOENT || errno == ENOTDIR;

    for (size_t length; file && whole && (length = fread(block, 1, sizeof(block), file)) > 0;)
        whole = sdk_buffer_add(&text, block, length) == SDK_GROWN;
    if (file) {
        whole = whole && !ferror(file);
        fclose(file);
    }
    if (!whole) {
        snprintf(warning, sizeof(warning), "%.400s cannot be read or is too large: what it says is ignored", path);
        call->host->log(call, SANDLOT_LOG_WARNING, warning);
        sdk_buffer_clear(&text);
    }
    char *all = sdk_buffer_take(&text);

    if (all && strncmp(all, byte_order_mark, strlen(byte_order_mark)) == 0)
        memmove(all, all + strlen(byte_order_mark), strlen(all + strlen(byte_order_mark)) + 1);
    return all;
}

/* ---- lines ------------------------------------------------------------------------------------------------------ */

/* One line without its comment and the blanks around it. */
struct line {
    const char *text;
    size_t length;
    bool indented;
};

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Takes the next line from *TEXT. False: there is none. */
static bool next_line(const char **text, struct line *line)
{
    const char *at = *text;
    size_t length = strcspn(at, "\n");

    if (*at == '\0')
        return false;
    *text = at + length + (at[length] == '\n');
    line->indented = is_blank(*at);
    for (size_t i = 0; i < length; i++)
        if ((at[i] == '#' || at[i] == ';') && (i == 0 || is_blank(at[i - 1])))
            length = i;
    while (length > 0 && is_blank(*at)) {
        at++;
        length--;
    }
    while (length > 0 && is_blank(at[length - 1]))
        length--;
    line->text = at;
    line->length = length;
    return true;
}

/* Is LINE the head of section NAME of kind KIND: "[KIND NAME]", "[KIND "NAME"]", or "[NAME]" where KIND is ""? */
static bool is_head(const struct line *line, const char *kind, const char *name)
{
    const char *at = line->text + 1;
    const char *end = line->text + line->length - 1;
    size_t kind_length = strlen(kind);

    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    if (kind_length > 0) {
        if ((size_t)(end - at) <= kind_length || memcmp(at, kind, kind_length) != 0 || !is_blank(at[kind_length]))
            return false;
        for (at += kind_length; at < end && is_blank(*at);)
            at++;
        if (end - at >= 2 && (*at == '"' || *at == '\'') && end[-1] == *at) {
            at++;
            end--;
        }
    }
    return (size_t)(end - at) == strlen(name) && memcmp(at, name, strlen(name)) == 0;
}

static bool is_section(const struct line *line)
{
    return line->length >= 2 && line->text[0] == '[' && line->text[line->length - 1] == ']';
}

/* Splits "KEY = VALUE" if KEY is what it says; the value's bytes go to *VALUE. */
static bool has_key(const struct line *line, const char *key, struct line *value)
{
    const char *equals = memchr(line->text, '=', line->length);
    const char *end = line->text + line->length;
    const char *key_end = equals;

    while (key_end > line->text && is_blank(key_end[-1]))
        key_end--;
    if (!equals || (size_t)(key_end - line->text) != strlen(key) || strncasecmp(line->text, key, strlen(key)) != 0)
        return false;
    for (equals++; equals < end && is_blank(*equals);)
        equals++;
    *value = (struct line){.text = equals, .length = (size_t)(end - equals)};
    return true;
}

char *aws_file_value(const char *text, const char *kind, const char *name, const char *parent, const char *key)
{
    struct line line;
    struct line value;
    bool inside = false;
    bool below = false;
    char *found = NULL;

    while (next_line(&text, &line)) {
        if (line.length == 0)
            continue;
        if (!line.indented && is_section(&line)) {
            inside = is_head(&line, kind, name);
            below = false;
        } else if (inside && !line.indented && parent) {
            below = has_key(&line, parent, &value) && value.length == 0;
        } else if (inside && line.indented == (parent != NULL) && (!parent || below) && has_key(&line, key, &value) &&
                   value.length > 0) {
            free(found);
            found = strndup(value.text, value.length);
        }
    }
    return found;
}

/* Has the file such a section? */
static bool has_section(const char *text, const char *kind, const char *name)
{
    struct line line;

    while (next_line(&text, &line))
        if (!line.indented && is_section(&line) && is_head(&line, kind, name))
            return true;
    return false;
}

/* ---- profiles --------------------------------------------------------------------------------------------------- */

/* In the config file the sections of profiles are marked, but for that of the default one, which may be. */
static char *config_value(const struct aws_profile *profile, const char *key)
{
    char *value = aws_file_value(profile->config, "profile", profile->name, NULL, key);

    return value || strcmp(profile->name, "default") != 0 ? value
                                                          : aws_file_value(profile->config, "", "default", NULL, key);
}

char *aws_profile_value(const struct aws_profile *profile, const char *key)
{
    char *value = aws_file_value(profile->credentials, "", profile->name, NULL, key);

    return value ? value : config_value(profile, key);
}

enum sandlot_status aws_profile_read(struct sandlot_call *call, const char *name, struct aws_profile *profile)
{
    const char *said = name && *name ? name : call->host->environment(call, "AWS_PROFILE");

    *profile = (struct aws_profile){.named = said != NULL, .chosen = name && *name};
    profile->name = strdup(said ? said : "default");
    profile->credentials_path = path_of(call, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
    profile->config_path = path_of(call, "AWS_CONFIG_FILE", "config");
    if (profile->credentials_path && profile->config_path) {
        profile->credentials = read_file(call, profile->credentials_path);
        profile->config = read_file(call, profile->config_path);
    }
    if (!profile->name || !profile->credentials || !profile->config)
        return sandlot_fail(call, SANDLOT_INTERNAL,
                            "there is not enough memory for the shared files of AWS; free some");
    profile->found = has_section(profile->credentials, "", profile->name) ||
                     has_section(profile->config, "profile", profile->name) ||
                     (strcmp(profile->name, "default") == 0 && has_section(profile->config, "", "default"));
    return SANDLOT_OK;
}

void aws_profile_clear(struct aws_profile *profile)
{
    free(profile->name);
    free(profile->credentials);
    free(profile->config);
    free(profile->credentials_path);
    free(profile->config_path);
    *profile = (struct aws_profile){0};
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

/* "us-west-2", "us-gov-west-1": two letters, words of letters, a number. */
static bool is_region(const char *text)
{
    const char *at = text;
    int words = 0;

    if (!islower((unsigned char)at[0]) || !islower((unsigned char)at[1]))
        return false;
    for (at += 2; *at == '-' && islower((unsigned char)at[1]); words++)
        for (at++; islower((unsigned char)*at);)
            at++;
    if (words == 0 || *at != '-' || !isdigit((unsigned char)at[1]))
        return false;
    for (at++; isdigit((unsigned char)*at);)
        at++;
    return *at == '\0' && at - text <= 64;
}

enum sandlot_status aws_region(struct sandlot_call *call, const struct aws_profile *profile, const char *said,
                               const char *standard, char **region)
{
    const char *variable = call->host->environment(call, "AWS_REGION");

    if (!variable)
        variable = call->host->environment(call, "AWS_DEFAULT_REGION");
    AUTO_FREE char *of_profile = aws_profile_value(profile, "region");
    const char *chosen = said && *said ? said : variable ? variable : of_profile ? of_profile : standard;

    if (!is_region(chosen))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "'%.64s' is no region of AWS; say one such as us-west-2, by the parameter region, by "
                            "AWS_REGION, or in the profile",
                            chosen);
    *region = strdup(chosen);
    return *region ? SANDLOT_OK
                   : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the region; free some");
}

char *aws_endpoint(struct sandlot_call *call, const struct aws_profile *profile, const char *service)
{
    const char *ignored = call->host->environment(call, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
    AUTO_FREE char *name = sdk_format("AWS_ENDPOINT_URL_%s", service);

    for (char *at = name; at && *at; at++)
        *at = (char)toupper((unsigned char)*at);
    const char *said = name ? call->host->environment(call, name) : NULL;

    if (ignored && strcasecmp(ignored, "true") == 0)
        return NULL;
    if (!said)
        said = call->host->environment(call, "AWS_ENDPOINT_URL");
    if (said)
        return strdup(said);
    AUTO_FREE char *services = config_value(profile, "services");
    char *url = services ? aws_file_value(profile->config, "services", services, service, "endpoint_url") : NULL;

    return url ? url : config_value(profile, "endpoint_url");
}
