/* Binding parameters: from config.toml and --param to typed arguments. */
#include "loader/parameters.h"

#include "base/log.h"
#include "base/redact.h"
#include "base/text.h"
#include "loader/host.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

/* What open received. */
static struct {
    char image[64];
    char folder[PATH_MAX];
    char list[256];
    char map[256];
    char token[64];
    int64_t memory;
    int64_t kept;
    int64_t pause;
    double wait;
    double cpus;
    bool fast;
} got;

#define ACME_PARAMETERS(P)                                         \
    P(string, image, "debian:12", optional, "image to start from") \
    P(path, workspace, "", optional, "a folder")                   \
    P(integer, memory_mb, "512", optional, "memory")               \
    P(float, cpus, "", optional, "processors")                     \
    P(boolean, fast, "", optional, "hurry")                        \
    P(array, allow, "", optional, "hosts")                         \
    P(table, extra, "", optional, "more")                          \
    P(string, api_token, "", secret, "a key")                      \
    P(integer, kept_sec, "", optional, "a time")                   \
    P(integer, pause_ms, "", optional, "a time")                   \
    P(float, wait_s, "", optional, "a time")
SANDLOT_PARAMETERS(acme, ACME_PARAMETERS)

static void keep(char *to, size_t size, const char *text)
{
    snprintf(to, size, "%s", text ? text : "NULL");
}

/* NOLINTNEXTLINE(readability-function-size): one parameter of each kind */
static enum sandlot_status acme_open(struct sandlot_call *call, void **provider, const char *image,
                                     const char *workspace, int64_t memory_mb, double cpus, bool fast,
                                     const char *allow, const char *extra, const char *api_token, int64_t kept_sec,
                                     int64_t pause_ms, double wait_s)
{
    (void)call;
    *provider = &got;
    keep(got.image, sizeof(got.image), image);
    keep(got.folder, sizeof(got.folder), workspace);
    keep(got.list, sizeof(got.list), allow);
    keep(got.map, sizeof(got.map), extra);
    keep(got.token, sizeof(got.token), api_token);
    got.memory = memory_mb;
    got.kept = kept_sec;
    got.pause = pause_ms;
    got.wait = wait_s;
    got.cpus = cpus;
    got.fast = fast;
    return SANDLOT_OK;
}

static const struct sandlot_provider acme_provider = {SANDLOT_TABLE(acme)};

#define STRICT_PARAMETERS(P)                  \
    P(string, project, "", required, "whose") \
    P(path, home, "", required, "where")
SANDLOT_PARAMETERS(strict, STRICT_PARAMETERS)

static enum sandlot_status strict_open(struct sandlot_call *call, void **provider, const char *project,
                                       const char *home)
{
    (void)call;
    keep(got.image, sizeof(got.image), project);
    keep(got.folder, sizeof(got.folder), home);
    *provider = NULL;
    return SANDLOT_OK;
}

static const struct sandlot_provider strict_provider = {SANDLOT_TABLE(strict)};

/* ---- the scene
 * ------------------------------------------------------------------------------------------------------- */

static struct {
    char folder[PATH_MAX];
    char file[PATH_MAX + 16];
    struct config *config;
    char warnings[2048];
} scene;

static void receive(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    if (level == SANDLOT_MESSAGE_WARNING)
        snprintf(scene.warnings + strlen(scene.warnings), sizeof(scene.warnings) - strlen(scene.warnings), "%s\n",
                 text);
}

static int setup(void **state)
{
    (void)state;
    memset(&scene, 0, sizeof(scene));
    memset(&got, 0, sizeof(got));
    snprintf(scene.folder, sizeof(scene.folder), "/tmp/sandlot-parameters-XXXXXX");
    if (!mkdtemp(scene.folder))
        return -1;
    snprintf(scene.file, sizeof(scene.file), "%s/config.toml", scene.folder);
    log_set_receiver(receive, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    log_set_receiver(NULL, NULL);
    redact_clear();
    config_free(scene.config);
    unlink(scene.file);
    return rmdir(scene.folder);
}

/* The config entry NAME with PARAMS, whose first line is line 4 of the file. */
static const struct config_provider *configure(const char *name, const char *params)
{
    FILE *file = fopen(scene.file, "w");
    struct sandlot_error error = {0};

    assert_non_null(file);
    fprintf(file, "[sandboxes.providers.%s]\nclass_path = \"x.so:x\"\n[sandboxes.providers.%s.params]\n%s\n", name,
            name, params);
    assert_int_equal(fclose(file), 0);
    config_free(scene.config);
    scene.config = config_load(scene.file, &error);
    assert_non_null(scene.config);
    assert_non_null(config_find(scene.config, name));
    return config_find(scene.config, name);
}

/* Binds and calls open; what it received is in `got`. */
static void open_with(const struct sandlot_provider *provider, const struct config_provider *config,
                      const char *const *overrides, bool lenient)
{
    struct sandlot_error error = {0};
    struct host_call call;
    void *instance;
    struct parameters *parameters = parameters_bind(provider, config, scene.file, overrides, lenient, &error);

    if (error.message)
        print_error("%s\n", error.message);
    assert_non_null(parameters);
    host_call_init(&call, "acme", NULL, 0, -1);
    assert_int_equal(parameters_call_open(parameters, provider, &call.call, &instance, &error), SANDLOT_OK);
    host_call_clear(&call);
    parameters_free(parameters);
}

#define OVERRIDES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Binding must fail as a usage error that says each of the given texts, ended by NULL. */
static void expect_refusal(const struct sandlot_provider *provider, const struct config_provider *config,
                           const char *const *overrides, const char *const *texts)
{
    struct sandlot_error error = {0};

    assert_null(parameters_bind(provider, config, scene.file, overrides, false, &error));
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    for (; *texts; texts++)
        if (!strstr(error.message, *texts))
            fail_msg("\"%s\" is not in: %s", *texts, error.message);
    assert_null(strchr(error.message, '\n'));
    sandlot_error_clear(&error);
}

#define refused_override(override, ...) \
    expect_refusal(&acme_provider, NULL, OVERRIDES(override), OVERRIDES(__VA_ARGS__))
#define refused_config(line, ...) expect_refusal(&acme_provider, configure("acme", line), NULL, OVERRIDES(__VA_ARGS__))

/* ---- values
 * ---------------------------------------------------------------------------------------------------------- */

static void defaults_and_absence(void **state)
{
    (void)state;
    open_with(&acme_provider, NULL, NULL, false);
    assert_string_equal(got.image, "debian:12");
    assert_string_equal(got.folder, "NULL");
    assert_int_equal(got.memory, 512);
    assert_true(isnan(got.cpus));
    assert_false(got.fast);
    assert_string_equal(got.list, "NULL");
    assert_string_equal(got.map, "NULL");
    assert_string_equal(got.token, "NULL");
}

static void config_gives_every_kind(void **state)
{
    (void)state;
    char folder[PATH_MAX + 16];

    open_with(&acme_provider,
              configure("acme", "image = \"alpine\"\nworkspace = \"src\"\nmemory_mb = -7\ncpus = 2\nfast = true\n"
                                "allow = [\"a.b\", 1]\nextra = {x = \"/\", y = [true]}\napi_token = \"s3cret-token\""),
              NULL, false);
    assert_string_equal(got.image, "alpine");
    snprintf(folder, sizeof(folder), "%s/src", scene.folder);
    assert_string_equal(got.folder, folder);
    assert_int_equal(got.memory, -7);
    assert_true(got.cpus == 2.0);
    assert_true(got.fast);
    assert_string_equal(got.list, "[\"a.b\",1]");
    assert_string_equal(got.map, "{\"x\":\"/\",\"y\":[true]}");
    assert_string_equal(got.token, "s3cret-token");
}

static void overrides_win_and_the_last_counts(void **state)
{
    (void)state;
    char here[PATH_MAX];
    char folder[PATH_MAX + 16];

    open_with(&acme_provider, configure("acme", "image = \"alpine\"\nmemory_mb = 1\nworkspace = \"src\""),
              OVERRIDES("memory_mb=2", "memory_mb=3", "workspace=a b", "cpus=.5", "fast=1", "image=k=v", "api_token="),
              false);
    assert_int_equal(got.memory, 3);
    assert_string_equal(got.image, "k=v");
    assert_true(got.cpus == 0.5);
    assert_true(got.fast);
    assert_string_equal(got.token, "");
    assert_non_null(getcwd(here, sizeof(here)));
    snprintf(folder, sizeof(folder), "%s/a b", strcmp(here, "/") == 0 ? "" : here);
    assert_string_equal(got.folder, folder);

    /* A path can be taken back, and an override mends what is wrong in the config. */
    open_with(&acme_provider, configure("acme", "workspace = \"src\"\nmemory_mb = \"lots\""),
              OVERRIDES("workspace=", "memory_mb=+4"), false);
    assert_string_equal(got.folder, "NULL");
    assert_int_equal(got.memory, 4);
}

static void lists_and_tables_as_text(void **state)
{
    (void)state;
    open_with(&acme_provider, NULL, OVERRIDES("allow=a.example, *.b ,c:443", "extra={\"k\": [1, \"/\"]} "), false);
    assert_string_equal(got.list, "[\"a.example\",\"*.b\",\"c:443\"]");
    assert_string_equal(got.map, "{\"k\":[1,\"/\"]}");
    open_with(&acme_provider, NULL, OVERRIDES("allow= [\"a,b\", {\"c\": 1}]"), false);
    assert_string_equal(got.list, "[\"a,b\",{\"c\":1}]");
    open_with(&acme_provider, NULL, OVERRIDES("allow="), false);
    assert_string_equal(got.list, "[]");
}

/* What is a time, by its name, may have units; a bare number counts in the parameter's own. */
static void times_have_units(void **state)
{
    (void)state;
    open_with(&acme_provider, configure("acme", "kept_sec = \"1h30m\"\npause_ms = \"5m\"\nwait_s = \"2d\""), NULL,
              false);
    assert_int_equal(got.kept, 5400);
    assert_int_equal(got.pause, 300000);
    assert_true(got.wait == 172800.0);
    open_with(&acme_provider, NULL, OVERRIDES("kept_sec=2m", "pause_ms=2s", "wait_s=1m"), false);
    assert_int_equal(got.kept, 120);
    assert_int_equal(got.pause, 2000);
    assert_true(got.wait == 60.0);
    open_with(&acme_provider, configure("acme", "wait_s = 1"), OVERRIDES("kept_sec=-3", "pause_ms=20", "wait_s=.5"),
              false);
    assert_int_equal(got.kept, -3);
    assert_int_equal(got.pause, 20);
    assert_true(got.wait == 0.5);
}

/* ---- refusals
 * -------------------------------------------------------------------------------------------------------- */

static void unknown_names(void **state)
{
    (void)state;
    char where[PATH_MAX + 128];

    refused_override("imgae=x", "acme: --param: ", "no parameter \"imgae\"", "did you mean \"image\"?",
                     "image, workspace, memory_mb", "start_timeout_s, ttl_s, hard_ttl_s");
    refused_override("tll_s=1", "did you mean \"ttl_s\"?");
    refused_override("quite_different=1", "its parameters are: image");
    snprintf(where, sizeof(where), "acme: %s:5: there is no parameter \"imgae\"; did you mean \"image\"?", scene.file);
    refused_config("image = \"x\"\nimgae = \"y\"", where);
}

static void malformed_overrides(void **state)
{
    (void)state;
    refused_override("memory_mb", "has no \"=\"", "--param NAME=VALUE");
    refused_override("=5", "no name before \"=\"");
    refused_override("", "has no \"=\"");
}

static void wrong_text(void **state)
{
    (void)state;
    refused_override("memory_mb=lots", "acme: --param: parameter \"memory_mb\" must be an integer", "\"lots\"",
                     "a whole number");
    refused_override("memory_mb=", "an integer");
    refused_override("memory_mb=1.0", "an integer");
    refused_override("memory_mb=99999999999999999999", "is out of range");
    refused_override("memory_mb=-9223372036854775808", "is out of range");
    refused_override("cpus=nan", "a float");
    refused_override("cpus=1e999", "a float");
    refused_override("cpus=0x10", "a float");
    refused_override("cpus=", "a float");
    refused_override("kept_sec=5x", "an integer", "a time with units such as \"90s\"");
    refused_override("kept_sec=99999999999d", "an integer");
    refused_override("memory_mb=5m", "an integer");
    refused_override("fast=yes", "a boolean", "true or false");
    refused_override("allow=a,,b", "an array");
    refused_override("allow=a,", "an array");
    refused_override("allow=[1", "an array");
    refused_override("allow=[1] x", "an array");
    refused_override("extra=[1]", "a table", "JSON");
    refused_override("extra=", "a table");
    refused_override("extra={\"a\": [1e999]}", "a table");
    refused_override("image=\xff\xfe", "a string", "UTF-8");
    refused_override("workspace=x\xff\xfe", "must be a path");
}

static void wrong_types_in_the_config(void **state)
{
    (void)state;
    char where[PATH_MAX + 128];

    snprintf(where, sizeof(where), "acme: %s:4: parameter \"memory_mb\" must be an integer, and a string is not",
             scene.file);
    refused_config("memory_mb = \"512\"", where);
    refused_config("memory_mb = 1.0", "an integer, and a float");
    refused_config("memory_mb = \"5m\"", "an integer, and a string");
    refused_config("pause_ms = \"20\"", "an integer, and a string", "or a time with units");
    refused_config("pause_ms = \"5m\\u0000\"", "a string with a NUL byte");
    refused_config("ttl_s = \"100000d\"", "an integer, and a string");
    refused_config("start_timeout_s = \"0s\"", "from 1 to");
    refused_config("image = 5", "a string, and an integer");
    refused_config("image = \"a\\u0000b\"", "a string with a NUL byte");
    refused_config("workspace = true", "a path, and a boolean");
    refused_config("fast = \"true\"", "a boolean, and a string");
    refused_config("fast = 1", "a boolean, and an integer");
    refused_config("cpus = \"2\"", "a float, and a string");
    refused_config("cpus = inf", "a float, and a float that is no number");
    refused_config("allow = \"a,b\"", "an array, and a string");
    refused_config("extra = []", "a table, and an array");
    refused_config("extra = {a = [{b = nan}]}", "a table, and one with a float that is no number");
    refused_config("allow = [1.0, -inf]", "an array, and one with a float that is no number");
}

static void long_values_are_cut_in_messages(void **state)
{
    (void)state;
    char override[4096] = "memory_mb=";
    struct sandlot_error error = {0};

    memset(override + strlen(override), 'x', 3000);
    assert_null(parameters_bind(&acme_provider, NULL, NULL, OVERRIDES(override), false, &error));
    assert_in_range(strlen(error.message), 64, 300);
    sandlot_error_clear(&error);
}

static void times_have_limits(void **state)
{
    (void)state;
    refused_override("start_timeout_s=0", "acme: --param: parameter \"start_timeout_s\"", "from 1 to");
    refused_override("ttl_s=-1", "from 0 to");
    refused_override("hard_ttl_s=9223372036854775807", "is outside");
    refused_config("ttl_s = -5", ":4: parameter \"ttl_s\"");
}

static void host_parameters_are_bound(void **state)
{
    (void)state;
    struct sandlot_error error = {0};
    size_t count;
    const struct sandlot_parameter *host = parameters_of_host(&count);

    assert_int_equal(count, 3);
    assert_string_equal(host[0].name, "start_timeout_s");
    struct parameters *bound = parameters_bind(&acme_provider, NULL, NULL, NULL, false, &error);

    assert_non_null(bound);
    assert_int_equal(parameters_start_timeout_ms(bound), 180000);
    assert_int_equal(parameters_idle_ttl_ms(bound), 3600000);
    assert_int_equal(parameters_hard_ttl_ms(bound), INT64_C(2592000000));
    parameters_free(bound);
    bound = parameters_bind(&acme_provider, configure("acme", "ttl_s = 0\nhard_ttl_s = \"2h\""), scene.file,
                            OVERRIDES("start_timeout_s=5"), false, &error);
    assert_non_null(bound);
    assert_int_equal(parameters_start_timeout_ms(bound), 5000);
    assert_int_equal(parameters_idle_ttl_ms(bound), 0);
    assert_int_equal(parameters_hard_ttl_ms(bound), 7200000);
    parameters_free(bound);
}

static void required_parameters(void **state)
{
    (void)state;
    expect_refusal(&strict_provider, NULL, NULL,
                   OVERRIDES("strict: the parameter \"project\" (a string) is required",
                             "[sandboxes.providers.strict.params]", "--param project=VALUE"));
    expect_refusal(&strict_provider, NULL, OVERRIDES("project=p", "home="), OVERRIDES("the parameter \"home\""));
    open_with(&strict_provider, NULL, OVERRIDES("project=p", "home=/h"), false);
    assert_string_equal(got.image, "p");
    /* The name is that of the config entry, under which the user has to set it. */
    expect_refusal(&strict_provider, configure("mine", ""), NULL, OVERRIDES("[sandboxes.providers.mine.params]"));
}

static void lenient_goes_on_with_warnings(void **state)
{
    (void)state;
    open_with(&strict_provider, configure("strict", "project = 5\nhoem = \"x\"\nhome = \"/h\""), NULL, true);
    assert_string_equal(got.image, "NULL");
    assert_string_equal(got.folder, "/h");
    assert_non_null(strstr(scene.warnings, "config.toml:4: parameter \"project\" must be a string"));
    assert_non_null(strstr(scene.warnings, "config.toml:5: there is no parameter \"hoem\"; did you mean \"home\"?"));

    /* What was typed just now is no old mistake: it is refused all the same. */
    struct sandlot_error error = {0};

    assert_null(parameters_bind(&acme_provider, NULL, NULL, OVERRIDES("memory_mb=x"), true, &error));
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
}

/* ---- secrets
 * --------------------------------------------------------------------------------------------------------- */

#define VAULT_PARAMETERS(P)                    \
    P(integer, pin, "", secret, "a number")    \
    P(table, keys, "", secret, "keys by host") \
    P(array, tokens, "", secret, "tokens")
SANDLOT_PARAMETERS(vault, VAULT_PARAMETERS)

static enum sandlot_status vault_open(struct sandlot_call *call, void **provider, int64_t pin, const char *keys,
                                      const char *tokens)
{
    (void)call;
    (void)pin;
    keep(got.map, sizeof(got.map), keys);
    keep(got.list, sizeof(got.list), tokens);
    *provider = NULL;
    return SANDLOT_OK;
}

static const struct sandlot_provider vault_provider = {SANDLOT_TABLE(vault)};

static void assert_hidden(const char *secret)
{
    char *text = redact(secret);

    assert_string_equal(text, "***");
    free(text);
}

static void secrets_are_never_shown(void **state)
{
    (void)state;
    struct sandlot_error error = {0};

    assert_null(parameters_bind(&vault_provider, NULL, NULL, OVERRIDES("pin=geheim-1234"), false, &error));
    assert_null(strstr(error.message, "geheim"));
    assert_non_null(strstr(error.message, "its value (not shown)"));
    sandlot_error_clear(&error);
    assert_hidden("geheim-1234");

    open_with(&vault_provider, configure("vault", "keys = {a = \"key-in-table\"}\ntokens = [[\"deep-token\"]]"), NULL,
              false);
    assert_hidden("key-in-table");
    assert_hidden("deep-token");
    open_with(&vault_provider, NULL, OVERRIDES("keys={\"h\": \"typed-key\"}", "tokens=token-1,token-2"), false);
    assert_string_equal(got.list, "[\"token-1\",\"token-2\"]");
    assert_hidden("typed-key");
    assert_hidden("token-1");
    assert_hidden("token-2");
}

static void record_has_no_secrets(void **state)
{
    (void)state;
    assert_null(parameters_recordable(&acme_provider, NULL));
    assert_null(parameters_recordable(&acme_provider, OVERRIDES("api_token=s3cret")));
    /* What a sandbox holds may be large, and is not for the disk. */
    assert_null(parameters_recordable(&acme_provider, OVERRIDES("extra={\"a\": \"b\"}")));
    struct json_object *record = parameters_recordable(
        &acme_provider, OVERRIDES("api_token=s3cret", "workspace=/w", "ttl_s=5", "image=a=b", "workspace=relative"));

    assert_non_null(record);
    assert_int_equal(json_object_array_length(record), 4);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(record, 0)), "workspace=/w");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(record, 1)), "ttl_s=5");
    assert_string_equal(json_object_get_string(json_object_array_get_idx(record, 2)), "image=a=b");
    /* The process that collects garbage stands somewhere else. */
    const char *path = json_object_get_string(json_object_array_get_idx(record, 3));

    assert_memory_equal(path, "workspace=/", strlen("workspace=/"));
    json_object_put(record);
}

/* ---- declarations of strangers
 * --------------------------------------------------------------------------------------- */

static void expect_broken(const struct sandlot_parameter *rows, size_t count, const char *text)
{
    struct sandlot_provider provider = {.name = "stranger", .parameters = rows, .parameter_count = count};
    struct sandlot_error error = {0};

    assert_int_equal(parameters_check(&provider, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_PROVIDER_UNAVAILABLE);
    if (!strstr(error.message, text))
        fail_msg("\"%s\" is not in: %s", text, error.message);
    sandlot_error_clear(&error);
    assert_null(parameters_bind(&provider, NULL, NULL, NULL, true, &error));
    assert_int_equal(error.code, SANDLOT_CODE_PROVIDER_UNAVAILABLE);
    sandlot_error_clear(&error);
}

static void broken_declarations(void **state)
{
    (void)state;
    enum { SIZE = sizeof(struct sandlot_parameter) };
#define ROW(...) ((const struct sandlot_parameter[]){{__VA_ARGS__}})
    expect_broken(NULL, 1, "their number is wrong");
    expect_broken(ROW(SIZE, "a", SANDLOT_PARAMETER_integer, 0, "", ""), SIZE_MAX, "their number is wrong");
    expect_broken(ROW(SIZE - 8, "a", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "the size of its rows");
    expect_broken(ROW(0, "a", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "the size of its rows");
    expect_broken(ROW(SIZE + 1, "a", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "the size of its rows");
    expect_broken(ROW(SIZE, NULL, SANDLOT_PARAMETER_integer, 0, "", ""), 1, "no name");
    expect_broken(ROW(SIZE, "", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "no C identifier");
    expect_broken(ROW(SIZE, "9lives", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "no C identifier");
    expect_broken(ROW(SIZE, "a-b", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "no C identifier");
    expect_broken(ROW(SIZE, "a123456789a123456789a123456789a12345678", SANDLOT_PARAMETER_integer, 0, "", ""), 1,
                  "no C identifier");
    expect_broken(ROW(SIZE, "ttl_s", SANDLOT_PARAMETER_integer, 0, "", ""), 1, "belongs to the host");
    expect_broken(ROW(SIZE, "a", (enum sandlot_parameter_kind)8, 0, "", ""), 1, "kind is not known");
    expect_broken(ROW(SIZE, "a", (enum sandlot_parameter_kind)0, 0, "", ""), 1, "kind is not known");
    expect_broken(ROW(SIZE, "a", SANDLOT_PARAMETER_integer, 0, "many", ""), 1, "its default is not of its kind");
#undef ROW
    const struct sandlot_parameter twice[] = {{SIZE, "a", SANDLOT_PARAMETER_integer, 0, "", ""},
                                              {SIZE, "a", SANDLOT_PARAMETER_string, 0, NULL, NULL}};

    expect_broken(twice, 2, "parameter \"a\": it is declared twice");
}

static void provider_without_open(void **state)
{
    (void)state;
    const struct sandlot_provider plain = {.name = "plain"};

    open_with(&plain, NULL, OVERRIDES("ttl_s=1"), false);
    expect_refusal(&plain, NULL, OVERRIDES("x=1"), OVERRIDES("its parameters are: start_timeout_s, ttl_s, hard_ttl_s"));
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(defaults_and_absence),
        SCENE_TEST(config_gives_every_kind),
        SCENE_TEST(overrides_win_and_the_last_counts),
        SCENE_TEST(lists_and_tables_as_text),
        SCENE_TEST(times_have_units),
        SCENE_TEST(unknown_names),
        SCENE_TEST(malformed_overrides),
        SCENE_TEST(wrong_text),
        SCENE_TEST(wrong_types_in_the_config),
        SCENE_TEST(long_values_are_cut_in_messages),
        SCENE_TEST(times_have_limits),
        SCENE_TEST(host_parameters_are_bound),
        SCENE_TEST(required_parameters),
        SCENE_TEST(lenient_goes_on_with_warnings),
        SCENE_TEST(secrets_are_never_shown),
        SCENE_TEST(record_has_no_secrets),
        SCENE_TEST(broken_declarations),
        SCENE_TEST(provider_without_open),
    };

    return cmocka_run_group_tests_name("parameters", tests, NULL, NULL);
}
