/* Results of work, piece by piece: the table of risks row by row, what is remembered of a folder, paths below a folder
 * and no link, what a script tells of a sandbox's files. */
#include "base/path.h"
#include "operations/derived/contents.h"
#include "results/apply.h"
#include "results/beneath.h"
#include "results/digest.h"
#include "results/manifest.h"
#include "results/risk.h"

#include "lacking_libraries.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes with their number. */
#define ROW(text)                \
    {                            \
        (text), sizeof(text) - 1 \
    }

/* ---- risks ------------------------------------------------------------------------------------------------------- */

static const char *const risky[] = {".zlogout",
                                    "sub/.bash_aliases",
                                    ".mkshrc",
                                    ".login",
                                    ".logout",
                                    ".inputrc",
                                    ".gitconfig",
                                    ".ssh/authorized_keys",
                                    ".git/hooks/pre-commit",
                                    ".git/config",
                                    "sub/.git/config",
                                    "fixtures/bare.git/config",
                                    "hidden/HEAD",
                                    ".hg/hgrc",
                                    "usercustomize.py",
                                    "native/binding.gyp",
                                    ".Rprofile",
                                    ".yarn/releases/yarn.cjs",
                                    "GEMINI.md",
                                    ".cursorrules",
                                    ".GIT/config",
                                    ".git",
                                    ".gitattributes",
                                    ".gitmodules",
                                    ".bashrc",
                                    ".bash_profile",
                                    ".bash_login",
                                    ".bash_logout",
                                    "home/.profile",
                                    ".zshrc",
                                    ".zshenv",
                                    ".zprofile",
                                    ".zlogin",
                                    ".kshrc",
                                    ".cshrc",
                                    ".tcshrc",
                                    ".config/fish/config.fish",
                                    ".envrc",
                                    ".env",
                                    ".env.local",
                                    ".vscode/tasks.json",
                                    ".idea/x.xml",
                                    "a.code-workspace",
                                    ".devcontainer/devcontainer.json",
                                    ".github/workflows/ci.yml",
                                    ".gitlab-ci.yml",
                                    ".circleci/config.yml",
                                    "Jenkinsfile",
                                    "azure-pipelines.yml",
                                    ".pre-commit-config.yaml",
                                    ".husky/pre-commit",
                                    "lefthook.yml",
                                    ".npmrc",
                                    ".yarnrc",
                                    ".yarnrc.yml",
                                    ".pnpmfile.cjs",
                                    "setup.py",
                                    "tests/conftest.py",
                                    "x.pth",
                                    "lib/sitecustomize.py",
                                    "build.rs",
                                    ".cargo/config.toml",
                                    ".mvn/extensions.xml",
                                    "gradle/wrapper/gradle-wrapper.properties",
                                    "app/gradle/wrapper/x",
                                    "AGENTS.md",
                                    "sub/CLAUDE.md",
                                    ".claude/settings.json",
                                    ".codex/config.toml",
                                    ".cursor/mcp.json",
                                    ".mcp.json",
                                    ".gemini/settings.json",
                                    "AGENTS.override.md",
                                    "CLAUDE.local.md",
                                    ".windsurf/rules/x.md",
                                    ".windsurfrules",
                                    ".clinerules/x.md",
                                    ".aider.conf.yml",
                                    ".zed/tasks.json",
                                    "sub/.dir-locals.el",
                                    ".dir-locals-2.el",
                                    ".exrc",
                                    ".nvimrc",
                                    ".nvim.lua",
                                    ".eslintrc.cjs",
                                    "eslint.config.mjs",
                                    ".gdbinit",
                                    ".lldbinit",
                                    "mise.toml",
                                    ".mise.toml",
                                    "new\nline",
                                    "escape\033[31m",
                                    "unseen\342\200\213",
                                    "bad\377",
                                    "claude.md"};

static void every_row_of_the_table_is_a_risk(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(risky) / sizeof(risky[0]); i++)
        if (!risk_of_path(risky[i]))
            fail_msg("'%s' is harmless", risky[i]);
}

static void what_is_like_a_risk_is_none(void **state)
{
    static const char *const harmless[] = {
        "a.txt",          "git/hooks/x",      ".gitignore",   "environment", "vscode/x",
        "package.json",   "setup.pyc",        "my-AGENTS.md", "gradle/x",    "wrapper/gradle",
        "src/\303\244.c", "name with blanks", "husky/x",      "env"};

    (void)state;
    for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
        if (risk_of_path(harmless[i]))
            fail_msg("'%s': %s", harmless[i], risk_of_path(harmless[i]));
    assert_true(risk_in_repository(".git/x") && risk_in_repository("a/.Git/x") && !risk_in_repository(".github/x"));
}

static void links_that_lead_out_are_told_by_their_names(void **state)
{
    static const struct {
        const char *path;
        const char *target;
        bool out;
    } rows[] = {{"l", "a/b", false},
                {"l", "/etc/passwd", true},
                {"l", "..", true},
                {"l", "../x", true},
                {"a/l", "../x", false},
                {"a/l", "../../x", true},
                {"a/b/l", "../../x", false},
                {"l", "a/../b", true},
                {"l", "a/../../b", true},
                {"l", "./x", false},
                {"l", "", true},
                {"a/l", "..//x", false},
                {"a/l", ".././x", false},
                {"x", "a/l/../secret", true},
                {"l", "a/..", true},
                {"l", ".", false}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (risk_leads_out(rows[i].path, rows[i].target) != rows[i].out)
            fail_msg("%s -> '%s'", rows[i].path, rows[i].target);
}

static bool scripts(const char *before, const char *after)
{
    return risk_of_scripts(before, before ? strlen(before) : 0, after, after ? strlen(after) : 0);
}

static const char *with_zeros(char *text, size_t size)
{
    strcpy(text, "{\"x\":[0");
    for (size_t i = strlen(text); i < size - 4; i += 2)
        strcpy(text + i, ",0");
    return strcat(text, "]}");
}

static void of_a_package_only_what_runs_is_a_risk(void **state)
{
    (void)state;
    assert_true(risk_is_package("a/package.json") && !risk_is_package("package.json.bak"));
    assert_false(scripts("{\"scripts\":{\"a\":\"b\"},\"x\":1}", "{\"x\":2,\"scripts\":{\"a\":\"b\"}}"));
    assert_true(scripts("{\"scripts\":{\"a\":\"b\"}}", "{\"scripts\":{\"a\":\"c\"}}"));
    assert_true(scripts(NULL, "{\"scripts\":{\"postinstall\":\"x\"}}"));
    assert_false(scripts(NULL, "{\"dependencies\":{}}"));
    assert_true(scripts("{}", "{"));
    assert_true(scripts("[]", "{}"));
    assert_true(scripts("{}", "{/**/}"));
    assert_false(scripts("{}", with_zeros((char[20002]){0}, 20002)));
    assert_true(scripts("{}", with_zeros((char[20102]){0}, 20102)));
}

/* ---- what is remembered ------------------------------------------------------------------------------------------ */

static struct node file_node(const char *path, unsigned char byte)
{
    struct node node = {.path = (char *)(uintptr_t)path, .type = NODE_FILE, .bytes = 12, .digested = true};

    memset(node.digest, byte, sizeof(node.digest));
    return node;
}

static void a_manifest_comes_back_as_it_was(void **state)
{
    struct sandlot_error error = {0};
    struct manifest manifest = {.imported = true, .folder = strdup("/a/b")};
    struct manifest back = {0};
    struct nodes changed = {0};
    const struct node link = {.path = (char *)(uintptr_t) "l", .type = NODE_LINK, .target = (char *)(uintptr_t) "x\ny"};
    const struct node folder = {.path = (char *)(uintptr_t) "d", .type = NODE_FOLDER};
    const struct node gone = {.path = (char *)(uintptr_t) "d", .type = NODE_NONE};
    struct node file = file_node("bad\377\n", 0xa5);
    size_t length;

    (void)state;
    file.executable = true;
    assert_int_equal(manifest_exclude(&manifest, "node_modules", &error), 0);
    assert_int_equal(nodes_add(&manifest.nodes, &link, &error), 0);
    assert_int_equal(nodes_add(&manifest.nodes, &folder, &error), 0);
    assert_int_equal(nodes_add(&manifest.nodes, &file, &error), 0);
    nodes_sort(&manifest.nodes);
    char *text = manifest_write(&manifest, &length);

    assert_int_equal(manifest_read(text, length, &back, &error), 0);
    assert_true(back.imported && strcmp(back.folder, "/a/b") == 0 && back.nodes.count == 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(node_same(&manifest.nodes.items[i], &back.nodes.items[i]));
    assert_true(manifest_leaves_out(&back, "node_modules/x/y") && manifest_leaves_out(&back, "a/node_modules"));
    assert_false(manifest_leaves_out(&back, "node_modules2"));
    file = file_node("e", 1);
    assert_int_equal(nodes_add(&changed, &gone, &error), 0);
    assert_int_equal(nodes_add(&changed, &file, &error), 0);
    nodes_sort(&changed);
    assert_int_equal(manifest_merge(&back, &changed, &error), 0);
    assert_true(!nodes_find(&back.nodes, "d") && nodes_find(&back.nodes, "e") && nodes_find(&back.nodes, "l"));
    nodes_clear(&changed);
    manifest_clear(&manifest);
    manifest_clear(&back);
    free(text);
}

static void a_damaged_manifest_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {ROW(""),
                ROW("sandlot base 1"),
                ROW("sandlot base 2\0imported\0/x"),
                ROW("sandlot base 1\0imported\0x"),
                {"sandlot base 1\0imported\0/x\0f\0../up\0"
                 "1\0",
                 38},
                ROW("sandlot base 1\0imported\0/x\0d\0/abs"),
                ROW("sandlot base 1\0imported\0/x\0q\0a"),
                {"sandlot base 1\0imported\0/x\0f\0a\0"
                 "12\0zz",
                 38},
                ROW("sandlot base 1\0imported\0/x\0l\0a")};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct sandlot_error error = {0};
        struct manifest manifest = {0};

        if (manifest_read(rows[i].text, rows[i].length, &manifest, &error) == 0)
            fail_msg("row %zu is taken", i);
        manifest_clear(&manifest);
        sandlot_error_clear(&error);
    }
}

/* ---- below a folder ---------------------------------------------------------------------------------------------- */

static void check_beneath(int folder)
{
    static const struct {
        const char *path;
        int reason; /* 0: it opens */
    } rows[] = {{"file", 0},           {"sub/file", 0},        {"link", ELOOP},
                {"out/passwd", ELOOP}, {"sub/up/file", ELOOP}, {"none", ENOENT},
                {"none/x", ENOENT},    {"file/x", ENOTDIR},    {"sub/link", ELOOP}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        int fd = beneath_open(folder, rows[i].path, O_RDONLY);
        int reason = fd < 0 ? errno : 0;

        if (fd >= 0)
            close(fd);
        if (reason != rows[i].reason)
            fail_msg("%s: %s", rows[i].path, strerror(reason));
    }
    const char *name = NULL;
    int parent = beneath_open_parent(folder, "sub/none", &name);

    assert_true(parent >= 0 && strcmp(name, "none") == 0);
    close(parent);
    assert_int_equal(beneath_open_parent(folder, "out/x", &name), -1);
    assert_int_equal(errno, ELOOP);
}

static void no_link_is_followed_below_a_folder(void **state)
{
    char path[] = "/tmp/sandlot-beneath-XXXXXX";

    (void)state;
    assert_non_null(mkdtemp(path));
    int folder = open(path, O_PATH | O_DIRECTORY);

    assert_int_equal(mkdirat(folder, "sub", 0755), 0);
    close(openat(folder, "file", O_CREAT | O_WRONLY, 0644));
    close(openat(folder, "sub/file", O_CREAT | O_WRONLY, 0644));
    assert_int_equal(symlinkat("file", folder, "link"), 0);
    assert_int_equal(symlinkat("/etc", folder, "out"), 0);
    assert_int_equal(symlinkat("..", folder, "sub/up"), 0);
    assert_int_equal(symlinkat("file", folder, "sub/link"), 0);
    check_beneath(folder);
    beneath_by_parts = true; /* as where the kernel has no openat2 */
    check_beneath(folder);
    beneath_by_parts = false;
    static const char *const names[] = {"sub/file", "sub/up", "sub/link", "file", "link", "out"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlinkat(folder, names[i], 0);
    unlinkat(folder, "sub", AT_REMOVEDIR);
    rmdir(path);
    close(folder);
}

static void what_is_copied_is_what_is_counted(void **state)
{
    static const char bytes[] = "one\0two";
    unsigned char wanted[NODE_DIGEST];
    unsigned char digest[NODE_DIGEST];
    char copied[sizeof(bytes)];
    uint64_t length = 0;
    bool binary = false;
    int from = memfd_create("from", MFD_CLOEXEC);
    int to = memfd_create("to", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(pwrite(from, bytes, sizeof(bytes), 0), sizeof(bytes));
    assert_int_equal(node_digest(from, -1, wanted, &length, NULL), 0);
    assert_int_equal(lseek(from, 0, SEEK_SET), 0);
    assert_int_equal(node_digest_copy(from, to, -1, digest, &length, &binary), 0);
    assert_int_equal(length, sizeof(bytes));
    assert_true(binary);
    assert_memory_equal(digest, wanted, NODE_DIGEST);
    assert_int_equal(pread(to, copied, sizeof(copied), 0), sizeof(bytes));
    assert_memory_equal(copied, bytes, sizeof(bytes));
    close(from);
    close(to);
}

/* The examples of FIPS 180-2, a million letters in pieces that fit no block. */
static bool digests_are_right(bool fast)
{
    static const struct {
        const char *text;
        size_t times;
        const char *digest;
    } rows[] = {
        {"", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
         "aaaaaaaaaaaaaaaaa",
         8000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct digest digest;
        unsigned char sum[NODE_DIGEST];
        char text[NODE_DIGEST_TEXT];

        digest_begin(&digest);
        for (size_t times = 0; times < rows[i].times; times++)
            digest_add(&digest, rows[i].text, strlen(rows[i].text));
        digest_end(&digest, sum);
        node_digest_write(sum, text);
        if ((digest.fast != NULL) != fast || strcmp(text, rows[i].digest) != 0)
            return false;
    }
    return true;
}

static bool slow_digests_are_right(void)
{
    return digests_are_right(false);
}

static void digests_are_the_same_with_nettle_and_without(void **state)
{
    (void)state;
    assert_without_libraries(slow_digests_are_right);
    assert_true(digests_are_right(true));
}

static void paths_that_are_none_are_told(void **state)
{
    static const char *const bad[] = {"", "/a", "a/", "a//b", ".", "..", "a/../b", "./a", "a/."};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(node_path_valid(bad[i]));
    assert_true(node_path_valid("a") && node_path_valid("a/b") && node_path_valid("...") && node_path_valid(".a"));
    assert_true(node_path_within("a/b", "a") && node_path_within("a", "a") && !node_path_within("ab", "a"));
}

/* ---- what a script tells ----------------------------------------------------------------------------------------- */

static int collect(void *context, const struct content *content, struct sandlot_error *error)
{
    char *text = context;

    (void)error;
    snprintf(text + strlen(text), 1024 - strlen(text), "%s:%o:%d:%s:%s;", content->path, (unsigned)content->mode,
             (int)content->bytes, content->digest ? content->digest : "-", content->target ? content->target : "-");
    return 0;
}

static int read_contents(const char *text, size_t length, char told[1024])
{
    struct sandlot_error error = {0};

    told[0] = '\0';
    int failed = contents_read(text, length, collect, told, &error);

    sandlot_error_clear(&error);
    return failed;
}

static void what_a_script_tells_is_read(void **state)
{
    static const char good[] =
        "#2\00081a4,3\00081ed,4\000\\aa\000bb\000./x\000./y z\000"
        "41ed,0\000./d\000a1ff,3\000./l\000t\nt\00081a4,1,cc\000./f\000\000./gone\000!\000./c\000/1";
    char told[1024];

    (void)state;
    assert_int_equal(read_contents(good, sizeof(good), told), 0);
    assert_string_equal(
        told, "x:100644:3:aa:-;y z:100755:4:bb:-;d:40755:0:-:-;l:120777:3:-:t\nt;f:100644:1:cc:-;c:40000:0:-:-;");
}

static void what_is_cut_or_forged_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t length;
    } rows[] = {ROW(""),
                ROW("41ed,0\0./d"),
                ROW("/1"),
                ROW("#3\0a"),
                ROW("#99999999999999999999\0"),
                ROW("#1\00081a4,3\0aa\0/etc/passwd\0/0"),
                ROW("!\0./locked\0/2"),
                ROW("zz\0./x\0/0"),
                ROW("a1ff,3\0./l")};
    char told[1024];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (read_contents(rows[i].text, rows[i].length, told) == 0)
            fail_msg("row %zu is taken: %s", i, told);
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

static bool cancel(void *context, const struct sandlot_change *change, const struct sandlot_error *problem)
{
    (void)change;
    assert_null(problem);
    assert_int_equal(write(*(int *)context, "x", 1), 1);
    return true;
}

static void what_is_cancelled_stops_after_a_path(void **state)
{
    struct node folder = {.type = NODE_FOLDER};
    struct change changes[] = {{.path = "first", .after = &folder}, {.path = "second", .after = &folder}};
    struct results results = {.changes = changes, .count = 2};
    struct sandlot_error error = {0};
    char path[] = "/tmp/sandlot-results.XXXXXX";
    int ends[2];
    (void)state;

    assert_non_null(mkdtemp(path));
    assert_int_equal(pipe(ends), 0);
    results.folder_fd = open(path, O_RDONLY | O_DIRECTORY);
    results.cancel_fd = ends[0];
    assert_int_equal(apply_write(&results, cancel, &ends[1], &error), -1);
    assert_int_equal(error.code, SANDLOT_CODE_CANCELLED);
    assert_non_null(strstr(error.message, "1 path is written"));
    assert_int_equal(unlinkat(results.folder_fd, "first", AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(path), 0);
    sandlot_error_clear(&error);
    close(results.folder_fd);
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_is_a_risk),
        cmocka_unit_test(what_is_like_a_risk_is_none),
        cmocka_unit_test(links_that_lead_out_are_told_by_their_names),
        cmocka_unit_test(of_a_package_only_what_runs_is_a_risk),
        cmocka_unit_test(a_manifest_comes_back_as_it_was),
        cmocka_unit_test(a_damaged_manifest_is_refused),
        cmocka_unit_test(no_link_is_followed_below_a_folder),
        cmocka_unit_test(digests_are_the_same_with_nettle_and_without),
        cmocka_unit_test(what_is_copied_is_what_is_counted),
        cmocka_unit_test(paths_that_are_none_are_told),
        cmocka_unit_test(what_a_script_tells_is_read),
        cmocka_unit_test(what_is_cut_or_forged_is_refused),
        cmocka_unit_test(what_is_cancelled_stops_after_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
