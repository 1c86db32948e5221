/* Where credentials are looked for, one place after the other. */
#include <sandlot/sdk/aws_credentials.h>

#include "aws_profile.h"
#include "text.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/credentials.h>
#include <sandlot/sdk/process.h>
#include <sandlot/sdk/timestamp.h>

#include <stdlib.h>
#include <string.h>

enum { PROGRAM_MS = 60 * 1000 };

static enum sandlot_status no_memory(struct sandlot_call *call)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for AWS credentials; free some");
}

/* ---- the environment -------------------------------------------------------------------------------------------- */

static enum sandlot_status from_environment(struct sandlot_call *call, struct aws_credentials *credentials)
{
    const char *key_id = call->host->environment(call, "AWS_ACCESS_KEY_ID");
    const char *secret = call->host->environment(call, "AWS_SECRET_ACCESS_KEY");

    if (!key_id || !secret)
        return SANDLOT_NOT_FOUND;
    AUTO_FREE char *source = credential_source(call, "AWS_ACCESS_KEY_ID");

    credentials->expires_at_ms = timestamp_read(call->host->environment(call, "AWS_CREDENTIAL_EXPIRATION"));
    return aws_credentials_take(call, source ? source : "the environment", key_id, secret,
                                call->host->environment(call, "AWS_SESSION_TOKEN"), credentials);
}

/* ---- programs --------------------------------------------------------------------------------------------------- */

/* Runs WORDS, which print credentials. WHO they are, in a message. */
static enum sandlot_status from_program(struct sandlot_call *call, const struct aws_profile *profile, const char *who,
                                        const char *const *words, struct aws_credentials *credentials)
{
    AUTO_FREE char *files = sdk_format("AWS_SHARED_CREDENTIALS_FILE=%s", profile->credentials_path);
    AUTO_FREE char *config = sdk_format("AWS_CONFIG_FILE=%s", profile->config_path);
    const char *const environment[] = {files, config, NULL};
    const struct process_options options = {
        .arguments = words, .environment = environment, .timeout_ms = PROGRAM_MS, .failure = SANDLOT_AUTH};
    struct attempt attempt;
    AUTO_FREE char *text = NULL;
    size_t length = 0;

    if (!files || !config)
        return no_memory(call);
    attempt_begin(&attempt, call, 0);
    enum sandlot_status status = process_read(&attempt.call, &options, &text, &length);

    if (status != SANDLOT_OK)
        return sandlot_fail(call, status, "no AWS credentials came from %s of profile '%.100s': %s", who, profile->name,
                            attempt.reason);
    return aws_credentials_read(call, who, text, length, "SessionToken", credentials);
}

static bool is_in_path(const char *program)
{
    const char *path = getenv("PATH");

    for (const char *at = path; at && *at;) {
        size_t length = strcspn(at, ":");
        AUTO_FREE char *file = sdk_format("%.*s/%s", (int)length, at, program);

        if (file && access(file, X_OK) == 0)
            return true;
        at += length + (at[length] == ':');
    }
    return false;
}

/* What takes requests to other services: roles, single sign-on. The AWS CLI can do it, and keeps what it got. */
static enum sandlot_status from_cli(struct sandlot_call *call, const struct aws_profile *profile, const char *what,
                                    struct aws_credentials *credentials)
{
    const char *const words[] = {"aws",     "configure", "export-credentials", "--format",
                                 "process", "--profile", profile->name,        NULL};
    const char *const words_without[] = {"aws", "configure", "export-credentials", "--format", "process", NULL};

    if (!is_in_path("aws"))
        return sandlot_fail(
            call, SANDLOT_AUTH,
            "AWS credentials by %s are got by the AWS CLI, which is not in PATH; install it, or set "
            "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN from where it is, with `aws "
            "configure export-credentials --format env`",
            what);
    return from_program(call, profile, "`aws configure export-credentials`", profile->found ? words : words_without,
                        credentials);
}

/* ---- the profile ------------------------------------------------------------------------------------------------ */

static enum sandlot_status from_keys(struct sandlot_call *call, const struct aws_profile *profile,
                                     struct aws_credentials *credentials)
{
    AUTO_FREE char *key_id = aws_profile_value(profile, "aws_access_key_id");
    AUTO_FREE char *secret = aws_profile_value(profile, "aws_secret_access_key");
    AUTO_FREE char *token = aws_profile_value(profile, "aws_session_token");

    if (!key_id || !secret)
        return SANDLOT_NOT_FOUND;
    AUTO_FREE char *source = sdk_format("profile '%.100s' of %s", profile->name, profile->credentials_path);

    return aws_credentials_take(call, source ? source : profile->credentials_path, key_id, secret, token, credentials);
}

static enum sandlot_status from_profile(struct sandlot_call *call, const struct aws_profile *profile,
                                        struct aws_credentials *credentials)
{
    static const char *const kinds[][2] = {{"role_arn", "a role (role_arn)"},
                                           {"sso_session", "single sign-on (sso_session)"},
                                           {"sso_start_url", "single sign-on (sso_start_url)"},
                                           {"login_session", "a login (login_session)"}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
        AUTO_FREE char *value = aws_profile_value(profile, kinds[i][0]);

        if (value)
            return from_cli(call, profile, kinds[i][1], credentials);
    }
    enum sandlot_status status = from_keys(call, profile, credentials);
    AUTO_FREE char *program = aws_profile_value(profile, "credential_process");
    const char *const words[] = {"sh", "-c", program, NULL};

    if (status == SANDLOT_NOT_FOUND && program)
        return from_program(call, profile, "credential_process", words, credentials);
    if (status != SANDLOT_NOT_FOUND || !profile->named)
        return status;
    return sandlot_fail(call, SANDLOT_AUTH, "there is no %s profile '%.100s' in %.200s or %.200s; %s",
                        profile->found ? "key in the AWS" : "AWS", profile->name, profile->credentials_path,
                        profile->config_path,
                        profile->found ? "add aws_access_key_id and aws_secret_access_key to it"
                                       : "name another one by AWS_PROFILE, or add it with `aws configure`");
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

enum sandlot_status aws_credentials_find(struct sandlot_call *call, const struct aws_profile *profile,
                                         struct aws_credentials *credentials)
{
    *credentials = (struct aws_credentials){0};
    enum sandlot_status status = profile->chosen ? SANDLOT_NOT_FOUND : from_environment(call, credentials);

    if (status == SANDLOT_NOT_FOUND)
        status = from_profile(call, profile, credentials);
    if (status == SANDLOT_NOT_FOUND && call->host->environment(call, "AWS_WEB_IDENTITY_TOKEN_FILE") &&
        call->host->environment(call, "AWS_ROLE_ARN"))
        status = from_cli(call, profile, "a web identity (AWS_WEB_IDENTITY_TOKEN_FILE)", credentials);
    if (status == SANDLOT_NOT_FOUND)
        status = aws_metadata_find(call, credentials);
    if (status != SANDLOT_NOT_FOUND)
        return status;
    return sandlot_fail(call, SANDLOT_AUTH,
                        "there are no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or "
                        "SANDLOT_AWS_ACCESS_KEY_ID and SANDLOT_AWS_SECRET_ACCESS_KEY; and AWS_SESSION_TOKEN, if they "
                        "are temporary), name a profile by AWS_PROFILE, or run `aws configure`");
}
