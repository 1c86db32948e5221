/* The base room: text, paths and whom to trust, secrets, errors. */
#include "base/descriptors.h"
#include "base/error.h"
#include "base/redact.h"
#include "base/threads.h"
#include "support.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void test_quoting(void **state)
{
    static const char *const rows[][2] = {
        {"", "''"},     {"abc", "abc"},     {"a b", "'a b'"}, {"it's", "'it'\\''s'"},
        {"$x", "'$x'"}, {"a\nb", "'a\nb'"}, {"-x", "-x"},     {"a/b.c:d=e,f@g%h+i", "a/b.c:d=e,f@g%h+i"},
        {"~", "'~'"},   {"*", "'*'"},       {"'", "''\\'''"}, {"\xc3\xa9", "'\xc3\xa9'"},
    };
    char echo[] = "echo";
    char blank[] = "a b";
    char line[] = "echo $HOME";
    char *words[] = {echo, blank, blank};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        AUTO_FREE char *quoted = text_shell_quote(rows[i][0]);

        assert_string_equal(quoted, rows[i][1]);
    }
    AUTO_FREE char *several = text_shell_join(words, 3);
    AUTO_FREE char *one = text_shell_join((char *[]){line}, 1);

    assert_string_equal(several, "echo 'a b' 'a b'");
    assert_string_equal(one, "echo $HOME");
}

static void test_utf8(void **state)
{
    static const struct {
        const char *bytes;
        const char *replaced; /* NULL: valid as it is */
    } rows[] = {
        {"abc\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", NULL},
        {"\xf4\x8f\xbf\xbf", NULL},
        {"a\xff"
         "b",
         "a\xef\xbf\xbd"
         "b"},
        {"\xc0\x80", "\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe0\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        size_t length;
        AUTO_FREE char *replaced = text_utf8_replace(rows[i].bytes, strlen(rows[i].bytes), &length);

        assert_int_equal(text_utf8_valid(rows[i].bytes, strlen(rows[i].bytes)), rows[i].replaced == NULL);
        assert_string_equal(replaced, rows[i].replaced ? rows[i].replaced : rows[i].bytes);
        assert_int_equal(length, strlen(replaced));
    }
}

/* Text is looked at eight bytes at a time; what matters may stand anywhere in them. */
static void test_utf8_positions(void **state)
{
    static const struct {
        const char *bytes;
        const char *replaced;
    } rows[] = {{"\xff", "\xef\xbf\xbd"}, {"\xc3\xa9", "\xc3\xa9"}, {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"}};
    enum { LENGTH = 24 };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        for (int before = 0; before <= LENGTH; before++) {
            char text[64];
            char expected[64];
            size_t length;

            snprintf(text, sizeof(text), "%.*s%s%.*s", before, "aaaaaaaaaaaaaaaaaaaaaaaa", rows[i].bytes,
                     LENGTH - before, "bbbbbbbbbbbbbbbbbbbbbbbb");
            snprintf(expected, sizeof(expected), "%.*s%s%.*s", before, "aaaaaaaaaaaaaaaaaaaaaaaa", rows[i].replaced,
                     LENGTH - before, "bbbbbbbbbbbbbbbbbbbbbbbb");
            AUTO_FREE char *replaced = text_utf8_replace(text, strlen(text), &length);

            assert_int_equal(text_utf8_valid(text, strlen(text)), strcmp(text, expected) == 0);
            assert_string_equal(replaced, expected);
            assert_int_equal(length, strlen(expected));
        }
    }
}

static void test_visible(void **state)
{
    static const char *const rows[][2] = {
        {"a\nb", "a\\nb"},
        {"\x1b[0m", "\\x1b[0m"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b"
         "m",
         "\\x9bm"},
        {"\xc3\xa9", "\xc3\xa9"},
        /* "fdp.exe" shown as "fexe.pdf", with its right-to-left override and the isolates.
         * NOLINTNEXTLINE(misc-misleading-bidirectional): that is what it is about */
        {"f\xe2\x80\xae"
         "fdp.exe",
         "f\\u202efdp.exe"},
        {"\xe2\x81\xa6"
         "a\xe2\x81\xa9\xe2\x80\x8f\xd8\x9c",
         "\\u2066a\\u2069\\u200f\\u061c"},
        {"a\u200bb\u00adc\ufeffd\u2028e", "a\\u200bb\\u00adc\\ufeffd\\u2028e"},
        {"tag\U000e0041", "tag\\U000e0041"},
        /* joiners belong to words and pictures */
        {"\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469", "\u0645\u06cc\u200c\u062e \U0001f468\u200d\U0001f469"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        AUTO_FREE char *visible = text_visible(rows[i][0]);

        assert_string_equal(visible, rows[i][1]);
    }
}

static void test_nearest(void **state)
{
    static const char *const names[] = {"local", "daytona", "modal", "e2b"};
    static const char *const rows[][2] = {
        {"dayton", "daytona"}, {"daytnoa", "daytona"}, {"loacl", "local"}, {"model", "modal"},
        {"local", "local"},    {"kubernetes", NULL},   {"", NULL},
    };
    char endless[300] = {0};

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const char *nearest = text_nearest(rows[i][0], names, COUNT(names));

        assert_string_equal(nearest ? nearest : "-", rows[i][1] ? rows[i][1] : "-");
    }
    memset(endless, 'x', sizeof(endless) - 1);
    assert_null(text_nearest(endless, names, COUNT(names)));
    assert_true(text_is_one_of(names[COUNT(names) - 1], names, COUNT(names)));
    assert_false(text_is_one_of(names[COUNT(names) - 1], names, COUNT(names) - 1));
    assert_false(text_is_one_of("", names, COUNT(names)));
}

static void test_integers(void **state)
{
    static const struct {
        const char *text;
        bool good;
        int64_t number;
    } rows[] = {
        {"0", true, 0},     {"-5", true, -5}, {"+7", true, 7},   {"9223372036854775807", true, INT64_MAX},
        {"", false, 0},     {" 1", false, 0}, {"1 ", false, 0},  {"9223372036854775808", false, 0},
        {"0x10", false, 0}, {"-", false, 0},  {"1.5", false, 0}, {"-9223372036854775808", true, INT64_MIN},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        int64_t number = 0;

        assert_int_equal(text_parse_integer(rows[i].text, &number), rows[i].good);
        assert_true(number == rows[i].number);
    }
}

static void test_words(void **state)
{
    (void)state;
    assert_true(text_has_word("list upload", "upload"));
    assert_true(text_has_word(" list\tupload ", "list"));
    assert_false(text_has_word("listing", "list"));
    assert_false(text_has_word("list", ""));
    assert_false(text_has_word("", "list"));
}

static void test_redaction(void **state)
{
    AUTO_FREE char *before = redact("hunter2");

    (void)state;
    assert_string_equal(before, "hunter2");
    redact_add("hunter2");
    redact_add("hunter2-and-more");
    redact_add("abc"); /* too short to be hidden */
    redact_add(NULL);
    AUTO_FREE char *after = redact("x hunter2 hunter2-and-more abc");

    assert_string_equal(after, "x *** *** abc");
    struct sandlot_error error = {0};

    assert_int_equal(error_set(&error, SANDLOT_CODE_AUTH, "key hunter2\nrefused"), -1);
    assert_string_equal(error.message, "key ***\\nrefused");
    sandlot_error_clear(&error);
    log_warning("with %s", "hunter2");
    assert_string_equal(support_logged(), "warning: with ***\n");
    redact_clear();
}

static void test_redaction_of_awkward_secrets(void **state)
{
    (void)state;
    redact_add("abcdefgh");
    redact_add("efghijkl");
    AUTO_FREE char *overlapping = redact("<abcdefghijkl> <efghijklabcdefgh");

    assert_string_equal(overlapping, "<***> <***");
    redact_add("from-a-file\n");
    redact_add("-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG\nshort\n-----END KEY-----\n");
    AUTO_FREE char *lines = redact("a from-a-file, line MIIEvQIBADANBgkqhkiG is short");

    assert_string_equal(lines, "a ***, line *** is short");
    redact_add("****");
    AUTO_FREE char *stars = redact("*******");

    assert_string_equal(stars, "***");
    redact_clear();
}

static void test_errors(void **state)
{
    struct sandlot_error error = {0};

    (void)state;
    error_set(&error, SANDLOT_CODE_AUTH, "first");
    error_set(&error, SANDLOT_CODE_QUOTA, "second");
    assert_int_equal(error.code, SANDLOT_CODE_AUTH);
    error_prefix(&error, "acme: ");
    assert_string_equal(error.message, "acme: first");
    assert_int_equal(error.code, SANDLOT_CODE_AUTH);
    sandlot_error_clear(&error);
    assert_int_equal(error.code, SANDLOT_CODE_OK);
    assert_int_equal(error_prefix(&error, "nothing to prefix"), -1);
    assert_false(error_is_set(&error));
    error_no_memory(&error);
    assert_string_equal(error.message, "out of memory");
    sandlot_error_clear(&error);
    assert_int_equal(error_set(NULL, SANDLOT_CODE_AUTH, "nobody listens"), -1);
}

static void test_codes(void **state)
{
    static const struct {
        enum sandlot_code code;
        const char *name;
        int exit_status;
    } rows[] = {
        {SANDLOT_CODE_USAGE, "usage", 2},
        {SANDLOT_CODE_UNKNOWN_PROVIDER, "unknown_provider", 2},
        {SANDLOT_CODE_PROVIDER_UNAVAILABLE, "provider_unavailable", 3},
        {SANDLOT_CODE_AUTH, "auth", 3},
        {SANDLOT_CODE_SANDBOX_NOT_FOUND, "sandbox_not_found", 3},
        {SANDLOT_CODE_NOT_SUPPORTED, "not_supported", 1},
        {SANDLOT_CODE_QUOTA, "quota", 3},
        {SANDLOT_CODE_TIMEOUT, "timeout", 3},
        {SANDLOT_CODE_NETWORK, "network", 3},
        {SANDLOT_CODE_SETUP_FAILED, "setup_failed", 1},
        {SANDLOT_CODE_PROVIDER_CRASHED, "provider_crashed", 3},
        {SANDLOT_CODE_PROVIDER_ERROR, "provider_error", 3},
        {SANDLOT_CODE_FILE_NOT_FOUND, "file_not_found", 1},
        {(enum sandlot_code)999, "internal_error", 1},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_string_equal(sandlot_code_name(rows[i].code), rows[i].name);
        assert_int_equal(error_exit_status(rows[i].code), rows[i].exit_status);
    }
    assert_int_equal(error_code_of_status(SANDLOT_NOT_FOUND, true), SANDLOT_CODE_SANDBOX_NOT_FOUND);
    assert_int_equal(error_code_of_status(SANDLOT_EXHAUSTED, true), SANDLOT_CODE_QUOTA);
    assert_int_equal(error_code_of_status(SANDLOT_UNAVAILABLE, true), SANDLOT_CODE_NETWORK);
    assert_int_equal(error_code_of_status(SANDLOT_INVALID_ARGUMENT, false), SANDLOT_CODE_USAGE);
    assert_int_equal(error_code_of_status(SANDLOT_INVALID_ARGUMENT, true), SANDLOT_CODE_PROVIDER_ERROR);
    assert_int_equal(error_code_of_status((enum sandlot_status)77, true), SANDLOT_CODE_PROVIDER_ERROR);
}

static void test_homes(void **state)
{
    (void)state;
    AUTO_FREE char *by_default = path_config_home();
    assert_string_equal(by_default, support_path("home/.config/sandlot"));
    setenv("XDG_DATA_HOME", "relative", 1);
    AUTO_FREE char *relative = path_data_home();
    assert_string_equal(relative, support_path("home/.local/share/sandlot"));
    setenv("XDG_STATE_HOME", "/state", 1);
    AUTO_FREE char *state_home = path_state_home();
    assert_string_equal(state_home, "/state/sandlot");
}

static void test_absolute(void **state)
{
    const char *const rows[][3] = {
        {"/a/b", NULL, "/a/b"},
        {"a", "/base", "/base/a"},
        {"a", "/", "/a"},
        {"~/a", "/base", support_path("home/a")},
        {"~", NULL, support_path("home")},
        {"~other", "/base", "/base/~other"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        AUTO_FREE char *absolute = path_absolute(rows[i][0], rows[i][1]);

        assert_string_equal(absolute, rows[i][2]);
    }
    AUTO_FREE char *here = path_absolute("x", NULL);
    assert_string_equal(here, support_path("here/x"));
    AUTO_FREE char *root = path_parent("/x");
    assert_string_equal(root, "/");
    AUTO_FREE char *dot = path_parent("x");
    assert_string_equal(dot, ".");
}

static void test_distrust(void **state)
{
    static const struct {
        const char *path;
        mode_t mode;
        const char *reason; /* NULL: trusted */
    } rows[] = {
        {"d/f", 0644, NULL},
        {"d/f", 0664, "d/f is writable by its group (mode 0664)"},
        {"d/f", 0646, "d/f is writable by everybody (mode 0646)"},
        {"d/f", 0755, NULL},
        {"d", 0775, "d is writable by its group (mode 0775)"},
        {"d", 01777, NULL},
        {"d", 0755, NULL},
    };

    (void)state;
    support_write("d/f", "x");
    for (size_t i = 0; i < COUNT(rows); i++) {
        assert_int_equal(chmod(support_path(rows[i].path), rows[i].mode), 0);
        AUTO_FREE char *reason = path_distrust(support_path("d/f"));

        if (rows[i].reason)
            assert_contains(reason, rows[i].reason);
        else
            assert_null(reason);
    }
    /* Links, and the folders that they lie in and lead through. */
    support_write("open/x", "x");
    assert_int_equal(symlink(support_path("d/f"), support_path("open/link")), 0);
    assert_int_equal(symlink("open/link", support_path("way")), 0);
    assert_int_equal(symlink("../here/../open/../d/f", support_path("d/through")), 0);
    AUTO_FREE char *fine = path_distrust(support_path("way"));
    assert_null(fine);
    assert_int_equal(chmod(support_path("open"), 0777), 0);
    AUTO_FREE char *lies_there = path_distrust(support_path("open/link"));
    assert_contains(lies_there, "open is writable by everybody");
    AUTO_FREE char *leads_there = path_distrust(support_path("way"));
    assert_contains(leads_there, "open is writable by everybody");
    AUTO_FREE char *leads_through = path_distrust(support_path("d/through"));
    assert_contains(leads_through, "open is writable by everybody");
    assert_int_equal(symlink("loop", support_path("loop")), 0);
    AUTO_FREE char *loop = path_distrust(support_path("loop"));
    assert_contains(loop, "Too many levels");
    AUTO_FREE char *missing = path_distrust(support_path("missing"));
    assert_contains(missing, "No such file");
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(support_path("d"), 12345, 0), 0);
    AUTO_FREE char *foreign = path_distrust(support_path("d/f"));
    assert_contains(foreign, "d belongs to another user (uid 12345)");
    assert_int_equal(symlink("d/f", support_path("link")), 0);
    AUTO_FREE char *through_link = path_distrust(support_path("link"));
    assert_contains(through_link, "d belongs to another user");
}

static void test_files(void **state)
{
    size_t length;

    (void)state;
    support_write("f", "hello");
    AUTO_FREE char *text = path_read_file(support_path("f"), 5, &length);
    assert_string_equal(text, "hello");
    assert_int_equal(length, 5);
    assert_null(path_read_file(support_path("f"), 4, NULL));
    assert_int_equal(errno, EFBIG);
    assert_int_equal(truncate(support_path("f"), (off_t)1 << 40), 0); /* not a terabyte of memory first */
    assert_null(path_read_file(support_path("f"), 8192, NULL));
    assert_int_equal(errno, EFBIG);
    assert_null(path_read_file(support_path("home"), 4, NULL));
    assert_int_equal(errno, EISDIR);
    assert_int_equal(mkfifo(support_path("fifo"), 0600), 0);
    assert_null(path_read_file(support_path("fifo"), 4, NULL));
    AUTO_CLOSE int folder = open(support_path("home"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(path_write_atomically(folder, "new",
                                           "12\0"
                                           "3",
                                           4, true),
                     0);
    AUTO_FREE char *written = path_read_file(support_path("home/new"), 10, &length);
    assert_int_equal(length, 4);
    assert_memory_equal(written,
                        "12\0"
                        "3",
                        4);
    /* What does not have to last is put in the other's place without its leaving anything. */
    assert_int_equal(path_write_atomically(folder, "new", "later", 5, false), 0);
    AUTO_FREE char *later = path_read_file(support_path("home/new"), 10, &length);
    assert_string_equal(later, "later");
    assert_int_equal(unlinkat(folder, "new", 0), 0);
    assert_int_equal(path_write_atomically(folder, "new", "again", 5, false), 0);
    assert_int_equal(unlinkat(folder, "new", 0), 0);
    assert_int_equal(rmdir(support_path("home")), 0);
    assert_int_equal(path_make_folders(support_path("a/b/c"), 0700), 0);
    assert_int_equal(path_make_folders(support_path("a/b/c"), 0700), 0);
    assert_int_equal(access(support_path("a/b/c"), F_OK), 0);
    assert_int_equal(path_make_folders(support_path("f/b"), 0700), -1);
}

enum { TOGETHER = 9, ROUNDS = 20 };

/* All of a round are there before one goes on: work that waited for other work would hang. */
struct meeting {
    pthread_barrier_t barrier;
    atomic_int met;
};

static void meet(void *context)
{
    struct meeting *meeting = context;

    pthread_barrier_wait(&meeting->barrier);
    atomic_fetch_add(&meeting->met, 1);
}

/* More at a time than threads are kept, again and again; and the end waits for all of it. */
static void test_threads(void **state)
{
    struct threads *threads = threads_new();
    struct meeting meeting;

    (void)state;
    pthread_barrier_init(&meeting.barrier, NULL, TOGETHER);
    atomic_init(&meeting.met, 0);
    for (int i = 0; i < ROUNDS * TOGETHER; i++)
        assert_int_equal(threads_run(threads, meet, &meeting), 0);
    threads_free(threads);
    assert_int_equal(atomic_load(&meeting.met), ROUNDS * TOGETHER);
    pthread_barrier_destroy(&meeting.barrier);
    threads_free(NULL);
}

static void work_in_child(void *context)
{
    atomic_fetch_add((atomic_int *)context, 1);
}

/* A forked child has none of its parent's threads, and works all the same. */
static void test_threads_after_fork(void **state)
{
    struct threads *threads = threads_new();
    atomic_int done = 0;

    (void)state;
    assert_int_equal(threads_run(threads, work_in_child, &done), 0);
    pid_t child = fork();

    if (child == 0) {
        atomic_store(&done, 0);
        bool runs = threads_run(threads, work_in_child, &done) == 0;

        threads_free(threads);
        _exit(!runs || atomic_load(&done) != 1);
    }
    int status = -1;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    threads_free(threads);
}

/* Who never ends all that it has begun is not refused for what others had open once. */
static void test_descriptors(void **state)
{
    enum { OTHERS = 200 };
    struct descriptors *descriptors = descriptors_new();
    struct rlimit before;
    int fds[OTHERS];

    (void)state;
    assert_non_null(descriptors);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &(struct rlimit){256, before.rlim_max}), 0);
    for (int i = 0; i < OTHERS; i++)
        assert_true((fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0);
    assert_true(descriptors_promise(descriptors, fds[OTHERS - 1], 8));
    assert_false(descriptors_promise(descriptors, fds[OTHERS - 1], 32));
    for (int i = 1; i < OTHERS; i++)
        close(fds[i]);
    assert_true(descriptors_promise(descriptors, fds[0], 32));
    descriptors_give_back(descriptors, 40);
    assert_true(descriptors_promise(descriptors, fds[0], 200));
    assert_false(descriptors_promise(descriptors, -1, 1));
    close(fds[0]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    descriptors_free(descriptors);
}

static struct {
    sem_t entered;
    sem_t may_go;
} slow;

static void receive_slowly(void *context, enum sandlot_message_level level, const char *text)
{
    (void)context, (void)level, (void)text;
    sem_post(&slow.entered);
    sem_wait(&slow.may_go);
}

static void *say_something(void *context)
{
    log_warning("something");
    return context;
}

/* How a child ends that says something itself, with a secret in it. */
static int end_of_child(void)
{
    int status;
    const pid_t child = fork();

    if (child == 0) {
        alarm(30);
        log_set_receiver(support_receive, NULL);
        log_warning("hunter2");
        _exit(strcmp(support_logged(), "warning: ***\n") != 0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* A child that is forked off while a message is being received says what it has to say. */
static void test_log_after_fork(void **state)
{
    pthread_t thread;

    (void)state;
    redact_add("hunter2");
    assert_int_equal(sem_init(&slow.entered, 0, 0) | sem_init(&slow.may_go, 0, 0), 0);
    log_set_receiver(receive_slowly, NULL);
    assert_int_equal(pthread_create(&thread, NULL, say_something, NULL), 0);
    assert_int_equal(sem_wait(&slow.entered), 0);
    const int status = end_of_child();

    sem_post(&slow.may_go);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
    sem_destroy(&slow.entered);
    sem_destroy(&slow.may_go);
    redact_clear();
}

static atomic_bool enough;

static void *look_for_secrets(void *text)
{
    while (!atomic_load(&enough))
        free(redact(text));
    return NULL;
}

/* And while secrets are looked for. */
static void test_redaction_after_fork(void **state)
{
    enum { SECRETS = 300, TEXT = 1 << 20, CHILDREN = 5 };
    AUTO_FREE char *text = calloc(1, TEXT);
    pthread_t thread;

    (void)state;
    memset(text, 'x', TEXT - 1);
    redact_add("hunter2");
    for (int i = 0; i < SECRETS; i++) {
        char secret[16];

        snprintf(secret, sizeof(secret), "secret%d", i);
        redact_add(secret);
    }
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&thread, NULL, look_for_secrets, text), 0);
    int status = 0;

    for (int i = 0; i < CHILDREN && status == 0; i++)
        status = end_of_child();
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    assert_int_equal(status, 0);
    redact_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_utf8),
        cmocka_unit_test(test_utf8_positions),
        cmocka_unit_test(test_visible),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_words),
        SUPPORTED_TEST(test_redaction),
        cmocka_unit_test(test_redaction_of_awkward_secrets),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_codes),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_threads_after_fork),
        SUPPORTED_TEST(test_log_after_fork),
        SUPPORTED_TEST(test_redaction_after_fork),
        SUPPORTED_TEST(test_homes),
        SUPPORTED_TEST(test_absolute),
        SUPPORTED_TEST(test_distrust),
        SUPPORTED_TEST(test_files),
    };

    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
