/* Archives: what is written can be read, here and by tar(1); what is hostile or cut is refused; memory stays constant.
 */
#include <sandlot/sdk/archive.h>

#include "sdk_support.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct test_call call;
static char got[4096];
static struct test_sink content;
static enum sandlot_status answer_to_end;

static int set_up(void **state)
{
    (void)state;
    test_call_open(&call, 0);
    got[0] = '\0';
    answer_to_end = SANDLOT_OK;
    test_sink_open(&content, false);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    test_call_close(&call);
    return 0;
}

static enum sandlot_status on_begin(void *context, const struct tar_entry *entry, const struct sandlot_sink **sink)
{
    (void)context;
    size_t used = strlen(got);

    snprintf(got + used, sizeof(got) - used, "%s%s %o %llu;", entry->name, entry->folder ? "/" : "", entry->mode,
             (unsigned long long)entry->length);
    if (strcmp(entry->name, "skipped") != 0)
        *sink = &content.sink;
    return strcmp(entry->name, "unwanted") == 0 ? SANDLOT_NOT_FOUND : SANDLOT_OK;
}

static enum sandlot_status on_end(void *context, const struct tar_entry *entry)
{
    (void)context;
    (void)entry;
    return answer_to_end;
}

static const struct tar_receiver receiver = {NULL, on_begin, on_end};

/* Reads BYTES in pieces of SIZE. */
static enum sandlot_status read_archive(const char *bytes, size_t length, size_t size, uint64_t most)
{
    struct tar_reader *reader;
    enum sandlot_status status = SANDLOT_OK;

    got[0] = '\0';
    content.length = 0;
    assert_int_equal(tar_reader_open(&call.call, &receiver, most, &reader), SANDLOT_OK);
    const struct sandlot_sink *sink = tar_reader_sink(reader);

    for (size_t at = 0; at < length && status == SANDLOT_OK; at += size)
        status = sink->write(sink, bytes + at, length - at < size ? length - at : size);
    if (status == SANDLOT_OK)
        status = tar_reader_end(reader);
    tar_reader_free(reader);
    return status;
}

static void add(struct tar_writer *writer, const char *path, uint64_t length, uint64_t announced, uint32_t mode)
{
    struct test_source source;

    test_source_open(&source, length);
    const struct sandlot_file file = {
        .size = sizeof(file), .path = path, .source = &source.source, .length = announced, .mode = mode};

    assert_int_equal(tar_writer_add(writer, &file), SANDLOT_OK);
}

static void write_archive(struct test_sink *sink, bool gzip)
{
    struct tar_writer *writer;
    char name[300];

    memset(name, 'n', sizeof(name) - 1);
    name[100] = '/';
    name[sizeof(name) - 1] = '\0';
    test_sink_open(sink, true);
    assert_int_equal(tar_writer_open(&call.call, &sink->sink, gzip, &writer), SANDLOT_OK);
    add(writer, "/tmp/a \xc3\xa4.txt", 1000, 1000, 0755);
    add(writer, "empty", 0, 0, 0);
    add(writer, "./unknown", 300000, UINT64_MAX, 0600);
    add(writer, name, 3, 3, 0);
    assert_int_equal(tar_writer_add_folder(writer, "folder/", 0), SANDLOT_OK);
    assert_int_equal(tar_writer_end(writer), SANDLOT_OK);
    assert_int_equal(tar_writer_end(writer), SANDLOT_OK);
    tar_writer_free(writer);
}

static void test_round(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        static const size_t sizes[] = {1, 7, 511, 512, 4096, 1000000};
        struct test_sink archive;

        write_archive(&archive, gzip);
        for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
            if (sizes[i] == 1 && !gzip)
                continue; /* each piece is a turn of two threads */
            assert_int_equal(read_archive(archive.bytes, archive.length, sizes[i], 0), SANDLOT_OK);
            assert_non_null(strstr(got, "tmp/a \xc3\xa4.txt 755 1000;empty 644 0;unknown 600 300000;nnnn"));
            assert_non_null(strstr(got, "nnn 644 3;folder/ 755 0;"));
            assert_int_equal(content.length, 301003);
        }
        test_sink_close(&archive);
    }
}

/* Another reader agrees. */
static void test_tar_reads_it(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        struct test_sink archive;
        char listing[4096] = "";

        write_archive(&archive, gzip);
        FILE *file = tmpfile();

        assert_non_null(file);
        assert_int_equal(fwrite(archive.bytes, 1, archive.length, file), archive.length);
        assert_int_equal(fseek(file, 0, SEEK_SET), 0);
        char command[64];

        snprintf(command, sizeof(command), "LC_ALL=C.UTF-8 tar -t%s <&%d", gzip ? "z" : "", fileno(file));
        FILE *tar = popen(command, "r");

        assert_non_null(tar);
        assert_true(fread(listing, 1, sizeof(listing) - 1, tar) > 0);
        assert_int_equal(pclose(tar), 0);
        fclose(file);
        assert_non_null(strstr(listing, "empty\nunknown\nnnn"));
        test_sink_close(&archive);
    }
}

/* Every cut must be noticed, unless it only takes away some of the zeros at the end. */
static void test_cut(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        struct test_sink archive;

        write_archive(&archive, gzip);
        for (size_t length = 0; length < archive.length - (gzip ? 0 : 1024); length += length < 3000 ? 97 : 10007) {
            call.status = SANDLOT_OK;
            assert_int_not_equal(read_archive(archive.bytes, length, 4096, 0), SANDLOT_OK);
            assert_int_equal(call.status, SANDLOT_INTERNAL);
        }
        test_sink_close(&archive);
    }
}

static void test_garbage(void **state)
{
    char bytes[20000];

    (void)state;
    test_pattern(bytes, 0, sizeof(bytes));
    assert_int_equal(read_archive(bytes, sizeof(bytes), 1000, 0), SANDLOT_INTERNAL);
    assert_non_null(strstr(call.message, "archive cannot be read"));
    assert_string_equal(got, "");
}

/* ---- hostile archives -------------------------------------------------------------------------------------------- */

static size_t one_entry(char *bytes, size_t capacity, const char *name, unsigned int type, const char *link)
{
    struct archive *archive = archive_write_new();
    struct archive_entry *entry = archive_entry_new();
    size_t used = 0;

    archive_write_set_format_gnutar(archive);
    archive_write_open_memory(archive, bytes, capacity, &used);
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 04755);
    if (link && type == AE_IFLNK)
        archive_entry_set_symlink(entry, link);
    else if (link)
        archive_entry_set_hardlink(entry, link);
    archive_entry_set_size(entry, 0);
    archive_write_header(archive, entry);
    archive_entry_free(entry);
    archive_write_close(archive);
    archive_write_free(archive);
    return used;
}

static void test_hostile(void **state)
{
    static const struct {
        const char *name;
        unsigned int type;
        const char *link;
        const char *why; /* NULL: fine */
    } cases[] = {
        {"../x", AE_IFREG, NULL, "leads out"},
        {"a/../../x", AE_IFREG, NULL, "leads out"},
        {"/etc/passwd", AE_IFREG, NULL, "leads out"},
        {"a/..", AE_IFDIR, NULL, "leads out"},
        {".//../x", AE_IFREG, NULL, "leads out"},
        {"..", AE_IFDIR, NULL, "leads out"},
        {"link", AE_IFLNK, "/etc", "is a link"},
        {"link", AE_IFREG, "/etc/passwd", "is a link"},
        {"pipe", AE_IFIFO, NULL, "is a link"},
        {"device", AE_IFCHR, NULL, "is a link"},
        {"./a..b/...", AE_IFREG, NULL, NULL},
        {".//a", AE_IFREG, NULL, NULL},
        {"./", AE_IFDIR, NULL, NULL},
    };
    static char bytes[65536];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        size_t length = one_entry(bytes, sizeof(bytes), cases[i].name, cases[i].type, cases[i].link);

        call.status = SANDLOT_OK;
        enum sandlot_status status = read_archive(bytes, length, 512, 0);

        assert_int_equal(status, cases[i].why ? SANDLOT_INTERNAL : SANDLOT_OK);
        if (cases[i].why)
            assert_non_null(strstr(call.message, cases[i].why));
        if (cases[i].why)
            assert_string_equal(got, "");
    }
    assert_string_equal(got, "");
}

static void test_bad_paths(void **state)
{
    static const char *const paths[] = {"", "/", ".", "..", "a/../b", "/tmp/..", "./", "a\xff"};
    struct test_sink sink;
    struct tar_writer *writer;

    (void)state;
    test_sink_open(&sink, true);
    assert_int_equal(tar_writer_open(&call.call, &sink.sink, false, &writer), SANDLOT_OK);
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        struct test_source source;

        test_source_open(&source, 1);
        const struct sandlot_file file = {
            .size = sizeof(file), .path = paths[i], .source = &source.source, .length = 1};

        assert_int_equal(tar_writer_add(writer, &file), SANDLOT_INVALID_ARGUMENT);
        assert_int_equal(tar_writer_add_folder(writer, paths[i], 0), SANDLOT_INVALID_ARGUMENT);
    }
    add(writer, "good", 1, 1, 0); /* a refused name spoils nothing */
    assert_int_equal(tar_writer_end(writer), SANDLOT_OK);
    tar_writer_free(writer);
    assert_int_equal(read_archive(sink.bytes, sink.length, 512, 0), SANDLOT_OK);
    assert_string_equal(got, "good 644 1;");
    test_sink_close(&sink);
}

/* ---- those who stop ---------------------------------------------------------------------------------------------- */

static void test_limit(void **state)
{
    struct test_sink archive;

    (void)state;
    write_archive(&archive, true);
    assert_int_equal(read_archive(archive.bytes, archive.length, 4096, 200000), SANDLOT_EXHAUSTED);
    assert_int_equal(call.status, SANDLOT_EXHAUSTED);
    assert_true(content.length <= 200000);
    test_sink_close(&archive);
}

/* Names without content are not for nothing either. */
static void test_limit_of_empty_files(void **state)
{
    struct test_sink archive;
    struct tar_writer *writer;

    (void)state;
    test_sink_open(&archive, true);
    assert_int_equal(tar_writer_open(&call.call, &archive.sink, true, &writer), SANDLOT_OK);
    for (int i = 0; i < 100; i++)
        add(writer, "e", 0, 0, 0);
    assert_int_equal(tar_writer_end(writer), SANDLOT_OK);
    tar_writer_free(writer);
    assert_int_equal(read_archive(archive.bytes, archive.length, 4096, 100 * 512), SANDLOT_OK);
    assert_int_equal(read_archive(archive.bytes, archive.length, 4096, 99 * 512), SANDLOT_EXHAUSTED);
    test_sink_close(&archive);
}

static void test_receiver_stops(void **state)
{
    struct test_sink archive;
    struct tar_reader *reader;

    (void)state;
    write_archive(&archive, false);
    answer_to_end = SANDLOT_NOT_FOUND;
    assert_int_equal(read_archive(archive.bytes, archive.length, 512, 0), SANDLOT_NOT_FOUND);
    assert_int_equal(call.status, SANDLOT_OK);
    content.stop_at = 500;
    content.answer = SANDLOT_CANCELLED;
    answer_to_end = SANDLOT_OK;
    assert_int_equal(read_archive(archive.bytes, archive.length, 512, 0), SANDLOT_CANCELLED);
    content.stop_at = 0;
    /* in the middle of it, and before its beginning */
    for (size_t length = 0; length < 4096; length += 300) {
        assert_int_equal(tar_reader_open(&call.call, &receiver, 0, &reader), SANDLOT_OK);
        const struct sandlot_sink *sink = tar_reader_sink(reader);

        assert_int_equal(sink->write(sink, archive.bytes, length), SANDLOT_OK);
        tar_reader_free(reader);
    }
    tar_reader_free(NULL);
    test_sink_close(&archive);
}

static void test_writer_faults(void **state)
{
    struct test_sink sink;
    struct test_source source;
    struct tar_writer *writer;

    (void)state;
    test_sink_open(&sink, false);
    test_source_open(&source, 10);
    assert_int_equal(tar_writer_open(&call.call, &sink.sink, true, &writer), SANDLOT_OK);
    struct sandlot_file file = {.size = sizeof(file), .path = "a", .source = &source.source, .length = 100};

    assert_int_equal(tar_writer_add(writer, &file), SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "ended 90 of 100 bytes early"));
    assert_int_equal(tar_writer_end(writer), SANDLOT_INVALID_ARGUMENT);
    tar_writer_free(writer);

    call.status = SANDLOT_OK;
    sink.stop_at = 1;
    sink.answer = SANDLOT_CANCELLED;
    test_source_open(&source, 1000000);
    file.length = 1000000;
    assert_int_equal(tar_writer_open(&call.call, &sink.sink, false, &writer), SANDLOT_OK);
    assert_int_equal(tar_writer_add(writer, &file), SANDLOT_CANCELLED);
    assert_int_equal(tar_writer_end(writer), SANDLOT_CANCELLED);
    assert_int_equal(call.status, SANDLOT_OK);
    tar_writer_free(writer);
    tar_writer_free(NULL);
}

/* ---- 200 MiB, through writer and reader at once ------------------------------------------------------------------ */

static void test_large(void **state)
{
    enum { SLACK_KIB = 8 * 1024 };
    const uint64_t mib = getenv("SANDLOT_TEST_FEW") ? 20 : 200; /* under valgrind, and else */
    const uint64_t large = mib * 1024 * 1024;
    struct tar_reader *reader;
    struct tar_writer *writer;
    long before = test_peak_kib();

    (void)state;
    got[0] = '\0';
    assert_int_equal(tar_reader_open(&call.call, &receiver, 0, &reader), SANDLOT_OK);
    assert_int_equal(tar_writer_open(&call.call, tar_reader_sink(reader), false, &writer), SANDLOT_OK);
    add(writer, "large", large, large, 0);
    assert_int_equal(tar_writer_end(writer), SANDLOT_OK);
    assert_int_equal(tar_reader_end(reader), SANDLOT_OK);
    tar_writer_free(writer);
    tar_reader_free(reader);
    assert_int_equal(content.length, large);
    print_message("%d MiB through an archive: %ld KiB more at the peak\n", (int)mib, test_peak_kib() - before);
    assert_true(!TEST_MEMORY || test_peak_kib() - before < SLACK_KIB);
}

int main(void)
{
#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        EACH(test_round),          EACH(test_tar_reads_it),  EACH(test_cut),   EACH(test_garbage),
        EACH(test_hostile),        EACH(test_bad_paths),     EACH(test_limit), EACH(test_limit_of_empty_files),
        EACH(test_receiver_stops), EACH(test_writer_faults), EACH(test_large),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
