/* Many files at once: the scripts in dash, bash and BusyBox, whose commands are those of this machine. */
#include <sandlot/sdk/batch.h>

#include "sdk_support.h"
#include "spawned.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 80, PATH_SIZE = 600 };

static const char *shell[3]; /* and its arguments before the script */
static char folder[200];
static int commands; /* that were run */
static int alone;    /* files that went the vendor's own way */
static enum sandlot_status answer;

static struct test_call call;
static struct sandlot_file files[FILES];
static char paths[FILES][PATH_SIZE];
static struct test_source sources[FILES];
static struct test_sink sinks[FILES];
static const char *errors[FILES];
static int told[FILES];

/* ---- the vendor -------------------------------------------------------------------------------------------------- */

static enum sandlot_status run(struct sandlot_call *own, void *provider, void *sandbox,
                               const struct sandlot_command *command, const struct sandlot_sink *output,
                               struct sandlot_exit *result)
{
    char input_path[] = "/tmp/sandlot-batch-XXXXXX";
    int input = mkstemp(input_path);
    char block[4096];
    size_t got = 1;

    (void)own, (void)provider, (void)sandbox, (void)result;
    commands++;
    unlink(input_path);
    while (command->input && got > 0) {
        assert_int_equal(command->input->read(command->input, block, sizeof(block), &got), SANDLOT_OK);
        assert_int_equal(write(input, block, got), got);
    }
    lseek(input, 0, SEEK_SET);
    struct spawned spawned = spawn_shell(shell, command->command, input, false);

    close(input);
    for (ssize_t length; (length = read(spawned.output, block, sizeof(block))) > 0;)
        assert_int_equal(output->write(output, block, (size_t)length), SANDLOT_OK);
    close(spawned.output);
    waitpid(spawned.pid, NULL, 0);
    return answer;
}

static enum sandlot_status move(struct sandlot_call *own, void *provider, void *sandbox,
                                const struct sandlot_file *some, size_t count, const struct sandlot_transfer *transfer)
{
    (void)own, (void)provider, (void)sandbox;
    assert_true(count <= BATCH_MOVED);
    for (size_t i = 0; i < count; i++) {
        char block[4096];
        uint64_t bytes = 0;

        for (size_t got = 1; some[i].source && got > 0; bytes += got)
            assert_int_equal(some[i].source->read(some[i].source, block, sizeof(block), &got), SANDLOT_OK);
        alone++;
        transfer->done(transfer, i, "permission_denied", bytes);
    }
    return SANDLOT_OK;
}

static const struct batch_vendor vendor = {.execute = run, .move = move, .least = 4};

static void done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer;
    told[index]++;
    errors[index] = error;
    if (!error)
        assert_int_equal(bytes, sources[index].length);
}

static const struct sandlot_transfer transfer = {.size = sizeof(transfer), .done = done};

/* ---- around each test -------------------------------------------------------------------------------------------- */

static void sh(const char *format, ...)
{
    char text[1000];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    assert_int_equal(system(text), 0);
}

static int set_up(void **state)
{
    static char long_name[200]; /* with which a path is more than the 100 bytes of an old archive */

    (void)state;
    memset(long_name, 'n', sizeof(long_name) - 1);
    snprintf(folder, sizeof(folder), "/tmp/sandlot-batch-XXXXXX");
    assert_non_null(mkdtemp(folder));
    test_call_open(&call, 60000);
    commands = alone = 0;
    answer = SANDLOT_OK;
    memset(told, 0, sizeof(told));
    for (int i = 0; i < FILES; i++) {
        snprintf(paths[i], PATH_SIZE, "%s/%d it's/-%d $x", folder, i % 7, i);
        /* Names of other scripts (with bytes that dash has a meaning of its own for), and long ones. */
        if (i % 4 == 0)
            snprintf(strrchr(paths[i], '/'), PATH_SIZE - 100, "/%d ÁÂł\302\205€文件%.*s", i, i % 8 ? 199 : 0,
                     long_name);
        test_source_open(&sources[i], (uint64_t)i * 100);
        test_sink_open(&sinks[i], true);
        files[i] = (struct sandlot_file){.size = sizeof(files[i]),
                                         .path = paths[i],
                                         .source = &sources[i].source,
                                         .length = sources[i].length,
                                         .mode = i % 2 ? 0700 : 0,
                                         .sink = &sinks[i].sink};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++)
        test_sink_close(&sinks[i]);
    sh("chmod -R u+rwx '%s'; rm -rf '%s'", folder, folder);
    test_call_close(&call);
    return 0;
}

static void upload(enum sandlot_status wanted)
{
    assert_int_equal(batch_upload(&call.call, &vendor, files, FILES, &transfer), wanted);
}

static void download(enum sandlot_status wanted)
{
    assert_int_equal(batch_download(&call.call, &vendor, files, FILES, &transfer), wanted);
}

static void check_all(int except)
{
    for (int i = 0; i < FILES; i++) {
        assert_int_equal(told[i], 1);
        if (i != except)
            assert_null(errors[i]);
    }
}

static void in_shell(const char *program, const char *argument)
{
    shell[0] = program;
    shell[1] = argument;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void up_and_down(void)
{
    struct stat status;

    upload(SANDLOT_OK);
    check_all(-1);
    assert_int_equal(commands, 1);
    assert_int_equal(alone, 0);
    assert_int_equal(stat(paths[3], &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(stat(paths[4], &status), 0);
    assert_int_equal(status.st_mode & 07777, 0644);
    memset(told, 0, sizeof(told));
    download(SANDLOT_OK);
    check_all(-1);
    assert_int_equal(commands, 2);
    for (int i = 0; i < FILES; i++) {
        char wanted[FILES * 100];

        test_pattern(wanted, 0, (size_t)i * 100);
        assert_int_equal(sinks[i].length, i * 100);
        assert_memory_equal(sinks[i].bytes ? sinks[i].bytes : "", wanted, sinks[i].length);
    }
}

static void test_dash(void **state)
{
    (void)state;
    in_shell("/bin/dash", NULL);
    up_and_down();
}

static void test_bash(void **state)
{
    (void)state;
    in_shell("/bin/bash", NULL);
    up_and_down();
}

static void test_busybox(void **state)
{
    (void)state;
    in_shell("/bin/busybox", "sh");
    up_and_down();
}

/* With BusyBox's own tar, whichever the machine's is. */
static void test_busybox_tar(void **state)
{
    const char *before = getenv("PATH");
    char path[1000];

    (void)state;
    in_shell("/bin/busybox", "sh");
    sh("mkdir '%s/tools' && ln -s /bin/busybox '%s/tools/tar'", folder, folder);
    snprintf(path, sizeof(path), "%s/tools:%s", folder, before);
    char *kept = strdup(before);

    assert_int_equal(setenv("PATH", path, 1), 0);
    up_and_down();
    assert_int_equal(setenv("PATH", kept, 1), 0);
    free(kept);
}

/* What is odd goes the vendor's own way; nothing else does. */
static void test_odd(void **state)
{
    struct stat status;

    (void)state;
    in_shell("/bin/dash", NULL);
    for (int i = 1; i < 3; i++) {
        char *slash = strrchr(paths[i], '/');

        *slash = '\0';
        assert_int_equal(mkdir(paths[i], 0700), 0);
        *slash = '/';
    }
    close(open(paths[1], O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(chmod(paths[1], 0640), 0);
    assert_int_equal(symlink("/nowhere", paths[2]), 0);
    upload(SANDLOT_OK);
    check_all(2);
    assert_int_equal(alone, 1);
    assert_string_equal(errors[2], "permission_denied");
    assert_int_equal(stat(paths[1], &status), 0);
    assert_int_equal(status.st_mode & 07777, 0640); /* as it was */
    assert_int_equal(status.st_size, 100);
    memset(told, 0, sizeof(told));
    download(SANDLOT_OK);
    check_all(2);
    assert_int_equal(alone, 2);
}

/* A source that breaks is left to the host; the others come. */
static void test_broken_source(void **state)
{
    (void)state;
    in_shell("/bin/dash", NULL);
    sources[5].fails_with = SANDLOT_INTERNAL;
    sources[5].fails_at = 200;
    upload(SANDLOT_OK);
    assert_int_equal(told[5], 0);
    told[5] = 1;
    check_all(5);
    assert_int_equal(alone, 0);
}

/* A sandbox that has nothing of what this needs. */
static void test_other_way(void **state)
{
    (void)state;
    in_shell("/bin/false", NULL);
    upload(SANDLOT_OK);
    assert_int_equal(alone, FILES);
    memset(told, 0, sizeof(told));
    answer = SANDLOT_UNAVAILABLE;
    download(SANDLOT_OK);
    assert_int_equal(alone, 2 * FILES);
    answer = SANDLOT_AUTH;
    memset(told, 0, sizeof(told));
    download(SANDLOT_AUTH);
    assert_int_equal(alone, 2 * FILES);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_dash), EACH(test_bash),          EACH(test_busybox),   EACH(test_busybox_tar),
        EACH(test_odd),  EACH(test_broken_source), EACH(test_other_way),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
