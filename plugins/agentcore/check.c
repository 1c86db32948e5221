/* Where credentials would be found, as sandlot/sdk/aws_credentials.h has it, without asking anybody for them. */
#include "check.h"

#include "api.h"

#include <sandlot/sdk/aws_credentials.h>
#include <sandlot/sdk/cleanup.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool has(struct sandlot_call *call, const char *name)
{
    const char *value = call->host->environment(call, name);

    return value && *value;
}

/* Does the profile say how to get credentials? */
static bool profile_tells(const struct aws_profile *profile)
{
    static const char *const keys[] = {"aws_access_key_id", "credential_process", "role_arn",
                                       "sso_session",       "sso_start_url",      "login_session"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
        AUTO_FREE char *value = aws_profile_value(profile, keys[i]);

        if (value)
            return true;
    }
    return false;
}

/* Is WORD in what the firmware of this machine says there? */
static bool firmware_says(const char *file, const char *word)
{
    char line[64] = "";
    FILE *stream = fopen(file, "re");
    bool found = stream && fgets(line, sizeof(line), stream) && strcasestr(line, word);

    if (stream)
        fclose(stream);
    return found;
}

/* A machine of EC2 says so to every user: the newer ones by their vendor, the older by their version. */
static bool is_ec2(void)
{
    return firmware_says("/sys/devices/virtual/dmi/id/sys_vendor", "Amazon EC2") ||
           firmware_says("/sys/devices/virtual/dmi/id/bios_version", "amazon");
}

/* Could the metadata of the machine have them? */
static bool may_ask_machine(struct sandlot_call *call)
{
    const char *disabled = call->host->environment(call, "AWS_EC2_METADATA_DISABLED");

    if (disabled && strcasecmp(disabled, "false") != 0)
        return false;
    return has(call, "AWS_EC2_METADATA_SERVICE_ENDPOINT") || is_ec2();
}

static bool may_be_found(struct sandlot_call *call, const struct aws_profile *profile)
{
    if (!profile->chosen && has(call, "AWS_ACCESS_KEY_ID") && has(call, "AWS_SECRET_ACCESS_KEY"))
        return true;
    if (profile_tells(profile))
        return true;
    if (profile->named)
        return false; /* nothing is looked for behind it */
    return (has(call, "AWS_WEB_IDENTITY_TOKEN_FILE") && has(call, "AWS_ROLE_ARN")) ||
           has(call, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") || has(call, "AWS_CONTAINER_CREDENTIALS_FULL_URI") ||
           may_ask_machine(call);
}

enum sandlot_status check_credentials(struct sandlot_call *call, void *provider)
{
    const struct agentcore *agentcore = provider;
    struct aws_profile profile = {0};
    enum sandlot_status status = aws_profile_read(call, agentcore->parameters.profile, &profile);

    if (status == SANDLOT_OK && !may_be_found(call, &profile))
        status = sandlot_fail(call, SANDLOT_AUTH,
                              "there are no AWS credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (or "
                              "SANDLOT_AWS_ACCESS_KEY_ID and SANDLOT_AWS_SECRET_ACCESS_KEY), name a profile that has "
                              "some by AWS_PROFILE, or run `aws configure`");
    aws_profile_clear(&profile);
    return status;
}
