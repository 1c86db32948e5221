/* Whose sandbox an id is, with memory that runs out at every place in turn: a known id is never said to be unknown. */
#include "cli/owner.h"

#include "base/error.h"
#include "failing_allocator.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { MOST_ALLOCATIONS = 20000 };

#if ALLOCATOR_REPLACED
/* The parser of json-c 0.16 does not survive a lack of memory, and nothing around it can help: it is left out. */
EVERYWHERE struct json_object *json_tokener_parse(const char *text)
{
    struct json_object *(*next)(const char *);
    long left = atomic_exchange(&countdown, -1);

    *(void **)&next = dlsym(RTLD_NEXT, "json_tokener_parse");
    struct json_object *parsed = next(text);

    atomic_store(&countdown, left);
    return parsed;
}
#endif

static char folder[64];
static struct sandlot *sandlot;
static const char *const given[] = {"image=mine", NULL};
static const struct options options = {.parameters = (const char **)given};

static void write_config(const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs("[sandboxes.providers.acme]\nclass_path = \"/nowhere/acme.so:acme\"\n", file);
    fclose(file);
}

static void make_record(const char *id, const char *provider, const char *config)
{
    struct ledger_record *record = ledger_record_new(provider);

    assert_non_null(record);
    record->id = strdup(id);
    record->config_file = config ? strdup(config) : NULL;
    record->parameters = json_tokener_parse("[\"image=theirs\",\"size=2\"]");
    assert_int_equal(ledger_write(record, NULL), 0);
    ledger_record_free(record);
}

static int set_up(void **state)
{
    char own[128];
    char other[128];

    (void)state;
    strcpy(folder, "/tmp/sandlot-owner-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    setenv("XDG_STATE_HOME", folder, 1);
    setenv("HOME", folder, 1);
    write_config("config.toml", own);
    write_config("other.toml", other);
    make_record("plain-1", "acme", NULL);
    make_record("configured-1", "acme", other);
    make_record("lost-1", "gone", NULL);
    make_record("twice-1", "acme", NULL);
    make_record("twice-1", "gone", NULL);
    const struct sandlot_options open = {.size = sizeof(open), .config_file = own};

    sandlot = sandlot_open(&open, NULL);
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

/* Runs WORK with every allocation failing in turn until none fails any more. */
static void exhaust(void (*work)(bool enough))
{
    if (!ALLOCATOR_REPLACED)
        skip();
    for (long n = 0; n < MOST_ALLOCATIONS; n++) {
        long before = atomic_load(&allocated);

        atomic_store(&countdown, n);
        work(false);
        if (atomic_exchange(&countdown, -1) >= 0) {
            work(true);
            return;
        }
        assert_int_equal(atomic_load(&allocated), before);
    }
    fail_msg("more than %d allocations", MOST_ALLOCATIONS);
}

/* The owner of ID. With ENOUGH memory the result is WANTED; else it may also be an error that says so. */
static void find(const char *id, bool enough, int wanted, const char *message)
{
    struct owner owner;
    struct sandlot_error error = {0};
    int found = owner_find(sandlot, &options, id, &owner, &error);
    bool right = found == wanted && (found >= 0 || (error.message && strstr(error.message, message)));

    if (found == 1) {
        assert_string_equal(owner.provider, "acme");
        assert_string_equal(owner.parameters[0], "size=2");
        assert_string_equal(owner.parameters[1], "image=mine");
        assert_null(owner.parameters[2]);
    }
    if (!(right || (!enough && found < 0 && error.code != SANDLOT_CODE_OK)))
        fail_msg("%s: %d, %s", id, found, error.message ? error.message : "");
    sandlot_error_clear(&error);
    owner_clear(&owner);
}

static void find_plain(bool enough)
{
    find("plain-1", enough, 1, NULL);
}

static void find_configured(bool enough)
{
    find("configured-1", enough, 1, NULL);
}

static void find_lost(bool enough)
{
    find("lost-1", enough, -1, "a provider that is not there any more");
}

static void find_twice(bool enough)
{
    find("twice-1", enough, -1, "name the provider with --sandbox NAME");
}

static void test_finding(void **state)
{
    (void)state;
    exhaust(find_plain);
    exhaust(find_configured);
    exhaust(find_lost);
    exhaust(find_twice);
}

static void test_an_unknown_one(void **state)
{
    (void)state;
    find("nothing-1", true, 0, NULL);
}

static void advise(bool enough)
{
    struct sandlot_error error = {0};

    error_set(&error, SANDLOT_CODE_SANDBOX_NOT_FOUND, "nobody knows plain");
    owner_advise("plain", &error);
    assert_int_equal(error.code, SANDLOT_CODE_SANDBOX_NOT_FOUND);
    if (enough)
        assert_string_equal(error.message, "nobody knows plain; did you mean plain-1?");
    else if (error.message)
        assert_null(strstr(error.message, "(null)"));
    sandlot_error_clear(&error);
}

static void test_advice(void **state)
{
    (void)state;
    exhaust(advise);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_finding), cmocka_unit_test(test_an_unknown_one),
                                       cmocka_unit_test(test_advice)};

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
