/*
 * Memory runs out at every place in turn: nothing may crash, a failure must say so, and once there is memory again `gc`
 * must be able to clean up whatever was left. The allocator is replaced by one that fails at the Nth call.
 */
#include "base/path.h"
#include "failing_allocator.h"
#include "worker_program.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sandlot/sandlot.h>

#include <cmocka.h>

static char folder[64];

static const char config_text[] = "[sandboxes]\n"
                                  "default = \"fake\"\n"
                                  "[sandboxes.providers.fake]\n"
                                  "package = \"fake-package\"\n"
                                  "isolation = \"none\"\n"
                                  "[sandboxes.providers.fake.params]\n"
                                  "ready_after = 0\n"
                                  "ttl_s = \"1h\"\n"
                                  "[sandboxes.providers.other]\n"
                                  "class_path = \"nowhere.so:symbol\"\n"
                                  "unknown_key = [1, 2.5, true, {a = 1979-05-27}]\n";

static void write_text(const char *name, const char *text)
{
    char path[128];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"vendor", "plugins", "config", "config/sandlot"};
    const char *plugins = getenv("SANDLOT_TEST_PLUGINS");
    char *here = path_of_this_program();
    char path[128];
    char plugin[4096];

    (void)state;
    strcpy(folder, "/tmp/sandlot-memory-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, folders[i]);
        mkdir(path, 0700);
    }
    snprintf(plugin, sizeof(plugin), "%s%s/fake.so", plugins ? plugins : here, plugins ? "" : "/plugins");
    free(here);
    snprintf(path, sizeof(path), "%s/plugins/fake.so", folder);
    if (symlink(plugin, path) < 0)
        return -1;
    write_text("config/sandlot/config.toml", config_text);
    write_text("config/sandlot/.env", "export A=\"b ${HOME} c\"\nFAKE_API_KEY='secret-value'\n");
    write_text("setup.sh", "echo ${A} >done\n");
    setenv("HOME", folder, 1);
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("XDG_DATA_HOME", folder, 1);
    snprintf(path, sizeof(path), "%s/config", folder);
    setenv("XDG_CONFIG_HOME", path, 1);
    snprintf(path, sizeof(path), "%s/plugins", folder);
    setenv("SANDLOT_PLUGIN_PATH", path, 1);
    return chdir(folder);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "cd / && rm -rf '%s'", folder);
    return system(command);
}

static void ignore(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context, (void)level, (void)text;
}

static struct sandlot *open_runtime(struct sandlot_error *error)
{
    struct sandlot_options options = {.size = sizeof(options), .message = ignore};

    return sandlot_open(&options, error);
}

/* A whole session. True if all of it worked. */
static bool live_once(struct sandlot_error *error)
{
    const char *const parameters[] = {"folder=vendor", "secret=hush-hush", NULL};
    struct sandlot_session_options options = {
        .size = sizeof(options), .provider = "fake", .parameters = parameters, .setup_file = "setup.sh"};
    struct sandlot_execution execution = {.size = sizeof(execution), .command = "cat done"};
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot *sandlot = open_runtime(error);
    struct sandlot_session *session = sandlot ? sandlot_session_open(sandlot, &options, error) : NULL;
    bool worked = session && sandlot_execute(session, &execution, &result, error) == 0;

    if (worked)
        sandlot_result_clear(&result);
    if (session && sandlot_session_close(session, error) < 0)
        worked = false;
    sandlot_close(sandlot);
    return worked;
}

/* What the dead process left goes, on both sides. */
static void expect_clean_after_gc(void)
{
    char command[256];
    struct sandlot *sandlot = open_runtime(NULL);

    assert_non_null(sandlot);
    assert_int_equal(sandlot_collect_garbage(sandlot, NULL, NULL, NULL, NULL), 0);
    sandlot_close(sandlot);
    snprintf(command, sizeof(command), "test -z \"$(ls '%s/vendor' '%s/sandlot/ledger' 2>/dev/null | grep -v :)\"",
             folder, folder);
    assert_int_equal(system(command), 0);
}

/* How a session ended whose Nth allocation failed. */
enum fate { FATE_WORKED, FATE_WORKED_UNTOUCHED, FATE_FAILED, FATE_FAILED_SILENTLY };

/* In a process of its own, so that what it leaves has a dead owner. */
static enum fate live_in_child(long n)
{
    pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (child == 0) {
        struct sandlot_error error = {0};

        atomic_store(&countdown, n);
        bool worked = live_once(&error);
        bool untouched = atomic_exchange(&countdown, -1) >= 0;

        if (worked)
            _exit(untouched ? FATE_WORKED_UNTOUCHED : FATE_WORKED);
        _exit(error.code == SANDLOT_CODE_OK ? FATE_FAILED_SILENTLY : FATE_FAILED);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status))
        fail_msg("killed by signal %d when allocation %ld failed", WTERMSIG(status), n);
    return (enum fate)WEXITSTATUS(status);
}

enum { MOST_ALLOCATIONS = 20000 };

static void test_opening(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    for (long n = 0; n < MOST_ALLOCATIONS; n++) {
        struct sandlot_error error = {0};

        atomic_store(&countdown, n);
        struct sandlot *sandlot = open_runtime(&error);
        bool untouched = atomic_exchange(&countdown, -1) >= 0;

        assert_true(sandlot || error.code != SANDLOT_CODE_OK);
        sandlot_error_clear(&error);
        sandlot_close(sandlot);
        if (untouched)
            return;
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

static void test_session(void **state)
{
    long step = getenv("SANDLOT_TEST_SLOW") ? 1 : 7;

    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    for (long n = 0; n < MOST_ALLOCATIONS; n += step) {
        enum fate fate = live_in_child(n);

        if (fate == FATE_WORKED_UNTOUCHED)
            return;
        if (fate == FATE_FAILED_SILENTLY)
            fail_msg("failed without an error at allocation %ld", n);
        expect_clean_after_gc();
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_opening, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_session, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("allocation", tests, NULL, NULL);
}
