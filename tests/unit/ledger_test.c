/* The ledger: what is written is read back, kept records are told apart, dead owners are recognised, damage is
 * survived. */
#include "base/text.h"
#include "session/ledger.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <sandlot/provider.h>

static char folder[64];

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/sandlot-ledger-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    return setenv("XDG_STATE_HOME", folder, 1);
}

static int tear_down(void **state)
{
    char command[128];

    (void)state;
    chmod(folder, 0700);
    snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static size_t count_files(void)
{
    struct ledger_record **records;
    size_t count;

    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    ledger_free_records(records, count);
    return count;
}

static void test_empty(void **state)
{
    (void)state;
    assert_int_equal(count_files(), 0);
    assert_int_equal(ledger_remove("sandlot-nothing", NULL), 0);
    assert_int_equal(access(folder, F_OK), 0);
}

static void test_round_trip(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    struct ledger_record **records;
    size_t count;

    (void)state;
    assert_non_null(record);
    record->scope = strdup("thread \"1\"\n");
    record->parameters = json_tokener_parse("[\"image=debian\"]");
    record->expires_at_ms = record->created_at_ms + 5;
    assert_int_equal(ledger_write(record, NULL), 0);
    record->id = strdup("id-\xc3\xa9");
    assert_int_equal(ledger_write(record, NULL), 0);
    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_string_equal(records[0]->label, record->label);
    assert_string_equal(records[0]->provider, "acme");
    assert_string_equal(records[0]->id, record->id);
    assert_string_equal(records[0]->scope, record->scope);
    assert_string_equal(json_object_get_string(json_object_array_get_idx(records[0]->parameters, 0)), "image=debian");
    assert_int_equal(records[0]->expires_at_ms, record->expires_at_ms);
    assert_false(records[0]->kept);
    assert_true(ledger_owner_alive(records[0]));
    ledger_free_records(records, count);
    assert_int_equal(ledger_remove(record->label, NULL), 0);
    assert_int_equal(count_files(), 0);
    ledger_record_free(record);
}

/* The file grows by whole lines: what a writer that was killed in the middle has added does not count. */
static void test_half_a_line(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    struct ledger_record **records;
    size_t count;
    char path[256];

    (void)state;
    assert_int_equal(ledger_write(record, NULL), 0);
    record->id = strdup("one");
    assert_int_equal(ledger_write(record, NULL), 0);
    snprintf(path, sizeof(path), "%s/sandlot/ledger/%s.open", folder, record->label);
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    fputs("{\"provider\":\"acme\",\"id\":\"tw", file);
    fclose(file);
    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_string_equal(records[0]->id, "one");
    ledger_free_records(records, count);
    ledger_record_free(record);
}

/* A record that was not to outlast a power failure, and did not. */
static void test_lost_with_the_power(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    char path[256];

    (void)state;
    record->durable = false;
    assert_int_equal(ledger_write(record, NULL), 0);
    snprintf(path, sizeof(path), "%s/sandlot/ledger/%s.open", folder, record->label);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(count_files(), 0);
    assert_int_equal(access(path, F_OK), -1);
    ledger_record_free(record);
}

static void test_labels_are_unique_and_fit(void **state)
{
    struct ledger_record *one = ledger_record_new("acme");
    struct ledger_record *two = ledger_record_new("acme");

    (void)state;
    assert_string_not_equal(one->label, two->label);
    assert_in_range(strlen(one->label), 10, 40);
    assert_int_equal(strspn(one->label, "abcdefghijklmnopqrstuvwxyz0123456789-"), strlen(one->label));
    ledger_record_free(one);
    ledger_record_free(two);
}

static void test_kept(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    struct ledger_record **records;
    size_t count;

    (void)state;
    assert_int_equal(ledger_write(record, NULL), 0);
    assert_int_equal(ledger_read_open(&records, &count, NULL), 0);
    assert_int_equal(count, 1);
    ledger_free_records(records, count);
    record->kept = true;
    assert_int_equal(ledger_write(record, NULL), 0);
    assert_int_equal(ledger_read_open(&records, &count, NULL), 0);
    assert_int_equal(count, 0);
    ledger_free_records(records, count);
    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_true(records[0]->kept);
    ledger_free_records(records, count);
    ledger_record_free(record);
}

/* A sandbox whose record was written and cannot be read is one that nobody deletes. */
static void test_long_records(void **state)
{
    enum { HOSTS = 4096, LENGTH = 100, TOO_MANY = 90000 };
    struct ledger_record *record = ledger_record_new("acme");
    struct json_object *hosts = json_object_new_array();
    struct ledger_record *found;
    struct sandlot_error error = {0};

    (void)state;
    record->network = json_object_new_object();
    json_object_object_add(record->network, "allow", hosts);
    for (int i = 0; i < HOSTS; i++) {
        char host[LENGTH + 1];

        snprintf(host, sizeof(host), "%0*d", LENGTH, i);
        json_object_array_add(hosts, json_object_new_string(host));
    }
    assert_int_equal(ledger_write(record, NULL), 0);
    record->id = strdup("long");
    assert_int_equal(ledger_write(record, NULL), 0);
    record->kept = true;
    assert_int_equal(ledger_write(record, NULL), 0);
    found = ledger_find("acme", "long");
    assert_non_null(found);
    assert_int_equal(json_object_array_length(json_object_object_get(found->network, "allow")), HOSTS);
    ledger_record_free(found);
    for (int i = HOSTS; i < TOO_MANY; i++)
        json_object_array_add(hosts, json_object_get(json_object_array_get_idx(hosts, 0)));
    assert_int_equal(ledger_write(record, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
    ledger_record_free(record);
}

/* Power fails between writing the kept file and removing the open one: the kept one counts. */
static void test_both_files(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    struct ledger_record **records;
    size_t count;
    char from[256];
    char to[256];

    (void)state;
    assert_int_equal(ledger_write(record, NULL), 0);
    snprintf(from, sizeof(from), "%s/sandlot/ledger/%s.open", folder, record->label);
    snprintf(to, sizeof(to), "%s/sandlot/ledger/%s.kept", folder, record->label);
    assert_int_equal(link(from, to), 0);
    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_true(records[0]->kept);
    ledger_free_records(records, count);
    ledger_record_free(record);
}

static void test_dead_owners(void **state)
{
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        struct ledger_record *record = ledger_record_new("acme");

        _exit(record && ledger_write(record, NULL) == 0 ? 0 : 1);
    }
    int status;

    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct ledger_record **records;
    size_t count;

    assert_int_equal(ledger_read(&records, &count, NULL), 0);
    assert_int_equal(count, 1);
    assert_false(ledger_owner_alive(records[0]));
    records[0]->owner = getpid(); /* the pid is in use again, by a process that started at another time */
    records[0]->owner_start = 1;
    assert_false(ledger_owner_alive(records[0]));
    ledger_free_records(records, count);

    struct ledger_record *elsewhere = ledger_record_new("acme"); /* nobody can tell from here: it lives */

    elsewhere->owner = 0x3ffffff;
    assert_false(ledger_owner_alive(elsewhere));
    elsewhere->pid_namespace++;
    assert_true(ledger_owner_alive(elsewhere));
    elsewhere->pid_namespace--;
    free(elsewhere->host);
    elsewhere->host = strdup("another-machine");
    assert_true(ledger_owner_alive(elsewhere));
    ledger_record_free(elsewhere);

    struct ledger_record *other_boot = ledger_record_new("acme");

    free(other_boot->boot_id);
    other_boot->boot_id = strdup("00000000-0000-0000-0000-000000000000");
    assert_false(ledger_owner_alive(other_boot));
    ledger_record_free(other_boot);
}

static void test_damage(void **state)
{
    static const char *const contents[] = {"", "{", "[]", "{\"provider\":5}", "\xff\xfe", "null"};
    struct ledger_record *record = ledger_record_new("acme");
    char path[256];

    (void)state;
    assert_int_equal(ledger_write(record, NULL), 0);
    for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
        snprintf(path, sizeof(path), "%s/sandlot/ledger/sandlot-bad%zu.open", folder, i);
        FILE *file = fopen(path, "w");

        assert_non_null(file);
        fputs(contents[i], file);
        fclose(file);
    }
    snprintf(path, sizeof(path), "%s/sandlot/ledger/sandlot-fifo.open", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(count_files(), 1); /* the good one, and nothing hangs */
    ledger_record_free(record);
}

/* What a writer that was killed in the middle left goes; what a living one is writing stays. */
static void test_orphaned_temporaries(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    char orphan[256];
    char busy[256];
    pid_t child = fork();

    (void)state;
    if (child == 0)
        _exit(0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(ledger_write(record, NULL), 0);
    snprintf(orphan, sizeof(orphan), "%s/sandlot/ledger/.%s.open.%d", folder, record->label, (int)child);
    snprintf(busy, sizeof(busy), "%s/sandlot/ledger/.%s.open.%d", folder, record->label, (int)getpid());
    fclose(fopen(orphan, "w"));
    fclose(fopen(busy, "w"));
    assert_int_equal(count_files(), 1);
    assert_int_equal(access(orphan, F_OK), -1);
    assert_int_equal(access(busy, F_OK), 0);
    ledger_record_free(record);
}

static void test_unwritable(void **state)
{
    struct ledger_record *record = ledger_record_new("acme");
    struct sandlot_error error = {0};
    char path[128];

    (void)state;
    snprintf(path, sizeof(path), "%s/sandlot", folder);
    FILE *file = fopen(path, "w"); /* a file where the folder should be: fails for root too */

    assert_non_null(file);
    fclose(file);
    assert_int_equal(ledger_write(record, &error), -1);
    assert_non_null(strstr(error.message, "ledger"));
    assert_non_null(strstr(error.message, "XDG_STATE_HOME"));
    sandlot_error_clear(&error);
    ledger_record_free(record);
}

static void test_lock(void **state)
{
    struct sandlot_error error = {0};
    int first = ledger_lock("scope a", sandlot_now_ms() + 1000, -1, NULL);
    int other = ledger_lock("scope b", sandlot_now_ms() + 1000, -1, NULL);

    (void)state;
    assert_true(first >= 0);
    assert_true(other >= 0);
    assert_int_equal(ledger_lock("scope a", sandlot_now_ms() + 50, -1, &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_TIMEOUT);
    sandlot_error_clear(&error);

    int pipes[2];

    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(write(pipes[1], "x", 1), 1);
    assert_int_equal(ledger_lock("scope a", sandlot_now_ms() + 60000, pipes[0], &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    sandlot_error_clear(&error);
    close(pipes[0]);
    close(pipes[1]);
    close(first);
    first = ledger_lock("scope a", sandlot_now_ms() + 1000, -1, NULL);
    assert_true(first >= 0);
    close(first);
    close(other);
}

/* A process without free descriptors cannot look, and must not take the living for dead. */
static void test_without_descriptors(void **state)
{
    struct ledger_record *record = ledger_record_new("fake");
    struct rlimit before;
    struct rlimit none;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = (struct rlimit){0, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    bool alive = ledger_owner_alive(record);
    struct ledger_record *blind = ledger_record_new("fake");

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true(alive);
    assert_non_null(blind);
    assert_true(ledger_owner_alive(blind));
    blind->owner = 0x7ffffff0;
    assert_false(ledger_owner_alive(blind));
    ledger_record_free(record);
    ledger_record_free(blind);
}

/* What others can write to decides nothing. */
static void test_others_could_write(void **state)
{
    struct ledger_record *record = ledger_record_new("fake");
    struct ledger_record **records;
    struct sandlot_error error = {0};
    size_t count;
    char ledger[128];
    char file[256];

    (void)state;
    assert_int_equal(ledger_write(record, NULL), 0);
    assert_int_equal(count_files(), 1);
    snprintf(ledger, sizeof(ledger), "%s/sandlot/ledger", folder);
    snprintf(file, sizeof(file), "%s/%s.open", ledger, record->label);
    assert_int_equal(chmod(file, 0622), 0);
    assert_int_equal(count_files(), 0);
    assert_int_equal(chmod(file, 0600), 0);
    assert_int_equal(chmod(ledger, 0770), 0);
    assert_int_equal(ledger_read(&records, &count, &error), -1);
    assert_non_null(strstr(error.message, "nobody else may write to it"));
    sandlot_error_clear(&error);
    assert_int_equal(ledger_write(record, &error), -1);
    assert_non_null(strstr(error.message, "nobody else may write to it"));
    sandlot_error_clear(&error);
    assert_int_equal(chmod(ledger, 0700), 0);
    assert_int_equal(count_files(), 1);
    if (geteuid() == 0) {
        assert_int_equal(chown(file, 12345, 12345), 0);
        assert_int_equal(count_files(), 0);
    }
    ledger_record_free(record);
}

int main(void)
{
#define LEDGER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        LEDGER_TEST(test_empty),
        LEDGER_TEST(test_round_trip),
        LEDGER_TEST(test_half_a_line),
        LEDGER_TEST(test_lost_with_the_power),
        LEDGER_TEST(test_labels_are_unique_and_fit),
        LEDGER_TEST(test_kept),
        LEDGER_TEST(test_long_records),
        LEDGER_TEST(test_both_files),
        LEDGER_TEST(test_dead_owners),
        LEDGER_TEST(test_without_descriptors),
        LEDGER_TEST(test_damage),
        LEDGER_TEST(test_orphaned_temporaries),
        LEDGER_TEST(test_unwritable),
        LEDGER_TEST(test_lock),
        LEDGER_TEST(test_others_could_write),
    };

    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
