/*
 * sandlot/sdk/aws_credentials.h - who we are to Amazon's services, and where they are: what the environment, the shared
 * files of a user, and the machine that this runs on say.
 *
 * All variables go through the host's lookup, so each has a form with SANDLOT_ before its name. Where they are looked
 * for:
 *
 *   1. AWS_ACCESS_KEY_ID with AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN
 *   2. the profile (AWS_PROFILE, else "default") in AWS_SHARED_CREDENTIALS_FILE or ~/.aws/credentials, and in
 *      AWS_CONFIG_FILE or ~/.aws/config: keys; or what its credential_process prints; or, for roles and single sign-on,
 *      what `aws configure export-credentials` says, if the AWS CLI is there. So too AWS_WEB_IDENTITY_TOKEN_FILE.
 *   3. AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI, with AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE or _TOKEN
 *   4. the metadata of an EC2 instance, unless AWS_EC2_METADATA_DISABLED
 *
 * A profile that was named is used or fails; nothing is looked for behind it. One that the caller names is looked at
 * first, for keys of another account may happen to be in the environment.
 *
 * A provider that uses any of this names all of these variables by putting AWS_METADATA(M) into its metadata, or they
 * stay unset in a worker process.
 */
#ifndef SANDLOT_SDK_AWS_CREDENTIALS_H
#define SANDLOT_SDK_AWS_CREDENTIALS_H

#include <sandlot/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AWS_METADATA(M)                                                                                               \
    M(environment, "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_CREDENTIAL_EXPIRATION "             \
                   "AWS_WEB_IDENTITY_TOKEN_FILE AWS_ROLE_ARN AWS_ROLE_SESSION_NAME")                                  \
    M(environment, "AWS_PROFILE AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE HOME AWS_REGION AWS_DEFAULT_REGION "      \
                   "AWS_ENDPOINT_URL AWS_IGNORE_CONFIGURED_ENDPOINT_URLS")                                            \
    M(environment, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_CONTAINER_CREDENTIALS_FULL_URI")                       \
    M(environment, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN")                        \
    M(environment, "AWS_EC2_METADATA_DISABLED AWS_EC2_METADATA_SERVICE_ENDPOINT")                                     \
    M(project, "AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_REGION AWS_DEFAULT_REGION") \
    M(reads, "~/.aws $AWS_SHARED_CREDENTIALS_FILE $AWS_CONFIG_FILE $AWS_WEB_IDENTITY_TOKEN_FILE "                     \
             "$AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE")

/* ---- the shared files ------------------------------------------------------------------------------------------- */

/* What the two files say of one profile. Zero at the beginning. */
struct aws_profile {
    char *name;
    bool named;        /* somebody asked for it */
    bool chosen;       /* the caller did, by its name: it counts more than keys in the environment */
    bool found;        /* one of the files has it */
    char *credentials; /* text of the file; "" if it is not there */
    char *config;
    char *credentials_path;
    char *config_path;
};

/* Reads them. NAME: the profile; NULL or "": by AWS_PROFILE, else "default". A file that cannot be read is told to the
 * log and taken as empty. To be cleared, whatever is returned; fails for lack of memory only. */
enum sandlot_status aws_profile_read(struct sandlot_call *call, const char *name, struct aws_profile *profile);
void aws_profile_clear(struct aws_profile *profile);

/* The value of KEY, to be freed; the credentials file comes first. NULL: there is none. */
char *aws_profile_value(const struct aws_profile *profile, const char *key);

/* ---- credentials ------------------------------------------------------------------------------------------------ */

/* Zero at the beginning. */
struct aws_credentials {
    char *key_id;
    char *secret;
    char *token;           /* NULL: they are for good */
    int64_t expires_at_ms; /* UTC, since 1970; 0: nobody said */
    char *source;          /* where they came from, for messages: "AWS_ACCESS_KEY_ID", a file, ... */
};

/* Finds them. To be cleared, whatever is returned. SANDLOT_AUTH says what could be set. */
enum sandlot_status aws_credentials_find(struct sandlot_call *call, const struct aws_profile *profile,
                                         struct aws_credentials *credentials);
void aws_credentials_clear(struct aws_credentials *credentials);

/* Are they of no use any more, or in a few minutes? */
bool aws_credentials_are_stale(const struct aws_credentials *credentials);

/* ---- places ----------------------------------------------------------------------------------------------------- */

/*
 * The region, to be freed: SAID if that is not empty, else AWS_REGION, AWS_DEFAULT_REGION, the profile's, STANDARD. One
 * that could lead a request to another host than Amazon's is SANDLOT_INVALID_ARGUMENT.
 */
enum sandlot_status aws_region(struct sandlot_call *call, const struct aws_profile *profile, const char *said,
                               const char *standard, char **region);

/*
 * The address that variables or the profile say instead of a service's own; to be freed; NULL: none. SERVICE as in the
 * names of both: "bedrock_agentcore" for AWS_ENDPOINT_URL_BEDROCK_AGENTCORE.
 */
char *aws_endpoint(struct sandlot_call *call, const struct aws_profile *profile, const char *service);

#ifdef __cplusplus
}
#endif

#endif
