/* Loading providers: who is let in, who is not, and with which words. */
#include "loader/loader.h"
#include "worker_program.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"

#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

static struct {
    char plugins[PATH_MAX]; /* the folder of the test providers */
    char folder[PATH_MAX];  /* one for this test */
    char log[8192];
    struct environment *environment;
    struct entry_points points;
    struct registry_entry entry;
    char path[PATH_MAX + 64];
} scene;

/* In the second round the library is loaded in a process of its own, which is what happens without any configuration,
 * and everything is to be the same. */
static struct config_provider in_process = {.isolation = (char *)(uintptr_t) "none"};
static bool is_apart;

static void receive(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    (void)level;
    size_t used = strlen(scene.log);

    snprintf(scene.log + used, sizeof(scene.log) - used, "%s\n", text);
}

static int setup(void **state)
{
    (void)state;
    char *here = path_of_this_program();

    memset(&scene, 0, sizeof(scene));
    snprintf(scene.plugins, sizeof(scene.plugins), "%s/plugins", here ? here : "");
    free(here);
    snprintf(scene.folder, sizeof(scene.folder), "/tmp/sandlot-loader-XXXXXX");
    if (!mkdtemp(scene.folder))
        return -1;
    setenv("ECHO_API_KEY", "key-of-the-loader-test", 1);
    setenv("ECHO_SESSION_TOKEN", "token-of-the-loader-test", 1);
    setenv("ECHO_REGION", "region-of-the-loader-test", 1);
    scene.environment = environment_load(true);
    log_set_receiver(receive, NULL);
    return scene.environment ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    log_set_receiver(NULL, NULL);
    redact_clear();
    entry_points_clear(&scene.points);
    environment_free(scene.environment);
    unsetenv("ECHO_API_KEY");
    unsetenv("ECHO_SESSION_TOKEN");
    unsetenv("ECHO_REGION");
    return rmdir(scene.folder);
}

/* The offer of library PATH as the registry would make it, but without its judgement: what the loader itself sees
 * counts here. */
static struct registry_entry *offer_of(const char *path, const char *name)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *problem = NULL;

    entry_points_clear(&scene.points);
    scene.points = (struct entry_points){0};
    if (path != scene.path)
        snprintf(scene.path, sizeof(scene.path), "%s", path);
    scene.entry = (struct registry_entry){
        .name = (char *)(uintptr_t)name,
        .source = REGISTRY_PLUGIN,
        .path = scene.path,
        .symbol = (char *)(uintptr_t)name,
        .winner = true,
        .working_dir = "/workspace",
        .config = is_apart ? NULL : &in_process,
    };
    in_process.name = scene.entry.name;
    if (fd >= 0 && entry_points_read(fd, &scene.points, &problem) == ENTRY_POINTS_FOUND)
        scene.entry.note = scene.points.items[0];
    return &scene.entry;
}

static struct registry_entry *offer(const char *name)
{
    char path[sizeof(scene.path)];

    snprintf(path, sizeof(path), "%s/%s.so", scene.plugins, name);
    return offer_of(path, name);
}

#define OVERRIDES(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct provider *load(const struct registry_entry *entry, const char *const *overrides)
{
    struct sandlot_error error = {0};
    struct provider *provider = provider_load(entry, scene.environment, NULL, overrides, false, &error);

    if (!provider)
        print_error("%s\n", error.message);
    assert_non_null(provider);
    return provider;
}

/* Loading must fail with CODE and a single line that says each of the given texts, ended by NULL. */
static void expect_refusal(const struct registry_entry *entry, const char *const *overrides, enum sandlot_code code,
                           const char *const *texts)
{
    struct sandlot_error error = {0};

    assert_null(provider_load(entry, scene.environment, NULL, overrides, false, &error));
    assert_string_equal(sandlot_code_name(error.code), sandlot_code_name(code));
    for (; *texts; texts++)
        if (!strstr(error.message, *texts))
            fail_msg("\"%s\" is not in: %s", *texts, error.message);
    assert_null(strchr(error.message, '\n'));
    sandlot_error_clear(&error);
}

#define refused(entry, ...) expect_refusal(entry, NULL, SANDLOT_CODE_PROVIDER_UNAVAILABLE, OVERRIDES(__VA_ARGS__))

/* ---- those who are let in ---------------------------------------------------------------------------------------- */

static void every_kind_of_argument_arrives(void **state)
{
    (void)state;
    struct provider *provider =
        load(offer("echo_parameters"), OVERRIDES("text=hello", "folder=/srv", "list=a,b", "map={\"k\":1}", "i1=-1",
                                                 "i7=9223372036854775807", "f9=-0.25", "yes=false", "password=pw"));

    assert_non_null(
        strstr(scene.log, "text=hello folder=/srv list=[\"a\",\"b\"] map={\"k\":1} password=pw yes=0 no=0\n"));
    assert_non_null(strstr(scene.log, "integers=-1,2,3,4,5,6,9223372036854775807,absent\n"));
    assert_non_null(strstr(scene.log, "floats=1.5,2.5,3.5,4.5,5.5,6.5,7.5,8.5,-0.25,absent\n"));
    provider_unload(provider);
}

static void absent_arguments_arrive_as_promised(void **state)
{
    (void)state;
    provider_unload(load(offer("echo_parameters"), NULL));
    assert_non_null(strstr(scene.log, "text=NULL folder=NULL list=NULL map=NULL password=NULL yes=1 no=0\n"));
    assert_non_null(strstr(scene.log, "floats=1.5,2.5,3.5,4.5,5.5,6.5,7.5,8.5,9.5,absent\n"));
}

static void secrets_are_hidden_once_loaded(void **state)
{
    (void)state;
    struct provider *provider = load(offer("echo_parameters"), OVERRIDES("password=the-password"));

    assert_non_null(strstr(scene.log, "password=***"));
    AUTO_FREE char *text = redact("key-of-the-loader-test token-of-the-loader-test region-of-the-loader-test");

    assert_string_equal(text, "*** *** region-of-the-loader-test");
    provider_unload(provider);
}

static void newer_minor_works_with_what_is_known(void **state)
{
    (void)state;
    struct provider *provider = load(offer("longer_table"), OVERRIDES("first=5"));

    assert_non_null(strstr(scene.log, "longer_table: first=5 second=two\n"));
    assert_int_equal(provider->table.size, sizeof(struct sandlot_provider));
    assert_int_equal(provider->table.abi_minor, SANDLOT_ABI_MINOR + 7);
    provider_unload(provider);
}

static void config_may_name_a_library_without_note(void **state)
{
    (void)state;
    struct registry_entry *entry = offer("no_note");
    struct config_provider config = {.name = (char *)(uintptr_t) "mine",
                                     .class_path = entry->path,
                                     .isolation = is_apart ? NULL : in_process.isolation};

    entry->name = config.name;
    entry->source = REGISTRY_CONFIG;
    entry->config = &config;
    struct provider *provider = load(entry, NULL);

    assert_int_equal(provider_capabilities(&provider->table), 0);
    provider_unload(provider);
}

static void assert_isolated(struct registry_entry *entry, bool expected)
{
    struct provider *provider = load(entry, NULL);

    assert_int_equal(provider->worker != NULL, expected);
    assert_int_equal(provider->library == NULL, expected);
    provider_unload(provider);
}

/* Plugins and libraries of the config by themselves, built-ins on request; an override changes nothing of that. */
static void who_gets_a_process_of_its_own(void **state)
{
    (void)state;
    struct registry_entry *entry = offer("bulk");
    struct registry_entry below = *entry;
    struct registry_entry middle = *entry;
    struct config_provider config = {.name = entry->name};

    entry->config = NULL;
    assert_isolated(entry, true);
    entry->source = REGISTRY_BUILTIN;
    assert_isolated(entry, false);
    entry->source = REGISTRY_CONFIG;
    entry->config = &config;
    entry->shadows = &below;
    below.config = NULL;
    assert_isolated(entry, true);
    below.source = REGISTRY_BUILTIN;
    assert_isolated(entry, false);
    middle.config = NULL;
    middle.shadows = &below;
    entry->shadows = &middle;
    assert_isolated(entry, true);
    entry->shadows = &below;
    config.isolation = (char *)(uintptr_t) "process";
    assert_isolated(entry, true);
    config.isolation = (char *)(uintptr_t) "unconfined";
    assert_isolated(entry, true);
    config.class_path = entry->path;
    config.isolation = NULL;
    assert_isolated(entry, true);
    config.isolation = in_process.isolation;
    assert_isolated(entry, false);
}

static void capabilities_follow_the_table(void **state)
{
    (void)state;
    struct provider *provider = load(offer("fake"), OVERRIDES("folder=/tmp"));
    struct sandlot_provider table = provider->table;

    assert_int_equal(provider_capabilities(&table), CAPABILITY_LIST | CAPABILITY_PAUSE | CAPABILITY_SNAPSHOT |
                                                        CAPABILITY_SNAPSHOT_BASE | CAPABILITY_FORK |
                                                        CAPABILITY_STREAMING);
    table.resume = NULL;
    assert_int_equal(provider_capabilities(&table) & CAPABILITY_PAUSE, 0);
    table.resume = table.delete_sandbox;
    assert_int_equal(provider_capabilities(&table) & CAPABILITY_PAUSE, CAPABILITY_PAUSE);
    provider_unload(provider);
}

static void loads_and_unloads_many_times(void **state)
{
    (void)state;
    struct provider *first = load(offer("fake"), OVERRIDES("folder=/tmp"));

    for (int i = 0; i < 20; i++)
        provider_unload(load(&scene.entry, OVERRIDES("folder=/tmp")));
    provider_unload(first);
    provider_unload(NULL);
}

/* ---- those who are not ------------------------------------------------------------------------------------------- */

static void registry_problems_come_first(void **state)
{
    (void)state;
    struct registry_entry *entry = offer("constructor_writes");
    char mark[PATH_MAX + 8];

    snprintf(mark, sizeof(mark), "%s/mark", scene.folder);
    setenv("SANDLOT_TEST_MARK", mark, 1);
    entry->problem = (char *)(uintptr_t) "its note is damaged; reinstall it";
    refused(entry, "constructor_writes: cannot load the provider: its note is damaged; reinstall it");
    entry->problem = NULL;
    entry->needs = "no-such-program-of-the-loader-test";
    refused(entry, "no-such-program-of-the-loader-test", "install the package that");
    entry->install_hint = "acme-tools";
    refused(entry, "no-such-program-of-the-loader-test", "apt install acme-tools");
    entry->needs = NULL;
    entry->path = NULL;
    refused(entry, "it has no library", "[sandboxes.providers.constructor_writes]");
    assert_int_equal(access(mark, F_OK), -1); /* nothing of it has run so far */

    provider_unload(load(offer("constructor_writes"), NULL));
    assert_int_equal(access(mark, F_OK), 0);
    unlink(mark);
    unsetenv("SANDLOT_TEST_MARK");
}

static void copy(const char *from, const char *to, mode_t mode)
{
    size_t length;
    AUTO_FREE char *bytes = path_read_file(from, 1 << 24, &length);
    FILE *file = fopen(to, "w");

    assert_non_null(bytes);
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(to, mode), 0);
}

static void files_that_others_could_have_written(void **state)
{
    (void)state;
    char path[PATH_MAX + 16];
    char link[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/fake.so", scene.folder);
    snprintf(link, sizeof(link), "%s/link.so", scene.folder);
    copy(offer("fake")->path, path, 0664);
    assert_int_equal(symlink(path, link), 0);
    refused(offer_of(path, "fake"), "fake: cannot load the provider: ", path, "is writable by its group (mode 0664)");
    refused(offer_of(link, "fake"), path, "is writable by its group");
    chmod(path, 0644);
    chmod(scene.folder, 0777);
    refused(offer_of(link, "fake"), scene.folder, "is writable by everybody");
    chmod(scene.folder, 0700);
    provider_unload(load(offer_of(link, "fake"), OVERRIDES("folder=/tmp")));
    unlink(link);
    unlink(path);
}

static void files_that_are_no_libraries(void **state)
{
    (void)state;
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s/gone.so", scene.folder);
    refused(offer_of(path, "gone"), path, "No such file or directory");
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs("no library at all", file);
    fclose(file);
    refused(offer_of(path, "gone"), "gone: cannot load the provider: ", path, "file too short");
    unlink(path);
}

static void missing_symbols(void **state)
{
    (void)state;
    refused(offer("missing_symbol"), "missing_symbol.so", "no symbol \"missing_symbol\"", "undefined symbol",
            "class_path");
    /* Neither data nor a function of another library is an entry function. */
    struct registry_entry *entry = offer("missing_symbol");

    entry->symbol = (char *)(uintptr_t) "some_data";
    refused(entry, "\"some_data\" is no function of its own");
    entry = offer("fake");
    entry->symbol = (char *)(uintptr_t) "calloc";
    refused(entry, "\"calloc\" is no function of its own");
}

static void other_abi_majors(void **state)
{
    (void)state;
    refused(offer("future_table"), "future_table.so", "version 2 of the provider ABI", "speaks version 1",
            "a newer Sandlot");
    refused(offer("future_abi"), "version 2 of the provider ABI");
}

static void lies(void **state)
{
    (void)state;
    refused(offer("lying_name"), "\"lying_name\"", "\"somebody_else\"");
    refused(offer("lying_capability"), "names the capability \"list\"", "does not have it");
    struct registry_entry *entry = offer("fake");

    entry->note.capabilities = CAPABILITY_LIST;
    refused(entry, "does not name the capability \"pause\"", "has it");
}

static void broken_tables(void **state)
{
    (void)state;
    refused(offer("missing_function"), "no function delete_sandbox");
    refused(offer("broken_parameters"), "broken_parameters.so", "parameter \"memory_mb\": its default");
}

static void provider_refuses_the_host(void **state)
{
    (void)state;
    refused(offer("refuses_host"), "refuses this host: it needs a host of ABI 1.9 or later; upgrade Sandlot");
}

static void open_that_fails(void **state)
{
    (void)state;
    expect_refusal(offer("fails_open"), NULL, SANDLOT_CODE_AUTH,
                   OVERRIDES("fails_open: the provider could not be opened: the key is worn out; get another one"));
    expect_refusal(offer("fails_open"), OVERRIDES("silent=1", "status=9"), SANDLOT_CODE_PROVIDER_UNAVAILABLE,
                   OVERRIDES("sandlot doctor"));
    expect_refusal(offer("fails_open"), OVERRIDES("silent=1", "status=77"), SANDLOT_CODE_PROVIDER_ERROR,
                   OVERRIDES("gave no reason"));
}

static void bad_parameters_are_usage_errors(void **state)
{
    (void)state;
    expect_refusal(offer("echo_parameters"), OVERRIDES("i1=x"), SANDLOT_CODE_USAGE, OVERRIDES("parameter \"i1\""));
    expect_refusal(offer("fake"), NULL, SANDLOT_CODE_USAGE, OVERRIDES("the parameter \"folder\"", "is required"));
    assert_string_equal(scene.log, ""); /* open was not called */
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(every_kind_of_argument_arrives),
        SCENE_TEST(absent_arguments_arrive_as_promised),
        SCENE_TEST(secrets_are_hidden_once_loaded),
        SCENE_TEST(newer_minor_works_with_what_is_known),
        SCENE_TEST(config_may_name_a_library_without_note),
        SCENE_TEST(who_gets_a_process_of_its_own),
        SCENE_TEST(capabilities_follow_the_table),
        SCENE_TEST(loads_and_unloads_many_times),
        SCENE_TEST(registry_problems_come_first),
        SCENE_TEST(files_that_others_could_have_written),
        SCENE_TEST(files_that_are_no_libraries),
        SCENE_TEST(missing_symbols),
        SCENE_TEST(other_abi_majors),
        SCENE_TEST(lies),
        SCENE_TEST(broken_tables),
        SCENE_TEST(provider_refuses_the_host),
        SCENE_TEST(open_that_fails),
        SCENE_TEST(bad_parameters_are_usage_errors),
    };

    use_worker_of_this_build();
    int failed = cmocka_run_group_tests_name("loader", tests, NULL, NULL);

    is_apart = true;
    failed += cmocka_run_group_tests_name("loader with the provider apart", tests, NULL, NULL);
    return failed;
}
