/*
 * Memory of the host runs out at every place in turn while a provider works in a process of its own: nothing may crash,
 * hang or stay behind, and each failure must say so.
 */
#include "loader/loader.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "failing_allocator.h"
#include "worker_program.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

enum { MOST_ALLOCATIONS = 5000, LONGEST_MS = 8000 };

static struct {
    struct environment *environment;
    struct entry_points points;
    struct registry_entry entry;
    char *path;
} scene;

static void ignore(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context, (void)level, (void)text;
}

static int set_up(void **state)
{
    (void)state;
    setenv("MISBEHAVES_KEY", "key-of-the-worker-test", 1);
    scene.environment = environment_load(true);
    use_worker_of_this_build();
    log_set_receiver(ignore, NULL);
    return scene.environment ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    log_set_receiver(NULL, NULL);
    worker_use_program(NULL);
    entry_points_clear(&scene.points);
    scene.points = (struct entry_points){0};
    environment_free(scene.environment);
    free(TAKE(scene.path));
    return 0;
}

static void choose(const char *name)
{
    AUTO_FREE char *here = path_of_this_program();
    AUTO_FREE char *problem = NULL;

    scene.path = text_format("%s/plugins/%s.so", here, name);
    AUTO_CLOSE int fd = open(scene.path, O_RDONLY | O_CLOEXEC);

    assert_int_equal(entry_points_read(fd, &scene.points, &problem), ENTRY_POINTS_FOUND);
    scene.entry = (struct registry_entry){.name = (char *)(uintptr_t)name,
                                          .source = REGISTRY_PLUGIN,
                                          .path = scene.path,
                                          .symbol = (char *)(uintptr_t)name,
                                          .winner = true,
                                          .working_dir = "/",
                                          .supports_sandbox_id = true,
                                          .note = scene.points.items[0]};
}

static size_t descriptor_count(void)
{
    AUTO_DIRECTORY DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(folder))
        count++;
    return count;
}

static enum sandlot_status swallow(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    (void)sink, (void)bytes, (void)length;
    return SANDLOT_OK;
}

static const struct sandlot_sink nowhere = {sizeof(nowhere), NULL, swallow};

/* A call came to STATUS; failures must have been told. True if it worked. */
static bool judge(struct host_call *call, enum sandlot_status status)
{
    struct sandlot_error error = {0};

    if (status != SANDLOT_OK) {
        host_call_error(call, status, "cannot", true, &error);
        assert_true(error.code != SANDLOT_CODE_OK);
        sandlot_error_clear(&error);
    }
    host_call_clear(call);
    return status == SANDLOT_OK;
}

static struct sandlot_call *begin(struct host_call *call)
{
    host_call_init(call, "test", scene.environment, sandlot_now_ms() + LONGEST_MS, -1);
    return &call->call;
}

static bool create(const struct provider *provider, void **sandbox)
{
    struct sandlot_create request = {.size = sizeof(request), .run_label = "run-1"};
    struct host_call call;

    return judge(&call, provider->table.get_or_create(begin(&call), provider->instance, &request, sandbox));
}

static bool execute(const struct provider *provider, void *sandbox, const char *text)
{
    struct sandlot_command command = {.size = sizeof(command), .command = text};
    struct sandlot_exit result = {.size = sizeof(result)};
    struct host_call call;

    return judge(&call,
                 provider->table.execute(begin(&call), provider->instance, sandbox, &command, &nowhere, &result));
}

static void on_done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer, (void)index, (void)error, (void)bytes;
}

static bool download(const struct provider *provider, void *sandbox)
{
    const struct sandlot_file file = {.size = sizeof(file), .path = "/1000000", .sink = &nowhere};
    const struct sandlot_transfer transfer = {sizeof(transfer), NULL, on_done};
    struct host_call call;

    return judge(&call, provider->table.download(begin(&call), provider->instance, sandbox, &file, 1, &transfer));
}

/* A crash in between, after which the same sandbox is used in a new process. */
static bool use_and_crash(const struct provider *provider, void *sandbox)
{
    bool worked = execute(provider, sandbox, "pid");

    execute(provider, sandbox, "exit");
    return execute(provider, sandbox, "pid") && worked;
}

/* A whole life. True if all of it worked. */
static bool live_once(bool (*use)(const struct provider *provider, void *sandbox))
{
    struct sandlot_error error = {0};
    struct provider *provider = provider_load(&scene.entry, scene.environment, NULL, NULL, false, &error);
    void *sandbox = NULL;
    bool worked = false;

    if (!provider) {
        assert_true(error.code != SANDLOT_CODE_OK);
        sandlot_error_clear(&error);
        return false;
    }
    if (create(provider, &sandbox)) {
        worked = use(provider, sandbox);
        provider->table.release(provider->instance, sandbox);
    }
    provider_unload(provider);
    return worked;
}

static void live_with_less_and_less(bool (*use)(const struct provider *provider, void *sandbox))
{
    assert_true(live_once(use)); /* what is made once in a process is there */
    size_t descriptors = descriptor_count();
    long before = atomic_load(&allocated);

    for (long n = 0; n < MOST_ALLOCATIONS; n++) {
        int64_t begun = sandlot_now_ms();

        atomic_store(&countdown, n);
        bool worked = live_once(use);
        bool untouched = atomic_exchange(&countdown, -1) >= 0;

        if (sandlot_now_ms() - begun > LONGEST_MS)
            fail_msg("allocation %ld took %lld ms", n, (long long)(sandlot_now_ms() - begun));
        if (descriptor_count() != descriptors || waitpid(-1, NULL, WNOHANG) != -1)
            fail_msg("allocation %ld left a descriptor or a process behind", n);
        if (atomic_load(&allocated) != before)
            fail_msg("allocation %ld left %ld blocks behind", n, atomic_load(&allocated) - before);
        if (untouched) {
            assert_true(worked);
            return;
        }
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

static void test_crash(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    choose("misbehaves");
    live_with_less_and_less(use_and_crash);
}

static void test_download(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    choose("bulk");
    live_with_less_and_less(download);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_crash, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_download, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("worker_allocation", tests, NULL, NULL);
}
