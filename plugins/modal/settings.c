#include "settings.h"

#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/text_format.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST_FILE = 1 << 20 };

static const char default_url[] = "https://api.modal.com:443";

void settings_clear(struct settings *settings)
{
    if (settings->profile.token_secret)
        explicit_bzero(settings->profile.token_secret, strlen(settings->profile.token_secret));
    profile_clear(&settings->profile);
    free(settings->server_url);
    *settings = (struct settings){0};
}

/* ---- the file --------------------------------------------------------------------------------------------------- */

/* The whole file; to be freed. NULL with errno. */
static char *read_file(const char *path, size_t *length)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd >= 0 ? malloc(LONGEST_FILE) : NULL;
    ssize_t got = 1;

    *length = 0;
    while (text && got > 0 && *length < LONGEST_FILE) {
        got = read(fd, text + *length, LONGEST_FILE - *length);
        if (got < 0 && errno == EINTR)
            got = 1;
        else if (got > 0)
            *length += (size_t)got;
    }
    int error = errno;

    if (fd >= 0)
        close(fd);
    errno = error;
    if (got >= 0 && *length < LONGEST_FILE)
        return text;
    free(text);
    errno = got < 0 ? error : EFBIG;
    return NULL;
}

static enum sandlot_status read_profile(struct sandlot_call *call, const struct parameters *parameters,
                                        struct profile *profile)
{
    const char *path = call->host->environment(call, "MODAL_CONFIG_PATH");
    const char *home = call->host->environment(call, "HOME");
    const char *wanted = parameter_or_variable(call, parameters->profile, "MODAL_PROFILE");
    AUTO_FREE char *own = NULL;
    char reason[160];
    size_t length = 0;

    if (!path && asprintf(&own, "%s/.modal.toml", home ? home : "/nonexistent") < 0)
        own = NULL;
    AUTO_FREE char *text = path || own ? read_file(path ? path : own, &length) : NULL;

    if (!text && errno == ENOENT && !path)
        return parameter_is_said(parameters->profile)
                   ? sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                  "there is no ~/.modal.toml with the profile \"%.100s\"; make it with modal token new",
                                  parameters->profile)
                   : SANDLOT_OK;
    if (!text)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "Modal's file %.300s cannot be read: %s; check its path",
                            path ? path : "~/.modal.toml", strerror(errno));
    bool read = profile_read(text, length, wanted, profile, reason, sizeof(reason));

    explicit_bzero(text, length);
    if (!read)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "Modal's file %.300s makes no sense in %s; mend it",
                            path ? path : "~/.modal.toml", reason);
    if (parameter_is_said(wanted) && !profile->name)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "Modal's file %.300s has no profile \"%.100s\"; check the name",
                            path ? path : "~/.modal.toml", wanted);
    return SANDLOT_OK;
}

/* Who has a token in the environment needs no file: one that is of no use is told, and passed over. */
static enum sandlot_status read_optional_profile(struct sandlot_call *call, const struct parameters *parameters,
                                                 struct profile *profile)
{
    struct attempt attempt;
    char line[1200];

    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = read_profile(&attempt.call, parameters, profile);

    if (status == SANDLOT_OK)
        return SANDLOT_OK;
    if (!call->host->environment(call, "MODAL_TOKEN_ID") || !call->host->environment(call, "MODAL_TOKEN_SECRET"))
        return attempt_fail(&attempt, status);
    snprintf(line, sizeof(line), "%s (MODAL_TOKEN_ID and MODAL_TOKEN_SECRET are used without it)", attempt.reason);
    call->host->log(call, SANDLOT_LOG_WARNING, line);
    profile_clear(profile);
    return SANDLOT_OK;
}

/* ---- credentials ------------------------------------------------------------------------------------------------ */

/* Both of one place, or none: half of one and half of the other would be a pair that nobody has. */
static enum sandlot_status pair_tokens(struct sandlot_call *call, struct settings *settings)
{
    const char *id = call->host->environment(call, "MODAL_TOKEN_ID");
    const char *secret = call->host->environment(call, "MODAL_TOKEN_SECRET");

    if (!id != !secret)
        call->host->log(call, SANDLOT_LOG_WARNING,
                        id ? "MODAL_TOKEN_ID is set without MODAL_TOKEN_SECRET: neither counts, but ~/.modal.toml"
                           : "MODAL_TOKEN_SECRET is set without MODAL_TOKEN_ID: neither counts, but ~/.modal.toml");
    bool both = id && secret;

    settings->token_id = both ? id : settings->profile.token_id;
    settings->token_secret = both ? secret : settings->profile.token_secret;
    settings->token_from = both ? "MODAL_TOKEN_ID and MODAL_TOKEN_SECRET"
                                : "the profile of Modal's file (~/.modal.toml, or MODAL_CONFIG_PATH)";
    if (!parameter_is_said(settings->token_id) || !parameter_is_said(settings->token_secret))
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "Modal needs a token and there is none%s; set MODAL_TOKEN_ID and MODAL_TOKEN_SECRET (or "
            "SANDLOT_MODAL_TOKEN_ID and SANDLOT_MODAL_TOKEN_SECRET), or run modal token new, or name a profile that "
            "has one with MODAL_PROFILE",
            settings->profile.name ? " in the profile of ~/.modal.toml" : "");
    if (text_is_word(settings->token_id) && text_is_word(settings->token_secret))
        return SANDLOT_OK;
    return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "%s has a character in it that no token has; check it",
                        text_is_word(settings->token_id) ? "MODAL_TOKEN_SECRET" : "MODAL_TOKEN_ID");
}

/* ---- the rest --------------------------------------------------------------------------------------------------- */

static const char *first_of(const char *one, const char *other, const char *third)
{
    return parameter_is_said(one) ? one : parameter_is_said(other) ? other : third;
}

/* Whole seconds in all; what is no number counts nothing. */
static int64_t read_longest_wait(const char *text)
{
    char *end = NULL;
    long seconds = text ? strtol(text, &end, 10) : 0;

    if (!text || *end || seconds < 0 || seconds > 24 * 3600)
        return 0;
    return seconds > 0 ? seconds * 1000 : -1;
}

static bool is_false(const char *text)
{
    return strcmp(text, "0") == 0 || strcasecmp(text, "false") == 0;
}

enum sandlot_status settings_read(struct sandlot_call *call, const struct parameters *parameters,
                                  struct settings *settings)
{
    const struct sandlot_host *host = call->host;
    const struct profile *profile = &settings->profile;

    *settings = (struct settings){0};
    enum sandlot_status status = read_optional_profile(call, parameters, &settings->profile);

    if (status == SANDLOT_OK)
        status = pair_tokens(call, settings);
    if (status != SANDLOT_OK)
        return status;
    const char *generation = host->environment(call, "MODAL_SANDBOX_V2");

    const char *url = first_of(parameters->base_url, host->environment(call, "MODAL_SERVER_URL"),
                               first_of(profile->server_url, default_url, default_url));

    settings->server_url = strndup(url, strcspn(url, ", ")); /* Modal's Python client takes a list */
    if (!settings->server_url)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for Modal's address; free some");
    settings->environment = first_of(parameters->modal_environment, host->environment(call, "MODAL_ENVIRONMENT"),
                                     first_of(profile->environment, "", ""));
    settings->builder_version =
        first_of(host->environment(call, "MODAL_IMAGE_BUILDER_VERSION"), profile->image_builder_version, NULL);
    settings->longest_asked_ms = read_longest_wait(host->environment(call, "MODAL_MAX_THROTTLE_WAIT"));
    settings->first_generation = generation ? is_false(generation) : profile->sandbox_v1;
    return SANDLOT_OK;
}

bool settings_is_local(const char *server_url)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]", "172.21.0.1"};
    const char *host = strstr(server_url, "://");

    host = host ? host + 3 : server_url;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        size_t length = strlen(names[i]);

        if (strncasecmp(host, names[i], length) == 0 && strchr(":/", host[length]))
            return true;
    }
    return false;
}
