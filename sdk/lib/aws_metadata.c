/* Keys that the machine hands out by HTTP: in a container, or on an instance. */
#include "aws_profile.h"
#include "text.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/http.h>

#include <stdlib.h>
#include <string.h>

enum { CONTAINER_MS = 10 * 1000, INSTANCE_MS = 1000, LONGEST_ANSWER = 64 * 1024, LONGEST_TOKEN = 8192 };

static const char container_host[] = "http://169.254.170.2";
static const char instance_host[] = "http://169.254.169.254";
static const char roles[] = "/latest/meta-data/iam/security-credentials/";

static enum sandlot_status open_client(struct sandlot_call *call, const char *url, int connect_ms,
                                       struct http_client **client)
{
    const struct http_options options = {.service = "the AWS credentials of this machine",
                                         .base_url = url,
                                         .attempts = 2,
                                         .connect_ms = connect_ms,
                                         .direct = true}; /* a proxy would read the keys */

    return http_client_open(call, &options, client);
}

/* ---- containers ------------------------------------------------------------------------------------------------- */

/* May keys be asked for at URL? They come in plain text, so only from this machine, unless the connection is safe. */
static bool is_allowed(const char *url)
{
    static const char *const hosts[] = {"localhost",     "127.",           "[::1]",
                                        "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    const char *host = strncasecmp(url, "http://", 7) == 0 ? url + 7 : NULL;

    if (strncasecmp(url, "https://", 8) == 0)
        return true;
    size_t length = host ? strcspn(host, "/?#") : 0;

    if (length == 0 || memchr(host, '@', length))
        return false;
    if (*host != '[')
        length = strcspn(host, ":/?#");
    else
        length = strcspn(host, "]") + 1;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(*hosts); i++) {
        bool whole = strlen(hosts[i]) == length && strncasecmp(host, hosts[i], length) == 0;
        bool loopback =
            i == 1 && strncmp(host, hosts[i], strlen(hosts[i])) == 0 && strspn(host, "0123456789.") == length;

        if (whole || loopback)
            return true;
    }
    return false;
}

/* The header that lets us in, to be freed; *AUTHORIZATION NULL: none is wanted. */
static enum sandlot_status container_token(struct sandlot_call *call, char **authorization)
{
    const char *path = call->host->environment(call, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    const char *token = call->host->environment(call, "AWS_CONTAINER_AUTHORIZATION_TOKEN");
    char text[LONGEST_TOKEN] = "";

    if (path) {
        FILE *file = fopen(path, "re");
        size_t length = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

        if (file)
            fclose(file);
        text[length] = '\0';
        text[strcspn(text, "\r\n")] = '\0';
        if (!*text)
            return sandlot_fail(call, SANDLOT_AUTH,
                                "the token in %.300s cannot be read; look what is wrong with that file, which "
                                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE names",
                                path);
        token = text;
    }
    *authorization = token ? sdk_format("Authorization: %s", token) : NULL;
    return SANDLOT_OK;
}

static enum sandlot_status from_container(struct sandlot_call *call, const char *url,
                                          struct aws_credentials *credentials)
{
    struct http_client *client = NULL;
    struct http_response response = {0};
    AUTO_FREE char *authorization = NULL;
    enum sandlot_status status = container_token(call, &authorization);
    const char *const headers[] = {authorization, NULL};
    const struct http_request request = {
        .method = "GET", .target = url, .headers = headers, .limit = LONGEST_ANSWER, .timeout_ms = CONTAINER_MS};

    if (status == SANDLOT_OK)
        status = open_client(call, url, CONTAINER_MS / 2, &client);
    if (status == SANDLOT_OK)
        status = http_send(call, client, &request, &response);
    if (status == SANDLOT_OK)
        status = aws_credentials_read(call, "the container's credential service", response.body, response.length,
                                      "Token", credentials);
    http_response_clear(&response);
    http_client_close(client);
    return status;
}

/* ---- instances -------------------------------------------------------------------------------------------------- */

/* Asks for TARGET; the answer, to be freed, or NULL. */
static char *ask(struct sandlot_call *call, struct http_client *client, const char *method, const char *target,
                 const char *header)
{
    const char *const headers[] = {header, NULL};
    const struct http_request request = {.method = method,
                                         .target = target,
                                         .headers = headers,
                                         .limit = LONGEST_ANSWER,
                                         .never_repeat = true,
                                         .timeout_ms = INSTANCE_MS};
    struct http_response response = {0};
    char *body = NULL;

    if (http_send(call, client, &request, &response) == SANDLOT_OK) {
        body = response.body;
        response.body = NULL;
    }
    http_response_clear(&response);
    return body;
}

/* Who is not on such a machine gets no answer: that is no error, and what is told of it nobody wants to know. */
static enum sandlot_status from_instance(struct sandlot_call *call, struct http_client *client,
                                         struct aws_credentials *credentials)
{
    AUTO_FREE char *token =
        ask(call, client, "PUT", "/latest/api/token", "x-aws-ec2-metadata-token-ttl-seconds: 21600");
    AUTO_FREE char *header = token && *token ? sdk_format("x-aws-ec2-metadata-token: %s", token) : NULL;
    AUTO_FREE char *role = header ? ask(call, client, "GET", roles, header) : NULL;

    if (role)
        role[strcspn(role, "\r\n")] = '\0';
    AUTO_FREE char *encoded = role && *role ? sdk_percent_encode(role) : NULL;
    AUTO_FREE char *target = encoded ? sdk_format("%s%s", roles, encoded) : NULL;
    AUTO_FREE char *text = target ? ask(call, client, "GET", target, header) : NULL;

    if (!text)
        return sandlot_cancelled(call) ? SANDLOT_CANCELLED : SANDLOT_NOT_FOUND;
    return aws_credentials_read(call, "the metadata of this EC2 instance", text, strlen(text), "Token", credentials);
}

static enum sandlot_status ask_instance(struct sandlot_call *call, struct aws_credentials *credentials)
{
    const char *disabled = call->host->environment(call, "AWS_EC2_METADATA_DISABLED");
    const char *url = call->host->environment(call, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct http_client *client = NULL;
    struct attempt quiet;

    if (disabled && strcasecmp(disabled, "false") != 0)
        return SANDLOT_NOT_FOUND;
    attempt_begin(&quiet, call, 0);
    enum sandlot_status status = open_client(&quiet.call, url ? url : instance_host, INSTANCE_MS, &client);

    if (status == SANDLOT_OK)
        status = from_instance(&quiet.call, client, credentials);
    http_client_close(client);
    return status == SANDLOT_OK || status == SANDLOT_NOT_FOUND ? status : attempt_fail(&quiet, status);
}

enum sandlot_status aws_metadata_find(struct sandlot_call *call, struct aws_credentials *credentials)
{
    const char *relative = call->host->environment(call, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = call->host->environment(call, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    AUTO_FREE char *url = relative ? sdk_format("%s%s", container_host, relative) : NULL;

    if (relative && *relative != '/')
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with \"/\", so it could lead to "
                            "another host; set it to a path, or set AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (relative)
        return url ? from_container(call, url, credentials)
                   : sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for AWS credentials; free some");
    if (!full)
        return ask_instance(call, credentials);
    if (!is_allowed(full))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "AWS_CONTAINER_CREDENTIALS_FULL_URI leads to another machine without https, which would "
                            "show its keys to everybody on the way; use https or an address of this machine");
    return from_container(call, full, credentials);
}
