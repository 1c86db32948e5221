/* Tools called on a sandbox of the provider `fake`, whose commands run on this machine. */
#include "plugins.h"
#include "support.h"
#include "worker_program.h"

#include <json-c/json.h>
#include <pthread.h>
#include <sandlot/sandlot.h>

static struct sandlot *sandlot;
static struct sandlot_session *session;
static struct sandlot_tool_answer answer;
static struct sandlot_error error;

static int set_up(void **state)
{
    char vendor[300];

    if (support_start(state))
        return -1;
    plugin_copy("fake", "plugins/fake.so");
    mkdir(support_path("vendor"), 0700);
    setenv("SANDLOT_PLUGIN_PATH", support_path("plugins"), 1);
    use_worker_of_this_build();
    snprintf(vendor, sizeof(vendor), "folder=%s", support_path("vendor"));
    const char *const parameters[] = {vendor, NULL};
    const struct sandlot_options options = {.size = sizeof(options), .no_environment_files = true};
    const struct sandlot_session_options wanted = {
        .size = sizeof(wanted), .provider = "fake", .parameters = parameters};

    sandlot = sandlot_open(&options, &error);
    session = sandlot ? sandlot_session_open(sandlot, &wanted, &error) : NULL;
    if (!session)
        print_error("%s\n", error.message);
    return session ? 0 : -1;
}

static int tear_down(void **state)
{
    sandlot_tool_answer_clear(&answer);
    sandlot_error_clear(&error);
    sandlot_session_close(session, NULL);
    sandlot_close(sandlot);
    unsetenv("SANDLOT_PLUGIN_PATH");
    return support_end(state);
}

/* The path of NAME in the sandbox, which is the one on this machine too; valid until the next call. */
static const char *inside(const char *name)
{
    static char path[600];

    snprintf(path, sizeof(path), "%s/%s", sandlot_session_working_dir(session), name);
    return path;
}

static void put(const char *name, const void *bytes, size_t length)
{
    AUTO_FILE FILE *file = fopen(inside(name), "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
}

static int call_limited(const char *tool, const char *arguments, size_t maximum,
                        struct sandlot_cancellation *cancellation)
{
    const struct sandlot_tool_call call = {.size = sizeof(call),
                                           .name = tool,
                                           .arguments = arguments,
                                           .maximum_bytes = maximum,
                                           .cancellation = cancellation};

    sandlot_tool_answer_clear(&answer);
    sandlot_error_clear(&error);
    answer.size = sizeof(answer);
    return sandlot_call_tool(session, &call, &answer, &error);
}

/* Calls TOOL, which must answer, and returns member NAME of part INDEX of its content; to be freed. */
static char *call_part(const char *tool, const char *arguments, size_t maximum, size_t index, const char *name)
{
    if (call_limited(tool, arguments, maximum, NULL) < 0)
        fail_msg("%s: %s", tool, error.message);
    struct json_object *content = json_tokener_parse(answer.content);
    struct json_object *part = json_object_array_get_idx(content, index);
    const char *text = json_object_get_string(json_object_object_get(part, name));
    char *copy = text ? strdup(text) : NULL;

    json_object_put(content);
    return copy;
}

static char *call(const char *tool, const char *arguments)
{
    return call_part(tool, arguments, 0, 0, "text");
}

static void expect(const char *tool, const char *arguments, const char *wanted)
{
    AUTO_FREE char *text = call(tool, arguments);

    assert_string_equal(text, wanted);
    assert_false(answer.is_error);
}

static void expect_problem(const char *tool, const char *arguments, const char *code, const char *part)
{
    AUTO_FREE char *text = call(tool, arguments);
    AUTO_FREE char *meta = text_format("\"sandlot/error\":\"%s\"", code);

    assert_true(answer.is_error);
    assert_contains(text, part);
    assert_contains(answer.meta, meta);
    assert_in_range(strlen(text), 5, 2000);
}

static void test_what_is_no_answer(void **state)
{
    struct sandlot_cancellation *cancellation = sandlot_cancellation_new();

    (void)state;
    assert_int_equal(call_limited("Read", "{}", 0, NULL), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    assert_contains(error.message, "there is no tool 'Read'; the tools are ls, ");
    assert_null(answer.content);
    assert_int_equal(call_limited(NULL, "{}", 0, NULL), -1);
    assert_int_equal(call_limited("ls", "[]", 0, NULL), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_cancel(cancellation);
    assert_int_equal(call_limited("execute", "{\"command\":\"sleep 30\"}", 0, cancellation), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    assert_int_equal(call_limited("ls", "{}", 0, cancellation), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    sandlot_cancellation_free(cancellation);
}

static void test_files(void **state)
{
    (void)state;
    expect("ls", "{}", "Directory is empty");
    expect("write_file", "{\"file_path\":\"src/a.txt\",\"content\":\"one\\ntwo\\n\"}", "Updated file src/a.txt");
    expect("read_file", "{\"path\":\"src/a.txt\"}", "     1  one\n     2  two");
    assert_contains(answer.meta, "\"sandlot/sandbox_id\":\"");
    assert_contains(answer.meta, "\"sandlot/duration_ms\":");
    assert_contains(answer.meta, "\"sandlot/truncated\":false");
    assert_lacks(answer.meta, "sandlot/error");
    assert_lacks(answer.meta, "sandlot/next_offset");
    assert_lacks(answer.meta, "sandlot/exit_code");
    expect("read_file", "{\"file_path\":\"src/a.txt\",\"limit\":1}",
           "     1  one\n\n[Read 1 line: 1 to 1 of 2; 1 remain. Go on with offset 1.]");
    assert_contains(answer.meta, "\"sandlot/next_offset\":1");
    expect("edit_file", "{\"file_path\":\"src/a.txt\",\"old_string\":\"two\",\"new_string\":\"2\"}",
           "Replaced 1 instance in src/a.txt");
    AUTO_FREE char *directory = text_format("%s/", inside("src"));

    expect("ls", "{\"path\":null}", directory);
    expect("glob", "{\"pattern\":\"*.txt\"}", inside("src/a.txt"));
    expect("glob", "{\"pattern\":\"*.none\"}", "No files found");
    expect("grep", "{\"pattern\":\"one\"}", inside("src/a.txt"));
    AUTO_FREE char *lines = text_format("%s:\n  2: 2", inside("src/a.txt"));

    expect("grep", "{\"pattern\":\"2\",\"output_mode\":\"content\"}", lines);
    expect("grep", "{\"pattern\":\"gone\"}", "No matches found");
    expect("delete", "{\"file_path\":\"src\"}", "Deleted src");
    expect("ls", "{}", "Directory is empty");
}

static void test_problems(void **state)
{
    (void)state;
    expect_problem("read_file", "{\"file_path\":\"none.txt\"}", "file_not_found", "none.txt");
    expect_problem("read_file", "{\"file_path\":\"../x\"}", "invalid_path", "..");
    expect_problem("read_file", "{}", "usage", "file_path");
    expect_problem("ls", "{\"path\":\"none\"}", "path_not_found", "none");
    expect_problem("execute", "{\"command\":\"\"}", "usage", "empty");
    put("a", "x x", 3);
    expect_problem("edit_file", "{\"file_path\":\"a\",\"old_string\":\"x\",\"new_string\":\"y\"}",
                   "multiple_occurrences", "2");
}

static void test_read_cut_by_the_budget(void **state)
{
    AUTO_FREE char *content = calloc(1, 20001);

    (void)state;
    for (int i = 0; i < 2000; i++)
        memcpy(content + i * (size_t)10, "123456789\n", 10);
    put("long", content, 20000);
    AUTO_FREE char *text = call_part("read_file", "{\"file_path\":\"long\"}", 4000, 0, "text");

    assert_in_range(strlen(text), 2500, 4000);
    assert_contains(text, "of 2000; ");
    assert_contains(answer.meta, "\"sandlot/truncated\":true");
    assert_contains(answer.meta, "\"sandlot/next_offset\":1");
}

static const char png[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08";

static void test_media(void **state)
{
    (void)state;
    put("picture.dat", png, sizeof(png) - 1);
    AUTO_FREE char *type = call_part("read_file", "{\"file_path\":\"picture.dat\"}", 0, 1, "mimeType");
    AUTO_FREE char *data = call_part("read_file", "{\"file_path\":\"picture.dat\"}", 0, 1, "data");
    AUTO_FREE char *text = call("read_file", "{\"file_path\":\"picture.dat\"}");

    assert_string_equal(type, "image/png");
    assert_string_equal(data, "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCA==");
    assert_string_equal(text, "picture.dat: PNG image, 25 bytes, 3 x 2 pixels");
    put("a.pdf", "%PDF-1.4", 8);
    AUTO_FREE char *pdf = call("read_file", "{\"file_path\":\"a.pdf\"}");

    assert_contains(pdf, "PDF document, 8 bytes");
    assert_false(answer.is_error);
}

/* An image of LENGTH bytes. */
static void put_image(const char *name, size_t length)
{
    AUTO_FREE char *bytes = calloc(1, length);

    assert_non_null(bytes);
    memcpy(bytes, png, sizeof(png) - 1);
    put(name, bytes, length);
}

static void test_large_media(void **state)
{
    (void)state;
    put_image("large.png", 600000);
    AUTO_FREE char *data = call_part("read_file", "{\"file_path\":\"large.png\"}", 0, 1, "data");

    assert_int_equal(strlen(data), 800000);
    put_image("most.png", 3750000);
    AUTO_FREE char *most = call_part("read_file", "{\"file_path\":\"most.png\"}", 0, 1, "data");

    assert_int_equal(strlen(most), 5000000);
    put_image("huge.png", 3750001);
    expect_problem("read_file", "{\"file_path\":\"huge.png\"}", "too_large", "3.75 MB");
    put_image("giant.png", 9000000);
    expect_problem("read_file", "{\"file_path\":\"giant.png\"}", "too_large", "3.75 MB");
    put_image("by_content.dat", 600000);
    AUTO_FREE char *by_content = call_part("read_file", "{\"file_path\":\"by_content.dat\"}", 0, 1, "data");

    assert_string_equal(by_content, data);
}

/* Of others only what they are. */
static void test_large_binary(void **state)
{
    static char pdf[9000000] = "%PDF-1.4 \xff";

    (void)state;
    put("large.pdf", pdf, 600000);
    expect_problem("read_file", "{\"file_path\":\"large.pdf\"}", "too_large", "PDF document, 600000 bytes");
    expect_problem("read_file", "{\"file_path\":\"large.pdf\"}", "too_large", "pdftotext");
    put("giant.pdf", pdf, sizeof(pdf));
    expect_problem("read_file", "{\"file_path\":\"giant.pdf\"}", "too_large", "PDF document, more than 3.75 MB");
    expect_problem("read_file", "{\"file_path\":\"giant.pdf\"}", "too_large", "512000");
}

static void collect(void *context, const void *bytes, size_t length)
{
    char *text = context;

    memcpy(text + strlen(text), bytes, length);
}

static void test_execute(void **state)
{
    char seen[200] = "";

    (void)state;
    expect("execute", "{\"command\":\"echo out; echo err >&2\"}", "out\nerr\n[Command succeeded with exit code 0]");
    assert_contains(answer.meta, "\"sandlot/exit_code\":0");
    assert_contains(answer.meta, "\"sandlot/timed_out\":false");
    expect("execute", "{\"cmd\":\"printf x; exit 7\"}", "x\n[Command failed with exit code 7]");
    expect("execute", "{\"command\":\"true\"}", "[Command succeeded with exit code 0]");
    expect("execute", "{\"command\":\"kill -9 $$\"}", "[Command failed with exit code 137 (signal SIGKILL)]");
    expect("execute", "{\"command\":\"printf '\\\\033[31mred\\\\033[0m 1%%\\\\r2%%\\\\377'\"}",
           "2%\xef\xbf\xbd\n[Command succeeded with exit code 0]");
    const struct sandlot_tool_call streamed = {.size = sizeof(streamed),
                                               .name = "execute",
                                               .arguments = "{\"command\":\"echo now\"}",
                                               .output = collect,
                                               .context = seen};

    sandlot_tool_answer_clear(&answer);
    assert_int_equal(sandlot_call_tool(session, &streamed, &answer, &error), 0);
    assert_string_equal(seen, "now\n");
    assert_contains(answer.content, "now\\n[Command succeeded");
}

static void test_time_limit(void **state)
{
    (void)state;
    AUTO_FREE char *text = call("execute", "{\"command\":\"echo begun; sleep 30\",\"timeout\":1}");

    assert_true(answer.is_error);
    assert_contains(text, "begun\n[Command timed out after 1 s");
    assert_contains(text, "[Command failed with exit code 124]");
    assert_contains(answer.meta, "\"sandlot/timed_out\":true");
    assert_contains(answer.meta, "\"sandlot/exit_code\":124");
    assert_contains(answer.meta, "\"sandlot/error\":\"timeout\"");
}

/* The path of the saved file that TEXT names, to be freed. */
static char *saved_path(const char *text)
{
    const char *at = strstr(text, "/sandlot-output-");

    assert_contains(text, "/sandlot-output-");
    while (at && at > text && at[-1] != ' ')
        at--;
    return at ? strndup(at, strcspn(at, ", ")) : NULL;
}

static void forget_saved(char *path)
{
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
}

static void test_long_output_is_saved(void **state)
{
    (void)state;
    AUTO_FREE char *text = call_part("execute", "{\"command\":\"seq 100000 109999; exit 3\"}", 4000, 0, "text");
    AUTO_FREE char *path = saved_path(text);
    size_t length;
    AUTO_FREE char *saved = path_read_file(path, 1 << 20, &length);
    AUTO_FREE char *folder = path_parent(path);
    struct stat status;

    assert_false(answer.is_error);
    assert_in_range(strlen(text), 2000, 4000);
    assert_memory_equal(text, "100000\n100001\n", 14);
    assert_contains(text, "109999\n[Output cut: ");
    assert_contains(text, " lines left out after line ");
    assert_contains(text, "/output.txt, page through it with read_file offset and limit, or grep it.]\n"
                          "[Command failed with exit code 3]");
    assert_contains(answer.meta, "\"sandlot/truncated\":true");
    assert_int_equal(length, 70000);
    assert_memory_equal(saved + length - 7, "109999\n", 8);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    AUTO_FREE char *arguments = text_format("{\"file_path\":\"%s\",\"offset\":9999}", path);

    expect("read_file", arguments, " 10000  109999");
    forget_saved(path);
}

static void test_endless_output(void **state)
{
    (void)state;
    AUTO_FREE char *text =
        call("execute", "{\"command\":\"head -c 12000000 /dev/zero | tr '\\\\0' x; echo; echo end\"}");
    AUTO_FREE char *path = saved_path(text);
    struct stat status;

    assert_in_range(strlen(text), 30000, 40000);
    assert_contains(text, " bytes left out after line 0; the saved file ");
    assert_contains(text, "incomplete too: the command printed 12000005 bytes");
    assert_contains(text, "[Command succeeded with exit code 0]");
    assert_int_equal(stat(path, &status), 0);
    assert_in_range(status.st_size, 10 << 20, (10 << 20) + 100);
    forget_saved(path);
}

static void *call_on_a_thread(void *context)
{
    const struct sandlot_tool_call one = {.size = sizeof(one), .name = "edit_file", .arguments = context};
    struct sandlot_tool_answer own = {.size = sizeof(own)};
    int failed = sandlot_call_tool(session, &one, &own, NULL) < 0 || own.is_error;

    sandlot_tool_answer_clear(&own);
    return failed ? context : NULL;
}

static void test_edits_at_the_same_time(void **state)
{
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    char *arguments[THREADS];

    (void)state;
    put("shared", "0 1 2 3 4 5 6 7", 15);
    for (int i = 0; i < THREADS; i++) {
        arguments[i] = text_format("{\"file_path\":\"shared\",\"old_string\":\"%d\",\"new_string\":\"x\"}", i);
        assert_int_equal(pthread_create(&threads[i], NULL, call_on_a_thread, arguments[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        assert_null(failed);
        free(arguments[i]);
    }
    expect("read_file", "{\"file_path\":\"shared\"}", "     1  x x x x x x x x");
}

#define SANDBOXED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SANDBOXED(test_what_is_no_answer),      SANDBOXED(test_files),          SANDBOXED(test_problems),
        SANDBOXED(test_read_cut_by_the_budget), SANDBOXED(test_media),          SANDBOXED(test_large_media),
        SANDBOXED(test_large_binary),           SANDBOXED(test_execute),        SANDBOXED(test_time_limit),
        SANDBOXED(test_long_output_is_saved),   SANDBOXED(test_endless_output), SANDBOXED(test_edits_at_the_same_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
