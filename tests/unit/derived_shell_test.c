/*
 * The operations of the derived route with a shell of this machine as the sandbox: with programs that are missing or
 * can do less than usual, and with answers that are damaged on their way.
 */
#include "operations/derived/transfer.h"
#include "spawned.h"
#include "support.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>

enum { ANSWER = 1 << 16 };

static struct {
    const char *shell; /* NULL: sh */
    char *path;        /* PATH of the commands; NULL: this program's */
    enum { WHOLE, CUT, LOST, CHANGED } how;
    size_t at;     /* of the answer */
    size_t length; /* of the last answer */
    int commands;
} channel;

static size_t run_here(const char *command, char *answer)
{
    const char *const words[] = {"sh", "-c", command, NULL};
    AUTO_FREE char *path = strdup(getenv("PATH"));
    size_t length = 0;

    if (channel.path)
        setenv("PATH", channel.path, 1);
    struct spawned spawned = spawn_program(channel.shell ? channel.shell : "/bin/sh", words, -1, true);

    setenv("PATH", path, 1);
    for (ssize_t got; (got = read(spawned.output, answer + length, ANSWER - length)) > 0;)
        length += (size_t)got;
    close(spawned.output);
    assert_int_equal(waitpid(spawned.pid, NULL, 0), spawned.pid);
    return length;
}

static enum sandlot_status execute(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_command *command, const struct sandlot_sink *output,
                                   struct sandlot_exit *result)
{
    AUTO_FREE char *answer = malloc(ANSWER);

    (void)provider, (void)sandbox;
    assert_non_null(answer);
    size_t length = run_here(command->command, answer);

    channel.length = length;
    channel.commands++;
    result->exit_code = 0;
    if (channel.how == CUT && channel.at < length)
        length = channel.at;
    if (channel.how == CHANGED && channel.at < length)
        answer[channel.at] = answer[channel.at] == 'A' ? 'B' : 'A';
    if (channel.how == LOST && channel.at < length) {
        size_t lost = length - channel.at < 8 ? length - channel.at : 8;

        memmove(answer + channel.at, answer + channel.at + lost, length - channel.at - lost);
        length -= lost;
    }
    enum sandlot_status status = output->write(output, answer, length);

    return status == SANDLOT_OK ? status : sandlot_fail(call, status, "stopped");
}

static struct registry_entry entry = {.name = (char *)"here"};
static struct provider provider = {.entry = &entry,
                                   .table = {.size = sizeof(struct sandlot_provider), .execute = execute}};
static struct sandlot_session session = {.provider = &provider, .turn_fd = -1};
static struct sandlot_error error;

static int set_up(void **state)
{
    memset(&channel, 0, sizeof(channel));
    transfer_pause_ms = 1;
    if (support_start(state) != 0)
        return -1;
    session.working_dir = strdup(support_path("box"));
    path_locks_init(&session.path_locks);
    support_write("box/a.c", "one\nneedle in a\n");
    support_write("box/sub/b.c", "needle\nneedle again\n");
    support_write("box/sub/colon:file", "x\na needle: here\n");
    support_write("box/sub/new\nline", "needle\n");
    support_write_bytes("box/binary", "needle\0", 7);
    return symlink("a.c", support_path("box/link"));
}

static int tear_down(void **state)
{
    sandlot_error_clear(&error);
    free(channel.path);
    free((char *)(uintptr_t)session.working_dir);
    path_locks_destroy(&session.path_locks);
    return support_end(state);
}

/* ---- what is done ---- */

struct seen {
    char text[2000]; /* what was handed over, in order */
    bool truncated;
};

static bool see_entry(void *context, const struct sandlot_file_entry *found)
{
    struct seen *seen = context;
    size_t length = strlen(seen->text);

    snprintf(seen->text + length, sizeof(seen->text) - length, "%s|", found->path + strlen(session.working_dir));
    return true;
}

static bool see_match(void *context, const struct sandlot_match *match)
{
    struct seen *seen = context;
    size_t length = strlen(seen->text);

    snprintf(seen->text + length, sizeof(seen->text) - length, "%s:%lld:%.*s|",
             match->path + strlen(session.working_dir), (long long)match->line, (int)match->text_length, match->text);
    return true;
}

static void see_file(struct seen *seen, const char *name)
{
    size_t length;
    AUTO_FREE char *held = path_read_file(support_path(name), 1000, &length);

    snprintf(seen->text, sizeof(seen->text), "%s", held ? held : "");
}

static int do_read(struct seen *seen)
{
    struct sandlot_read request = {.size = sizeof(request), .path = "a.c"};
    struct sandlot_page page = {.size = sizeof(page)};
    int failed = sandlot_read_file(&session, &request, &page, &error);

    if (!failed)
        snprintf(seen->text, sizeof(seen->text), "%s", page.content);
    sandlot_page_clear(&page);
    return failed;
}

static int do_write(struct seen *seen)
{
    struct sandlot_write request = {
        .size = sizeof(request), .path = "written", .content = "content\n", .content_length = 8};
    int failed = sandlot_write_file(&session, &request, &error);

    see_file(seen, "box/written");
    unlink(support_path("box/written"));
    return failed;
}

static int do_edit(struct seen *seen)
{
    struct sandlot_edit request = {.size = sizeof(request),
                                   .path = "sub/b.c",
                                   .old_string = "needle again",
                                   .old_length = 12,
                                   .new_string = "needle again",
                                   .new_length = 12};
    uint64_t count = 0;
    int failed = sandlot_edit_file(&session, &request, &count, &error);

    snprintf(seen->text, sizeof(seen->text), "%d", (int)count);
    return failed;
}

static int do_list(struct seen *seen)
{
    struct sandlot_ls request = {.size = sizeof(request), .path = "sub"};

    return sandlot_list_directory(&session, &request, see_entry, seen, &error);
}

static int do_find(struct seen *seen)
{
    struct sandlot_glob request = {.size = sizeof(request), .pattern = "**"};

    return sandlot_find_files(&session, &request, see_entry, seen, &seen->truncated, &error);
}

static int do_search(struct seen *seen)
{
    struct sandlot_grep request = {.size = sizeof(request), .pattern = "needle", .pattern_length = 6};

    return sandlot_search_files(&session, &request, see_match, seen, &seen->truncated, &error);
}

static int do_remove(struct seen *seen)
{
    struct sandlot_remove request = {.size = sizeof(request), .path = "removed"};

    support_write("box/removed", "x");
    int failed = sandlot_remove_file(&session, &request, &error);

    snprintf(seen->text, sizeof(seen->text), "%s", access(support_path("box/removed"), F_OK) == 0 ? "there" : "gone");
    unlink(support_path("box/removed"));
    return failed;
}

static int transfer(bool upload)
{
    AUTO_FREE char *local = strdup(support_path("local"));
    AUTO_FREE char *remote = strdup(support_path(upload ? "box/up" : "box/a.c"));
    struct sandlot_transfer_item item = {.size = sizeof(item), .path = remote, .local_path = local, .fd = -1};
    struct sandlot_transfer_request request = {.size = sizeof(request), .items = &item, .count = 1};

    support_write("local", "one\nneedle in a\n");
    return upload ? sandlot_upload(&session, &request, &error) : sandlot_download(&session, &request, &error);
}

static int do_upload(struct seen *seen)
{
    int failed = transfer(true);

    see_file(seen, "box/up");
    unlink(support_path("box/up"));
    return failed;
}

static int do_download(struct seen *seen)
{
    int failed = transfer(false);

    see_file(seen, "local");
    return failed;
}

static const char *const small_files[] = {"a.c", "sub/b.c", "link"};

enum { SMALL_FILES = sizeof(small_files) / sizeof(small_files[0]) };

/* Small ones come together; what is seen is all of them, one behind the other. */
static int do_download_some(struct seen *seen)
{
    struct sandlot_transfer_item items[SMALL_FILES];
    const struct sandlot_transfer_request request = {.size = sizeof(request), .items = items, .count = SMALL_FILES};
    char *locals[SMALL_FILES];
    char *paths[SMALL_FILES];

    for (size_t i = 0; i < SMALL_FILES; i++) {
        AUTO_FREE char *relative = text_format("local-%zu", i);
        AUTO_FREE char *path = text_format("%s/%s", session.working_dir, small_files[i]);

        locals[i] = strdup(support_path(relative));
        paths[i] = TAKE(path);
        items[i] = (struct sandlot_transfer_item){
            .size = sizeof(items[i]), .path = paths[i], .local_path = locals[i], .fd = -1};
        unlink(locals[i]);
    }
    int failed = sandlot_download(&session, &request, &error);

    for (size_t i = 0; i < SMALL_FILES; i++) {
        size_t length;
        AUTO_FREE char *held = path_read_file(locals[i], 1000, &length);

        strncat(seen->text, held ? held : "", sizeof(seen->text) - strlen(seen->text) - 1);
        free(locals[i]);
        free(paths[i]);
    }
    return failed;
}

static const struct {
    const char *path;
    const char *content;
    uint32_t mode;
} risen[] = {
    {"up/new/a", "plain\n", 0},        {"up/new/b", "\x01\xff\n", 0},   {"up/run me", "exit 1\n", 0755},
    {"up/it's $x", "quoted\n", 04711}, {"up/kept", "replaced\n", 0600}, {"up/link", "by a link\n", 0},
};

enum { RISEN = sizeof(risen) / sizeof(risen[0]) };

static void see_risen(struct seen *seen)
{
    for (size_t i = 0; i < RISEN; i++) {
        const char *path = support_path(risen[i].path);
        struct stat status = {0};
        size_t length;
        AUTO_FREE char *held = path_read_file(path, 1000, &length);
        const size_t before = strlen(seen->text);

        lstat(path, &status);
        snprintf(seen->text + before, sizeof(seen->text) - before, "%o %s", status.st_mode & (S_IFMT | 07777),
                 held ? held : "");
    }
}

/* Small files go up together: new ones of several modes, one that is there and keeps its own, one by a link. What is
 * seen is the mode and content of each. */
static int do_upload_some(struct seen *seen)
{
    struct sandlot_transfer_item items[RISEN];
    const struct sandlot_transfer_request request = {.size = sizeof(request), .items = items, .count = RISEN};
    char *locals[RISEN];
    char *paths[RISEN];

    support_write("up/kept", "old\n");
    support_write("up/target", "old\n");
    assert_int_equal(chmod(support_path("up/kept"), 0640), 0);
    assert_true(symlink("target", support_path("up/link")) == 0 || errno == EEXIST);
    for (size_t i = 0; i < RISEN; i++) {
        AUTO_FREE char *relative = text_format("local-%zu", i);

        support_write(relative, risen[i].content);
        locals[i] = strdup(support_path(relative));
        paths[i] = strdup(support_path(risen[i].path));
        items[i] = (struct sandlot_transfer_item){
            .size = sizeof(items[i]), .path = paths[i], .local_path = locals[i], .fd = -1, .mode = risen[i].mode};
    }
    int failed = sandlot_upload(&session, &request, &error);

    see_risen(seen);
    for (size_t i = 0; i < RISEN; i++) {
        unlink(paths[i]);
        free(locals[i]);
        free(paths[i]);
    }
    rmdir(support_path("up/new"));
    return failed;
}

#define RISEN_SEEN "100644 plain\n100644 \x01\xff\n100755 exit 1\n104711 quoted\n100640 replaced\n120777 by a link\n"

#define SMALL_CONTENT "one\nneedle in a\nneedle\nneedle again\none\nneedle in a\n"

#define FOUND "/a.c|/binary|/link|/sub/b.c|/sub/colon:file|/sub/new\nline|"
#define MATCHES                                                                                      \
    "/a.c:2:needle in a|/sub/b.c:1:needle|/sub/b.c:2:needle again|/sub/colon:file:2:a needle: here|" \
    "/sub/new\nline:1:needle|"

static const struct operation {
    const char *name;
    int (*run)(struct seen *seen);
    const char *result;
    enum { LOSSES_AT_THE_END, LOSSES, ALL_DAMAGE } notices;
} operations[] = {
    {"read", do_read, "one\nneedle in a", LOSSES},
    {"write", do_write, "content\n", ALL_DAMAGE},
    {"edit", do_edit, "1", LOSSES},
    {"list", do_list, "/sub/b.c|/sub/colon:file|/sub/new\nline|", LOSSES_AT_THE_END},
    {"find", do_find, FOUND, LOSSES_AT_THE_END},
    {"search", do_search, MATCHES, LOSSES_AT_THE_END},
    {"remove", do_remove, "gone", ALL_DAMAGE},
    {"upload", do_upload, "one\nneedle in a\n", ALL_DAMAGE},
    {"upload of some", do_upload_some, RISEN_SEEN, ALL_DAMAGE},
    {"download", do_download, "one\nneedle in a\n", ALL_DAMAGE},
    {"download of some", do_download_some, SMALL_CONTENT, ALL_DAMAGE},
};

enum { OPERATIONS = sizeof(operations) / sizeof(operations[0]) };

static int run(const struct operation *operation, struct seen *seen)
{
    memset(seen, 0, sizeof(*seen));
    sandlot_error_clear(&error);
    return operation->run(seen);
}

static void assert_works(const struct operation *operation)
{
    struct seen seen;

    if (run(operation, &seen) < 0)
        fail_msg("%s: %s", operation->name, error.message);
    assert_string_equal(seen.text, operation->result);
    assert_false(seen.truncated);
}

/* ---- tests ---- */

static const char *const shells[] = {"/bin/bash", "/bin/dash", "/bin/busybox"};

static void test_shells(void **state)
{
    (void)state;
    for (size_t shell = 0; shell < 3; shell++) {
        channel.shell = shells[shell];
        for (size_t i = 0; i < OPERATIONS; i++)
            assert_works(&operations[i]);
    }
}

static const char *const tools[] = {"awk",  "base64", "cat",  "chmod",  "chown", "cksum", "dd",   "find",
                                    "grep", "head",   "ls",   "md5sum", "mkdir", "mv",    "od",   "readlink",
                                    "rm",   "sh",     "stat", "tail",   "tr",    "wc",    "xargs"};

enum { TOOLS = sizeof(tools) / sizeof(tools[0]) };

/* Makes a folder that has all tools but MISSING the only one in PATH. */
static void use_tools(const char *missing)
{
    AUTO_FREE char *folder = strdup(support_path("tools"));
    AUTO_FREE char *command = text_format("rm -rf %s; mkdir %s", folder, folder);

    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < TOOLS; i++) {
        AUTO_FREE char *link = text_format("%s/%s", folder, tools[i]);
        AUTO_FREE char *usr = text_format("/usr/bin/%s", tools[i]);

        if (!missing || strcmp(tools[i], missing) != 0)
            assert_int_equal(symlink(access(usr, X_OK) == 0 ? usr : usr + 4, link), 0);
    }
    free(channel.path);
    channel.path = TAKE(folder);
}

/* Replaces a tool by a script. */
static void replace_tool(const char *name, const char *script)
{
    AUTO_FREE char *relative = text_format("tools/%s", name);

    unlink(support_path(relative));
    support_write(relative, script);
    assert_int_equal(chmod(support_path(relative), 0755), 0);
}

/* Without any one tool an operation works, or tells which one is missing. */
static void test_missing_tools(void **state)
{
    const size_t step = getenv("SANDLOT_TEST_FEW") ? 5 : 1; /* under valgrind, which does not look into shells */

    (void)state;
    use_tools(NULL);
    for (size_t i = 0; i < OPERATIONS; i++)
        assert_works(&operations[i]);
    for (size_t tool = 0; tool < TOOLS; tool += step) {
        use_tools(tools[tool]);
        for (size_t i = 0; i < OPERATIONS; i++) {
            struct seen seen;

            if (run(&operations[i], &seen) == 0) {
                assert_string_equal(seen.text, operations[i].result);
                continue;
            }
            if (error.code != SANDLOT_CODE_MISSING_TOOL || !strstr(error.message, tools[tool]))
                fail_msg("%s without %s: %s", operations[i].name, tools[tool], error.message);
        }
    }
}

static void test_no_tools(void **state)
{
    (void)state;
    channel.path = strdup("/nonexistent");
    for (size_t i = 0; i < OPERATIONS; i++) {
        struct seen seen;

        assert_int_equal(run(&operations[i], &seen), -1);
        if (error.code != SANDLOT_CODE_MISSING_TOOL)
            fail_msg("%s without tools: %s", operations[i].name, error.message);
    }
}

/* Programs of small systems, which know less. */
static void test_poor_tools(void **state)
{
    (void)state;
    use_tools(NULL);
    replace_tool("find", "#!/bin/sh\nfor i; do case $i in -print0) echo 'no -print0' >&2; exit 1;; esac; done\n"
                         "exec /usr/bin/find \"$@\"\n");
    replace_tool("grep", "#!/bin/sh\nfor i; do case $i in -Z|-z|--null|-P|-I|--?*) exit 2;; esac; done\n"
                         "exec /bin/grep \"$@\"\n");
    replace_tool("xargs",
                 "#!/bin/sh\nfor i; do case $i in -r|-P|-d) exit 1;; esac; done\nexec /usr/bin/xargs \"$@\"\n");
    for (size_t i = 0; i < OPERATIONS; i++)
        assert_works(&operations[i]);
}

static void test_stat_without_format(void **state)
{
    struct seen seen;

    (void)state;
    use_tools(NULL);
    replace_tool("stat", "#!/bin/sh\nexit 1\n");
    assert_works(&operations[0]);
    assert_int_equal(run(&operations[3], &seen), -1);
    assert_int_equal(error.code, SANDLOT_CODE_MISSING_TOOL);
    assert_contains(error.message, "stat");
}

static bool see_size(void *context, const struct sandlot_file_entry *found)
{
    struct seen *seen = context;
    size_t length = strlen(seen->text);

    snprintf(seen->text + length, sizeof(seen->text) - length, "%s %llu|", strrchr(found->path, '/') + 1,
             (unsigned long long)(found->is_dir ? 0 : found->bytes));
    return true;
}

/* Names that programs, or the shell, would take for something else. */
static void test_list_of_odd_names(void **state)
{
    static const char *const names[] = {"-", "--", "-?*", "[!-]*", "*", "..?*", ".[!.]*", "..."};
    const struct sandlot_ls request = {.size = sizeof(request), .path = "odd"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *path = text_format("box/odd/%s", names[i]);

        support_write(path, names[i]);
    }
    for (size_t shell = 0; shell < 3; shell++) {
        struct seen seen = {0};

        channel.shell = shells[shell];
        assert_int_equal(sandlot_list_directory(&session, &request, see_size, &seen, &error), 0);
        assert_string_equal(seen.text, "* 1|- 1|-- 2|-?* 3|... 3|..?* 4|.[!.]* 6|[!-]* 5|");
    }
}

/* Small files that go up: one command for all, and one for what is odd, a link. */
static void test_upload_together(void **state)
{
    const struct operation *operation = operations;
    (void)state;
    while (operation->run != do_upload_some)
        operation++;
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        channel.shell = shells[i];
        channel.commands = 0;
        if (access(channel.shell, X_OK) < 0)
            continue;
        assert_works(operation);
        assert_int_equal(channel.commands, 2);
    }
}

/* Folders whose names are longer than what a command may carry: what has room goes together, and all arrive. */
static void test_upload_to_long_folders(void **state)
{
    enum { FILES = 256, NAME = 200, DEPTH = 4 };
    static struct sandlot_transfer_item items[FILES];
    const struct sandlot_transfer_request request = {.size = sizeof(request), .items = items, .count = FILES};
    AUTO_FREE char *local = strdup(support_path("local"));
    char name[DEPTH * (NAME + 1) + 1] = "";

    (void)state;
    for (size_t i = 0; i < DEPTH * (NAME + 1); i++)
        name[i] = i % (NAME + 1) ? 'n' : '/';
    support_write("local", "x");
    for (size_t i = 0; i < FILES; i++) {
        AUTO_FREE char *path = text_format("%s/%zu%s/file", support_path("up"), i, name);

        items[i] =
            (struct sandlot_transfer_item){.size = sizeof(items[i]), .path = TAKE(path), .local_path = local, .fd = -1};
    }
    assert_int_equal(sandlot_upload(&session, &request, &error), 0);
    assert_in_range(channel.commands, 3, 5);
    for (size_t i = 0; i < FILES; i++) {
        assert_int_equal(access(items[i].path, F_OK), 0);
        free((char *)(uintptr_t)items[i].path);
    }
}

static int edit(const char *path, const char *old_string, const char *new_string)
{
    struct sandlot_edit request = {.size = sizeof(request),
                                   .path = path,
                                   .old_string = old_string,
                                   .old_length = strlen(old_string),
                                   .new_string = new_string,
                                   .new_length = strlen(new_string)};

    return sandlot_edit_file(&session, &request, NULL, &error);
}

/* Somebody else has the file and changes it, by CHANGE, before our turn comes: what both have done stays. */
static void check_turn(const char *change)
{
    AUTO_FREE char *waits = text_format("#!/bin/sh\n"
                                        "cd %s\n"
                                        "[ -e waited ] && exit\n"
                                        "/usr/bin/flock -n \"$@\" || : >waited\n"
                                        "printf 'theirs\\nold\\n' >new\n"
                                        "%s\n",
                                        session.working_dir, change);
    struct seen seen = {0};

    replace_tool("flock", waits);
    unlink(support_path("box/waited"));
    support_write("box/shared", "first\nold\n");
    AUTO_CLOSE int other = open(support_path("box/shared"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(flock(other, LOCK_EX), 0);
    if (edit("shared", "old", "ours") < 0)
        fail_msg("%s: %s", change, error.message);
    see_file(&seen, "box/shared");
    assert_string_equal(seen.text, "theirs\nours\n");
}

/* Somebody changes the file, by CHANGE, to another of the same length, when it has been opened and is looked at. */
static void check_look(const char *change)
{
    AUTO_FREE char *looks = text_format("#!/bin/sh\n"
                                        "cd %s\n"
                                        "[ -e looked ] || { printf 'theirs\\nold\\n' >new; : >looked; %s; }\n"
                                        "exec /usr/bin/stat \"$@\"\n",
                                        session.working_dir, change);
    struct seen seen = {0};

    replace_tool("stat", looks);
    unlink(support_path("box/looked"));
    support_write("box/shared", "first.\nold\n");
    if (edit("shared", "old", "ours") < 0)
        fail_msg("%s: %s", change, error.message);
    see_file(&seen, "box/shared");
    assert_string_equal(seen.text, "theirs\nours\n");
}

static void test_edit_of_what_changes(void **state)
{
    (void)state;
    use_tools(NULL);
    for (size_t shell = 0; shell < 2; shell++) {
        channel.shell = shells[shell];
        check_look("mv new shared");
        check_look("cat new >shared");
    }
}

static void test_edits_take_turns(void **state)
{
    (void)state;
    use_tools(NULL);
    for (size_t shell = 0; shell < 3; shell++) {
        channel.shell = shells[shell];
        check_turn("mv new shared");
        check_turn("cat new >shared");
        support_write("box/shared", "");
        assert_int_equal(link(support_path("box/shared"), support_path("box/again")), 0);
        check_turn("cat new >shared");
        unlink(support_path("box/again"));
    }
}

/* A program that never gives its lock back keeps nobody from its file, nor does a file system that has no locks. */
static void check_wait(const char *flock_tool, const char *sleep_tool)
{
    struct seen seen = {0};

    channel.shell = shells[0];
    replace_tool("flock", flock_tool);
    replace_tool("sleep", sleep_tool);
    support_write("box/shared", "old\n");
    AUTO_CLOSE int other = open(support_path("box/shared"), O_RDONLY | O_CLOEXEC);

    assert_int_equal(flock(other, LOCK_EX), 0);
    assert_int_equal(edit("shared", "old", "ours"), 0);
    see_file(&seen, "box/shared");
    assert_string_equal(seen.text, "ours\n");
}

static void test_an_edit_does_not_wait_for_ever(void **state)
{
    (void)state;
    use_tools(NULL);
    check_wait("#!/bin/sh\nexec /usr/bin/flock \"$@\"\n", "#!/bin/sh\n");
    check_wait("#!/bin/sh\necho flock: No locks available >&2; exit 1\n", "#!/bin/sh\nkill -9 $PPID\n");
}

/* A link to what is not there yet, also in a folder that is not there yet, and not where the shell is. */
/* A link to what is not there yet, also in a folder that is not there yet, and not where the shell is. The shell of
 * BusyBox takes its own readlink, which is another. */
static void test_write_through_broken_links(void **state)
{
    static const char *const targets[] = {"../made", "made/", "new/deep/made", "../sub/./made"};
    static const char *const made[] = {"box/made", "box/links/made", "box/links/new/deep/made", "box/sub/made"};
    const struct sandlot_write request = {
        .size = sizeof(request), .path = "links/last", .content = "content\n", .content_length = 8};

    (void)state;
    use_tools(NULL);
    for (size_t i = 0; i < 3 * sizeof(targets) / sizeof(targets[0]); i++) {
        struct seen seen = {0};

        channel.shell = shells[i % 3];
        support_write("box/links/x", "");
        unlink(support_path("box/links/first"));
        unlink(support_path("box/links/last"));
        assert_int_equal(symlink("first", support_path("box/links/last")), 0);
        assert_int_equal(symlink(targets[i / 3], support_path("box/links/first")), 0);
        if (sandlot_write_file(&session, &request, &error) < 0)
            fail_msg("%s: %s", targets[i / 3], error.message);
        see_file(&seen, made[i / 3]);
        assert_string_equal(seen.text, "content\n");
        unlink(support_path(made[i / 3]));
    }
}

static int write_linked(const char *content)
{
    const struct sandlot_write request = {
        .size = sizeof(request), .path = "linked", .content = content, .content_length = strlen(content)};

    return sandlot_write_file(&session, &request, &error);
}

static void assert_both_hold(const char *content)
{
    struct seen seen = {0};

    see_file(&seen, "box/linked");
    assert_string_equal(seen.text, content);
    see_file(&seen, "box/again");
    assert_string_equal(seen.text, content);
}

/* A file with two names is written over in place: where the disk is full by then, the old content stays. */
static void test_full_disk_in_place(void **state)
{
    static const char full[] =
        "#!/bin/sh\nprintf part\necho \"$0: write error: No space left on device\" >&2\nexit 1\n";

    (void)state;
    for (size_t shell = 0; shell < 3; shell++) {
        channel.shell = shells[shell];
        use_tools(NULL);
        unlink(support_path("box/again"));
        support_write("box/linked", "old");
        assert_int_equal(link(support_path("box/linked"), support_path("box/again")), 0);
        if (shell < 2) { /* BusyBox takes its own */
            replace_tool("cat", full);
            replace_tool("tail", full);
            assert_int_equal(write_linked("a longer one"), -1);
            assert_int_equal(error.code, SANDLOT_CODE_NO_SPACE);
            sandlot_error_clear(&error);
            assert_both_hold("old");
            use_tools(NULL);
        }
        assert_int_equal(write_linked("a longer one"), 0);
        assert_both_hold("a longer one");
        assert_int_equal(write_linked("short"), 0);
        assert_both_hold("short");
        assert_int_equal(write_linked(""), 0);
        assert_both_hold("");
        use_tools("dd");
        assert_int_equal(write_linked("anew"), 0);
        assert_both_hold("anew");
        use_tools("tail");
        assert_int_equal(write_linked("again"), 0);
        assert_both_hold("again");
    }
}

/* A file that grows while it is sent with others is sent again, and nothing of it is taken for the next one. */
static void test_growing_neighbour(void **state)
{
    AUTO_FREE char *grow = text_format(
        "#!/bin/sh\n/bin/cat \"$@\"\ncd %s; [ -e grown ] || { : >grown; echo more >>a.c; }\n", session.working_dir);
    struct seen seen;

    (void)state;
    use_tools(NULL);
    replace_tool("cat", grow);
    memset(&seen, 0, sizeof(seen));
    assert_int_equal(do_download_some(&seen), 0);
    assert_string_equal(seen.text, "one\nneedle in a\nmore\nneedle\nneedle again\none\nneedle in a\nmore\n");
}

/* Whatever byte of the answer is lost (or, where sums are told, changed): the result is right, or it is an error. */
static void check_damage(const struct operation *operation, size_t step)
{
    struct seen seen;

    channel.at = 0;
    channel.how = WHOLE;
    assert_works(operation);
    for (channel.how = CUT; channel.how <= CUT + operation->notices; channel.how++) {
        size_t length = channel.length;

        for (channel.at = 0; channel.at < length; channel.at += step) {
            if (run(operation, &seen) < 0)
                assert_int_not_equal(error.code, SANDLOT_CODE_OK);
            else if (strcmp(seen.text, operation->result) != 0 && !seen.truncated)
                fail_msg("%s, damage %d at %zu of %zu: %s", operation->name, (int)channel.how, channel.at, length,
                         seen.text);
        }
    }
}

static void test_damage(void **state)
{
    (void)state;
    for (size_t i = 0; i < OPERATIONS; i++)
        check_damage(&operations[i], getenv("SANDLOT_TEST_FEW") ? 230 : 23); /* under valgrind */
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_shells),
        TEST(test_missing_tools),
        TEST(test_no_tools),
        TEST(test_poor_tools),
        TEST(test_stat_without_format),
        TEST(test_damage),
        TEST(test_list_of_odd_names),
        TEST(test_edits_take_turns),
        TEST(test_an_edit_does_not_wait_for_ever),
        TEST(test_edit_of_what_changes),
        TEST(test_write_through_broken_links),
        TEST(test_full_disk_in_place),
        TEST(test_growing_neighbour),
        TEST(test_upload_together),
        TEST(test_upload_to_long_folders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
