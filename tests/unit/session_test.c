/*
 * A sandbox's life, against the provider `fake`, which fails on request and keeps a journal: who deletes what, when,
 * and what the ledger says after each way out.
 */
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "session/session.h"
#include "worker_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>

#include <cmocka.h>

static char folder[64];
static struct sandlot *sandlot;
static const char *isolation = "none"; /* of the provider: everything is to be the same in a process of its own */
static char messages[8192];            /* what went to the log */

static void remember(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context, (void)level;
    size_t used = strlen(messages);

    snprintf(messages + used, sizeof(messages) - used, "%s\n", text);
}

/* KEY and the path of NAME in the test's folder; valid until the eighth call after this one. */
static const char *setting(const char *key, const char *name)
{
    static char texts[8][256];
    static size_t next;
    char *text = texts[next++ % 8];

    snprintf(text, sizeof(texts[0]), "%s%s/%s", key, folder, name);
    return text;
}

static const char *in_folder(const char *name)
{
    return setting("", name);
}

/* The configuration: where the provider runs. */
static int write_config(void)
{
    mkdir(in_folder("home/sandlot"), 0700);
    FILE *file = fopen(in_folder("home/sandlot/config.toml"), "w");

    if (!file)
        return -1;
    fprintf(file, "[sandboxes]\ndefault = \"fake\"\n[sandboxes.providers.fake]\nisolation = \"%s\"\n", isolation);
    return fclose(file);
}

static int set_up(void **state)
{
    static const char *const folders[] = {"vendor", "state", "home", "plugins"};
    const char *plugins = getenv("SANDLOT_TEST_PLUGINS");
    char *here = path_of_this_program();
    char from[4096];

    (void)state;
    messages[0] = '\0';
    strcpy(folder, "/tmp/sandlot-session-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++)
        mkdir(in_folder(folders[i]), 0700);
    snprintf(from, sizeof(from), "%s%s/fake.so", plugins ? plugins : here, plugins ? "" : "/plugins");
    free(here);
    if (symlink(from, in_folder("plugins/fake.so")) < 0 || write_config() < 0)
        return -1;
    setenv("XDG_STATE_HOME", in_folder("state"), 1);
    setenv("XDG_CONFIG_HOME", in_folder("home"), 1);
    setenv("XDG_DATA_HOME", in_folder("home"), 1);
    setenv("SANDLOT_PLUGIN_PATH", in_folder("plugins"), 1);
    struct sandlot_options options = {.size = sizeof(options), .no_environment_files = true, .message = remember};
    struct sandlot_error error = {0};

    sandlot = sandlot_open(&options, &error);
    if (!sandlot)
        fprintf(stderr, "%s\n", error.message);
    return sandlot ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    sandlot_close(sandlot);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

/* ---- looking at what happened ---- */

static char *journal(void)
{
    char *text = path_read_file(in_folder("journal"), 1 << 20, NULL);

    return text ? text : strdup("");
}

static size_t journal_count(const char *word)
{
    char *text = journal();
    size_t count = 0;

    for (char *at = text; (at = strstr(at, word)); at += strlen(word))
        count += at == text || at[-1] == '\n';
    free(text);
    return count;
}

/* How many sandboxes the vendor has. */
static size_t vendor_count(void)
{
    char command[256];
    char answer[32] = "";

    snprintf(command, sizeof(command), "ls '%s/vendor' | wc -l", folder);
    FILE *pipe = popen(command, "r");

    assert_non_null(pipe);
    assert_non_null(fgets(answer, sizeof(answer), pipe));
    assert_int_equal(pclose(pipe), 0);
    return (size_t)atoi(answer);
}

static size_t ledger_count(bool kept)
{
    struct ledger_record **records;
    size_t count;
    size_t matching = 0;

    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    for (size_t i = 0; i < count; i++)
        matching += records[i]->kept == kept;
    ledger_free_records(records, count);
    return matching;
}

static void expect_nothing_left(void)
{
    assert_int_equal(vendor_count(), 0);
    assert_int_equal(ledger_count(false), 0);
    assert_int_equal(ledger_count(true), 0);
}

/* ---- opening ---- */

enum { MOST_PARAMETERS = 8 };

struct request {
    struct sandlot_session_options options;
    const char *parameters[MOST_PARAMETERS];
};

static struct request request(const char *more)
{
    struct request request = {.options = {.size = sizeof(request.options), .provider = "fake"}};

    request.parameters[0] = setting("folder=", "vendor");
    request.parameters[1] = setting("journal=", "journal");
    request.parameters[2] = more;
    return request;
}

static struct sandlot_session *open_session(struct request *request, struct sandlot_error *error)
{
    request->options.parameters = request->parameters;
    return sandlot_session_open(sandlot, &request->options, error);
}

static struct sandlot_session *must_open(struct request *request)
{
    struct sandlot_error error = {0};
    struct sandlot_session *session = open_session(request, &error);

    if (!session)
        print_error("%s\n", error.message);
    assert_non_null(session);
    return session;
}

static void must_fail(struct request *request, enum sandlot_code code, const char *part)
{
    struct sandlot_error error = {0};

    assert_null(open_session(request, &error));
    if (error.code != code || !strstr(error.message, part))
        print_error("%s: %s (wanted %s: %s)\n", sandlot_code_name(error.code), error.message, sandlot_code_name(code),
                    part);
    assert_int_equal(error.code, code);
    assert_non_null(strstr(error.message, part));
    sandlot_error_clear(&error);
}

static int run(struct sandlot_session *session, const char *command, char **output)
{
    struct sandlot_execution execution = {.size = sizeof(execution), .command = command};
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot_error error = {0};

    if (sandlot_execute(session, &execution, &result, &error) < 0)
        print_error("%s\n", error.message);
    assert_false(error.code);
    if (output)
        *output = result.output;
    else
        sandlot_result_clear(&result);
    return result.exit_code;
}

/* ---- tests ---- */

static void test_life(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    char *output;

    (void)state;
    assert_int_equal(vendor_count(), 1);
    assert_int_equal(ledger_count(false), 1);
    assert_string_equal(sandlot_session_provider(session), "fake");
    assert_non_null(sandlot_session_id(session));
    assert_int_equal(run(session, "echo hello; exit 3", &output), 3);
    assert_string_equal(output, "hello\n");
    free(output);
    assert_int_equal(sandlot_session_close(session, NULL), 0);
    expect_nothing_left();
    assert_int_equal(journal_count("create "), 1);
    assert_int_equal(journal_count("release "), 1);
    assert_int_equal(journal_count("delete "), 1);
    assert_int_equal(journal_count("close"), 1);
}

static void test_keep_and_attach(void **state)
{
    struct request wanted = request(NULL);

    (void)state;
    wanted.options.keep = true;
    struct sandlot_session *session = must_open(&wanted);
    char *id = strdup(sandlot_session_id(session));

    assert_int_equal(ledger_count(false), 1); /* not yet left on purpose */
    assert_int_equal(sandlot_session_detach(session, NULL), 0);
    assert_int_equal(ledger_count(true), 1);
    assert_int_equal(sandlot_session_close(session, NULL), 0);
    assert_int_equal(vendor_count(), 1);

    wanted = request(NULL);
    wanted.options.sandbox_id = id;
    session = must_open(&wanted);
    assert_string_equal(sandlot_session_id(session), id);
    assert_int_equal(sandlot_session_close(session, NULL), 0);
    assert_int_equal(vendor_count(), 1); /* an attached sandbox is never deleted */

    struct sandlot_target target = {.size = sizeof(target), .provider = "fake", .parameters = wanted.parameters};

    assert_int_equal(sandlot_delete(sandlot, &target, id, NULL), 0);
    assert_int_equal(sandlot_delete(sandlot, &target, id, NULL), 0);
    expect_nothing_left();
    must_fail(&wanted, SANDLOT_CODE_SANDBOX_NOT_FOUND, id);
    assert_int_equal(journal_count("create "), 1);
    free(id);
}

static void test_failed_creation(void **state)
{
    static const struct {
        const char *parameter;
        enum sandlot_code code;
    } rows[] = {
        {"fail_create=auth", SANDLOT_CODE_AUTH},
        {"fail_create=exhausted", SANDLOT_CODE_QUOTA},
        {"fail_create=unavailable", SANDLOT_CODE_NETWORK},
        {"fail_create=dependency_missing", SANDLOT_CODE_PROVIDER_UNAVAILABLE},
        {"fail_create=unsupported", SANDLOT_CODE_NOT_SUPPORTED},
        {"fail_create=invalid_argument", SANDLOT_CODE_USAGE},
        {"fail_create=internal", SANDLOT_CODE_PROVIDER_ERROR},
        {"lost_answer=true", SANDLOT_CODE_NETWORK}, /* found again by its label */
        {"fail_after_created=internal", SANDLOT_CODE_PROVIDER_ERROR},
        {"fail_after_created=invalid_argument", SANDLOT_CODE_PROVIDER_ERROR},
        {"fail_ready=internal", SANDLOT_CODE_PROVIDER_ERROR},
        {"fail_ready=not_found", SANDLOT_CODE_SANDBOX_NOT_FOUND},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct request wanted = request(rows[i].parameter);

        must_fail(&wanted, rows[i].code, "fake: ");
        expect_nothing_left();
    }
}

/* The vendor lists nothing, but may still be at it: gc looks again once this process is gone. */
static void test_creation_cut_off(void **state)
{
    struct request wanted = request("fail_create=timeout");

    (void)state;
    must_fail(&wanted, SANDLOT_CODE_TIMEOUT, "fake: ");
    assert_int_equal(vendor_count(), 0);
    assert_int_equal(ledger_count(false), 1);
}

static void test_readiness(void **state)
{
    struct request wanted = request("ready_after=2");

    (void)state;
    struct sandlot_session *session = must_open(&wanted);

    assert_int_equal(journal_count("ready "), 3);
    sandlot_session_close(session, NULL);
    wanted = request("ready_after=1000");
    wanted.parameters[3] = "start_timeout_s=1";
    int64_t start = sandlot_now_ms();

    must_fail(&wanted, SANDLOT_CODE_TIMEOUT, "within 1 s");
    assert_true(sandlot_now_ms() - start >= 900);
    expect_nothing_left();
}

static void test_slow_creation_meets_the_deadline(void **state)
{
    struct request wanted = request("create_delay_ms=60000");

    (void)state;
    wanted.parameters[3] = "start_timeout_s=1";
    must_fail(&wanted, SANDLOT_CODE_TIMEOUT, "fake");
    expect_nothing_left();
}

static void test_delete_is_tried_again(void **state)
{
    struct request wanted = request("delete_failures=2");

    (void)state;
    assert_int_equal(sandlot_session_close(must_open(&wanted), NULL), 0);
    assert_int_equal(journal_count("delete "), 3);
    unlink(in_folder("vendor/.failed_deletes"));
    expect_nothing_left();
}

static void expect_setup(const char *script, const char *parameter, enum sandlot_code code)
{
    struct request wanted = request(parameter);
    FILE *file = fopen(in_folder("setup.sh"), "w");

    assert_non_null(file);
    fputs(script, file);
    fclose(file);
    wanted.options.setup_file = in_folder("setup.sh");
    if (code != SANDLOT_CODE_OK) {
        must_fail(&wanted, code, "status 7");
        expect_nothing_left();
        return;
    }
    struct sandlot_session *session = must_open(&wanted);

    assert_int_equal(run(session, "test \"$(cat done)\" = ok && ! test -e \"$(cat where)\"", NULL), 0);
    sandlot_session_close(session, NULL);
    expect_nothing_left();
}

static void test_setup_script(void **state)
{
    static char large[200 * 1024];

    (void)state;
    expect_setup("test -z \"$(cat)\" && echo \"$0\" >where && echo ok >done\n", NULL, SANDLOT_CODE_OK);
    expect_setup("exit 7\n", NULL, SANDLOT_CODE_SETUP_FAILED);
    expect_setup("test -z \"$(cat)\" && echo \"$0\" >where && echo ok >done\n", "execute_unsupported_input=true",
                 SANDLOT_CODE_OK);
    expect_setup("exit 7\n", "execute_unsupported_input=true", SANDLOT_CODE_SETUP_FAILED);
    memset(large, '#', sizeof(large) - 1);
    strcpy(large + sizeof(large) - 40, "\necho \"$0\" >where\necho ok >done\n");
    expect_setup(large, NULL, SANDLOT_CODE_OK);
    expect_setup(large, "execute_unsupported_input=true", SANDLOT_CODE_OK);
}

static void test_scope(void **state)
{
    struct request wanted = request(NULL);

    (void)state;
    wanted.options.scope = "thread 1";
    struct sandlot_session *session = must_open(&wanted);
    char *first = strdup(sandlot_session_id(session));

    sandlot_session_close(session, NULL);
    assert_int_equal(ledger_count(true), 1);
    session = must_open(&wanted);
    assert_string_equal(sandlot_session_id(session), first);
    sandlot_session_close(session, NULL);
    assert_int_equal(journal_count("create "), 1);

    wanted.options.scope = "thread 2";
    session = must_open(&wanted);
    assert_string_not_equal(sandlot_session_id(session), first);
    sandlot_session_close(session, NULL);

    /* the scope's sandbox is gone: a new one takes its place, and the old record goes */
    struct sandlot_target target = {.size = sizeof(target), .provider = "fake", .parameters = wanted.parameters};
    char command[256];

    snprintf(command, sizeof(command), "rm -r '%s/vendor/%s'", folder, first);
    assert_int_equal(system(command), 0);
    wanted.options.scope = "thread 1";
    session = must_open(&wanted);
    assert_string_not_equal(sandlot_session_id(session), first);
    assert_int_equal(sandlot_delete(sandlot, &target, sandlot_session_id(session), NULL), 0);
    sandlot_session_close(session, NULL);
    assert_int_equal(ledger_count(true), 1); /* thread 2 */
    free(first);
}

static void test_usage(void **state)
{
    struct request wanted = request("no_such=1");

    (void)state;
    must_fail(&wanted, SANDLOT_CODE_USAGE, "no_such");
    wanted = request(NULL);
    wanted.options.provider = "fak";
    must_fail(&wanted, SANDLOT_CODE_UNKNOWN_PROVIDER, "fake");
    wanted = request(NULL);
    wanted.options.sandbox_id = "";
    must_fail(&wanted, SANDLOT_CODE_USAGE, "--sandbox-id");
    wanted.options.sandbox_id = "x";
    wanted.options.snapshot_name = "y";
    must_fail(&wanted, SANDLOT_CODE_USAGE, "exclude each other");
    wanted.options.snapshot_name = NULL;
    wanted.options.scope = "z";
    must_fail(&wanted, SANDLOT_CODE_USAGE, "exclude each other");
    wanted.options.scope = NULL;
    wanted.options.network = "off";
    must_fail(&wanted, SANDLOT_CODE_USAGE, "sandlot network");
    wanted.options.network = NULL;
    wanted.options.allow = (const char *const[]){"example.com", NULL};
    must_fail(&wanted, SANDLOT_CODE_USAGE, "sandlot network");
    wanted = request(NULL);
    wanted.options.setup_file = "/does/not/exist";
    must_fail(&wanted, SANDLOT_CODE_USAGE, "/does/not/exist");
    assert_int_equal(journal_count("open"), 0); /* nothing was loaded, let alone created */
    expect_nothing_left();
}

struct delayed_cancel {
    struct sandlot_cancellation *cancellation;
    int delay_ms;
};

static void *cancel_later(void *argument)
{
    struct delayed_cancel *work = argument;
    struct timespec delay = {0, work->delay_ms * 1000000L};

    nanosleep(&delay, NULL);
    sandlot_cancel(work->cancellation);
    return NULL;
}

static void test_cancel(void **state)
{
    static const char *const phases[] = {"create_delay_ms=600000", "ready_after=1000"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct request wanted = request(phases[i]);
        struct delayed_cancel work = {sandlot_cancellation_new(), 200};
        pthread_t thread;

        wanted.options.cancellation = work.cancellation;
        pthread_create(&thread, NULL, cancel_later, &work);
        must_fail(&wanted, SANDLOT_CODE_CANCELLED, "cancelled");
        pthread_join(thread, NULL);
        sandlot_cancellation_free(work.cancellation);
        expect_nothing_left();
    }
}

/* A process opens a session and is killed when it has, or while it is created: when the vendor has the sandbox. */
static void die(const char *parameter)
{
    size_t before = vendor_count();
    char byte = 0;
    int opened[2];

    assert_int_equal(pipe(opened), 0);
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct request wanted = request(parameter);

        close(opened[0]);
        open_session(&wanted, NULL);
        assert_int_equal(write(opened[1], "!", 1), 1);
        pause();
    }
    close(opened[1]);
    if (!parameter)
        assert_int_equal(read(opened[0], &byte, 1), 1);
    for (int i = 0; i < 6000 && vendor_count() == before; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    close(opened[0]);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static size_t collected;

static void count_collected(void *context, const char *provider, const char *id, const struct sandlot_error *problem)
{
    (void)context, (void)id;
    assert_string_equal(provider, "fake");
    assert_null(problem);
    collected++;
}

static void test_garbage(void **state)
{
    static const char *const deaths[] = {NULL, "create_delay_ms=600000"}; /* with a sandbox; before its id was heard */

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        collected = 0;
        die(deaths[i]);
        assert_int_equal(vendor_count(), 1);
        assert_int_equal(ledger_count(false), 1);
        assert_int_equal(sandlot_collect_garbage(sandlot, count_collected, NULL, NULL, NULL), 0);
        assert_int_equal(collected, 1);
        expect_nothing_left();
    }
}

/* A delete that is killed on the way is finished by gc, though the sandbox had been left on purpose. */
static void test_killed_delete(void **state)
{
    struct request wanted = request("delete_failures=1000");
    struct sandlot_target target = {.size = sizeof(target), .provider = "fake", .parameters = wanted.parameters};

    (void)state;
    wanted.options.keep = true;
    struct sandlot_session *session = must_open(&wanted);
    char *id = strdup(sandlot_session_id(session));

    assert_int_equal(sandlot_session_close(session, NULL), 0);
    assert_int_equal(ledger_count(true), 1);
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        sandlot_delete(sandlot, &target, id, NULL);
        _exit(1);
    }
    char *failed = strdup(in_folder("vendor/.failed_deletes"));

    for (int i = 0; i < 6000 && access(failed, F_OK) < 0; i++)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(vendor_count(), 1);
    assert_int_equal(ledger_count(false), 1);
    unlink(failed);
    free(failed);
    wanted.parameters[2] = NULL;
    target.parameters = wanted.parameters;
    assert_int_equal(sandlot_delete(sandlot, &target, id, NULL), 0);
    expect_nothing_left();
    free(id);
}

static void test_quiet_sweep(void **state)
{
    struct request wanted = request(NULL);

    (void)state;
    die(NULL);
    assert_int_equal(vendor_count(), 1);
    struct sandlot_session *session = must_open(&wanted);

    assert_int_equal(sandlot_session_close(session, NULL), 0);
    expect_nothing_left();
}

static void test_garbage_spares_the_living(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);

    (void)state;
    assert_int_equal(sandlot_collect_garbage(sandlot, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(vendor_count(), 1);
    sandlot_session_close(session, NULL);
}

static bool count_listed(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    size_t *counts = context;

    assert_string_equal(sandbox->provider, "fake");
    counts[sandbox->mine]++;
    return true;
}

static void test_list_follows_pages(void **state)
{
    struct request wanted = request("page_size=2");
    struct sandlot_session *sessions[5];
    struct sandlot_target target = {.size = sizeof(target), .provider = "fake", .parameters = wanted.parameters};
    size_t counts[2] = {0, 0};

    (void)state;
    for (size_t i = 0; i < 5; i++)
        sessions[i] = must_open(&wanted);
    assert_int_equal(sandlot_list(sandlot, &target, count_listed, counts, NULL), 0);
    assert_int_equal(counts[1], 5);
    assert_int_equal(counts[0], 0);
    for (size_t i = 0; i < 5; i++)
        sandlot_session_close(sessions[i], NULL);
}

static void test_secrets_are_hidden(void **state)
{
    struct request wanted = request("secret=hunter2hunter2");

    (void)state;
    sandlot_session_close(must_open(&wanted), NULL);
    assert_null(strstr(messages, "hunter2"));
    assert_non_null(strstr(messages, "secret ***"));
}

static void test_execute_rules(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_execution execution = {.size = sizeof(execution), .command = ""};
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(sandlot_execute(session, &execution, &result, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
    execution.command = "echo before; exec sleep 30";
    execution.timeout_ms = 3000;
    assert_int_equal(sandlot_execute(session, &execution, &result, &error), 0);
    assert_true(result.timed_out);
    assert_int_equal(result.exit_code, 124);
    assert_non_null(strstr(result.output, "before\n[Command timed out"));
    sandlot_result_clear(&result);

    execution.command = "yes | head -c 100000";
    execution.timeout_ms = 0;
    execution.output_limit = 1000;
    assert_int_equal(sandlot_execute(session, &execution, &result, &error), 0);
    assert_true(result.truncated);
    assert_int_equal(result.output_total, 100000);
    assert_true(result.output_length < 1100);
    sandlot_result_clear(&result);

    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "given", 5), 5);
    close(pipes[1]);
    execution.command = "cat";
    execution.has_input = true;
    execution.input_fd = pipes[0];
    assert_int_equal(sandlot_execute(session, &execution, &result, &error), 0);
    assert_string_equal(result.output, "given");
    sandlot_result_clear(&result);
    close(pipes[0]);
    sandlot_session_close(session, NULL);
}

static void test_jobs(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_error error = {0};

    (void)state;
    wanted.options.parameters = wanted.parameters;
    struct sandlot_job *job = sandlot_submit_session_open(sandlot, &wanted.options, &error);
    struct pollfd done = {sandlot_job_descriptor(job), POLLIN, 0};

    assert_int_equal(poll(&done, 1, 60000), 1);
    assert_int_equal(sandlot_job_wait(job, 0, &error), SANDLOT_JOB_DONE);
    struct sandlot_session *session = sandlot_job_session(job);

    assert_non_null(session);
    assert_null(sandlot_job_session(job)); /* handed over once */
    sandlot_job_free(job);

    struct sandlot_execution execution = {.size = sizeof(execution), .command = "echo hi"};
    struct sandlot_result result = {.size = sizeof(result)};

    job = sandlot_submit_execute(session, &execution, &error);
    assert_int_equal(sandlot_job_wait(job, -1, &error), SANDLOT_JOB_DONE);
    assert_int_equal(sandlot_job_result(job, &result), 0);
    assert_string_equal(result.output, "hi\n");
    assert_int_equal(sandlot_job_result(job, &result), -1);
    sandlot_result_clear(&result);
    sandlot_job_free(job);

    execution.command = "sleep 30";
    job = sandlot_submit_execute(session, &execution, &error);
    assert_int_equal(sandlot_job_wait(job, 100, &error), SANDLOT_JOB_RUNNING);
    sandlot_job_cancel(job);
    assert_int_equal(sandlot_job_wait(job, 60000, &error), SANDLOT_JOB_FAILED);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    sandlot_error_clear(&error);
    sandlot_job_free(job);

    job = sandlot_submit_session_close(session, &error);
    assert_int_equal(sandlot_job_wait(job, -1, &error), SANDLOT_JOB_DONE);
    sandlot_job_free(job);
    expect_nothing_left();

    /* a session that nobody took is closed with its job */
    job = sandlot_submit_session_open(sandlot, &wanted.options, &error);
    assert_int_equal(sandlot_job_wait(job, -1, &error), SANDLOT_JOB_DONE);
    sandlot_job_free(job);
    expect_nothing_left();
}

/* A process that has copies of all descriptors of this one, as a program has until its exec; *HOLD closed ends it. */
static pid_t hold_descriptors(int *hold)
{
    int pipes[2];
    char byte;

    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();

    if (child == 0) {
        close(pipes[1]);
        _exit(read(pipes[0], &byte, 1) != 0);
    }
    close(pipes[0]);
    *hold = pipes[1];
    return child;
}

/* epoll(7) watches a file, not a number: nobody is told of a job that was freed while a copy of its descriptor lives.
 */
static void test_freed_jobs_are_not_told_of(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_error error = {0};
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(EPOLL_CLOEXEC);
    int hold = -1;

    (void)state;
    wanted.options.parameters = wanted.parameters;
    struct sandlot_job *job = sandlot_submit_session_open(sandlot, &wanted.options, &error);

    assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, sandlot_job_descriptor(job), &event), 0);
    assert_int_equal(epoll_wait(set, &event, 1, 60000), 1);
    assert_int_equal(epoll_wait(set, &event, 1, 0), 1); /* and from then on */
    pid_t child = hold_descriptors(&hold);

    assert_true(child > 0);
    sandlot_job_free(job);
    assert_int_equal(epoll_wait(set, &event, 1, 0), 0);
    close(hold);
    assert_int_equal(waitpid(child, NULL, 0), child);
    close(set);
    expect_nothing_left();
}

static void count_end(void *context)
{
    uint64_t one = 1;

    assert_int_equal(write(*(int *)context, &one, sizeof(one)), sizeof(one));
}

/* A job tells one caller of its end, once: while it runs, after it has ended, and when it is freed before. */
static void test_jobs_notify(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_execution execution = {.size = sizeof(execution), .command = "read line", .has_input = true};
    struct sandlot_error error = {0};
    int ends_fd = eventfd(0, EFD_CLOEXEC);
    uint64_t ends = 0;
    int pipes[2];

    (void)state;
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    execution.input_fd = pipes[0];
    struct sandlot_job *job = sandlot_submit_execute(session, &execution, &error);

    assert_int_equal(sandlot_job_notify(job, count_end, &ends_fd, &error), 0);
    assert_int_equal(sandlot_job_notify(job, count_end, &ends_fd, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
    close(pipes[1]);
    assert_int_equal(read(ends_fd, &ends, sizeof(ends)), sizeof(ends));
    assert_int_equal(ends, 1);
    assert_int_equal(sandlot_job_wait(job, 0, NULL), SANDLOT_JOB_DONE);
    sandlot_job_free(job);
    close(pipes[0]);

    execution = (struct sandlot_execution){.size = sizeof(execution), .command = "true"};
    job = sandlot_submit_execute(session, &execution, &error);
    assert_int_equal(sandlot_job_wait(job, -1, &error), SANDLOT_JOB_DONE);
    assert_int_equal(sandlot_job_notify(job, count_end, &ends_fd, &error), 0);
    assert_int_equal(read(ends_fd, &ends, sizeof(ends)), sizeof(ends));
    sandlot_job_free(job);

    execution.command = "sleep 1000";
    job = sandlot_submit_execute(session, &execution, &error);
    assert_int_equal(sandlot_job_notify(job, count_end, &ends_fd, &error), 0);
    sandlot_job_free(job);
    assert_int_equal(read(ends_fd, &ends, sizeof(ends)), sizeof(ends));
    assert_int_equal(ends, 1);
    close(ends_fd);
    sandlot_session_close(session, NULL);
    expect_nothing_left();
}

/* Waits for JOB, which must come to EXPECTED with CODE, and frees it. */
static void ends(struct sandlot_job *job, enum sandlot_code code)
{
    struct sandlot_error error = {0};

    assert_non_null(job);
    assert_int_equal(sandlot_job_wait(job, -1, &error), code ? SANDLOT_JOB_FAILED : SANDLOT_JOB_DONE);
    assert_int_equal(error.code, code);
    sandlot_error_clear(&error);
    sandlot_job_free(job);
}

static bool count_entry(void *context, const struct sandlot_file_entry *entry)
{
    assert_non_null(strstr(entry->path, "jobs.txt"));
    ++*(int *)context;
    return true;
}

static bool count_match(void *context, const struct sandlot_match *match)
{
    assert_string_equal(match->text, "two, two");
    ++*(int *)context;
    return true;
}

/* Every operation on files as a job: it does what the blocking call does, and fails with its code. */
static void test_jobs_of_files(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_write write = {
        .size = sizeof(write), .path = "jobs/jobs.txt", .content = "one\ntwo", .content_length = 7};
    struct sandlot_edit edit = {.size = sizeof(edit),
                                .path = write.path,
                                .old_string = "two",
                                .old_length = 3,
                                .new_string = "two, two",
                                .new_length = 8};
    struct sandlot_read read = {.size = sizeof(read), .path = write.path};
    struct sandlot_ls ls = {.size = sizeof(ls), .path = "jobs"};
    struct sandlot_glob glob = {.size = sizeof(glob), .pattern = "*.txt", .path = "jobs"};
    struct sandlot_grep grep = {.size = sizeof(grep), .pattern = "two", .pattern_length = 3, .path = "jobs"};
    struct sandlot_remove removal = {.size = sizeof(removal), .path = "jobs"};
    struct sandlot_tool_call call = {
        .size = sizeof(call), .name = "read_file", .arguments = "{\"file_path\":\"jobs/jobs.txt\"}"};
    struct sandlot_page page = {.size = sizeof(page)};
    struct sandlot_tool_answer answer = {.size = sizeof(answer)};
    uint64_t occurrences = 0;
    bool truncated = true;
    int entries = 0;
    int matches = 0;

    (void)state;
    ends(sandlot_submit_write_file(session, &write, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_edit_file(session, &edit, &occurrences, NULL), SANDLOT_CODE_OK);
    assert_int_equal(occurrences, 1);
    ends(sandlot_submit_read_file(session, &read, &page, NULL), SANDLOT_CODE_OK);
    assert_string_equal(page.content, "one\ntwo, two");
    sandlot_page_clear(&page);
    ends(sandlot_submit_list_directory(session, &ls, count_entry, &entries, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_find_files(session, &glob, count_entry, &entries, &truncated, NULL), SANDLOT_CODE_OK);
    assert_int_equal(entries, 2);
    assert_false(truncated);
    truncated = true;
    ends(sandlot_submit_search_files(session, &grep, count_match, &matches, &truncated, NULL), SANDLOT_CODE_OK);
    assert_int_equal(matches, 1);
    assert_false(truncated);
    ends(sandlot_submit_tool(session, &call, &answer, NULL), SANDLOT_CODE_OK);
    assert_non_null(strstr(answer.content, "two, two"));
    sandlot_tool_answer_clear(&answer);
    ends(sandlot_submit_remove_file(session, &removal, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_read_file(session, &read, &page, NULL), SANDLOT_CODE_FILE_NOT_FOUND);
    call.name = "nope";
    ends(sandlot_submit_tool(session, &call, &answer, NULL), SANDLOT_CODE_USAGE);
    read.size = 1; /* no header has so short a struct */
    assert_null(sandlot_submit_read_file(session, &read, &page, NULL));
    sandlot_session_close(session, NULL);
    expect_nothing_left();
}

static bool count_sandbox(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    assert_non_null(sandbox->id);
    ++*(int *)context;
    return true;
}

static void no_leftover(void *context, const char *provider, const char *id, const struct sandlot_error *problem)
{
    (void)context, (void)provider, (void)id, (void)problem;
    fail();
}

/* What needs no session, as jobs. */
static void test_jobs_of_life(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    const struct sandlot_target target = {.size = sizeof(target), .provider = "fake", .parameters = wanted.parameters};
    const char *id = sandlot_session_id(session);
    AUTO_FREE char *kept = NULL;
    AUTO_FREE char *fork = NULL;
    int count = 0;

    (void)state;
    ends(sandlot_submit_list(sandlot, &target, count_sandbox, &count, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_pause(sandlot, &target, id, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_resume(sandlot, &target, id, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_resume(sandlot, &target, "nobody", NULL), SANDLOT_CODE_SANDBOX_NOT_FOUND);
    ends(sandlot_submit_snapshot(sandlot, &target, id, "jobs", false, &kept, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_list_snapshots(sandlot, &target, count_sandbox, &count, NULL), SANDLOT_CODE_OK);
    assert_int_equal(count, 2);
    free(kept);
    ends(sandlot_submit_snapshot_with_base(sandlot, &target, id, "jobs", true, &kept, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_delete_snapshot(sandlot, &target, kept, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_list_volumes(sandlot, &target, NULL, NULL, NULL), SANDLOT_CODE_NOT_SUPPORTED);
    ends(sandlot_submit_delete_volume(sandlot, &target, "cache", NULL), SANDLOT_CODE_NOT_SUPPORTED);
    ends(sandlot_submit_fork(sandlot, &target, id, &fork, NULL), SANDLOT_CODE_OK);
    assert_int_equal(vendor_count(), 2);
    ends(sandlot_submit_delete(sandlot, &target, fork, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_collect_garbage(sandlot, no_leftover, NULL, NULL), SANDLOT_CODE_OK);
    sandlot_session_close(session, NULL);
    expect_nothing_left();
}

/* Both directions through descriptors, and what a box cannot do as a job is told. */
static void test_jobs_of_transfers(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_transfer_item item = {.size = sizeof(item), .fd = memfd_create("jobs", MFD_CLOEXEC)};
    struct sandlot_transfer_request transfer = {.size = sizeof(transfer), .items = &item, .count = 1};
    char text[8] = "";
    AUTO_FREE char *path = text_format("%s/moved", sandlot_session_working_dir(session));

    (void)state;
    item.path = path;
    assert_int_equal(pwrite(item.fd, "moved", 5, 0), 5);
    ends(sandlot_submit_upload(session, &transfer, NULL), SANDLOT_CODE_OK);
    assert_int_equal(ftruncate(item.fd, 0), 0);
    assert_int_equal(lseek(item.fd, 0, SEEK_SET), 0);
    ends(sandlot_submit_download(session, &transfer, NULL), SANDLOT_CODE_OK);
    assert_int_equal(pread(item.fd, text, sizeof(text), 0), 5);
    assert_string_equal(text, "moved");
    item.path = "relative";
    ends(sandlot_submit_download(session, &transfer, NULL), SANDLOT_CODE_INVALID_PATH);
    close(item.fd);
    sandlot_session_close(session, NULL);
    expect_nothing_left();
}

/* Bytes of every kind, none, and more than there may be. */
static void test_transfers_of_memory(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    AUTO_FREE char *path = text_format("%s/bytes", sandlot_session_working_dir(session));
    struct sandlot_upload_bytes up = {.size = sizeof(up), .path = path, .content = "a\0\xff\n", .content_length = 4};
    struct sandlot_download_bytes down = {.size = sizeof(down), .path = path};
    struct sandlot_bytes bytes = {.size = sizeof(bytes)};
    struct sandlot_error error = {0};

    (void)state;
    assert_int_equal(sandlot_upload_from_memory(session, &up, &error), 0);
    assert_int_equal(sandlot_download_to_memory(session, &down, &bytes, &error), 0);
    assert_int_equal(bytes.length, 4);
    assert_memory_equal(bytes.content, "a\0\xff\n", 5);
    sandlot_bytes_clear(&bytes);
    down.max_bytes = 3;
    ends(sandlot_submit_download_to_memory(session, &down, &bytes, NULL), SANDLOT_CODE_TOO_LARGE);
    assert_null(bytes.content);
    up.content_length = 0;
    up.content = NULL;
    ends(sandlot_submit_upload_from_memory(session, &up, NULL), SANDLOT_CODE_OK);
    ends(sandlot_submit_download_to_memory(session, &down, &bytes, NULL), SANDLOT_CODE_OK);
    assert_int_equal(bytes.length, 0);
    sandlot_bytes_clear(&bytes);
    up.content_length = 1;
    ends(sandlot_submit_upload_from_memory(session, &up, NULL), SANDLOT_CODE_USAGE);
    down.path = "relative";
    ends(sandlot_submit_download_to_memory(session, &down, &bytes, NULL), SANDLOT_CODE_INVALID_PATH);
    sandlot_session_close(session, NULL);
    expect_nothing_left();
}

/* Is it FAKE, which this configuration names and which can be used? */
static bool find_fake(void *context, const struct sandlot_listed_provider *provider)
{
    bool *found = context;

    if (strcmp(provider->name, "fake") != 0)
        return true;
    assert_string_equal(provider->source, "config");
    assert_null(provider->problem);
    assert_non_null(strstr(provider->capabilities, "sandbox_id"));
    *found = true;
    return false;
}

static void test_list_of_providers(void **state)
{
    bool found = false;

    (void)state;
    assert_int_equal(sandlot_list_providers(sandlot, find_fake, &found, NULL), 0);
    assert_true(found);
    assert_string_equal(sandlot_default_provider(sandlot), "fake");
}

/* Many at a time, more than the limit of open files has room for: what is refused says so; what runs, runs whole. */
static void test_more_jobs_than_files(void **state)
{
    enum { JOBS = 120, FILES = 128 };
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_execution execution = {.size = sizeof(execution), .command = "sleep 0.2; echo done"};
    struct sandlot_job *jobs[JOBS];
    struct rlimit before;
    size_t refused = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit few = {FILES, before.rlim_max};

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    for (size_t i = 0; i < JOBS; i++) {
        struct sandlot_error error = {0};

        jobs[i] = sandlot_submit_execute(session, &execution, &error);
        if (jobs[i])
            continue;
        refused++;
        assert_int_equal(error.code, SANDLOT_CODE_QUOTA);
        assert_non_null(strstr(error.message, "raise the limit (ulimit -n)"));
        sandlot_error_clear(&error);
    }
    assert_in_range(refused, 1, JOBS - 1);
    for (size_t i = 0; i < JOBS; i++) {
        if (!jobs[i])
            continue;
        struct sandlot_result result = {.size = sizeof(result)};

        assert_int_equal(sandlot_job_wait(jobs[i], -1, NULL), SANDLOT_JOB_DONE);
        assert_int_equal(sandlot_job_result(jobs[i], &result), 0);
        assert_int_equal(result.exit_code, 0);
        assert_string_equal(result.output, "done\n");
        sandlot_result_clear(&result);
        sandlot_job_free(jobs[i]);
    }
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(run(session, "true", NULL), 0);
    sandlot_session_close(session, NULL);
}

static void *execute_often(void *argument)
{
    for (int i = 0; i < 5; i++)
        assert_int_equal(run(argument, "true", NULL), 0);
    return NULL;
}

static void test_one_session_on_many_threads(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    pthread_t threads[8];

    (void)state;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, execute_often, session), 0);
    for (size_t i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(journal_count("execute "), 40);
    sandlot_session_close(session, NULL);
}

/* ---- callers that are built with another header ---- */

struct longer_execution {
    struct sandlot_execution execution;
    const char *of_the_future;
};

static int execute_sized(struct sandlot_session *session, void *execution, size_t size, struct sandlot_result *result)
{
    struct sandlot_error error = {0};

    memcpy(execution, &size, sizeof(size));
    int failed = sandlot_execute(session, execution, result, &error);

    assert_int_equal(error.code, failed ? SANDLOT_CODE_USAGE : SANDLOT_CODE_OK);
    sandlot_error_clear(&error);
    return failed;
}

static void test_sizes_of_execution(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct longer_execution longer = {.execution = {.command = "echo hi", .output_limit = 2, .has_input = true}};
    struct sandlot_result result = {.size = sizeof(result)};

    (void)state;
    /* what lies behind the end of a shorter struct is not looked at */
    assert_int_equal(execute_sized(session, &longer, offsetof(struct sandlot_execution, has_input), &result), 0);
    assert_string_equal(result.output, "hi\n");
    sandlot_result_clear(&result);
    longer.execution.has_input = false;
    assert_int_equal(execute_sized(session, &longer, sizeof(longer), &result), 0);
    assert_true(result.truncated);
    sandlot_result_clear(&result);
    longer.of_the_future = "something that is wanted";
    assert_int_equal(execute_sized(session, &longer, sizeof(longer), &result), -1);
    assert_int_equal(execute_sized(session, &longer, 0, &result), -1);
    assert_int_equal(execute_sized(session, &longer, SIZE_MAX, &result), -1);
    result.size = 0;
    assert_int_equal(execute_sized(session, &longer, sizeof(longer.execution), &result), -1);
    sandlot_session_close(session, NULL);
}

static void test_size_of_result(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_execution execution = {.command = "echo hi"};
    struct sandlot_result result = {.size = offsetof(struct sandlot_result, output_total), .output_total = 77};

    (void)state;
    assert_int_equal(execute_sized(session, &execution, sizeof(execution), &result), 0);
    assert_int_equal(result.size, offsetof(struct sandlot_result, output_total));
    assert_int_equal(result.output_length, 3);
    assert_int_equal(result.output_total, 77); /* behind its end: not ours to write */
    sandlot_result_clear(&result);
    struct sandlot_job *job = sandlot_submit_execute(session, &execution, NULL);

    assert_int_equal(sandlot_job_wait(job, -1, NULL), SANDLOT_JOB_DONE);
    assert_int_equal(sandlot_job_result(job, &result), 0);
    assert_int_equal(result.output_total, 77);
    sandlot_result_clear(&result);
    sandlot_job_free(job);
    sandlot_session_close(session, NULL);
}

static void test_sizes_of_options(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_error error = {0};
    struct sandlot_target target = {.provider = "fake", .parameters = wanted.parameters};
    struct sandlot_options options = {.config_file = "/does/not/exist"};

    (void)state;
    wanted.options.size = offsetof(struct sandlot_session_options, setup_output);
    wanted.options.context = &wanted;
    sandlot_session_close(must_open(&wanted), NULL);
    wanted.options.size = offsetof(struct sandlot_session_options, scope);
    wanted.options.scope = ""; /* would be refused */
    wanted.options.parameters = wanted.parameters;
    assert_null(sandlot_session_open(sandlot, &wanted.options, &error)); /* `folder` is required, and not seen */
    assert_non_null(strstr(error.message, "folder"));
    sandlot_error_clear(&error);
    wanted.options.size = 0;
    must_fail(&wanted, SANDLOT_CODE_USAGE, "sandlot_session_options");
    assert_null(sandlot_submit_session_open(sandlot, &wanted.options, NULL));

    target.size = offsetof(struct sandlot_target, cancellation);
    target.cancellation = (void *)&wanted; /* would be no descriptor */
    assert_int_equal(sandlot_delete(sandlot, &target, "fake-x", &error), 0);
    target.size = 0;
    assert_int_equal(sandlot_delete(sandlot, &target, "fake-x", &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);

    assert_null(sandlot_open(&options, &error));
    assert_non_null(strstr(error.message, "sandlot_options"));
    sandlot_error_clear(&error);
    options.size = sizeof(options.size);
    sandlot_close(sandlot_open(&options, &error)); /* the name of the file is behind the end */
    assert_int_equal(error.code, SANDLOT_CODE_OK);
}

/* ---- what a reader of the header relies on ---- */

struct few_bytes {
    size_t calls;
    size_t accept;
};

static bool accept_few(void *context, const void *bytes, size_t length)
{
    struct few_bytes *few = context;

    (void)bytes, (void)length;
    return ++few->calls <= few->accept;
}

static void test_output_receiver_stops_the_command(void **state)
{
    static const char *const commands[] = {"echo once", "yes"}; /* has ended by then; never ends */
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct few_bytes few = {.accept = i};
        struct sandlot_execution execution = {
            .size = sizeof(execution), .command = commands[i], .output = accept_few, .context = &few};
        struct sandlot_result result = {.size = sizeof(result)};
        struct sandlot_error error = {0};

        assert_int_equal(sandlot_execute(session, &execution, &result, &error), -1);
        assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
        assert_int_equal(few.calls, i + 1); /* not once more */
        sandlot_error_clear(&error);
    }
    sandlot_session_close(session, NULL);
}

static void test_limits_of_execution(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_execution execution = {.size = sizeof(execution), .command = "cat", .timeout_ms = INT64_MAX};
    struct sandlot_result result = {.size = sizeof(result)};

    (void)state;
    assert_int_equal(sandlot_execute(session, &execution, &result, NULL), 0);
    assert_int_equal(result.exit_code, 0);
    sandlot_result_clear(&result);
    execution.has_input = true;
    execution.input_fd = -1;
    assert_int_equal(execute_sized(session, &execution, sizeof(execution), &result), -1);
    execution = (struct sandlot_execution){.size = sizeof(execution), .command = "exec sleep 30", .timeout_ms = 150};
    assert_int_equal(sandlot_execute(session, &execution, &result, NULL), 0);
    assert_string_equal(result.output, "[Command timed out after 150 ms and was ended]\n");
    sandlot_result_clear(&result);
    sandlot_session_close(session, NULL);
}

static bool list_nothing(void *context, const struct sandlot_listed_sandbox *sandbox)
{
    (void)context, (void)sandbox;
    return false;
}

static void test_cancelled_from_the_start(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_cancellation *cancellation = sandlot_cancellation_new();
    struct sandlot_target target = {
        .size = sizeof(target), .provider = "fake", .parameters = wanted.parameters, .cancellation = cancellation};
    struct sandlot_execution execution = {.size = sizeof(execution), .command = "true", .cancellation = cancellation};
    struct sandlot_result result = {.size = sizeof(result)};
    struct sandlot_error errors[3] = {{0}};

    (void)state;
    sandlot_cancel(cancellation);
    assert_int_equal(sandlot_execute(session, &execution, &result, &errors[0]), -1);
    assert_int_equal(sandlot_delete(sandlot, &target, sandlot_session_id(session), &errors[1]), -1);
    assert_int_equal(sandlot_list(sandlot, &target, list_nothing, NULL, &errors[2]), -1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(errors[i].code, SANDLOT_CODE_CANCELLED);
        sandlot_error_clear(&errors[i]);
    }
    wanted.options.cancellation = cancellation;
    must_fail(&wanted, SANDLOT_CODE_CANCELLED, "cancelled");
    assert_int_equal(journal_count("create "), 1);
    assert_int_equal(vendor_count(), 1);
    sandlot_session_close(session, NULL);
    die(NULL);
    assert_int_equal(sandlot_collect_garbage(sandlot, NULL, NULL, cancellation, NULL), -1); /* something is left */
    assert_int_equal(vendor_count(), 1);
    sandlot_cancellation_free(cancellation);
}

/* Where the provider wants one call at a time, one that waits for its turn can be cancelled and has a deadline. */
static void test_turns(void **state)
{
    struct request wanted = request(NULL);
    struct sandlot_session *session = must_open(&wanted);
    struct sandlot_execution slow = {.size = sizeof(slow), .command = "touch begun; sleep 30"};
    struct sandlot_execution next = {.size = sizeof(next), .command = "true"};
    struct sandlot_error error = {0};

    (void)state;
    session->turn_fd = eventfd(1, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC); /* as for a serial provider */
    struct sandlot_job *first = sandlot_submit_execute(session, &slow, NULL);

    for (int i = 0; i < 1200 && journal_count("execute ") == 0; i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    struct sandlot_job *second = sandlot_submit_execute(session, &next, NULL);

    assert_int_equal(sandlot_job_wait(second, 200, &error), SANDLOT_JOB_RUNNING);
    sandlot_job_cancel(second);
    assert_int_equal(sandlot_job_wait(second, 60000, &error), SANDLOT_JOB_FAILED);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    sandlot_error_clear(&error);
    assert_int_equal(journal_count("execute "), 1);
    sandlot_job_free(second);
    sandlot_job_free(first);
    assert_int_equal(run(session, "true", NULL), 0); /* the turn came back */
    sandlot_session_close(session, NULL);
}

static void *open_scope(void *argument)
{
    return open_session(argument, NULL);
}

/* Whoever finds a scope's sandbox finds it set up. */
static void test_scope_is_found_after_its_setup(void **state)
{
    struct request wanted[2];
    struct sandlot_session *sessions[2];
    pthread_t threads[2];
    FILE *file = fopen(in_folder("setup.sh"), "w");

    (void)state;
    assert_non_null(file);
    fputs("sleep 0.5; echo once >>done\n", file);
    fclose(file);
    for (size_t i = 0; i < 2; i++) {
        wanted[i] = request(NULL);
        wanted[i].options.scope = "thread";
        wanted[i].options.setup_file = in_folder("setup.sh");
        assert_int_equal(pthread_create(&threads[i], NULL, open_scope, &wanted[i]), 0);
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_join(threads[i], (void **)&sessions[i]);
        assert_non_null(sessions[i]);
        assert_int_equal(run(sessions[i], "test \"$(cat done)\" = once", NULL), 0);
        sandlot_session_close(sessions[i], NULL);
    }
    assert_int_equal(journal_count("create "), 1);
    assert_int_equal(ledger_count(true), 1);
}

static void test_scope_killed_in_its_setup(void **state)
{
    struct request wanted = request(NULL);
    FILE *file = fopen(in_folder("setup.sh"), "w");

    (void)state;
    assert_non_null(file);
    fputs("sleep 30\n", file);
    fclose(file);
    wanted.options.scope = "thread";
    wanted.options.setup_file = in_folder("setup.sh");
    pid_t child = fork();

    if (child == 0) {
        open_session(&wanted, NULL);
        _exit(0);
    }
    for (int i = 0; i < 1200 && journal_count("execute ") == 0; i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(ledger_count(true), 0); /* not there to be found */
    assert_int_equal(sandlot_collect_garbage(sandlot, NULL, NULL, NULL, NULL), 0);
    expect_nothing_left();
}

static int told[2]; /* to the process that is to leave its sandbox */
static pid_t leaver;

static void leave_meanwhile(void *context, const char *provider, const char *id, const struct sandlot_error *problem)
{
    (void)context, (void)provider, (void)id, (void)problem;
    collected++;
    if (leaver == 0)
        return;
    assert_int_equal(write(told[1], "x", 1), 1);
    assert_int_equal(waitpid(leaver, NULL, 0), leaver);
    leaver = 0;
}

/* gc has read the ledger when a sandbox is left on purpose and its owner ends. */
static void test_garbage_spares_what_is_left_meanwhile(void **state)
{
    struct request wanted = request(NULL);
    char byte;

    (void)state;
    collected = 0;
    die(NULL);
    assert_int_equal(pipe(told), 0);
    int lock = ledger_lock("gc", sandlot_now_ms() + 60000, -1, NULL); /* keeps the other's quiet sweep away */

    assert_true(lock >= 0);
    leaver = fork();
    if (leaver == 0) {
        close(told[1]); /* so that the end of the test ends the wait */
        wanted.options.keep = true;
        struct sandlot_session *session = open_session(&wanted, NULL);

        close(lock);
        _exit(!session || read(told[0], &byte, 1) != 1 || sandlot_session_detach(session, NULL) < 0);
    }
    for (int i = 0; i < 1200 && ledger_count(false) < 2; i++)
        nanosleep(&(struct timespec){0, 50000000}, NULL);
    close(lock);
    assert_int_equal(sandlot_collect_garbage(sandlot, leave_meanwhile, NULL, NULL, NULL), 0);
    assert_int_equal(collected, 1);
    assert_int_equal(ledger_count(true), 1);
    assert_int_equal(vendor_count(), 1);
    close(told[0]);
    close(told[1]);
}

static void count_messages(void *context, enum sandlot_message_level level, const char *text)
{
    (void)level, (void)text;
    ++*(size_t *)context;
}

static void test_no_message_after_the_end(void **state)
{
    size_t count = 0;
    struct sandlot_options options = {.size = sizeof(options), .message = count_messages, .message_context = &count};
    struct sandlot *other = sandlot_open(&options, NULL);

    (void)state;
    assert_non_null(other);
    count = 0;
    log_info("for the one that came last");
    assert_int_equal(count, 1);
    sandlot_close(other);
    log_info("for nobody");
    assert_int_equal(count, 1);
}

int main(void)
{
#define SESSION_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SESSION_TEST(test_life),
        SESSION_TEST(test_keep_and_attach),
        SESSION_TEST(test_failed_creation),
        SESSION_TEST(test_creation_cut_off),
        SESSION_TEST(test_readiness),
        SESSION_TEST(test_slow_creation_meets_the_deadline),
        SESSION_TEST(test_delete_is_tried_again),
        SESSION_TEST(test_setup_script),
        SESSION_TEST(test_scope),
        SESSION_TEST(test_usage),
        SESSION_TEST(test_cancel),
        SESSION_TEST(test_garbage),
        SESSION_TEST(test_killed_delete),
        SESSION_TEST(test_quiet_sweep),
        SESSION_TEST(test_garbage_spares_the_living),
        SESSION_TEST(test_list_follows_pages),
        SESSION_TEST(test_secrets_are_hidden),
        SESSION_TEST(test_execute_rules),
        SESSION_TEST(test_jobs),
        SESSION_TEST(test_jobs_of_files),
        SESSION_TEST(test_jobs_of_transfers),
        SESSION_TEST(test_jobs_of_life),
        SESSION_TEST(test_freed_jobs_are_not_told_of),
        SESSION_TEST(test_jobs_notify),
        SESSION_TEST(test_transfers_of_memory),
        SESSION_TEST(test_list_of_providers),
        SESSION_TEST(test_more_jobs_than_files),
        SESSION_TEST(test_one_session_on_many_threads),
        SESSION_TEST(test_sizes_of_execution),
        SESSION_TEST(test_size_of_result),
        SESSION_TEST(test_sizes_of_options),
        SESSION_TEST(test_output_receiver_stops_the_command),
        SESSION_TEST(test_limits_of_execution),
        SESSION_TEST(test_cancelled_from_the_start),
        SESSION_TEST(test_turns),
        SESSION_TEST(test_scope_is_found_after_its_setup),
        SESSION_TEST(test_scope_killed_in_its_setup),
        SESSION_TEST(test_garbage_spares_what_is_left_meanwhile),
        SESSION_TEST(test_no_message_after_the_end),
    };

    int failed = cmocka_run_group_tests_name("session", tests, NULL, NULL);

    use_worker_of_this_build();
    isolation = "process";
    failed += cmocka_run_group_tests_name("session with the provider apart", tests, NULL, NULL);
    return failed;
}
