/* Programs of this machine: what goes in and out, and that every one of them ends in time. */
#include <sandlot/sdk/process.h>

#include "sdk_support.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LARGE = 16 << 20, THREADS = 8, ROUNDS = 20 };

/* One run of a shell command. */
struct trial {
    struct test_call call;
    struct test_sink output;
    struct test_sink errors;
    struct process_options options;
    struct sandlot_exit result;
    const char *words[4];
    int64_t took_ms;
};

static void trial_open(struct trial *trial, const char *command, int64_t deadline_ms)
{
    memset(trial, 0, sizeof(*trial));
    test_call_open(&trial->call, deadline_ms);
    test_sink_open(&trial->output, true);
    test_sink_open(&trial->errors, true);
    trial->result.size = sizeof(trial->result);
    trial->words[0] = "sh";
    trial->words[1] = "-c";
    trial->words[2] = command;
    trial->options.arguments = trial->words;
    trial->options.output = &trial->output.sink;
}

static enum sandlot_status trial_run(struct trial *trial)
{
    int64_t began = sandlot_now_ms();
    enum sandlot_status status = process_run(&trial->call.call, &trial->options, &trial->result);

    trial->took_ms = sandlot_now_ms() - began;
    return status;
}

static void trial_close(struct trial *trial)
{
    test_call_close(&trial->call);
    test_sink_close(&trial->output);
    test_sink_close(&trial->errors);
}

static int open_descriptors(void)
{
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

/* Is there a process with this word on its command line? */
static bool runs(const char *word)
{
    char command[128];

    snprintf(command, sizeof(command), "pgrep -f '[%c]%s' >/dev/null", word[0], word + 1);
    return system(command) == 0; // NOLINT(cert-env33-c)
}

static bool gone_soon(const char *word)
{
    for (int i = 0; i < 3000 && runs(word); i++)
        usleep(10000);
    return !runs(word);
}

/* ---- what goes in and out ---------------------------------------------------------------------------------------- */

static void test_output(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "echo one; echo two >&2; echo three; exit 7", 0);
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "one\ntwo\nthree\n");
    assert_int_equal(trial.result.exit_code, 7);
    assert_false(trial.result.timed_out);
    trial_close(&trial);

    trial_open(&trial, "echo one; echo two >&2; kill -9 $$", 0);
    trial.options.errors = &trial.errors.sink;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "one\n");
    assert_string_equal(trial.errors.bytes, "two\n");
    assert_int_equal(trial.result.exit_code, 128 + SIGKILL);
    trial_close(&trial);

    trial_open(&trial, "echo lost; read x || echo empty", 0);
    trial.options.output = NULL;
    assert_int_equal(process_run(&trial.call.call, &trial.options, NULL), SANDLOT_OK);
    trial_close(&trial);
}

static void test_large_output(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "head -c 16777216 /dev/zero", 0);
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_int_equal(trial.output.length, LARGE);
    trial_close(&trial);
}

static void test_input(void **state)
{
    struct trial trial;
    struct test_source source;
    unsigned char *whole = malloc(LARGE);

    (void)state;
    assert_non_null(whole);
    test_pattern(whole, 0, LARGE);
    trial_open(&trial, "cat", 0);
    test_source_open(&source, LARGE);
    trial.options.input = &source.source;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_int_equal(trial.output.length, LARGE);
    assert_int_equal(trial.output.sum, test_sum(0, whole, LARGE));
    trial_close(&trial);
    free(whole);

    /* Nobody has to read it, and then nobody is hit by SIGPIPE. */
    trial_open(&trial, "exec <&-; sleep 0.2; echo done", 0);
    test_source_open(&source, LARGE);
    trial.options.input = &source.source;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "done\n");
    trial_close(&trial);

    trial_open(&trial, "cat >/dev/null; sleep 30", 0);
    test_source_open(&source, LARGE);
    source.fails_with = SANDLOT_UNAVAILABLE;
    source.fails_at = LARGE / 2;
    trial.options.input = &source.source;
    assert_int_equal(trial_run(&trial), SANDLOT_UNAVAILABLE);
    trial_close(&trial);
}

/* A source that has nothing for a while, behind a descriptor. */
static enum sandlot_status read_pipe(const struct sandlot_source *source, void *buffer, size_t capacity, size_t *length)
{
    ssize_t got = read(source->poll_fd, buffer, capacity);

    *length = got > 0 ? (size_t)got : 0;
    return SANDLOT_OK;
}

static void test_slow_input(void **state)
{
    struct trial trial;
    int ends[2];

    (void)state;
    assert_int_equal(pipe(ends), 0);
    const struct sandlot_source source = {.size = sizeof(source), .read = read_pipe, .poll_fd = ends[0]};

    trial_open(&trial, "exit 3", 0);
    trial.options.input = &source;
    assert_int_equal(trial_run(&trial), SANDLOT_OK); /* though the input never ends */
    assert_int_equal(trial.result.exit_code, 3);
    trial_close(&trial);

    assert_int_equal(write(ends[1], "hello\n", 6), 6);
    close(ends[1]);
    trial_open(&trial, "cat", 0);
    trial.options.input = &source;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "hello\n");
    trial_close(&trial);
    close(ends[0]);
}

static void test_surroundings(void **state)
{
    static const char *const added[] = {"ADDED=first", "HOST_SECRET=mine", "ADDED=last", NULL};
    struct trial trial;

    (void)state;
    setenv("HOST_SECRET", "theirs", 1);
    setenv("HOST_OTHER", "there", 1);
    trial_open(&trial, "echo $ADDED $HOST_SECRET $HOST_OTHER; pwd", 0);
    trial.options.environment = added;
    trial.options.working_dir = "/usr";
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "last mine there\n/usr\n");
    trial_close(&trial);

    trial_open(&trial, "tr '\\0' '\\n' </proc/$$/environ | sed 's/=.*//'", 0);
    trial.options.clean_environment = true;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "PATH\n");
    trial_close(&trial);
    unsetenv("HOST_SECRET");
    unsetenv("HOST_OTHER");

    /* What the C library's posix_spawn(3) leaves ignored, and its sigaction(2) refuses to touch. */
    enum { LIBRARY_SIGNAL = 33 };
    static const unsigned long ignored[8] = {1}; /* the kernel's struct sigaction begins with SIG_IGN */
    static const unsigned long by_default[8];
    int leaked = open("/dev/null", O_RDONLY); /* without O_CLOEXEC */
    sigset_t blocked;
    sigset_t before;

    sigfillset(&blocked);
    signal(SIGHUP, SIG_IGN);
    syscall(SYS_rt_sigaction, LIBRARY_SIGNAL, ignored, NULL, 8);
    sigprocmask(SIG_SETMASK, &blocked, &before);
    trial_open(&trial,
               "sed -n 's/^Sig\\(Blk\\|Ign\\):./\\1 /p' /proc/self/status; "
               "test $(cut -d' ' -f6 /proc/$$/stat) = $$ && echo session; exec ls /proc/self/fd",
               0);
    enum sandlot_status status = trial_run(&trial);

    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGHUP, SIG_DFL);
    syscall(SYS_rt_sigaction, LIBRARY_SIGNAL, by_default, NULL, 8);
    close(leaked);
    assert_int_equal(status, SANDLOT_OK);
    assert_string_equal(
        trial.output.bytes,
        "Blk 0000000000000000\nIgn 0000000000000000\nsession\n0\n1\n2\n3\n"); /* 3 is the folder that ls reads */
    trial_close(&trial);
}

static void test_words_stay_as_they_are(void **state)
{
    static const char *const words[] = {"printf", "%s|", "a b", "$(id)", "'\"", "", NULL};
    struct trial trial;

    (void)state;
    trial_open(&trial, "", 0);
    trial.options.arguments = words;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "a b|$(id)|'\"||");
    trial_close(&trial);
}

/* ---- what cannot be run ------------------------------------------------------------------------------------------ */

static void test_missing(void **state)
{
    static const char *const missing[] = {"no-such-program-here", NULL};
    static const char *const no_program[] = {"/etc/passwd", NULL};
    static const char *const nothing[] = {NULL};
    struct trial trial;

    (void)state;
    trial_open(&trial, "", 0);
    trial.options.arguments = missing;
    assert_int_equal(trial_run(&trial), SANDLOT_DEPENDENCY_MISSING);
    assert_string_equal(trial.call.message, "the program no-such-program-here is not in PATH; install it, or add its "
                                            "folder to PATH");
    trial_close(&trial);

    trial_open(&trial, "", 0);
    trial.options.arguments = no_program;
    assert_int_equal(trial_run(&trial), SANDLOT_DEPENDENCY_MISSING);
    assert_non_null(strstr(trial.call.message, "/etc/passwd cannot be run: Permission denied"));
    trial_close(&trial);

    trial_open(&trial, "true", 0);
    trial.options.working_dir = "/no/such/folder";
    assert_int_equal(trial_run(&trial), SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(trial.call.message, "/no/such/folder"));
    trial_close(&trial);

    trial_open(&trial, "", 0);
    trial.options.arguments = nothing;
    assert_int_equal(trial_run(&trial), SANDLOT_INTERNAL);
    trial_close(&trial);

    char *long_word = malloc(4 << 20);

    assert_non_null(long_word);
    memset(long_word, 'x', (4 << 20) - 1);
    long_word[(4 << 20) - 1] = '\0';
    trial_open(&trial, long_word, 0);
    assert_int_equal(trial_run(&trial), SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(trial.call.message, "longer than"));
    trial_close(&trial);
    free(long_word);
}

/* No descriptor is left at any place in turn. */
static void test_no_descriptors(void **state)
{
    struct rlimit before;
    int exhausted = 0;
    int fine = 0;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const int open_before = open_descriptors();

    for (int more = 0; more < 16; more++) {
        struct trial trial;
        struct test_source source;

        trial_open(&trial, "cat", 0);
        test_source_open(&source, 10);
        trial.options.input = &source.source;
        trial.options.errors = &trial.errors.sink;
        trial.options.working_dir = "/";
        struct rlimit limit = {(rlim_t)trial.call.cancel[1] + 1 + (rlim_t)more, before.rlim_max};

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        enum sandlot_status status = trial_run(&trial);

        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_true(status == SANDLOT_OK || status == SANDLOT_EXHAUSTED);
        exhausted += status == SANDLOT_EXHAUSTED;
        fine += status == SANDLOT_OK;
        trial_close(&trial);
        assert_int_equal(open_descriptors(), open_before);
    }
    assert_true(exhausted >= 8);
    assert_true(fine >= 1);
}

/* As a user who may have no second process; root may have any number. */
static int run_alone(void)
{
    const struct rlimit one = {1, 1};
    struct trial trial;

    if (geteuid() == 0 && setresuid(61778, 61778, 61778) != 0)
        return 1;
    if (setrlimit(RLIMIT_NPROC, &one) != 0)
        return 2;
    trial_open(&trial, "true", 0);
    return trial_run(&trial) == SANDLOT_EXHAUSTED && strstr(trial.call.message, "cannot be started") ? 0 : 3;
}

static void test_no_processes(void **state)
{
    int how = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(run_alone());
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void test_time_limit(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "echo begun; sleep 61.001 & setsid -f true; timeout 61.002 sleep 61.003 & sleep 61.004", 0);
    trial.options.timeout_ms = 300;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_true(trial.result.timed_out);
    assert_int_equal(trial.result.exit_code, 124);
    assert_string_equal(trial.output.bytes, "begun\n");
    assert_true(trial.took_ms >= 300);
    assert_true(gone_soon("sleep 61.00"));
    trial_close(&trial);

    /* It may say goodbye. */
    trial_open(&trial, "trap 'echo goodbye; exit 0' TERM; sleep 62 & wait", 0);
    trial.options.timeout_ms = 300;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "goodbye\n");
    assert_int_equal(trial.result.exit_code, 124);
    trial_close(&trial);
}

static void test_ignores_signals(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "trap '' TERM HUP INT; echo begun; while :; do sleep 0.01; done", 0);
    trial.options.timeout_ms = 200;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_true(trial.result.timed_out);
    assert_string_equal(trial.output.bytes, "begun\n");
    assert_true(trial.took_ms >= 200);
    trial_close(&trial);

    /* The program itself goes at once, what it has started does not want to. */
    trial_open(&trial, "(trap '' TERM; exec sleep 63.001) & sleep 63.002", 0);
    trial.options.timeout_ms = 200;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_true(gone_soon("sleep 63.00"));
    trial_close(&trial);
}

static void test_deadline(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "sleep 64.001", 300);
    assert_int_equal(trial_run(&trial), SANDLOT_TIMEOUT);
    assert_true(trial.took_ms >= 250);
    assert_true(gone_soon("sleep 64.00"));
    trial_close(&trial);

    trial_open(&trial, "touch /tmp/never", 1);
    usleep(5000);
    assert_int_equal(trial_run(&trial), SANDLOT_TIMEOUT);
    trial_close(&trial);
}

static void *cancel_later(void *call)
{
    usleep(200000);
    test_call_cancel(call);
    return NULL;
}

static void test_cancel(void **state)
{
    struct trial trial;
    pthread_t thread;

    (void)state;
    trial_open(&trial, "yes 65.001", 0);
    trial.output.keep = false;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &trial.call), 0);
    assert_int_equal(trial_run(&trial), SANDLOT_CANCELLED);
    pthread_join(thread, NULL);
    assert_true(trial.took_ms >= 150);
    assert_true(gone_soon("yes 65.00"));

    assert_int_equal(trial_run(&trial), SANDLOT_CANCELLED); /* before it begins */
    trial_close(&trial);
}

static void test_sink_fails(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "yes 66.001", 0);
    trial.output.stop_at = 1 << 20;
    trial.output.answer = SANDLOT_UNAVAILABLE;
    assert_int_equal(trial_run(&trial), SANDLOT_UNAVAILABLE);
    assert_true(trial.output.length < 2 << 20);
    assert_true(gone_soon("yes 66.00"));
    trial_close(&trial);
}

static void test_background(void **state)
{
    struct trial trial;

    (void)state;
    trial_open(&trial, "yes 67.001 & echo done", 0);
    trial.output.keep = false;
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_true(gone_soon("yes 67.00")); /* by SIGPIPE */
    trial_close(&trial);

    trial_open(&trial, "sleep 2.067 & echo done", 0);
    assert_int_equal(trial_run(&trial), SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "done\n");
    assert_true(runs("sleep 2.067")); /* it goes on */
    trial_close(&trial);
}

/* ---- reading
 * ---------------------------------------------------------------------------------------------------------- */

static enum sandlot_status read_of(struct test_call *call, const char *command, struct process_options options,
                                   char **text)
{
    const char *const words[] = {"sh", "-c", command, NULL};

    test_call_open(call, 0);
    options.arguments = words;
    enum sandlot_status status = process_read(&call->call, &options, text, NULL);

    test_call_close(call);
    return status;
}

static void test_read(void **state)
{
    const struct process_options plain = {0};
    const struct process_options narrow = {.output_limit = 10};
    const struct process_options hurried = {.timeout_ms = 100};
    const struct process_options named = {.failure = SANDLOT_UNAVAILABLE};
    struct test_call call;
    char *text = NULL;

    (void)state;
    assert_int_equal(read_of(&call, "echo warning >&2; printf 'a\\nb\\n\\n'", plain, &text), SANDLOT_OK);
    assert_string_equal(text, "a\nb");
    free(text);
    assert_non_null(strstr(call.log, "3 sh: exit code 0 after "));
    assert_int_equal(read_of(&call, "true", plain, &text), SANDLOT_OK);
    assert_string_equal(text, "");
    free(text);
    assert_int_equal(read_of(&call, "yes | head -c 3000000", plain, NULL), SANDLOT_OK);

    text = NULL;
    assert_int_equal(read_of(&call, "echo out; printf 'no\\tsuch \\033[1mbox\\n' >&2; exit 4", named, &text),
                     SANDLOT_UNAVAILABLE);
    assert_string_equal(call.message, "sh failed with exit code 4 and said: no such [1mbox");
    assert_int_equal(read_of(&call, "exit 5", plain, &text), SANDLOT_INTERNAL);
    assert_string_equal(call.message, "sh failed with exit code 5 and without a word; run it by hand to see why");
    assert_int_equal(read_of(&call, "yes ä | head -c 9001 >&2; echo the end >&2; exit 1", plain, &text),
                     SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "and said: ...ä") ? call.message : strstr(call.message, "and said: ... ä"));
    assert_non_null(strstr(call.message, "the end"));
    assert_int_equal(read_of(&call, "printf 12345678901", narrow, &text), SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "more than 10 bytes"));
    assert_int_equal(read_of(&call, "sleep 68", hurried, &text), SANDLOT_TIMEOUT);
    assert_null(text);
}

/* ---- many at once ------------------------------------------------------------------------------------------------ */

static void *run_many(void *failures)
{
    atomic_int *failed = failures;

    for (int i = 0; i < ROUNDS; i++) {
        struct trial trial;
        char command[64];
        char wanted[32];

        snprintf(command, sizeof(command), "cat >/dev/null; echo %d; exit %d", i, i);
        snprintf(wanted, sizeof(wanted), "%d\n", i);
        struct test_source source;

        trial_open(&trial, command, 10000);
        test_source_open(&source, 100000);
        trial.options.input = &source.source;
        if (trial_run(&trial) != SANDLOT_OK || trial.result.exit_code != i ||
            strcmp(trial.output.bytes ? trial.output.bytes : "", wanted) != 0)
            atomic_fetch_add(failed, 1);
        trial_close(&trial);
    }
    return NULL;
}

static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    atomic_int failed = 0;
    const int before = open_descriptors();

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_many, &failed), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(failed, 0);
    assert_int_equal(open_descriptors(), before);
}

/* A host that lets the kernel collect its children. */
static void test_children_ignored(void **state)
{
    struct trial trial;

    (void)state;
    signal(SIGCHLD, SIG_IGN);
    trial_open(&trial, "echo fine; exit 3", 0);
    enum sandlot_status status = trial_run(&trial);

    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(status, SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "fine\n");
    assert_int_equal(trial.result.exit_code, SANDLOT_EXIT_UNKNOWN);
    trial_close(&trial);
}

/* The host has closed its standard descriptors: the pipes get their numbers. */
static void test_without_standard_descriptors(void **state)
{
    int kept[3];
    struct trial trial;

    (void)state;
    for (int i = 0; i < 3; i++) {
        kept[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
        close(i);
    }
    trial_open(&trial, "cat; echo out; echo error >&2", 0);
    struct test_source source;

    test_source_open(&source, 0);
    trial.options.input = &source.source;
    enum sandlot_status status = trial_run(&trial);

    test_call_close(&trial.call);
    for (int i = 0; i < 3; i++) {
        dup2(kept[i], i);
        close(kept[i]);
    }
    assert_int_equal(status, SANDLOT_OK);
    assert_string_equal(trial.output.bytes, "out\nerror\n");
    test_sink_close(&trial.output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_large_output),
        cmocka_unit_test(test_input),
        cmocka_unit_test(test_slow_input),
        cmocka_unit_test(test_surroundings),
        cmocka_unit_test(test_words_stay_as_they_are),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_no_processes),
        cmocka_unit_test(test_time_limit),
        cmocka_unit_test(test_ignores_signals),
        cmocka_unit_test(test_deadline),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_sink_fails),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_children_ignored),
        cmocka_unit_test(test_without_standard_descriptors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
