/*
 * Providers in a process of their own: every function of the ABI with the same outcome as in one process, and every way
 * in which such a process can end or misbehave.
 */
#include "loader/loader.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"
#include "loader/host.h"
#include "loader/worker/dialogue.h"
#include "worker_program.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
/* cmocka wants the headers above first */
#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static struct {
    char *folder;
    char *transcript; /* what the provider told the log, and what the host was told */
    pthread_mutex_t lock;
    struct environment *environment;
    struct entry_points points;
    struct config_provider config;
    struct registry_entry entry;
    char *path;
} scene = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *line = text_format_v(format, arguments);
    va_end(arguments);
    pthread_mutex_lock(&scene.lock);
    text_append(&scene.transcript, "%s\n", line);
    pthread_mutex_unlock(&scene.lock);
}

static void receive(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context;
    note("log %d %s", (int)level, text);
}

static int setup(void **state)
{
    char *here = path_of_this_program();

    (void)state;
    setenv("EVERY_DECLARED", "declared-value", 1);
    setenv("MISBEHAVES_KEY", "key-of-the-worker-test", 1);
    setenv("MISBEHAVES_REGION", "region-of-the-worker-test", 1);
    setenv("WORKER_TEST_SECRET", "not-for-the-worker", 1);
    unsetenv("MISBEHAVES_TOKEN");
    scene.folder = text_format("%s/plugins", here);
    scene.environment = environment_load(true);
    free(here);
    use_worker_of_this_build();
    log_set_receiver(receive, NULL);
    return scene.folder && scene.environment ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    log_set_receiver(NULL, NULL);
    worker_use_program(NULL);
    redact_clear();
    entry_points_clear(&scene.points);
    environment_free(scene.environment);
    free(scene.folder);
    free(scene.path);
    free(scene.transcript);
    scene.transcript = scene.path = NULL;
    return 0;
}

static struct provider *try_load(const char *name, const char *isolation, const char *const *overrides,
                                 struct sandlot_error *error)
{
    free(scene.path);
    scene.path = text_format("%s/%s.so", scene.folder, name);
    AUTO_CLOSE int fd = open(scene.path, O_RDONLY | O_CLOEXEC);
    AUTO_FREE char *problem = NULL;

    entry_points_clear(&scene.points);
    scene.points = (struct entry_points){0};
    assert_int_equal(entry_points_read(fd, &scene.points, &problem), ENTRY_POINTS_FOUND);
    scene.config = (struct config_provider){
        .name = (char *)(uintptr_t)name, .class_path = scene.path, .isolation = (char *)(uintptr_t)isolation};
    scene.entry = (struct registry_entry){.name = (char *)(uintptr_t)name,
                                          .source = REGISTRY_CONFIG,
                                          .config = &scene.config,
                                          .path = scene.path,
                                          .symbol = (char *)(uintptr_t)name,
                                          .winner = true,
                                          .working_dir = "/workspace",
                                          .supports_sandbox_id = true,
                                          .note = scene.points.items[0]};
    return provider_load(&scene.entry, scene.environment, NULL, overrides, false, error);
}

static struct provider *load(const char *name, const char *isolation, const char *const *overrides)
{
    struct sandlot_error error = {0};
    struct provider *provider = try_load(name, isolation, overrides, &error);

    if (!provider)
        print_error("%s\n", error.message);
    assert_non_null(provider);
    assert_int_equal(provider->worker != NULL, strcmp(isolation, "process") == 0);
    return provider;
}

/* ---- the whole table --------------------------------------------------------------------------------------------- */

static void on_created(void *context, const char *id, const char *working_dir)
{
    (void)context;
    note("created %s %s", id, working_dir ? working_dir : "-");
}

static void on_progress(void *context, const char *what, uint64_t done, uint64_t total)
{
    (void)context;
    note("progress %s %d/%d", what, (int)done, (int)total);
}

static struct sandlot_call *begin(const struct provider *provider, struct host_call *call, int64_t limit_ms,
                                  int cancel_fd)
{
    host_call_init(call, "test", provider->environment, limit_ms ? sandlot_now_ms() + limit_ms : 0, cancel_fd);
    call->created = on_created;
    call->progress = on_progress;
    return &call->call;
}

static void finish(struct host_call *call, const char *what, enum sandlot_status status)
{
    note("%s: status %d, %s", what, (int)status, call->message ? call->message : "-");
    host_call_clear(call);
}

/* A source of LEFT bytes, a sink that sums. */
struct bytes {
    uint64_t left;
    uint64_t sum;
    uint64_t length;
    uint64_t stop_after; /* 0: never */
};

static enum sandlot_status read_bytes(const struct sandlot_source *source, void *buffer, size_t capacity,
                                      size_t *length)
{
    struct bytes *bytes = source->context;

    *length = bytes->left < capacity ? (size_t)bytes->left : capacity;
    for (size_t i = 0; i < *length; i++)
        ((unsigned char *)buffer)[i] = (unsigned char)((bytes->left - i) * 13);
    bytes->left -= *length;
    return SANDLOT_OK;
}

static enum sandlot_status write_bytes(const struct sandlot_sink *sink, const void *from, size_t length)
{
    struct bytes *bytes = sink->context;

    for (size_t i = 0; i < length; i++)
        bytes->sum = bytes->sum * 31 + ((const unsigned char *)from)[i];
    bytes->length += length;
    return bytes->stop_after && bytes->length >= bytes->stop_after ? SANDLOT_EXHAUSTED : SANDLOT_OK;
}

#define SINK(bytes)                                       \
    {                                                     \
        sizeof(struct sandlot_sink), (bytes), write_bytes \
    }
#define SOURCE(bytes, fd)                                        \
    {                                                            \
        sizeof(struct sandlot_source), (bytes), read_bytes, (fd) \
    }

static void use_execute(const struct provider *provider, void *sandbox, const char *command, uint64_t input,
                        uint64_t stop_after)
{
    const char *const environment[] = {"A=1", "B=two words", NULL};
    AUTO_CLOSE int readable = eventfd(1, EFD_CLOEXEC);
    struct bytes given = {.left = input};
    struct bytes taken = {.stop_after = stop_after};
    const struct sandlot_source source = SOURCE(&given, readable);
    const struct sandlot_sink sink = SINK(&taken);
    struct sandlot_command request = {.size = sizeof(request),
                                      .command = command,
                                      .working_dir = input ? "/here" : NULL,
                                      .environment = input ? environment : NULL,
                                      .timeout_ms = 12345,
                                      .input = input ? &source : NULL};
    struct sandlot_exit result = {.size = sizeof(result), .exit_code = 9};
    struct host_call call;

    enum sandlot_status status =
        provider->table.execute(begin(provider, &call, 0, -1), provider->instance, sandbox, &request, &sink, &result);

    finish(&call, "execute", status);
    note("exit %d %d %s, input left %d", result.exit_code, result.timed_out, result.note ? result.note : "-",
         (int)given.left);
    if (!stop_after) /* else what was already on its way does not count */
        note("output %llu %llu", (unsigned long long)taken.length, (unsigned long long)taken.sum);
}

static void on_done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    assert_int_equal(*(const int *)transfer->context, 4711);
    note("done %zu %s %llu", index, error ? error : "-", (unsigned long long)bytes);
}

static void use_transfers(const struct provider *provider, void *sandbox)
{
    int context = 4711;
    const struct sandlot_transfer transfer = {sizeof(transfer), &context, on_done};
    struct bytes given[3] = {{.left = 10}, {.left = 1000000}, {.left = 0}};
    struct bytes taken[3] = {{0}};
    struct sandlot_source sources[3];
    struct sandlot_sink sinks[3];
    struct sandlot_file up[3];
    struct sandlot_file down[3];
    struct host_call call;

    for (size_t i = 0; i < 3; i++) {
        sources[i] = (struct sandlot_source)SOURCE(&given[i], -1);
        sinks[i] = (struct sandlot_sink)SINK(&taken[i]);
        up[i] = (struct sandlot_file){sizeof(up[i]), i ? "/up/b" : "/up/a", &sources[i], UINT64_MAX, 0640, NULL};
        down[i] = (struct sandlot_file){sizeof(down[i]), i ? "/down/b" : "/down/a", NULL, 0, 0, &sinks[i]};
    }
    struct sandlot_call *at = begin(provider, &call, 60000, -1);

    finish(&call, "upload", provider->table.upload(at, provider->instance, sandbox, up, 3, &transfer));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "download", provider->table.download(at, provider->instance, sandbox, down, 3, &transfer));
    for (size_t i = 0; i < 3; i++)
        note("file %llu %llu", (unsigned long long)taken[i].length, (unsigned long long)taken[i].sum);
}

static void window(const struct sandlot_terminal *terminal, uint16_t *rows, uint16_t *columns)
{
    (void)terminal;
    *rows = 50;
    *columns = 60000;
}

static void use_terminal(const struct provider *provider, void *sandbox)
{
    AUTO_CLOSE int readable = eventfd(1, EFD_CLOEXEC);
    AUTO_CLOSE int resized = eventfd(1, EFD_CLOEXEC);
    AUTO_CLOSE int cancel = eventfd(0, EFD_CLOEXEC);
    struct bytes given = {.left = 300};
    struct bytes taken = {0};
    const struct sandlot_source source = SOURCE(&given, readable);
    const struct sandlot_sink sink = SINK(&taken);
    struct sandlot_command command = {.size = sizeof(command), .input = &source};
    struct sandlot_terminal terminal = {sizeof(terminal), &command, &sink, "xterm", resized, NULL, window};
    struct sandlot_exit result = {.size = sizeof(result)};
    struct host_call call;
    struct sandlot_call *at = begin(provider, &call, 60000, cancel);

    finish(&call, "terminal", provider->table.terminal(at, provider->instance, sandbox, &terminal, &result));
    note("terminal %d %llu", result.exit_code, (unsigned long long)taken.sum);
}

static enum sandlot_status on_add(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    note("listed %s %s %d %s", sandbox->id, sandbox->state, (int)sandbox->created_at_ms,
         sandbox->run_label ? sandbox->run_label : "-");
    return strcmp(sandbox->id, listing->context) == 0 ? SANDLOT_CANCELLED : SANDLOT_OK;
}

static void on_next(const struct sandlot_listing *listing, const char *cursor)
{
    (void)listing;
    note("next %s", cursor);
}

static void use_lists(const struct provider *provider)
{
    char stop[] = "every-1";
    char never[] = "";
    const struct sandlot_listing all = {sizeof(all), never, on_add, on_next};
    const struct sandlot_listing some = {sizeof(some), stop, on_add, on_next};
    struct host_call call;
    struct sandlot_call *at = begin(provider, &call, 60000, -1);

    finish(&call, "list", provider->table.list(at, provider->instance, NULL, &all));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "list", provider->table.list(at, provider->instance, "a cursor", &some));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "list snapshots", provider->table.list_snapshots(at, provider->instance, "x", &all));
}

static void use_root(const struct provider *provider, void *sandbox)
{
    struct sandlot_root root = {.size = sizeof(root), .fd = -1, .alive_fd = -1};
    struct stat there;
    struct stat usr;
    struct host_call call;
    struct sandlot_call *at = begin(provider, &call, 60000, -1);

    finish(&call, "root", provider->table.open_root(at, provider->instance, sandbox, &root));
    struct pollfd alive = {root.alive_fd, POLLIN, 0};

    assert_int_equal(fstat(root.fd, &there) | stat("/usr", &usr), 0);
    note("root %d %u %u, ended %d", there.st_ino == usr.st_ino && there.st_dev == usr.st_dev, root.uid, root.gid,
         poll(&alive, 1, 60000) > 0);
    assert_true(fcntl(root.fd, F_GETFD) & FD_CLOEXEC);
    close(root.fd);
    close(root.alive_fd);
}

static void use_ids(const struct provider *provider)
{
    struct bytes taken = {0};
    const struct sandlot_sink sink = SINK(&taken);
    const struct sandlot_label labels[] = {{"k", "v"}, {"empty", ""}, {"third", NULL}};
    struct sandlot_create request = {sizeof(request), NULL, "snap", "run-1", labels, 2, 1, INT64_MAX, 1, NULL, NULL, 0};
    const struct sandlot_provider *table = &provider->table;
    struct host_call call;
    struct sandlot_call *at = begin(provider, &call, 60000, -1);

    finish(&call, "pause", table->pause(at, provider->instance, "id-1"));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "resume", table->resume(at, provider->instance, "id-2"));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "snapshot", table->snapshot(at, provider->instance, "id-3", "", &sink));
    note("snapshot %llu %llu", (unsigned long long)taken.length, (unsigned long long)taken.sum);
    at = begin(provider, &call, 60000, -1);
    finish(&call, "snapshot with base", table->snapshot_with_base(at, provider->instance, "id-6", "whole", &sink));
    note("snapshots %llu %llu", (unsigned long long)taken.length, (unsigned long long)taken.sum);
    at = begin(provider, &call, 60000, -1);
    finish(&call, "delete snapshot", table->delete_snapshot(at, provider->instance, "snap-9"));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "fork", table->fork(at, provider->instance, "id-4", &request));
    at = begin(provider, &call, 60000, -1);
    finish(&call, "delete", table->delete_sandbox(at, provider->instance, "id-5"));
}

static void *create(const struct provider *provider, const char *id, const char *snapshot, const char *run_label)
{
    const struct sandlot_label labels[] = {{"k", "v"}};
    struct sandlot_create request = {sizeof(request), id, snapshot, run_label, labels, 1, 5, 6, 0, NULL, NULL, 0};
    struct host_call call;
    void *sandbox = NULL;
    struct sandlot_call *at = begin(provider, &call, 60000, -1);

    finish(&call, "create", provider->table.get_or_create(at, provider->instance, &request, &sandbox));
    return sandbox;
}

/* What happens with every function in turn, as text; to be freed. */
static char *use_everything(const char *isolation)
{
    const char *const overrides[] = {"number=42", "text=grüße", NULL};

    free(scene.transcript);
    scene.transcript = NULL;
    struct provider *provider = load("every_function", isolation, overrides);
    void *sandbox = create(provider, NULL, NULL, "run-1");
    void *null = create(provider, "every-7", NULL, "null");
    struct host_call call;
    struct sandlot_call *at;

    create(provider, NULL, "missing", NULL);
    for (int i = 0; i < 2; i++) {
        at = begin(provider, &call, 60000, -1);
        finish(&call, "ready", provider->table.ready(at, provider->instance, i ? null : sandbox));
    }
    use_execute(provider, sandbox, "0", 0, 0);
    use_execute(provider, sandbox, "10", 200000, 0);
    use_execute(provider, sandbox, "5000000", 0, 0);
    use_execute(provider, sandbox, "50000000", 1, 1000000);
    use_transfers(provider, sandbox);
    use_root(provider, sandbox);
    use_terminal(provider, sandbox);
    use_lists(provider);
    use_ids(provider);
    at = begin(provider, &call, 60000, -1);
    finish(&call, "check", provider->table.check(at, provider->instance));
    provider->table.release(provider->instance, null);
    provider->table.release(provider->instance, sandbox);
    note("flags %u, capabilities %u, parameters %zu %s", provider->table.flags, provider_capabilities(&provider->table),
         provider->table.parameter_count, provider->table.parameters[3].default_text);
    provider_unload(provider);
    char *result = scene.transcript;

    scene.transcript = NULL;
    return result;
}

static void every_function_answers_alike(void **state)
{
    AUTO_FREE char *here = use_everything("none");
    AUTO_FREE char *there = use_everything("process");

    (void)state;
    assert_true(strlen(here) > 3000);
    assert_non_null(strstr(here, "declared declared-value, the same text again 1"));
    assert_non_null(strstr(here, "root 1 12 34, ended 1"));
    assert_string_equal(here, there);
}

static void end(struct provider *provider, void *sandbox)
{
    provider->table.release(provider->instance, sandbox);
    provider_unload(provider);
}

/* ---- what the process has ---------------------------------------------------------------------------------------- */

struct output {
    char text[65536];
    size_t length;
};

static enum sandlot_status keep_output(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct output *output = sink->context;

    if (length > sizeof(output->text) - 1 - output->length)
        return SANDLOT_EXHAUSTED;
    memcpy(output->text + output->length, bytes, length);
    output->length += length;
    output->text[output->length] = '\0';
    return SANDLOT_OK;
}

/* Executes COMMAND; what it said is in OUTPUT, its error in ERROR. */
static enum sandlot_status execute(const struct provider *provider, void *sandbox, const char *text,
                                   struct output *output, int64_t limit_ms, int cancel_fd, struct sandlot_error *error)
{
    const struct sandlot_sink sink = {sizeof(sink), output, keep_output};
    struct sandlot_command command = {.size = sizeof(command), .command = text};
    struct sandlot_exit result = {.size = sizeof(result)};
    struct host_call call;

    output->length = 0;
    host_call_init(&call, "test", provider->environment, limit_ms ? sandlot_now_ms() + limit_ms : 0, cancel_fd);
    enum sandlot_status status =
        provider->table.execute(&call.call, provider->instance, sandbox, &command, &sink, &result);

    host_call_error(&call, status, "cannot run", true, error);
    host_call_clear(&call);
    return status;
}

static void sees_only_what_it_declares(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;

    (void)state;
    assert_int_equal(execute(provider, sandbox, "environ", &output, 60000, -1, NULL), SANDLOT_OK);
    assert_non_null(strstr(output.text, "\nMISBEHAVES_KEY=key-of-the-worker-test\n"));
    assert_non_null(strstr(output.text, "\nSANDLOT_MISBEHAVES_KEY=key-of-the-worker-test\n"));
    assert_non_null(strstr(output.text, "MISBEHAVES_REGION=region-of-the-worker-test\n"));
    assert_non_null(strstr(output.text, "PATH="));
    assert_null(strstr(output.text, "not-for-the-worker"));
    assert_null(strstr(output.text, "MISBEHAVES_TOKEN"));
    assert_int_equal(execute(provider, sandbox, "lookup", &output, 60000, -1, NULL), SANDLOT_OK);
    assert_string_equal(output.text, "region-of-the-worker-test -");
    end(provider, sandbox);
}

static void has_no_descriptors_of_the_host(void **state)
{
    char name[] = "/tmp/sandlot-worker-test-XXXXXX";
    int fd = mkstemp(name); /* not closed on exec, on purpose; its name stays that of the descriptor */

    unlink(name);
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;

    (void)state;
    assert_int_equal(execute(provider, sandbox, "descriptors", &output, 60000, -1, NULL), SANDLOT_OK);
    assert_null(strstr(output.text, "sandlot-worker-test"));
    assert_null(strstr(output.text, "/dev/pts"));
    assert_non_null(strstr(output.text, "/dev/null"));
    close(fd);
    end(provider, sandbox);
}

/* ---- how it ends ------------------------------------------------------------------------------------------------- */

/* Each of these ends the process, in the words of the error. */
static const struct {
    const char *command;
    const char *reason;
    int64_t limit_ms;
} faults[] = {
    {"crash", "crashed (SIGSEGV)", 5000},
    {"abort", "crashed (SIGABRT)", 5000},
    {"exit", "ended its process by itself with status 5", 5000},
    {"quit", "ended its process by itself with status 0", 5000},
    {"hang_up", "ended its process by itself with status 0", 5000},
    {"overflow", "crashed (SIGSEGV)", 5000},
    {"memory", "crashed (SIGSEGV)", 5000},
    {"loop", "did not return after its deadline", 100},
    {"deaf", "did not return after its deadline", 100},
    {"stop", "did not return after its deadline", 100},
    {"replace", "closed its connection and was ended", 5000},
    {"children", "crashed (SIGSEGV)", 5000},
    {"daemon", "crashed (SIGSEGV)", 5000},
    {"close", "", 5000},
    {"garbage", "", 2000},
};

static bool has_died(const struct sandlot_error *error)
{
    return error->code == SANDLOT_CODE_PROVIDER_CRASHED;
}

static void survives_every_end(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct sandlot_error error = {0};

        if (SANITIZED && (strcmp(faults[i].command, "memory") == 0 || strstr(faults[i].reason, "SIG")))
            continue; /* the sanitizer needs all memory there is, and turns signals into its own end */
        enum sandlot_status status =
            execute(provider, sandbox, faults[i].command, &output, faults[i].limit_ms, -1, &error);

        if (!has_died(&error) || !strstr(error.message, faults[i].reason))
            print_error("%s: status %d, %s\n", faults[i].command, (int)status, error.message ? error.message : "-");
        assert_int_equal(error.code, SANDLOT_CODE_PROVIDER_CRASHED);
        assert_non_null(strstr(error.message, faults[i].reason));
        assert_non_null(strstr(error.message, "sandbox box-1 is still recorded"));
        assert_null(strchr(error.message, '\n'));
        sandlot_error_clear(&error);
        /* The next call finds the same sandbox in a new process. */
        assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, &error), SANDLOT_OK);
        assert_true(atoi(output.text) > 0);
    }
    end(provider, sandbox);
}

static void *cancel_soon(void *fd)
{
    static const uint64_t one = 1;

    usleep(100 * 1000);
    assert_int_equal(write(*(int *)fd, &one, sizeof(one)), sizeof(one));
    return NULL;
}

static void ends_who_ignores_a_cancellation(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    const char *const commands[] = {"deaf", "flood"};
    static struct output output;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        AUTO_CLOSE int cancel = eventfd(0, EFD_CLOEXEC);
        struct sandlot_error error = {0};
        pthread_t thread;

        pthread_create(&thread, NULL, cancel_soon, &cancel);
        enum sandlot_status status = execute(provider, sandbox, commands[i], &output, 0, cancel, &error);

        pthread_join(thread, NULL);
        /* A sink that has had enough ends a flood. */
        assert_int_equal(status, i == 0 ? SANDLOT_INTERNAL : SANDLOT_EXHAUSTED);
        if (i == 0)
            assert_int_equal(error.code, SANDLOT_CODE_PROVIDER_CRASHED);
        sandlot_error_clear(&error);
    }
    end(provider, sandbox);
}

static void says_when_a_sandbox_is_lost(void **state)
{
    const char *const overrides[] = {"forgetful=true", NULL};
    struct provider *provider = load("misbehaves", "process", overrides);
    void *sandbox = create(provider, NULL, NULL, NULL);
    struct sandlot_error error = {0};
    static struct output output;

    (void)state;
    execute(provider, sandbox, "exit", &output, 60000, -1, NULL);
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, &error), SANDLOT_NOT_FOUND);
    assert_non_null(strstr(error.message, "cannot reach sandbox box-1: there is no sandbox box-1"));
    sandlot_error_clear(&error);
    scene.entry.supports_sandbox_id = false;
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, &error), SANDLOT_UNSUPPORTED);
    sandlot_error_clear(&error);
    end(provider, sandbox);
}

static void tells_the_id_before_a_crash(void **state)
{
    const char *const overrides[] = {"at=create:exit", NULL};
    struct provider *provider = load("misbehaves", "process", overrides);

    (void)state;
    assert_null(create(provider, NULL, NULL, NULL));
    assert_non_null(strstr(scene.transcript, "created box-1 /"));
    assert_non_null(strstr(scene.transcript, "sandbox box-1 is still recorded"));
    provider_unload(provider);
}

/* Calls FUNCTION, in which the process dies. */
static enum sandlot_status call_in_vain(const struct provider *provider, void *sandbox, const char *function,
                                        struct sandlot_call *call)
{
    char never[] = "";
    const struct sandlot_listing listing = {sizeof(listing), never, on_add, on_next};
    struct sandlot_create request = {.size = sizeof(request)};
    void *unused = NULL;

    if (strcmp(function, "ready") == 0)
        return provider->table.ready(call, provider->instance, sandbox);
    if (strcmp(function, "list") == 0)
        return provider->table.list(call, provider->instance, NULL, &listing);
    if (strcmp(function, "delete") == 0)
        return provider->table.delete_sandbox(call, provider->instance, "box-1");
    if (strcmp(function, "attach") == 0)
        request.sandbox_id = "box-1";
    return provider->table.get_or_create(call, provider->instance, &request, &unused);
}

/* Wherever the process dies, the call that is under way says so, and so does the next one in a new process. */
static void dies_in_every_function(void **state)
{
    static const char *const functions[] = {"create", "attach", "ready", "list", "delete"};
    const char *const in_open[] = {"at=open:exit", NULL};
    struct sandlot_error error = {0};

    (void)state;
    assert_null(try_load("misbehaves", "process", in_open, &error));
    assert_true(has_died(&error));
    sandlot_error_clear(&error);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        AUTO_FREE char *at = text_format("at=%s:exit", functions[i]);
        const char *const overrides[] = {at, NULL};
        struct provider *provider = load("misbehaves", "process", overrides);
        void *sandbox = i >= 2 ? create(provider, NULL, NULL, NULL) : NULL;

        for (int time = 0; time < 2; time++) {
            struct host_call call;
            struct sandlot_call *at_call = begin(provider, &call, 5000, -1);

            assert_int_equal(call_in_vain(provider, sandbox, functions[i], at_call), SANDLOT_INTERNAL);
            assert_true(call.crashed);
            assert_non_null(strstr(call.message, "ended its process by itself with status 5"));
            host_call_clear(&call);
        }
        if (sandbox)
            provider->table.release(provider->instance, sandbox);
        provider_unload(provider);
    }
}

/* What is freed or ended has nobody to tell: the host goes on, and soon. */
static void dies_at_its_end(void **state)
{
    static const char *const ends[] = {"at=release:exit",     "at=close:exit",      "at=destructor:exit",
                                       "at=destructor:crash", "at=destructor:deaf", "at=release:close"};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const char *const overrides[] = {ends[i], NULL};
        struct provider *provider = load("misbehaves", "process", overrides);
        void *sandbox = create(provider, NULL, NULL, NULL);
        assert_non_null(sandbox);
        end(provider, sandbox);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void waits_until_a_sandbox_is_ready_again(void **state)
{
    const char *const soon[] = {"not_ready=2", NULL};
    const char *const never[] = {"not_ready=-1", "start_timeout_s=1", NULL};
    struct provider *provider = load("misbehaves", "process", soon);
    void *sandbox = create(provider, NULL, NULL, NULL);
    struct sandlot_error error = {0};
    static struct output output;
    int64_t begun;

    (void)state;
    execute(provider, sandbox, "exit", &output, 60000, -1, NULL);
    begun = sandlot_now_ms();
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, &error), SANDLOT_OK);
    assert_true(sandlot_now_ms() - begun >= 290); /* two pauses: 100 and 200 ms */
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, &error), SANDLOT_OK);
    end(provider, sandbox);

    provider = load("misbehaves", "process", never);
    sandbox = create(provider, NULL, NULL, NULL);
    execute(provider, sandbox, "exit", &output, 60000, -1, NULL);
    for (int i = 0; i < 3; i++) {
        AUTO_CLOSE int cancel = eventfd(i == 2, EFD_CLOEXEC);

        /* By start_timeout_s, by the call's deadline, by a cancellation. */
        assert_int_equal(execute(provider, sandbox, "pid", &output, i == 1 ? 300 : 60000, i == 2 ? cancel : -1, &error),
                         i == 2 ? SANDLOT_CANCELLED : SANDLOT_TIMEOUT);
        assert_true(i == 2 || strstr(error.message, "the last answer was: box-1 is still starting"));
        sandlot_error_clear(&error);
    }
    end(provider, sandbox);
}

/* Waits until a signal has reached all threads of the child PID: the last one is dead, or all are stopped. */
static void await_end_or_stop(pid_t pid)
{
    siginfo_t info;

    while (waitid(P_PID, (id_t)pid, &info, WEXITED | WSTOPPED | WNOWAIT) < 0 && errno == EINTR)
        continue;
}

static void starts_again_who_was_killed_between_calls(void **state)
{
    const int signals[] = {SIGKILL, SIGTERM, SIGSTOP};
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    struct sandlot_error error = {0};
    static struct output output;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, NULL), SANDLOT_OK);
        pid_t pid = (pid_t)atoi(output.text);

        kill(pid, signals[i]);
        await_end_or_stop(pid);
        if (signals[i] == SIGSTOP) { /* it is there, but says nothing any more */
            assert_int_equal(execute(provider, sandbox, "pid", &output, 100, -1, &error), SANDLOT_INTERNAL);
            assert_true(has_died(&error));
            sandlot_error_clear(&error);
        }
        assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, &error), SANDLOT_OK);
        assert_true(atoi(output.text) != pid);
    }
    end(provider, sandbox);
}

/* How many processes are in GROUP and not dead. */
static size_t count_group(pid_t group)
{
    AUTO_DIRECTORY DIR *folder = opendir("/proc");
    size_t count = 0;

    for (const struct dirent *entry; (entry = readdir(folder));) {
        AUTO_FREE char *path = text_format("/proc/%s/stat", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
        char process_state = 'Z';
        int of = 0;

        if (file && fscanf(file, "%*d (%*[^)]) %c %*d %d", &process_state, &of) == 2)
            count += of == group && process_state != 'Z' && process_state != 'X';
        if (file)
            fclose(file);
    }
    return count;
}

static void takes_its_children_with_it(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;

    (void)state;
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, NULL), SANDLOT_OK);
    pid_t group = (pid_t)atoi(output.text);

    assert_int_equal(count_group(group), 1);
    assert_int_equal(execute(provider, sandbox, "children", &output, 60000, -1, NULL), SANDLOT_INTERNAL);
    for (int i = 0; i < 6000 && count_group(group) > 0; i++)
        usleep(10 * 1000);
    assert_int_equal(count_group(group), 0);
    end(provider, sandbox);
}

static void hears_no_more_than_it_wants(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;
    size_t lines = 0;

    (void)state;
    assert_int_equal(execute(provider, sandbox, "noise", &output, 60000, -1, NULL), SANDLOT_OK);
    end(provider, sandbox);
    for (const char *at = scene.transcript; (at = strchr(at, '\n')); at++)
        lines++;
    assert_in_range(lines, 1000, 1010);
    assert_non_null(strstr(scene.transcript, "misbehaves: the provider prints too much; the rest is left out"));
}

/* A vendor's whole answer, say. */
static void cuts_long_messages(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(execute(provider, sandbox, "talk", &output, 60000, -1, &error), SANDLOT_AUTH);
    assert_int_equal(error.code, SANDLOT_CODE_AUTH);
    assert_non_null(strstr(error.message, "blah blah ... (it goes on)"));
    assert_non_null(strstr(scene.transcript, ": blah blah ... (it goes on)"));
    sandlot_error_clear(&error);
    end(provider, sandbox);
}

static void keeps_its_manners_to_itself(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    AUTO_FREE char *folder = getcwd(NULL, 0);
    mode_t mask = umask(022);
    uid_t user = geteuid();
    static struct output output;

    (void)state;
    assert_int_equal(execute(provider, sandbox, "manners", &output, 60000, -1, NULL), SANDLOT_OK);
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, NULL), SANDLOT_OK);
    AUTO_FREE char *now = getcwd(NULL, 0);

    assert_string_equal(now, folder);
    assert_int_equal(umask(mask), 022);
    assert_int_equal(geteuid(), user);
    assert_int_equal(execute(provider, sandbox, "deaf", &output, 100, -1, NULL), SANDLOT_INTERNAL);
    end(provider, sandbox);
}

/* In one process this would be the end; here only the worker may come to grief. */
static void outlives_threads_that_linger(void **state)
{
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    static struct output output;

    (void)state;
    for (int i = 0; i < 20; i++) {
        struct sandlot_error error = {0};
        enum sandlot_status status = execute(provider, sandbox, i % 2 ? "pid" : "linger", &output, 60000, -1, &error);

        assert_true(status == SANDLOT_OK || has_died(&error));
        sandlot_error_clear(&error);
        usleep(10 * 1000);
    }
    end(provider, sandbox);
}

static void refuses_what_cannot_be_loaded(void **state)
{
    struct sandlot_error error = {0};

    (void)state;
    assert_null(try_load("crashes_loading", "process", NULL, &error));
    assert_int_equal(error.code, SANDLOT_CODE_PROVIDER_CRASHED);
    assert_non_null(strstr(error.message, "crashes_loading: cannot load the provider: the provider "));
    sandlot_error_clear(&error);
    assert_null(try_load("refuses_host", "process", NULL, &error));
    assert_non_null(strstr(error.message, "the provider refuses this host: "));
    sandlot_error_clear(&error);
    assert_null(try_load("broken_parameters", "process", NULL, &error));
    assert_non_null(strstr(error.message, "makes no sense"));
    sandlot_error_clear(&error);
    assert_null(try_load("lying_capability", "process", NULL, &error));
    assert_int_equal(error.code, SANDLOT_CODE_PROVIDER_UNAVAILABLE);
    sandlot_error_clear(&error);
    worker_use_program("/nonexistent/sandlot-worker");
    assert_null(try_load("misbehaves", "process", NULL, &error));
    assert_non_null(strstr(error.message, "cannot start the worker process"));
    sandlot_error_clear(&error);
    use_worker_of_this_build();
}

/* ---- many -------------------------------------------------------------------------------------------------------- */

static size_t descriptor_count(void)
{
    AUTO_DIRECTORY DIR *folder = opendir("/proc/self/fd");
    size_t count = 0;

    while (readdir(folder))
        count++;
    return count;
}

static void leaves_nothing_behind(void **state)
{
    enum { CYCLES = SANITIZED ? 100 : 1000 };
    size_t before = descriptor_count();
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    size_t running = descriptor_count();
    static struct output output;

    (void)state;
    for (int i = 0; i < CYCLES; i++) {
        struct sandlot_error error = {0};

        assert_int_equal(execute(provider, sandbox, "exit", &output, 60000, -1, &error), SANDLOT_INTERNAL);
        assert_true(has_died(&error));
        sandlot_error_clear(&error);
    }
    assert_true(descriptor_count() <= running);
    end(provider, sandbox);
    assert_int_equal(descriptor_count(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie, no process at all */
    assert_int_equal(errno, ECHILD);
}

struct one_of_many {
    const struct provider *provider;
    void *sandbox;
    unsigned number;
    unsigned died;
};

static void *work(void *context)
{
    struct one_of_many *one = context;
    AUTO_FREE struct output *output = calloc(1, sizeof(*output));

    for (unsigned i = 0; i < 25; i++) {
        struct sandlot_error error = {0};
        bool fatal = one->number == 0 && i % 5 == 4;
        enum sandlot_status status =
            execute(one->provider, one->sandbox, fatal ? "exit" : "pid", output, 5000, -1, &error);

        if (status != SANDLOT_OK && !has_died(&error))
            print_error("thread %u: %s\n", one->number, error.message);
        assert_true(status == SANDLOT_OK || has_died(&error));
        one->died += has_died(&error);
        sandlot_error_clear(&error);
    }
    return NULL;
}

static void serves_many_threads_and_dies_under_them(void **state)
{
    enum { THREADS = 16 };
    struct provider *provider = load("misbehaves", "process", NULL);
    void *sandbox = create(provider, NULL, NULL, NULL);
    struct one_of_many all[THREADS];
    pthread_t threads[THREADS];
    static struct output output;

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        all[i] = (struct one_of_many){provider, sandbox, i, 0};
        pthread_create(&threads[i], NULL, work, &all[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_in_range(all[0].died, 5, 25);
    assert_int_equal(execute(provider, sandbox, "pid", &output, 60000, -1, NULL), SANDLOT_OK);
    end(provider, sandbox);
}

/* ---- a worker that is none of ours ------------------------------------------------------------------------------- */

/* Sends COUNT numbers as what open_root returns, with two descriptors. */
static void send_root(int socket, const uint64_t *numbers, size_t count)
{
    const struct channel_header header = {(uint32_t)(count * sizeof(*numbers)), CHANNEL_RETURN};
    const int gifts[2] = {socket, socket};
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(gifts))] = {0};
    struct iovec parts[] = {{(void *)(uintptr_t)&header, sizeof(header)}, {(void *)(uintptr_t)numbers, header.length}};
    struct msghdr message = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof(control)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);

    *head = (struct cmsghdr){CMSG_LEN(sizeof(gifts)), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(head), gifts, sizeof(gifts));
    assert_int_equal(sendmsg(socket, &message, 0), (ssize_t)(sizeof(header) + header.length));
}

static uint64_t no_number(void *context, const void *handle)
{
    (void)context;
    (void)handle;
    return 1;
}

static size_t number_of(const char *function)
{
    size_t number = WIRE_OPEN;

    while (strcmp(wire_functions[number].name, function) != 0)
        number++;
    return number;
}

/* Descriptors that come with a call which has failed, or twice, stay with nobody. */
static void keeps_no_descriptor_of_a_failed_call(void **state)
{
    static const struct {
        uint64_t numbers[5]; /* status, root, user, group, what tells of the end */
        enum dialogue_end end;
        enum sandlot_status status;
    } cases[] = {
        {{SANDLOT_INTERNAL, 1, 0, 0, 2}, DIALOGUE_RETURNED, SANDLOT_INTERNAL},
        {{SANDLOT_OK, 1, 0, 0, 9}, DIALOGUE_NONSENSE, SANDLOT_OK},
        {{SANDLOT_OK, 1, 0, 0, 1}, DIALOGUE_NONSENSE, SANDLOT_OK},
    };
    static const struct dialogue_rules rules = {.handle_number = no_number};
    size_t number = number_of("open_root");

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t before = descriptor_count();
        int others[CHANNEL_DESCRIPTORS];
        struct worker_connection *connection = worker_connection_new(others);
        struct sandlot_root root = {.size = sizeof(root), .fd = -1, .alive_fd = -1};
        struct wire_arena arena = {0};
        struct host_call call;
        void *pointers[] = {&call.call, NULL, NULL, &root};
        void *arguments[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3]};
        ffi_arg result = 0;
        uint64_t handle;

        assert_non_null(connection);
        host_call_init(&call, "none", NULL, sandlot_now_ms() + 5000, -1);
        send_root(others[0], cases[i].numbers, 5);
        assert_int_equal(
            dialogue_run(connection, number, &wire_functions[number], &rules, &arena, &result, arguments, &handle),
            cases[i].end);
        if (cases[i].end == DIALOGUE_RETURNED)
            assert_int_equal(result, cases[i].status);
        close(others[0]);
        close(others[1]);
        worker_connection_free(connection);
        host_call_clear(&call);
        wire_arena_clear(&arena);
        assert_int_equal(descriptor_count(), before);
    }
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(every_function_answers_alike),
        TEST(sees_only_what_it_declares),
        TEST(has_no_descriptors_of_the_host),
        TEST(survives_every_end),
        TEST(ends_who_ignores_a_cancellation),
        TEST(says_when_a_sandbox_is_lost),
        TEST(tells_the_id_before_a_crash),
        TEST(dies_in_every_function),
        TEST(dies_at_its_end),
        TEST(waits_until_a_sandbox_is_ready_again),
        TEST(starts_again_who_was_killed_between_calls),
        TEST(takes_its_children_with_it),
        TEST(hears_no_more_than_it_wants),
        TEST(cuts_long_messages),
        TEST(keeps_its_manners_to_itself),
        TEST(outlives_threads_that_linger),
        TEST(refuses_what_cannot_be_loaded),
        TEST(leaves_nothing_behind),
        TEST(serves_many_threads_and_dies_under_them),
        TEST(keeps_no_descriptor_of_a_failed_call),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
