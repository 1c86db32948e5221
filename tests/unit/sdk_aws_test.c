/* Signatures, profiles, credentials: Amazon's ways to say who and where somebody is. */
#include <sandlot/sdk/aws_credentials.h>
#include <sandlot/sdk/aws_signature.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_VARIABLES = 16 };

static struct test_call call;
static struct variable variables[MOST_VARIABLES + 1];
static size_t variable_count;
static char folder[] = "/tmp/sandlot-aws-XXXXXX";
static char credentials_path[64];
static char config_path[64];

/* ---- a machine -------------------------------------------------------------------------------------------------- */

static void set(const char *name, const char *value)
{
    variables[variable_count++] = (struct variable){name, value};
    variables[variable_count] = (struct variable){NULL, NULL};
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static int set_up_files(void **state)
{
    (void)state;
    if (!mkdtemp(folder))
        return -1;
    snprintf(credentials_path, sizeof(credentials_path), "%s/credentials", folder);
    snprintf(config_path, sizeof(config_path), "%s/config", folder);
    return 0;
}

static int tear_down_files(void **state)
{
    (void)state;
    return rmdir(folder);
}

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 120000);
    variable_count = 0;
    call.variables = variables;
    set("AWS_SHARED_CREDENTIALS_FILE", credentials_path);
    set("AWS_CONFIG_FILE", config_path);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    unlink(credentials_path);
    unlink(config_path);
    return 0;
}

/* What is found for profile NAME, as "KEY SECRET TOKEN"; in static memory. */
static const char *found(const char *name, enum sandlot_status wanted)
{
    static char text[256];
    struct aws_profile profile;
    struct aws_credentials credentials;

    text[0] = call.message[0] = '\0';
    call.status = SANDLOT_OK;
    assert_int_equal(aws_profile_read(&call.call, name, &profile), SANDLOT_OK);
    assert_int_equal(aws_credentials_find(&call.call, &profile, &credentials), wanted);
    if (wanted == SANDLOT_OK)
        snprintf(text, sizeof(text), "%s %s %s", credentials.key_id, credentials.secret,
                 credentials.token ? credentials.token : "-");
    aws_credentials_clear(&credentials);
    aws_profile_clear(&profile);
    return text;
}

/* ---- signatures ------------------------------------------------------------------------------------------------- */

/* The first ones are Amazon's own examples. */
static void check_signature(const struct aws_request *wanted, const char *token, const char *names,
                            const char *signature)
{
    struct aws_credentials credentials = {.key_id = strdup("AKIDEXAMPLE"),
                                          .secret = strdup("wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
                                          .token = token ? strdup(token) : NULL};
    struct aws_request request = *wanted;
    char *lines[AWS_SIGNATURE_LINES];
    char expected[512];

    request.region = "us-east-1";
    request.service = "service";
    request.time_s = 1440938160;
    snprintf(expected, sizeof(expected),
             "Authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
             "SignedHeaders=%s, Signature=%s",
             names, signature);
    assert_true(aws_sign(&request, &credentials, lines));
    assert_string_equal(lines[0], expected);
    assert_string_equal(lines[1], "X-Amz-Date: 20150830T123600Z");
    assert_int_equal(lines[2] != NULL, token != NULL);
    assert_null(lines[AWS_SIGNATURE_LINES - 1]);
    aws_signature_free(lines);
    aws_credentials_clear(&credentials);
}

static void test_signatures(void **state)
{
    static const char *const headers[] = {"x-a-b: 2", "Content-Type: application/json", "X-A:  1   2 ", NULL};
    static const char plain[] = "host;x-amz-date";

    (void)state;
    check_signature(&(struct aws_request){.method = "GET", .url = "https://example.amazonaws.com"}, NULL, plain,
                    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    check_signature(&(struct aws_request){.method = "GET", .url = "https://example.amazonaws.com:443/"}, NULL, plain,
                    "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    check_signature(&(struct aws_request){.method = "POST", .url = "http://example.amazonaws.com:80/"}, NULL, plain,
                    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    check_signature(
        &(struct aws_request){.method = "GET", .url = "https://example.amazonaws.com/?Param2=value2&Param1=value1"},
        NULL, plain, "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    check_signature(&(struct aws_request){.method = "GET", .url = "https://example.amazonaws.com/?ab=&a-b=2&a=1"}, NULL,
                    plain, "feba48004c76dbf3107a6495efd46b13f74a2ac7706b4e179157115ddccc2b39");
    check_signature(
        &(struct aws_request){.method = "PUT",
                              .url = "http://example.amazonaws.com:8080/x/arn%3Aaws%3Aa%2Fb/y~?sessionId=A%2BB%20c",
                              .headers = headers,
                              .body = "{\"a\":1}",
                              .length = 7},
        "tok/en==", "content-type;host;x-a;x-a-b;x-amz-date;x-amz-security-token",
        "2d480a087a7b3b69fe55d0f657342e6d6ee99425191c34ec50700092702583bc");
}

static void test_no_address(void **state)
{
    struct aws_credentials credentials = {.key_id = (char *)"a", .secret = (char *)"b"};
    const struct aws_request request = {.method = "GET", .url = "nowhere", .region = "r", .service = "s"};
    char *lines[AWS_SIGNATURE_LINES];

    (void)state;
    assert_false(aws_sign(&request, &credentials, lines));
}

/* ---- credentials ------------------------------------------------------------------------------------------------ */

static void test_environment(void **state)
{
    (void)state;
    set("AWS_EC2_METADATA_DISABLED", "true");
    set("AWS_ACCESS_KEY_ID", "K");
    write_text(credentials_path, "[default]\naws_access_key_id=FK\naws_secret_access_key=FS\n");
    assert_string_equal(found(NULL, SANDLOT_OK), "FK FS -"); /* half a pair is none */
    set("AWS_SECRET_ACCESS_KEY", "S");
    assert_string_equal(found(NULL, SANDLOT_OK), "K S -");
    set("AWS_SESSION_TOKEN", "T");
    assert_string_equal(found(NULL, SANDLOT_OK), "K S T");
    assert_string_equal(found("default", SANDLOT_OK), "FK FS -"); /* named by the caller, it comes first */
    found("absent", SANDLOT_AUTH);
    set("AWS_PROFILE", "absent"); /* but not by the environment */
    assert_string_equal(found(NULL, SANDLOT_OK), "K S T");
    variables[3].value = "K\n";
    found(NULL, SANDLOT_INVALID_ARGUMENT);
}

/* Files as other systems and other hands leave them. */
static void test_odd_files(void **state)
{
    (void)state;
    set("AWS_EC2_METADATA_DISABLED", "true");
    write_text(credentials_path, "\xef\xbb\xbf[default]\r\nAWS_ACCESS_KEY_ID=BK\r\naws_secret_access_key=BS\r\n");
    assert_string_equal(found(NULL, SANDLOT_OK), "BK BS -");
    write_text(credentials_path, "\xef\xbb\xbf");
    found(NULL, SANDLOT_AUTH);
    write_text(credentials_path,
               "=\n[]\n[\n]\naws_access_key_id=K\n[default\naws_secret_access_key=S\n= =\n[[default]]\n"
               "aws_access_key_id=K\naws_secret_access_key=S");
    found(NULL, SANDLOT_AUTH);
    write_text(credentials_path,
               "[default] # mine\naws_access_key_id=K1\naws_secret_access_key=\n[other]\nx=y\n[ default ]\n"
               "aws_access_key_id=K2\naws_secret_access_key = S=2=\n  aws_access_key_id=NESTED\n"
               "aws_session_token");
    assert_string_equal(found(NULL, SANDLOT_OK), "K2 S=2= -");
}

static void test_files(void **state)
{
    (void)state;
    write_text(credentials_path, "# mine\n[default]\r\naws_access_key_id = DK ; old\r\naws_secret_access_key=D#S\n"
                                 "[one]\naws_access_key_id=K1\naws_secret_access_key=S1\naws_session_token=T1\n"
                                 "[half]\naws_access_key_id=K2\n");
    write_text(config_path, "[profile one]\nregion=eu-west-1\naws_access_key_id=IGNORED\n[profile two]\n"
                            "aws_access_key_id=CK\naws_secret_access_key=CS\n[profile \"with blank\"]\n"
                            "aws_access_key_id=BK\naws_secret_access_key=BS\n[two]\naws_access_key_id=NOBODY\n");
    assert_string_equal(found(NULL, SANDLOT_OK), "DK D#S -");
    assert_string_equal(found("", SANDLOT_OK), "DK D#S -");
    assert_string_equal(found("one", SANDLOT_OK), "K1 S1 T1");
    assert_string_equal(found("two", SANDLOT_OK), "CK CS -");
    assert_string_equal(found("with blank", SANDLOT_OK), "BK BS -");
    found("half", SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "no key in the AWS profile 'half'"));
    found("absent", SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "no AWS profile 'absent'"));
    set("AWS_PROFILE", "two");
    assert_string_equal(found(NULL, SANDLOT_OK), "CK CS -");
}

static void test_files_at_home(void **state)
{
    char path[96];

    (void)state;
    variable_count = 0;
    set("HOME", folder);
    set("AWS_EC2_METADATA_DISABLED", "1");
    snprintf(path, sizeof(path), "%s/.aws", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/.aws/config", folder);
    write_text(path, "[default]\naws_access_key_id=HK\naws_secret_access_key=HS\n");
    assert_string_equal(found(NULL, SANDLOT_OK), "HK HS -");
    unlink(path);
    found(NULL, SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "AWS_ACCESS_KEY_ID"));
    snprintf(path, sizeof(path), "%s/.aws", folder);
    assert_int_equal(rmdir(path), 0);
}

static void test_programs(void **state)
{
    (void)state;
    write_text(config_path,
               "[profile p]\ncredential_process = echo '{\"Version\":1,\"AccessKeyId\":\"PK\",\"SecretAccessKey\":"
               "\"PS\",\"SessionToken\":\"PT\",\"Expiration\":\"2020-01-01T00:00:00Z\"}'\n"
               "[profile bad]\ncredential_process = echo '{}'\n"
               "[profile worse]\ncredential_process = echo no >&2; exit 1\n"
               "[profile torn]\ncredential_process = printf '{\"AccessKeyId\":\"K\",\"SecretAccessKey\":\"SHH'\n"
               "[profile failing]\ncredential_process = echo '{\"SecretAccessKey\":\"SHH\"}'; exit 1\n"
               "[profile noisy]\ncredential_process = head -c 3000000 /dev/zero\n");
    assert_string_equal(found("p", SANDLOT_OK), "PK PS PT");
    found("bad", SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "AccessKeyId"));
    found("worse", SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "credential_process of profile 'worse'"));
    found("torn", SANDLOT_AUTH);
    assert_null(strstr(call.message, "SHH"));
    found("failing", SANDLOT_AUTH);
    assert_null(strstr(call.message, "SHH"));
    found("noisy", SANDLOT_INTERNAL);
}

/* A program that waits for ever ends with the call. */
static void test_program_hangs(void **state)
{
    int64_t begun_ms = sandlot_now_ms();

    (void)state;
    write_text(config_path, "[profile p]\ncredential_process = sleep 33; echo late\n");
    call.call.deadline_ms = begun_ms + 300;
    found("p", SANDLOT_TIMEOUT);
}

/* A program of the name of the AWS CLI. */
static void test_cli(void **state)
{
    char path[96];
    char *old = strdup(getenv("PATH"));

    (void)state;
    write_text(config_path, "[profile r]\nrole_arn=arn:x\nsource_profile=default\n[profile s]\nsso_session=x\n");
    setenv("PATH", folder, 1);
    found("r", SANDLOT_AUTH);
    assert_non_null(strstr(call.message, "AWS CLI, which is not in PATH"));
    snprintf(path, sizeof(path), "%s/aws", folder);
    write_text(path,
               "#!/bin/sh\n[ \"$*\" = 'configure export-credentials --format process --profile s' ] || exit 3\n"
               "echo '{\"Version\":1,\"AccessKeyId\":\"'\"${AWS_CONFIG_FILE##*/}\"'\",\"SecretAccessKey\":\"S\"}'\n");
    assert_int_equal(chmod(path, 0700), 0);
    assert_string_equal(found("s", SANDLOT_OK), "config S -");
    found("r", SANDLOT_AUTH);
    setenv("PATH", old, 1);
    free(old);
    unlink(path);
}

static void test_staleness(void **state)
{
    struct aws_credentials credentials = {.expires_at_ms = 0};

    (void)state;
    assert_false(aws_credentials_are_stale(&credentials));
    credentials.expires_at_ms = ((int64_t)time(NULL) + 240) * 1000;
    assert_true(aws_credentials_are_stale(&credentials));
    credentials.expires_at_ms = ((int64_t)time(NULL) + 360) * 1000;
    assert_false(aws_credentials_are_stale(&credentials));
}

/* ---- keys that the machine hands out ---------------------------------------------------------------------------- */

static const char handed_out[] =
    "{\"AccessKeyId\":\"MK\",\"SecretAccessKey\":\"MS\",\"Token\":\"MT\",\"Expiration\":\"2099-01-01T00:00:00Z\"}";

static void on_container(struct peer *peer)
{
    bool fine = strcmp(peer->target, "/creds?id=1") == 0 && strcmp(peer_header(peer, "Authorization"), "Letter a") == 0;

    peer_answer(peer, fine ? 200 : 403, "", fine ? handed_out : "");
}

static void on_instance(struct peer *peer)
{
    static const char roles[] = "/latest/meta-data/iam/security-credentials/";
    bool token = strcmp(peer_header(peer, "x-aws-ec2-metadata-token"), "tok") == 0;
    const char *body = "";

    if (strcmp(peer->method, "PUT") == 0 && strcmp(peer->target, "/latest/api/token") == 0 &&
        strcmp(peer_header(peer, "x-aws-ec2-metadata-token-ttl-seconds"), "21600") == 0)
        body = "tok";
    else if (token && strcmp(peer->target, roles) == 0)
        body = "my-role\n";
    else if (token && strcmp(peer->target, "/latest/meta-data/iam/security-credentials/my-role") == 0)
        body = handed_out;
    peer_body(peer, NULL, 0, NULL);
    peer_answer(peer, *body ? 200 : 404, "", body);
}

static void test_container(void **state)
{
    struct server server;
    char url[96];

    (void)state;
    server_open(&server, on_container, NULL);
    snprintf(url, sizeof(url), "%s/creds?id=1", server.url);
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", url);
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN", "Letter a");
    set("http_proxy", "http://127.0.0.1:1"); /* is none of its business */
    assert_string_equal(found(NULL, SANDLOT_OK), "MK MS MT");
    write_text(config_path, "Letter b\n"); /* no file of profiles, but of a token */
    set("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", config_path);
    found(NULL, SANDLOT_AUTH);
    write_text(config_path, "Letter a\n");
    assert_string_equal(found(NULL, SANDLOT_OK), "MK MS MT");
    unlink(config_path);
    found(NULL, SANDLOT_AUTH);
    server_close(&server);
}

static void test_container_elsewhere(void **state)
{
    static const char *const urls[] = {"http://example.com/x",
                                       "http://127.0.0.1.example.com/",
                                       "http://localhost@example.com/",
                                       "http://169.254.170.3/",
                                       "http://[::2]/",
                                       "ftp://localhost/"};

    (void)state;
    set("AWS_CONTAINER_CREDENTIALS_FULL_URI", "");
    for (size_t i = 0; i < sizeof(urls) / sizeof(*urls); i++) {
        variables[variable_count - 1].value = urls[i];
        found(NULL, SANDLOT_INVALID_ARGUMENT);
    }
    set("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "@example.com/x"); /* not 169.254.170.2@example.com */
    found(NULL, SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "RELATIVE_URI"));
}

static void test_instance(void **state)
{
    struct server server;

    (void)state;
    server_open(&server, on_instance, NULL);
    set("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url);
    assert_string_equal(found(NULL, SANDLOT_OK), "MK MS MT");
    set("AWS_EC2_METADATA_DISABLED", "true");
    found(NULL, SANDLOT_AUTH);
    assert_int_equal(atomic_load(&server.requests), 3);
    variables[variable_count - 1].value = "false";
    server_close(&server);
    found(NULL, SANDLOT_AUTH); /* there is nobody any more, of which nobody hears */
    assert_non_null(strstr(call.message, "there are no AWS credentials"));
}

/* ---- places ----------------------------------------------------------------------------------------------------- */

static const char *region_of(const char *said, enum sandlot_status wanted)
{
    static char text[128];
    struct aws_profile profile;
    char *region = NULL;

    assert_int_equal(aws_profile_read(&call.call, NULL, &profile), SANDLOT_OK);
    assert_int_equal(aws_region(&call.call, &profile, said, "us-west-2", &region), wanted);
    snprintf(text, sizeof(text), "%s", region ? region : "");
    free(region);
    aws_profile_clear(&profile);
    return text;
}

static void test_regions(void **state)
{
    static const char *const wrong[] = {"evil.com/", "us-west-2.evil", "us",         "us-west", "us-2",
                                        "US-west-2", "us-west-2 ",     "us--west-2", "u-west-2"};

    (void)state;
    assert_string_equal(region_of(NULL, SANDLOT_OK), "us-west-2");
    write_text(config_path, "[default]\nregion = eu-central-1\n");
    assert_string_equal(region_of("", SANDLOT_OK), "eu-central-1");
    set("AWS_DEFAULT_REGION", "ap-south-1");
    assert_string_equal(region_of(NULL, SANDLOT_OK), "ap-south-1");
    set("AWS_REGION", "us-gov-west-1");
    assert_string_equal(region_of(NULL, SANDLOT_OK), "us-gov-west-1");
    assert_string_equal(region_of("cn-north-1", SANDLOT_OK), "cn-north-1");
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        region_of(wrong[i], SANDLOT_INVALID_ARGUMENT);
}

static const char *endpoint(void)
{
    static char text[128];
    struct aws_profile profile;

    assert_int_equal(aws_profile_read(&call.call, NULL, &profile), SANDLOT_OK);
    char *url = aws_endpoint(&call.call, &profile, "bedrock_agentcore");

    snprintf(text, sizeof(text), "%s", url ? url : "none");
    free(url);
    aws_profile_clear(&profile);
    return text;
}

static void test_endpoints(void **state)
{
    (void)state;
    assert_string_equal(endpoint(), "none");
    write_text(config_path, "[default]\nendpoint_url = http://profile\n");
    assert_string_equal(endpoint(), "http://profile");
    write_text(config_path,
               "[default]\nservices = mine\nendpoint_url = http://profile\ns3 =\n  endpoint_url = http://no\n"
               "[services other]\nbedrock_agentcore =\n  endpoint_url = http://other\n"
               "[services mine]\ns3 =\n  endpoint_url = http://s3\nbedrock_agentcore =\n"
               "  x = y\n  endpoint_url = http://service\ndynamodb =\n  endpoint_url = http://db\n");
    assert_string_equal(endpoint(), "http://service");
    set("AWS_ENDPOINT_URL", "http://all");
    assert_string_equal(endpoint(), "http://all");
    set("AWS_ENDPOINT_URL_BEDROCK_AGENTCORE", "http://own");
    assert_string_equal(endpoint(), "http://own");
    set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true");
    assert_string_equal(endpoint(), "none");
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_signatures), EACH(test_no_address),    EACH(test_environment), EACH(test_files),
        EACH(test_odd_files),  EACH(test_files_at_home), EACH(test_programs),    EACH(test_program_hangs),
        EACH(test_cli),        EACH(test_staleness),     EACH(test_container),   EACH(test_container_elsewhere),
        EACH(test_instance),   EACH(test_regions),       EACH(test_endpoints),
    };

    return cmocka_run_group_tests(tests, set_up_files, tear_down_files);
}
