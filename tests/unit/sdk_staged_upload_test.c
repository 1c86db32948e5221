/* Uploads by stages: the scripts run in dash, bash and BusyBox; the service stores files in memory's order, loses
 * answers, refuses, and cuts. */
#include <sandlot/sdk/random.h>
#include <sandlot/sdk/staged_upload.h>

#include "failing_allocator.h"
#include "sdk_support.h"

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

enum { FILES = 6, PATH_SIZE = 300 };

/* What the service does with files. */
enum fault { NO_FAULT, LOST_BEFORE, LOST_AFTER, CUT, REFUSED, BROKEN, BY_ITSELF };

static char folder[200];
static char prefix[250];
static const char *shell[3]; /* and its arguments before the script */
static const char *path;     /* PATH of the sandbox; NULL: ours */
static enum fault fault;
static int stores;   /* requests */
static int scripts;  /* that were run */
static int cleanups; /* likewise */
static char box[] = "box";

static struct test_call call;
static struct sandlot_file files[FILES];
static char paths[FILES][PATH_SIZE];
static struct test_source sources[FILES];
static char errors[FILES][80];
static int told[FILES];

/* ---- the sandbox ------------------------------------------------------------------------------------------------- */

static enum sandlot_status execute(struct sandlot_call *own, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    char block[4096];
    int out[2];

    (void)own, (void)provider, (void)sandbox, (void)result;
    scripts++;
    assert_string_equal(command->working_dir, "/");
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid_t child = fork();

    if (child == 0) {
        dup2(out[1], STDOUT_FILENO);
        if (path)
            setenv("PATH", path, 1);
        if (shell[1])
            execl(shell[0], shell[0], shell[1], "-c", command->command, (char *)NULL);
        execl(shell[0], shell[0], "-c", command->command, (char *)NULL);
        _exit(127);
    }
    close(out[1]);
    for (ssize_t length; (length = read(out[0], block, sizeof(block))) > 0;)
        output->write(output, block, (size_t)length);
    close(out[0]);
    waitpid(child, NULL, 0);
    return SANDLOT_OK;
}

static void clean_up(struct sandlot_call *own, void *sandbox, const char *script)
{
    (void)own, (void)sandbox;
    cleanups++;
    assert_int_equal(system(script), 0);
}

/* Writes FILE as a service does: folders are made if it takes many. */
static enum sandlot_status write_file(const struct sandlot_file *file, bool cut)
{
    char parent[PATH_SIZE];
    char block[4096];
    size_t got = 1;
    uint64_t bytes = 0;

    snprintf(parent, sizeof(parent), "%s", file->path);
    *strrchr(parent, '/') = '\0';
    mkdir(parent, 0700);
    int fd = open(file->path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    while (got > 0) {
        enum sandlot_status status = file->source->read(file->source, block, sizeof(block), &got);

        if (status != SANDLOT_OK) {
            close(fd);
            return status;
        }
        assert_int_equal(write(fd, block, cut && bytes > 0 ? 0 : got), cut && bytes > 0 ? 0 : (ssize_t)got);
        bytes += got;
    }
    close(fd);
    return SANDLOT_OK;
}

static enum sandlot_status run_at_once(struct staged_files *staged)
{
    char fates[1024] = "";
    FILE *stream;
    char *script = staged_upload_script(staged);

    if (!script)
        return SANDLOT_INTERNAL;
    char *command = NULL;

    assert_true(asprintf(&command, "cat <<'end' | sh\n%s\nend\n", script) > 0);
    stream = popen(command, "r");
    assert_non_null(stream);
    fates[fread(fates, 1, sizeof(fates) - 1, stream)] = '\0';
    pclose(stream);
    free(command);
    free(script);
    assert_true(staged_upload_fates(staged, fates));
    return SANDLOT_OK;
}

static enum sandlot_status store(struct sandlot_call *own, void *sandbox, struct staged_files *staged)
{
    enum sandlot_status status = SANDLOT_OK;

    assert_ptr_equal(sandbox, box);
    stores++;
    if (fault == LOST_BEFORE || fault == LOST_AFTER)
        staged->lost = true;
    if (fault == BROKEN || fault == LOST_BEFORE)
        return sandlot_fail(own, SANDLOT_UNAVAILABLE, "the service is away");
    for (size_t i = 0; i < staged->count && status == SANDLOT_OK; i++) {
        assert_int_equal(staged->files[i].mode, 0600);
        if (fault == REFUSED && i == 0)
            staged->refused->done(staged->refused, 0, "the service does not like it", 0);
        else
            status = write_file(&staged->files[i], fault == CUT && i == 0);
    }
    if (fault == BY_ITSELF && status == SANDLOT_OK)
        return run_at_once(staged);
    return fault == LOST_AFTER ? sandlot_fail(own, SANDLOT_UNAVAILABLE, "no answer") : status;
}

/* A service that takes pieces. */
static enum sandlot_status store_pieces(struct sandlot_call *own, void *sandbox, struct staged_files *staged)
{
    enum sandlot_status status = store(own, sandbox, staged);

    for (size_t i = 0; i < staged->count; i++) {
        char renamed[PATH_SIZE];

        snprintf(renamed, sizeof(renamed), "%s.0", staged->files[i].path);
        assert_int_equal(rename(staged->files[i].path, renamed), 0);
        fprintf(staged->first, "cat %s.0 >%s\n", staged->files[i].path, staged->files[i].path);
    }
    return status;
}

static struct staged_upload_vendor vendor(void)
{
    return (struct staged_upload_vendor){.scripts = {.sandbox = box, .execute = execute},
                                         .clean_up = clean_up,
                                         .store = store,
                                         .prefix = prefix,
                                         .mode = 0640};
}

static void done(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    (void)transfer;
    told[index]++;
    snprintf(errors[index], sizeof(errors[index]), "%s", error ? error : "");
    assert_int_equal(bytes, error ? 0 : sources[index].length);
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
    static const uint64_t lengths[FILES] = {0, 1, 100, 3, 20000, 5};

    (void)state;
    snprintf(folder, sizeof(folder), "/tmp/sandlot-up-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(prefix, sizeof(prefix), "%s/.s-", folder);
    shell[0] = "/bin/dash";
    shell[1] = path = NULL;
    fault = NO_FAULT;
    stores = scripts = cleanups = 0;
    memset(told, 0, sizeof(told));
    test_call_open(&call, 60000);
    for (int i = 0; i < FILES; i++) {
        snprintf(paths[i], PATH_SIZE, "%s/out/%d it's/%d $x", folder, i % 2, i);
        test_source_open(&sources[i], lengths[i]);
        files[i] = (struct sandlot_file){.size = sizeof(files[i]),
                                         .path = paths[i],
                                         .source = &sources[i].source,
                                         .length = lengths[i],
                                         .mode = i == 2 ? 0700 : 0};
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sh("chmod -R u+rwx '%s'; rm -rf '%s'", folder, folder);
    test_call_close(&call);
    return 0;
}

/* What the files hold is what was sent, and nothing is left of what was stored. */
static void check_placed(int except)
{
    for (int i = 0; i < FILES; i++) {
        char wanted[20001];
        char found[20001];
        struct stat status;

        if (i == except)
            continue;
        FILE *file = fopen(paths[i], "re");

        assert_non_null(file);
        size_t length = fread(found, 1, sizeof(found), file);

        fclose(file);
        test_pattern(wanted, 0, sources[i].length);
        assert_int_equal(length, sources[i].length);
        assert_memory_equal(found, wanted, length);
        assert_int_equal(stat(paths[i], &status), 0);
        assert_int_equal(status.st_mode & 07777, i == 2 ? 0700 : 0640);
        assert_int_equal(told[i], 1);
        assert_string_equal(errors[i], "");
    }
    sh("[ -z \"$(find '%s' -name '.s-*')\" ]", folder);
}

static void check_requests(int stored, int ran, int cleaned)
{
    assert_int_equal(stores, stored);
    assert_int_equal(scripts, ran);
    assert_int_equal(cleanups, cleaned);
}

static void upload(const struct staged_upload_vendor *way, enum sandlot_status wanted)
{
    assert_int_equal(staged_upload(&call.call, way, files, FILES, &transfer), wanted);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void all_ways(const char *program, const char *argument)
{
    struct staged_upload_vendor way = vendor();

    shell[0] = program;
    shell[1] = argument;
    upload(&way, SANDLOT_OK);
    check_placed(-1);
    check_requests(1, 1, 0);
    tear_down(NULL);
    set_up(NULL);
    shell[0] = program;
    shell[1] = argument;
    way.single = true;
    upload(&way, SANDLOT_OK); /* together, and cut up there */
    check_placed(-1);
    check_requests(1, 1, 0);
    tear_down(NULL);
    set_up(NULL);
    shell[0] = program;
    shell[1] = argument;
    way.carries = true;
    upload(&way, SANDLOT_OK);
    check_placed(-1);
    check_requests(0, 1, 0);
}

static void test_dash(void **state)
{
    (void)state;
    all_ways("/bin/dash", NULL);
}

static void test_bash(void **state)
{
    (void)state;
    all_ways("/bin/bash", NULL);
}

static void test_busybox(void **state)
{
    (void)state;
    all_ways("/bin/busybox", "sh");
}

/* A store whose pieces cannot be joined. */
static enum sandlot_status broken_join(struct sandlot_call *own, void *sandbox, struct staged_files *staged)
{
    fputs("false || exit 1\n", staged->first);
    return store(own, sandbox, staged);
}

static void put_is(enum sandlot_status wanted, const char *said)
{
    const struct staged_upload_vendor way = {.scripts = {.sandbox = box, .execute = execute}, .store = store};
    char name[PATH_SIZE];

    snprintf(name, sizeof(name), "%s/for-command%d", folder, stores);
    call.message[0] = '\0';
    call.status = SANDLOT_OK;
    assert_int_equal(staged_put(&call.call, &way, name, &sources[3].source, files[3].length), wanted);
    assert_non_null(strstr(call.message, said));
    if (wanted == SANDLOT_OK)
        sh("[ \"$(wc -c <'%s')\" -eq 3 ]", name);
}

/* A file for a command: nothing is placed, and what the store wants to be done is done, or it fails. */
static void test_put(void **state)
{
    const struct staged_upload_vendor pieces = {.scripts = {.sandbox = box, .execute = execute}, .store = store_pieces};
    struct staged_upload_vendor broken = pieces;
    char name[PATH_SIZE];

    (void)state;
    put_is(SANDLOT_OK, "");
    check_requests(1, 0, 0);
    fault = REFUSED;
    put_is(SANDLOT_INTERNAL, "the service does not like it");
    fault = BROKEN;
    put_is(SANDLOT_UNAVAILABLE, "the service is away");
    check_requests(3, 0, 0);
    fault = NO_FAULT;
    snprintf(name, sizeof(name), "%s/joined", folder);
    assert_int_equal(staged_put(&call.call, &pieces, name, &sources[2].source, UINT64_MAX), SANDLOT_OK);
    sh("[ \"$(wc -c <'%s')\" -eq 100 ]", name);
    check_requests(4, 1, 0);
    call.message[0] = '\0';
    call.status = SANDLOT_OK;
    broken.store = broken_join;
    snprintf(name, sizeof(name), "%s/broken", folder);
    assert_int_equal(staged_put(&call.call, &broken, name, &sources[5].source, 5), SANDLOT_UNAVAILABLE);
    assert_non_null(strstr(call.message, "could not be put together"));
}

/* A file of unknown or great length is stored alone. */
static void test_alone(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    way.single = way.carries = true;
    files[3].length = UINT64_MAX;
    upload(&way, SANDLOT_OK);
    check_placed(-1);
    check_requests(3, 1, 0);
}

/* Contents that the sandbox cannot unpack are stored, from memory. */
static void test_lacking(void **state)
{
    struct staged_upload_vendor way = vendor();
    char programs[250];

    (void)state;
    snprintf(programs, sizeof(programs), "%s/bin", folder);
    sh("mkdir '%s' && cd '%s' && for i in cat rm mkdir mv chmod stat wc head tail cp; do ln -s \"$(command -v $i)\" .; "
       "done",
       programs, programs);
    path = programs;
    way.carries = true;
    upload(&way, SANDLOT_OK);
    path = NULL;
    check_placed(-1);
    check_requests(1, 2, 0);
}

static void test_pieces(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    way.store = store_pieces;
    upload(&way, SANDLOT_OK);
    for (int i = 0; i < FILES; i++)
        assert_int_equal(told[i], 1);
    check_requests(1, 1, 0);
    sh("[ -z \"$(find '%s' -name '.s-*')\" ]", folder);
}

static void test_lost(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    fault = LOST_AFTER; /* it was all there */
    upload(&way, SANDLOT_UNAVAILABLE);
    assert_string_equal(call.message, "no answer");
    check_placed(-1);
    check_requests(1, 1, 0);
    tear_down(NULL);
    set_up(NULL);
    fault = LOST_BEFORE;
    way.single = true;
    files[3].length = UINT64_MAX;
    upload(&way, SANDLOT_UNAVAILABLE); /* one says nothing of the next */
    for (int i = 0; i < FILES; i++)
        assert_int_equal(told[i], 0);
    check_requests(3, 1, 0);
}

static void test_cut(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    fault = CUT;
    test_source_open(&sources[0], 9000);
    files[0].length = 9000;
    upload(&way, SANDLOT_OK);
    assert_int_equal(told[0], 0); /* the host asks again */
    check_placed(0);
    sh("[ ! -e '%s/out/0 it'\\''s/0 $x' ]", folder);
}

static void test_refused(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    fault = REFUSED;
    upload(&way, SANDLOT_OK);
    assert_int_equal(told[0], 1);
    assert_string_equal(errors[0], "the service does not like it");
    check_placed(0);
    tear_down(NULL);
    set_up(NULL);
    fault = REFUSED;
    way.single = true;
    upload(&way, SANDLOT_OK); /* all that travelled together */
    for (int i = 0; i < FILES; i++)
        assert_string_equal(errors[i], "the service does not like it");
    check_requests(1, 0, 0);
}

static void test_failures(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    fault = BROKEN;
    upload(&way, SANDLOT_UNAVAILABLE);
    assert_string_equal(call.message, "the service is away");
    check_requests(1, 0, 1);
    tear_down(NULL);
    set_up(NULL);
    sources[4].fails_with = SANDLOT_INVALID_ARGUMENT;
    sources[4].fails_at = 10000;
    upload(&way, SANDLOT_INVALID_ARGUMENT);
    check_requests(1, 0, 1);
    sh("[ -z \"$(find '%s' -mindepth 1)\" ]", folder);
    tear_down(NULL);
    set_up(NULL);
    way.carries = true;
    sources[2].length = 50; /* of 100 that were announced */
    upload(&way, SANDLOT_INVALID_ARGUMENT);
    assert_non_null(strstr(call.message, "ended before its announced length"));
    check_requests(0, 0, 0);
}

static void test_by_itself(void **state)
{
    struct staged_upload_vendor way = vendor();

    (void)state;
    fault = BY_ITSELF;
    upload(&way, SANDLOT_OK);
    check_placed(-1);
    check_requests(1, 0, 0);
}

/* Memory runs out at every place in turn. */
static void test_no_memory(void **state)
{
    (void)state;
    if (!ALLOCATOR_REPLACED)
        skip();
    for (int kind = 0; kind < 3; kind++)
        for (long at = 0;; at++) {
            struct staged_upload_vendor way = vendor();

            tear_down(NULL);
            set_up(NULL);
            way.single = kind == 1;
            way.carries = kind == 2;
            atomic_store(&countdown, at);
            enum sandlot_status status = staged_upload(&call.call, &way, files, 2, &transfer);
            bool happened = atomic_load(&countdown) < 0;

            atomic_store(&countdown, -1);
            if (status != SANDLOT_OK)
                assert_true(*call.message);
            sh("[ -z \"$(find '%s' -name '.s-*')\" ]", folder);
            if (!happened) {
                assert_int_equal(status, SANDLOT_OK);
                assert_true(at > 5);
                break;
            }
        }
}

static void test_random(void **state)
{
    char uuid[RANDOM_UUID_SIZE];
    char other[RANDOM_UUID_SIZE];
    char digits[9] = "........";

    (void)state;
    random_uuid(uuid);
    random_uuid(other);
    assert_int_equal(strlen(uuid), RANDOM_UUID_SIZE - 1);
    assert_int_equal(strspn(uuid, "0123456789abcdef-"), RANDOM_UUID_SIZE - 1);
    assert_true(uuid[14] == '4' && strchr("89ab", uuid[19]) && uuid[8] == '-' && uuid[23] == '-');
    assert_string_not_equal(uuid, other);
    random_uuid_by_time(uuid);
    random_uuid_by_time(other);
    assert_true(uuid[14] == '7' && strncmp(uuid, other, 8) <= 0);
    random_digits(digits, 7);
    assert_int_equal(strspn(digits, "0123456789abcdef"), 7);
}

#define EACH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        EACH(test_dash),      EACH(test_bash),
        EACH(test_busybox),   EACH(test_put),
        EACH(test_alone),     EACH(test_lacking),
        EACH(test_pieces),    EACH(test_lost),
        EACH(test_cut),       EACH(test_refused),
        EACH(test_failures),  EACH(test_by_itself),
        EACH(test_no_memory), cmocka_unit_test(test_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
