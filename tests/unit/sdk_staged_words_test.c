/* Staged files as words of a command line, which a shell of this machine really gets. */
#include <sandlot/sdk/process.h>
#include <sandlot/sdk/staged_words.h>
#include <sandlot/sdk/text_sink.h>

#include "sdk_support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES = 4, LARGEST = 300000 };

static struct test_call call;
static char folder[] = "/tmp/sandlot-words.XXXXXX";
static char prefix[64];
static struct sandlot_file files[FILES];
static struct test_source sources[FILES];
static char paths[FILES][128];
static int placed;
static int times; /* that the same script is run */

static enum sandlot_status run(struct sandlot_call *inner, const struct staged_words *words, char *text, size_t size)
{
    const char *arguments[STAGED_WORDS + 5] = {"sh", "-c", words->script, "sh"};
    struct text_sink kept;
    const struct process_options options = {.arguments = arguments, .output = &kept.sink};

    memcpy(arguments + 4, words->words, sizeof(words->words));
    text_sink_init(&kept, text, size);
    return process_run(inner, &options, NULL);
}

static enum sandlot_status store(struct sandlot_call *inner, void *sandbox, struct staged_files *staged)
{
    struct staged_words words;
    char text[4096];
    enum sandlot_status status = staged_words_make(inner, staged, &words);

    (void)sandbox;
    assert_true(staged_words_fit(staged));
    for (int i = 0; status == SANDLOT_OK && i < times; i++)
        status = run(inner, &words, text, sizeof(text));
    if (status == SANDLOT_OK)
        assert_true(staged_upload_fates(staged, text));
    staged_words_clear(&words);
    return status;
}

static enum sandlot_status no_script(struct sandlot_call *inner, void *provider, void *sandbox,
                                     const struct sandlot_command *command, const struct sandlot_sink *output,
                                     struct sandlot_exit *result)
{
    (void)provider, (void)sandbox, (void)command, (void)output, (void)result;
    return sandlot_fail(inner, SANDLOT_INTERNAL, "another request");
}

static void clean_up(struct sandlot_call *inner, void *sandbox, const char *script)
{
    (void)inner, (void)sandbox;
    assert_int_equal(system(script), 0);
}

static void on_done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer;
    assert_null(error);
    assert_int_equal(bytes, files[index].length);
    placed++;
}

static int set_up(void **state)
{
    static const char *const names[FILES] = {"empty", "it's \"$(one)\"", "a/b/two words", "large"};
    static const uint64_t lengths[FILES] = {0, 1, STAGED_WORD_BYTES, LARGEST};

    (void)state;
    test_call_open(&call, 120000);
    strcpy(strrchr(folder, '.'), ".XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(prefix, sizeof(prefix), "%s/.sandlot-", folder);
    for (size_t i = 0; i < FILES; i++) {
        test_source_open(&sources[i], lengths[i]);
        snprintf(paths[i], sizeof(paths[i]), "%s/%s", folder, names[i]);
        files[i] = (struct sandlot_file){
            .size = sizeof(files[i]), .path = paths[i], .source = &sources[i].source, .length = lengths[i]};
    }
    placed = 0;
    times = 1;
    return 0;
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    test_call_close(&call);
    snprintf(command, sizeof(command), "rm -rf %s", folder);
    return system(command);
}

static enum sandlot_status upload(void)
{
    const struct staged_upload_vendor vendor = {
        .scripts = {.execute = no_script}, .clean_up = clean_up, .store = store, .prefix = prefix, .mode = 0644};
    const struct sandlot_transfer transfer = {.size = sizeof(transfer), .done = on_done};

    return staged_upload(&call.call, &vendor, files, FILES, &transfer);
}

/* All files have what their sources gave, and nothing else lies beside them. */
static void expect_files(void)
{
    static char wanted[LARGEST];
    static char found[LARGEST + 1];
    char command[256];

    for (size_t i = 0; i < FILES; i++) {
        FILE *file = fopen(paths[i], "r");

        assert_non_null(file);
        assert_int_equal(fread(found, 1, sizeof(found), file), files[i].length);
        fclose(file);
        test_pattern(wanted, 0, files[i].length);
        assert_memory_equal(found, wanted, files[i].length);
    }
    snprintf(command, sizeof(command), "test \"$(ls -A %s | wc -l)\" = %d", folder, FILES);
    assert_int_equal(system(command), 0);
}

static void test_one_request(void **state)
{
    (void)state;
    assert_int_equal(upload(), SANDLOT_OK);
    assert_int_equal(placed, FILES);
    expect_files();
}

static void test_twice(void **state)
{
    (void)state;
    times = 2;
    assert_int_equal(upload(), SANDLOT_OK);
    assert_int_equal(placed, FILES);
    expect_files();
}

static void test_source_that_fails(void **state)
{
    (void)state;
    sources[3].fails_with = SANDLOT_CANCELLED;
    sources[3].fails_at = 200000;
    assert_int_equal(upload(), SANDLOT_CANCELLED);
    assert_int_equal(placed, 0);
}

static void test_what_fits(void **state)
{
    static struct sandlot_file many[STAGED_WORDS_FILES + 1];
    struct staged_files staged = {.files = many, .count = STAGED_WORDS_FILES};

    (void)state;
    assert_true(staged_words_fit(&staged));
    many[0].length = STAGED_WORDS_BYTES;
    assert_true(staged_words_fit(&staged));
    many[1].length = 1;
    assert_false(staged_words_fit(&staged));
    many[1].length = UINT64_MAX;
    assert_false(staged_words_fit(&staged));
    many[1].length = 0;
    staged.count++;
    assert_false(staged_words_fit(&staged));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_source_that_fails, set_up, tear_down),
        cmocka_unit_test(test_what_fits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
