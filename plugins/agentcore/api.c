#include "api.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/aws_signature.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/http.h>
#include <sandlot/sdk/json.h>
#include <sandlot/sdk/pause.h>
#include <sandlot/sdk/text_format.h>

#include <curl/curl.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    SIGNATURE_MS = 240 * 1000, /* it is taken for five minutes after its time */
    SILENCE_MS = 30 * 1000,
    URGENT_MS = 900,
    LEAST_SKEW_S = 60,
    NAME_SIZE = 64,
    KEY_NOTE_SIZE = 256,
    LONGEST_ID = 40
};

static const char service[] = "bedrock-agentcore";
static const char standard_region[] = "us-west-2";
static const char request_id[] = "x-amzn-RequestId";

void api_init(struct agentcore *agentcore, const struct parameters *parameters)
{
    *agentcore = (struct agentcore){.parameters = *parameters};
    pthread_mutex_init(&agentcore->lock, NULL);
}

void api_clear(struct agentcore *agentcore)
{
    http_client_close(agentcore->client);
    aws_credentials_clear(&agentcore->credentials);
    aws_profile_clear(&agentcore->profile);
    free(agentcore->base_url);
    free(agentcore->region);
    pthread_mutex_destroy(&agentcore->lock);
}

bool api_is_session(const char *id)
{
    size_t length = strlen(id);

    return length > 0 && length <= LONGEST_ID &&
           strspn(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") == length;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/* Does the environment or the profile ask for a kind of address? */
static bool is_asked_for(struct sandlot_call *call, const struct agentcore *agentcore, const char *variable,
                         const char *key)
{
    AUTO_FREE char *of_profile = aws_profile_value(&agentcore->profile, key);
    const char *said = call->host->environment(call, variable);

    said = said ? said : of_profile;
    return said && strcasecmp(said, "true") == 0;
}

/* The service's own address in the region, to be freed. */
static char *own_address(const char *region, bool fips, bool dual)
{
    const bool china = strncmp(region, "cn-", 3) == 0;
    const char *domain =
        dual ? (china ? "api.amazonwebservices.com.cn" : "api.aws") : (china ? "amazonaws.com.cn" : "amazonaws.com");

    return text_format("https://%s%s.%s.%s", service, fips ? "-fips" : "", region, domain);
}

/* The address without a "/" at its end, to be freed. */
static enum sandlot_status find_address(struct sandlot_call *call, const struct agentcore *agentcore,
                                        const char *region, char **address)
{
    const char *said = agentcore->parameters.base_url;
    const bool fips = is_asked_for(call, agentcore, "AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
    const bool dual = is_asked_for(call, agentcore, "AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint");
    AUTO_FREE char *url = said && *said ? strdup(said) : aws_endpoint(call, &agentcore->profile, "bedrock_agentcore");

    if (url && (fips || dual))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "%s asks for an address of AWS's own, and there is another one, %.200s; unset one of the "
                            "two",
                            fips ? "AWS_USE_FIPS_ENDPOINT (use_fips_endpoint)"
                                 : "AWS_USE_DUALSTACK_ENDPOINT (use_dualstack_endpoint)",
                            url);
    if (!url)
        url = own_address(region, fips, dual);
    for (size_t length = url ? strlen(url) : 0; length > 0 && url[length - 1] == '/';)
        url[--length] = '\0';
    *address = url;
    url = NULL;
    return *address ? SANDLOT_OK : http_no_memory(call);
}

static enum sandlot_status open_client(struct sandlot_call *call, struct agentcore *agentcore)
{
    AUTO_FREE char *region = NULL;
    enum sandlot_status status = SANDLOT_OK;

    if (!agentcore->profile.name)
        status = aws_profile_read(call, agentcore->parameters.profile, &agentcore->profile);
    if (status != SANDLOT_OK)
        aws_profile_clear(&agentcore->profile); /* what was read of it is not all */
    if (status == SANDLOT_OK)
        status = aws_region(call, &agentcore->profile, agentcore->parameters.region, standard_region, &region);
    if (status != SANDLOT_OK)
        return status;
    AUTO_FREE char *url = NULL;

    status = find_address(call, agentcore, region, &url);
    if (status != SANDLOT_OK)
        return status;
    static const int repeated[] = {500, 0}; /* as AWS's own clients do */
    const struct http_options options = {
        .service = AGENTCORE_SERVICE, .base_url = url, .repeated = repeated, .id_header = request_id};

    status = http_client_open(call, &options, &agentcore->client);
    if (status != SANDLOT_OK)
        return status;
    agentcore->base_url = url;
    agentcore->region = region;
    url = region = NULL;
    return SANDLOT_OK;
}

/* Sees to it that there are credentials which live for a while. */
static enum sandlot_status open_credentials(struct sandlot_call *call, struct agentcore *agentcore)
{
    struct aws_credentials found = {0};

    if (agentcore->credentials.key_id && !aws_credentials_are_stale(&agentcore->credentials))
        return SANDLOT_OK;
    enum sandlot_status status = aws_credentials_find(call, &agentcore->profile, &found);

    if (status != SANDLOT_OK) {
        aws_credentials_clear(&found);
        return status;
    }
    http_client_add_secret(agentcore->client, found.secret);
    if (found.token)
        http_client_add_secret(agentcore->client, found.token);
    aws_credentials_clear(&agentcore->credentials);
    agentcore->credentials = found;
    return SANDLOT_OK;
}

/* ---- errors ------------------------------------------------------------------------------------------------------ */

enum sandlot_status api_status_of(const char *name)
{
    static const struct {
        const char *name;
        enum sandlot_status status;
    } known[] = {{"ValidationException", SANDLOT_INVALID_ARGUMENT},
                 {"ServiceQuotaExceededException", SANDLOT_EXHAUSTED},
                 {"AccessDeniedException", SANDLOT_AUTH},
                 {"UnrecognizedClientException", SANDLOT_AUTH},
                 {"InvalidSignatureException", SANDLOT_AUTH},
                 {"IncompleteSignatureException", SANDLOT_AUTH},
                 {"MissingAuthenticationTokenException", SANDLOT_AUTH},
                 {"ExpiredTokenException", SANDLOT_AUTH},
                 {"ResourceNotFoundException", SANDLOT_NOT_FOUND},
                 {"ConflictException", SANDLOT_UNAVAILABLE},
                 {"ThrottlingException", SANDLOT_UNAVAILABLE},
                 {"InternalServerException", SANDLOT_UNAVAILABLE}};

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (strcasecmp(known[i].name, name) == 0)
            return known[i].status;
    return SANDLOT_INTERNAL;
}

/* The name of the error in an answer: "Name", "Name:http://...", "prefix#Name"; "" for none. */
static void read_name(const struct http_response *response, char name[NAME_SIZE])
{
    const char *said = http_header(response, "x-amzn-ErrorType");
    AUTO_DOCUMENT struct json_object *document =
        said || !response->body ? NULL : json_read_document(response->body, response->length, NULL);

    if (document && !json_read_string(document, "code", &said, NULL))
        json_read_string(document, "__type", &said, NULL);
    name[0] = '\0';
    if (!said)
        return;
    const char *mark = strchr(said, '#');

    said = mark ? mark + 1 : said;
    snprintf(name, NAME_SIZE, "%.*s", (int)strcspn(said, ":"), said);
}

static bool is_about_time(const struct http_response *response)
{
    return response->body &&
           (strstr(response->body, "Signature expired") || strstr(response->body, "Signature not yet current"));
}

const char *api_advice(enum sandlot_status status, const char *name)
{
    if (strcasecmp(name, "AccessDeniedException") == 0)
        return "allow it in IAM, where a new policy may take minutes to count";
    if (strcasecmp(name, "ExpiredTokenException") == 0)
        return "get new credentials, for example by `aws sso login`";
    switch (status) {
    case SANDLOT_AUTH:
        return "check the AWS credentials and the region";
    case SANDLOT_EXHAUSTED:
        return "delete sandboxes that nobody needs, or ask AWS for a higher quota";
    case SANDLOT_INVALID_ARGUMENT:
        return "check the parameters";
    case SANDLOT_NOT_FOUND:
        return "check the id, the interpreter and the region";
    default:
        return "try again";
    }
}

/* Who has been refused, ending the sentence. */
static void name_credentials(struct sandlot_call *call, struct agentcore *agentcore, char text[KEY_NOTE_SIZE])
{
    text[0] = '\0';
    if (!pause_until_locked(call, &agentcore->lock))
        return;
    if (agentcore->credentials.source)
        snprintf(text, KEY_NOTE_SIZE, " (the credentials are those of %.200s)", agentcore->credentials.source);
    pthread_mutex_unlock(&agentcore->lock);
}

static enum sandlot_status fail(struct sandlot_call *call, struct agentcore *agentcore,
                                const struct api_request *request, struct http_response *response)
{
    const struct http_request sent = {.method = request->method, .target = request->operation};
    const char *id = http_header(response, request_id);
    char name[NAME_SIZE];
    char note[KEY_NOTE_SIZE] = "";
    char said[400];

    read_name(response, name);
    enum sandlot_status status = api_status_of(name);

    if (status == SANDLOT_INTERNAL) /* a name of AWS's own gates, or none: the number says what it means */
        return http_response_fail(call, agentcore->client, &sent, response);
    http_error_text(response->body, response->length, said, sizeof(said));
    if (status == SANDLOT_AUTH)
        name_credentials(call, agentcore, note);
    return sandlot_fail(call, status, "AgentCore refused %s in %s (%s%s%s; request %.64s): %s%s",
                        request->operation + 1, agentcore->region, name, *said ? ": " : "", said,
                        id ? id : "without id",
                        is_about_time(response) ? "set the clock of this machine" : api_advice(status, name), note);
}

/* The request may be right at another time, or with other credentials. True: send it once more. */
static bool mend(struct sandlot_call *call, struct agentcore *agentcore, const struct http_response *response)
{
    const char *date = http_header(response, "Date");
    time_t now = date ? curl_getdate(date, NULL) : -1;
    char name[NAME_SIZE];
    bool mended = false;

    read_name(response, name);
    if (!pause_until_locked(call, &agentcore->lock))
        return false;
    if (is_about_time(response) && now != -1) {
        int64_t ahead_s = (int64_t)now - (int64_t)time(NULL);

        mended = llabs(ahead_s - agentcore->ahead_s) >= LEAST_SKEW_S;
        agentcore->ahead_s = ahead_s;
    } else if (strcmp(name, "ExpiredTokenException") == 0) {
        aws_credentials_clear(&agentcore->credentials);
        mended = true;
    }
    pthread_mutex_unlock(&agentcore->lock);
    if (mended)
        call->host->log(call, SANDLOT_LOG_INFO,
                        "AgentCore did not take the time or the credentials of a request; signing it anew");
    return mended;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

enum sandlot_status api_lock(struct sandlot_call *call, pthread_mutex_t *lock)
{
    if (pause_until_locked(call, lock))
        return SANDLOT_OK;
    return sandlot_fail(call, sandlot_cancelled(call) ? SANDLOT_CANCELLED : SANDLOT_TIMEOUT,
                        "what another call waits for, such as AWS credentials, did not come in time; try again");
}

/* The headers of a request: those of the signature, then its own. */
struct headers {
    char *signature[AWS_SIGNATURE_LINES];
    char session[128];
    const char *lines[AWS_SIGNATURE_LINES + 1];
};

static void clear_headers(struct headers *headers)
{
    aws_signature_free(headers->signature);
}

static enum sandlot_status sign(struct sandlot_call *call, struct agentcore *agentcore,
                                const struct api_request *request, const char *target, struct headers *headers)
{
    const char *lines[3] = {NULL};
    size_t signed_count = 0;
    AUTO_FREE char *url = NULL;

    if (request->body)
        lines[signed_count++] = "Content-Type: application/json";
    if (*headers->session)
        lines[signed_count] = headers->session;
    if (!(url = text_format("%s%s", agentcore->base_url, target)))
        return http_no_memory(call);
    enum sandlot_status status = api_lock(call, &agentcore->lock);

    if (status != SANDLOT_OK)
        return status;
    status = open_credentials(call, agentcore);
    const struct aws_request to_sign = {.method = request->method,
                                        .url = url,
                                        .region = agentcore->region,
                                        .service = service,
                                        .headers = lines,
                                        .body = request->body,
                                        .length = request->length,
                                        .time_s = (int64_t)time(NULL) + agentcore->ahead_s};

    if (status == SANDLOT_OK && !aws_sign(&to_sign, &agentcore->credentials, headers->signature))
        status = http_no_memory(call);
    pthread_mutex_unlock(&agentcore->lock);
    size_t count = 0;

    for (size_t i = 0; i < AWS_SIGNATURE_LINES && headers->signature[i]; i++)
        headers->lines[count++] = headers->signature[i];
    if (*headers->session)
        headers->lines[count++] = headers->session;
    return status;
}

/* Is TEXT a part of a path that leads nowhere else? (A session's id is looked at before.) */
static bool is_segment(const char *text)
{
    return *text && strcmp(text, ".") != 0 && strcmp(text, "..") != 0;
}

/* Path and query; to be freed. */
static char *make_target(const struct agentcore *agentcore, const struct api_request *request, bool in_header)
{
    char pattern[96];

    snprintf(pattern, sizeof(pattern), "/code-interpreters/{}%s%s", request->operation,
             request->session && !in_header ? "?sessionId={}" : "");
    return http_target(pattern, agentcore->parameters.interpreter, request->session);
}

/* Answers that say themselves what is wrong. */
static const int refusals[] = {400, 402, 403, 404, 409, 0};

static enum sandlot_status send_once(struct sandlot_call *call, struct agentcore *agentcore,
                                     const struct api_request *request, struct http_response *response)
{
    __attribute__((cleanup(clear_headers))) struct headers headers = {0};
    bool in_header = request->session && strcmp(request->operation, "/tools/invoke") == 0;
    AUTO_FREE char *target = make_target(agentcore, request, in_header);
    const struct http_request sent = {
        .method = request->method,
        .target = target,
        .headers = headers.lines,
        .body = {.bytes = request->body, .length = request->length},
        .accepted = request->sink ? NULL : refusals, /* a refusal is nothing for a sink */
        .repeatable = true,
        .sink = request->sink,
        .timeout_ms = request->after_cancel ? URGENT_MS : SIGNATURE_MS,
        .silence_ms = request->silence_ms ? request->silence_ms : SILENCE_MS,
        .after_cancel = request->after_cancel,
    };

    if (in_header)
        snprintf(headers.session, sizeof(headers.session), "x-amzn-code-interpreter-session-id: %.64s",
                 request->session);
    if (!target)
        return is_segment(agentcore->parameters.interpreter)
                   ? http_no_memory(call)
                   : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                  "the code interpreter has no name; check the parameter interpreter");
    enum sandlot_status status = sign(call, agentcore, request, target, &headers);

    return status == SANDLOT_OK ? http_send(call, agentcore->client, &sent, response) : status;
}

static bool is_accepted(const int *accepted, int status)
{
    while (accepted && *accepted && *accepted != status)
        accepted++;
    return status < 300 || (accepted && *accepted);
}

enum sandlot_status api_send(struct sandlot_call *call, struct agentcore *agentcore, const struct api_request *request,
                             struct http_response *response)
{
    struct attempt attempt;
    enum sandlot_status status = api_lock(call, &agentcore->lock);

    if (status != SANDLOT_OK)
        return status;
    if (!agentcore->client)
        status = open_client(call, agentcore);
    pthread_mutex_unlock(&agentcore->lock);
    if (status != SANDLOT_OK)
        return status;
    attempt_begin(&attempt, call, 0);
    status = send_once(&attempt.call, agentcore, request, response);
    if ((response->status == 403 || response->status == 400) && mend(call, agentcore, response)) {
        http_response_clear(response);
        attempt_begin(&attempt, call, 0);
        status = send_once(&attempt.call, agentcore, request, response);
    }
    if (status == SANDLOT_OK && is_accepted(request->accepted, response->status))
        return SANDLOT_OK;
    if (status == SANDLOT_OK || (response->status >= 400 && is_accepted(refusals, response->status)))
        return fail(call, agentcore, request, response);
    return *attempt.reason ? attempt_fail(&attempt, status) : status; /* a sink's own refusal was told where it is */
}

enum sandlot_status api_ask(struct sandlot_call *call, struct agentcore *agentcore, const struct api_request *request,
                            struct http_response *response, struct json_object **answer)
{
    struct json_error error;
    enum sandlot_status status = api_send(call, agentcore, request, response);

    *answer = NULL;
    if (status != SANDLOT_OK || response->status >= 300)
        return status;
    *answer = json_read_document(response->body, response->length, &error);
    return *answer ? SANDLOT_OK : json_fail(call, "AgentCore's answer", &error);
}
