/* Downloads by scripts that print: in dash, bash and BusyBox, and with output that makes no sense. */
#include <sandlot/sdk/printed_download.h>

#include "failing_allocator.h"
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

enum { FILES = 7, PATH_SIZE = 300 };

static char folder[200];
static const char *shell[2];
static const char *said; /* instead of what the script prints; NULL: that */
static int scripts;
static int alone; /* files that went the vendor's own way */
static char box[] = "box";

static struct test_call call;
static struct sandlot_file files[FILES];
static char paths[FILES][PATH_SIZE];
static struct test_sink sinks[FILES];
static char errors[FILES][40];
static uint64_t lengths[FILES];
static int told[FILES];

/* ---- the sandbox ------------------------------------------------------------------------------------------------- */

static enum sandlot_status execute(struct sandlot_call *own, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    enum sandlot_status status = SANDLOT_OK;
    char block[4096];

    (void)own, (void)provider, (void)result;
    assert_ptr_equal(sandbox, box);
    scripts++;
    if (said)
        return output->write(output, said, strlen(said));
    struct spawned spawned = spawn_shell(shell, command->command, -1, false);

    for (ssize_t length; (length = read(spawned.output, block, sizeof(block))) > 0 && status == SANDLOT_OK;)
        status = output->write(output, block, (size_t)length);
    close(spawned.output);
    waitpid(spawned.pid, NULL, 0);
    return status;
}

static enum sandlot_status one(struct sandlot_call *own, void *sandbox, const struct sandlot_file *file, size_t index,
                               const struct sandlot_transfer *transfer)
{
    (void)own;
    assert_ptr_equal(sandbox, box);
    assert_string_equal(file->path, paths[index]);
    alone++;
    transfer->done(transfer, index, "alone", 0);
    return SANDLOT_OK;
}

static void done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer;
    told[index]++;
    lengths[index] = bytes;
    snprintf(errors[index], sizeof(errors[index]), "%s", error ? error : "");
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

/* Two files of which one is empty, a folder, nothing, a device, a name below a file, a name that is too long. */
static int set_up(void **state)
{
    char *long_name = paths[6];

    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/sandlot-down-XXXXXX");
    assert_non_null(mkdtemp(folder));
    test_call_open(&call, 60000);
    shell[0] = "/bin/dash";
    shell[1] = said = NULL;
    scripts = alone = 0;
    memset(told, 0, sizeof(told));
    for (int i = 0; i < FILES; i++)
        snprintf(paths[i], PATH_SIZE, "%s/%d it's $x", folder, i);
    snprintf(paths[4], PATH_SIZE, "/dev/null");
    snprintf(paths[5], PATH_SIZE, "%s/0 it's $x/below", folder);
    memset(long_name + strlen(long_name), 'x', 256);
    long_name[290] = '\0';
    sh("cd '%s' && printf 'a\\0\\377\\n3 same\\nb' >\"0 it's \\$x\" && : >\"1 it's \\$x\" && mkdir \"2 it's \\$x\"",
       folder);
    for (int i = 0; i < FILES; i++) {
        test_sink_open(&sinks[i], true);
        files[i] = (struct sandlot_file){.size = sizeof(files[i]), .path = paths[i], .sink = &sinks[i].sink};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (int i = 0; i < FILES; i++)
        test_sink_close(&sinks[i]);
    sh("rm -rf '%s'", folder);
    test_call_close(&call);
    return 0;
}

static struct printed_download_vendor vendor(bool has_one, uint64_t printed)
{
    return (struct printed_download_vendor){
        .scripts = {.sandbox = box, .execute = execute}, .one = has_one ? one : NULL, .printed = printed};
}

static void download(const struct printed_download_vendor *way, size_t count, enum sandlot_status wanted)
{
    assert_int_equal(printed_download(&call.call, way, files, count, &transfer), wanted);
}

static void check(int index, const char *error, const char *bytes, size_t length)
{
    assert_int_equal(told[index], 1);
    assert_string_equal(errors[index], error);
    assert_int_equal(lengths[index], length);
    assert_int_equal(sinks[index].length, length);
    if (length > 0)
        assert_memory_equal(sinks[index].bytes, bytes, length);
}

static const char content[] = "a\0\377\n3 same\nb";

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void all_printed(const char *program, const char *argument)
{
    const struct printed_download_vendor way = vendor(false, 0);

    shell[0] = program;
    shell[1] = argument;
    download(&way, FILES, SANDLOT_OK);
    assert_int_equal(scripts, 1);
    check(0, "", content, sizeof(content) - 1);
    check(1, "", "", 0);
    check(2, "is_directory", "", 0);
    check(3, "file_not_found", "", 0);
    check(4, "invalid_path", "", 0);
    check(5, "invalid_path", "", 0);
    check(6, "invalid_path", "", 0);
}

static void test_dash(void **state)
{
    (void)state;
    all_printed("/bin/dash", NULL);
}

static void test_bash(void **state)
{
    (void)state;
    all_printed("/bin/bash", NULL);
}

static void test_busybox(void **state)
{
    (void)state;
    all_printed("/bin/busybox", "sh");
}

/* What is sure is said by the script, all else by the vendor's own way. */
static void test_own_way(void **state)
{
    const struct printed_download_vendor way = vendor(true, 1000);

    (void)state;
    download(&way, FILES, SANDLOT_OK);
    assert_int_equal(scripts, 1);
    assert_int_equal(alone, 3);
    check(0, "", content, sizeof(content) - 1);
    check(2, "is_directory", "", 0);
    check(3, "file_not_found", "", 0);
    for (int i = 4; i < FILES; i++)
        assert_string_equal(errors[i], "alone");
}

static void test_limit(void **state)
{
    struct printed_download_vendor way = vendor(true, sizeof(content) - 2);

    (void)state;
    download(&way, 2, SANDLOT_OK); /* one byte too much */
    assert_int_equal(alone, 1);
    assert_string_equal(errors[0], "alone");
    check(1, "", "", 0);
    tear_down(NULL);
    set_up(NULL);
    way = vendor(true, 1000);
    download(&way, 1, SANDLOT_OK); /* one file has its own request anyhow */
    assert_true(alone == 1 && scripts == 0);
    tear_down(NULL);
    set_up(NULL);
    way = vendor(true, 0);
    download(&way, 3, SANDLOT_OK);
    assert_true(alone == 3 && scripts == 0);
    download(&way, 0, SANDLOT_OK);
}

static void test_nonsense(void **state)
{
    static const char *const answers[] = {"x file 3\nabc0 same\n",
                                          "9 file 1\n",
                                          "0 file 1\na1 same\n",
                                          "0 file 1\na0 other\n",
                                          "0 file_not_found\n0 file_not_found\n",
                                          "0\n"};
    const struct printed_download_vendor way = vendor(false, 0);
    char line[200];

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
        said = answers[i];
        call.status = SANDLOT_OK;
        download(&way, 2, SANDLOT_UNAVAILABLE);
        assert_non_null(strstr(call.message, "makes no sense"));
    }
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\0';
    said = line;
    download(&way, 2, SANDLOT_UNAVAILABLE);
}

/* A file that changes is left to the host, and so is what does not come. */
static void test_changed(void **state)
{
    const struct printed_download_vendor way = vendor(true, 1000);

    (void)state;
    said = "0 file 3\nab\0010 changed\n2 is_directory\n";
    download(&way, 3, SANDLOT_OK);
    assert_int_equal(told[0], 0);
    assert_string_equal(errors[1], "alone");
    check(2, "is_directory", "", 0);
}

static void test_sink_refuses(void **state)
{
    const struct printed_download_vendor way = vendor(false, 0);

    (void)state;
    sinks[0].answer = SANDLOT_CANCELLED;
    sinks[0].stop_at = 1;
    download(&way, 2, SANDLOT_CANCELLED);
    assert_int_equal(told[0], 0);
}

static void test_why(void **state)
{
    char misleading[PATH_SIZE];
    static const char *const words[FILES] = {
        "", "", "is_directory", "file_not_found", "invalid_path", "invalid_path", "invalid_path"};
    const struct script_place place = {.sandbox = box, .execute = execute};
    char word[PRINTED_DOWNLOAD_WORD];

    (void)state;
    for (int i = 0; i < FILES; i++) {
        assert_int_equal(printed_download_why(&call.call, &place, paths[i], word), SANDLOT_OK);
        assert_string_equal(word, words[i]);
    }
    snprintf(misleading, sizeof(misleading), "%s/: Permission denied.txt", folder);
    assert_int_equal(printed_download_why(&call.call, &place, misleading, word), SANDLOT_OK);
    assert_string_equal(word, "file_not_found");
    sh("ln -s loop '%s/loop'", folder);
    snprintf(misleading, sizeof(misleading), "%s/loop", folder);
    assert_int_equal(printed_download_why(&call.call, &place, misleading, word), SANDLOT_OK);
    assert_string_equal(word, "invalid_path");
}

static void test_no_memory(void **state)
{
    const struct printed_download_vendor way = vendor(false, 0);
    bool happened = true;

    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    said = "0 is_directory\n1 is_directory\n";
    for (long at = 0; happened; at++) {
        memset(told, 0, sizeof(told));
        atomic_store(&countdown, at);
        enum sandlot_status status = printed_download(&call.call, &way, files, 2, &transfer);

        happened = atomic_load(&countdown) < 0;
        atomic_store(&countdown, -1);
        assert_int_equal(status, happened ? SANDLOT_INTERNAL : SANDLOT_OK);
        assert_true(!happened || *call.message);
    }
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_dash),     EACH(test_bash),    EACH(test_busybox),      EACH(test_own_way), EACH(test_limit),
        EACH(test_nonsense), EACH(test_changed), EACH(test_sink_refuses), EACH(test_why),     EACH(test_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
