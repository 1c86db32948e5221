/*
 * Where providers come from, who wins, what holds for them, and what is said when one is missing (registry rules 2 to
 * 4, 7).
 *
 * The built-ins' folder lies beside the running program, so the test moves itself into a folder of its own first.
 */
#include "registry/registry.h"

#include "plugins.h"
#include "registry/builtins.h"

#include <sys/wait.h>

/* One configuration with the registry that it gives. */
struct world {
    struct config *config;
    struct registry *registry;
};

static struct world build(const char *toml)
{
    struct world world = {.config = config_parse(support_path("config.toml"), toml, strlen(toml))};

    support_forget();
    assert_non_null(world.config);
    world.registry = registry_new(world.config);
    assert_non_null(world.registry);
    return world;
}

static void demolish(struct world *world)
{
    registry_free(world->registry);
    config_free(world->config);
}

static const struct registry_entry *find(const struct world *world, const char *name)
{
    struct sandlot_error error = {0};
    const struct registry_entry *entry = registry_find(world->registry, name, &error);

    if (!entry)
        fail_msg("%s", error.message);
    assert_true(entry->winner);
    return entry;
}

/* Writes note_two with NAME, of 8 bytes, instead of note_two, under FILE. */
static void plant(const char *file, const char *name)
{
    size_t length;
    AUTO_FREE char *bytes = plugin_bytes("note_two", &length);
    AUTO_FREE char *section = text_format("[%s]\n", name);

    assert_int_equal(strlen(name), 8);
    char *at = memmem(bytes, length, "[note_two]\n", 11);

    assert_non_null(at);
    memcpy(at, section, 11);
    support_write_bytes(file, bytes, length);
}

static void use_folders(void)
{
    AUTO_FREE char *path = text_format("%s:%s", support_path("p1"), support_path("p2"));

    setenv("SANDLOT_PLUGIN_PATH", path, 1);
}

/* A provider that comes with Sandlot is a package of its own: HAS_PACKAGE, all but local. */
static void assert_install_hint(const struct registry_entry *entry, bool has_package)
{
    AUTO_FREE char *package = text_format("sandlot-provider-%s", entry->name);
    AUTO_FREE char *install = text_format("it is not installed: install the package %s (apt install %s), or where "
                                          "Sandlot came by 'make install', that again",
                                          package, package);

    if (has_package) {
        assert_string_equal(entry->install_hint, package);
        assert_string_equal(entry->problem, install);
    } else {
        assert_null(entry->install_hint);
        assert_string_equal(entry->problem, "it is not installed: it comes with Sandlot, so install that again");
    }
}

static void test_builtin_table(void **state)
{
    static const struct {
        const char *name;
        const char *working_dir;
        bool sandbox_id;
        bool snapshot_name;
    } rows[] = {
        {"agentcore", "/tmp", true, false},         {"daytona", "/home/daytona", true, false},
        {"kubernetes", "/workspace", true, false},  {"langsmith", "/root", true, true},
        {"modal", "/workspace", true, false},       {"runloop", "/home/user", true, true},
        {"vercel", "/vercel/sandbox", true, false}, {"local", "/workspace", true, true},
        {"docker", "/workspace", true, true},
    };
    struct world world = build("");
    size_t count;

    (void)state;
    registry_entries(world.registry, &count);
    assert_int_equal(count, sizeof(rows) / sizeof(rows[0]));
    for (size_t i = 0; i < count; i++) {
        const struct registry_entry *entry = find(&world, rows[i].name);

        assert_int_equal(entry->source, REGISTRY_BUILTIN);
        assert_string_equal(entry->working_dir, rows[i].working_dir);
        assert_install_hint(entry, strcmp(rows[i].name, "local") != 0);
        assert_int_equal(entry->supports_sandbox_id, rows[i].sandbox_id);
        assert_int_equal(entry->supports_snapshot_name, rows[i].snapshot_name);
        assert_null(entry->path);
    }
    assert_null(registry_find(world.registry, "e2b", NULL)); /* nobody could have it */
    assert_string_equal(registry_source_name(REGISTRY_CONFIG), "config");
    assert_string_equal(registry_source_name(REGISTRY_PLUGIN), "plugin");
    assert_string_equal(registry_source_name(REGISTRY_BUILTIN), "builtin");
    demolish(&world);
}

/* FILE of the folder FOLDER beside this program, both of which hold what comes with Sandlot, emptied again by the
 * caller: "builtins" and "plugins". */
static char *own_file(const char *folder, const char *file)
{
    AUTO_FREE char *program = path_of_this_program();

    return text_format("%s/%s/%s", program, folder, file);
}

static void plant_own(const char *folder, const char *file, const char *name)
{
    AUTO_FREE char *target = own_file(folder, file);

    plant("own.so", name);
    AUTO_FREE char *command = text_format("cp '%s' '%s'", support_path("own.so"), target);

    assert_int_equal(system(command), 0);
}

static void plant_builtin(const char *file, const char *name)
{
    plant_own("builtins", file, name);
}

static void remove_own(const char *folder, const char *file)
{
    AUTO_FREE char *target = own_file(folder, file);

    assert_int_equal(unlink(target), 0);
}

static void remove_builtin(const char *file)
{
    remove_own("builtins", file);
}

/* An installed built-in: its note outweighs the table. A plugin and then a config entry shadow it. */
static void test_three_sources(void **state)
{
    (void)state;
    use_folders();
    plant_builtin("sandbox0.so", "sandbox0");
    struct world world = build("");
    const struct registry_entry *entry = find(&world, "sandbox0");

    assert_int_equal(entry->source, REGISTRY_BUILTIN);
    assert_string_equal(entry->working_dir, "/home/two");
    assert_string_equal(entry->install_hint, "sandlot-provider-two");
    assert_null(entry->problem);
    assert_null(entry->shadows);
    demolish(&world);
    plant("p2/x.so", "sandbox0");
    world = build("");
    entry = find(&world, "sandbox0");
    assert_int_equal(entry->source, REGISTRY_PLUGIN);
    assert_string_equal(entry->path, support_path("p2/x.so"));
    assert_int_equal(entry->shadows->source, REGISTRY_BUILTIN);
    assert_false(entry->shadows->winner);
    demolish(&world);
    world = build("[sandboxes.providers.sandbox0]\nclass_path = 'x.so:note_two'\nworking_dir = '/from/config'\n");
    entry = find(&world, "sandbox0");
    assert_int_equal(entry->source, REGISTRY_CONFIG);
    assert_null(entry->problem);
    assert_string_equal(entry->symbol, "note_two");
    assert_string_equal(entry->working_dir, "/from/config");
    assert_int_equal(entry->shadows->source, REGISTRY_PLUGIN);
    assert_int_equal(entry->shadows->shadows->source, REGISTRY_BUILTIN);
    assert_null(entry->shadows->shadows->shadows);
    demolish(&world);
    remove_builtin("sandbox0.so");
}

/* What comes with Sandlot in FOLDER and is alone with its name is read when it is asked for, and what is wrong shows
 * then. */
static void check_read_late(const char *folder, enum registry_source source)
{
    use_folders();
    plant_own(folder, "sandbox0.so", "sandbox0");
    plant_own(folder, "e2b.so", "not__e2b");
    struct world world = build("");

    assert_int_equal(find(&world, "sandbox0")->source, source);
    assert_string_equal(find(&world, "sandbox0")->working_dir, "/home/two");
    assert_contains(find(&world, "e2b")->problem, "e2b.so cannot be used: it does not provide what it is named after");
    demolish(&world);
    world = build("");
    remove_own(folder, "sandbox0.so");
    assert_contains(find(&world, "sandbox0")->problem, "sandbox0.so cannot be used: it cannot be opened");
    demolish(&world);
    remove_own(folder, "e2b.so");
}

static void test_read_late(void **state)
{
    (void)state;
    check_read_late("builtins", REGISTRY_BUILTIN);
    check_read_late("plugins", REGISTRY_PLUGIN);
}

/* A plugin among Sandlot's own that is named after what comes as a built-in is read at once: only its note says whether
 * it is one at all. */
static void test_stranger_among_own_plugins(void **state)
{
    (void)state;
    use_folders();
    plant_builtin("docker.so", "sandbox0");
    plant_own("plugins", "docker.so", "stranger");
    struct world world = build("");

    assert_int_equal(find(&world, "stranger")->source, REGISTRY_PLUGIN);
    assert_int_equal(find(&world, "docker")->source, REGISTRY_BUILTIN);
    demolish(&world);
    remove_own("plugins", "docker.so");
    remove_builtin("docker.so");
}

/* A broken plugin with a built-in's name fails; it does not let the built-in through (contract 6.2). */
static void test_broken_plugin_shadows(void **state)
{
    (void)state;
    use_folders();
    plant_builtin("sandbox0.so", "sandbox0");
    plant("p1/x.so", "sandbox0");
    assert_int_equal(chmod(support_path("p1/x.so"), 0666), 0);
    struct world world = build("");
    const struct registry_entry *entry = find(&world, "sandbox0");

    assert_int_equal(entry->source, REGISTRY_PLUGIN);
    assert_contains(entry->problem,
                    "p1/x.so cannot be used: it is not loaded, because somebody else could have written it");
    assert_contains(entry->problem, "chmod go-w");
    assert_contains(entry->problem, "remove that file to use the built-in sandbox0 again");
    demolish(&world);
    remove_builtin("sandbox0.so");
}

static void test_untrusted_folder(void **state)
{
    (void)state;
    use_folders();
    plugin_copy("note_two", "p1/a.so");
    assert_int_equal(chmod(support_path("p1"), 0775), 0);
    struct world world = build("");

    assert_contains(find(&world, "note_two")->problem, "p1 is writable by its group (mode 0775)");
    demolish(&world);
    assert_int_equal(chmod(support_path("p1"), 0755), 0);
    /* A link out of a good folder is as bad as what it leads to. */
    plugin_copy("lying_name", "bad/b.so");
    assert_int_equal(chmod(support_path("bad"), 0777), 0);
    assert_int_equal(symlink("../bad/b.so", support_path("p1/b.so")), 0);
    world = build("");
    assert_null(find(&world, "note_two")->problem);
    assert_contains(find(&world, "lying_name")->problem, "bad is writable by everybody");
    demolish(&world);
}

/* First found wins: by folder, then by name. The other is named once, when somebody asks. */
static void test_duplicates(void **state)
{
    size_t count;

    (void)state;
    use_folders();
    plugin_copy("note_two", "p2/a.so");
    plugin_copy("note_two", "p1/z.so");
    plugin_copy("note_two", "p1/b.so");
    struct world world = build("");

    assert_string_equal(support_logged(), "");
    assert_string_equal(find(&world, "note_two")->path, support_path("p1/b.so"));
    assert_string_equal(find(&world, "note_two")->shadows->path, support_path("p1/z.so"));
    assert_contains(support_logged(), "p1/b.so comes first, ");
    assert_contains(support_logged(), "p1/z.so is not used");
    assert_contains(support_logged(), "p2/a.so is not used");
    assert_lacks(support_logged(), "p1/z.so comes first");
    support_forget();
    find(&world, "note_two");
    assert_string_equal(support_logged(), "");
    registry_entries(world.registry, &count);
    assert_contains(support_logged(), "two plugin files provide note_second");
    assert_lacks(support_logged(), "provide note_two");
    demolish(&world);
}

/* What is tried out comes before what is installed, and is not warned about; -v tells. */
static void test_tried_out(void **state)
{
    size_t count;

    (void)state;
    setenv("SANDLOT_PLUGIN_PATH", support_path("p1"), 1);
    setenv("XDG_DATA_HOME", support_path("data"), 1);
    plugin_copy("note_two", "p1/a.so");
    plugin_copy("note_two", "data/sandlot/providers/a.so");
    struct world world = build("");

    assert_string_equal(find(&world, "note_two")->path, support_path("p1/a.so"));
    registry_entries(world.registry, &count);
    assert_lacks(support_logged(), "two plugin files");
    assert_contains(support_logged(), "in the place of");
    demolish(&world);
}

/* The same file by two ways is no duplicate. */
static void test_twins(void **state)
{
    (void)state;
    use_folders();
    plugin_copy("note_two", "p1/a.so");
    assert_int_equal(symlink("a.so", support_path("p1/b.so")), 0);
    assert_int_equal(symlink("p1", support_path("p2")), 0);
    struct world world = build("");
    size_t count;

    assert_null(find(&world, "note_two")->shadows);
    registry_folders(world.registry, &count);
    assert_string_equal(support_logged(), "");
    demolish(&world);
}

static void test_folders(void **state)
{
    struct world world;
    size_t count;

    (void)state;
    setenv("SANDLOT_PLUGIN_PATH", ":relative/folder::/nonexistent/sandlot:/nonexistent/sandlot:", 1);
    setenv("XDG_DATA_HOME", support_path("data"), 1);
    plugin_copy("note_two", "data/sandlot/providers/a.so");
    world = build("");
    const char *const *folders = registry_folders(world.registry, &count);

    assert_string_equal(folders[0], "/nonexistent/sandlot");
    assert_string_equal(folders[1], support_path("data/sandlot/providers"));
    assert_string_equal(folders[2], "/usr/local/lib/sandlot/providers");
    assert_string_equal(folders[3], "/usr/lib/sandlot/providers");
    /* Beside a build tree's built-ins: its plugins. */
    assert_int_equal(count, 5);
    assert_contains(folders[4], "/plugins");
    assert_contains(support_logged(), "relative folder relative/folder");
    assert_null(find(&world, "note_two")->problem);
    demolish(&world);
}

static void test_listing(void **state)
{
    size_t count;
    size_t ignored;

    (void)state;
    use_folders();
    plugin_copy("no_note", "p1/plain.so");
    support_write("p1/text.so", "not a library");
    support_write("p1/readme.txt", "not looked at");
    support_write("p1/.hidden.so", "not looked at");
    assert_int_equal(mkdir(support_path("p1/folder.so"), 0755), 0);
    assert_int_equal(symlink("nowhere", support_path("p1/dangling.so")), 0);
    assert_int_equal(mkfifo(support_path("p1/fifo.so"), 0600), 0);
    plugin_copy("note_two", "p1/two.so");
    struct world world = build("");
    const struct registry_entry *const *entries = registry_entries(world.registry, &count);
    const struct registry_ignored *files = registry_ignored(world.registry, &ignored);

    assert_int_equal(ignored, 1);
    assert_string_equal(files[0].path, support_path("p1/plain.so"));
    assert_contains(files[0].reason, "no plugin");
    assert_int_equal(count, 9 + 2 + 4);
    for (size_t i = 1; i < 11; i++)
        assert_true(strcmp(entries[i - 1]->name, entries[i]->name) < 0);
    static const char *const problems[] = {"dangling.so cannot be used: it cannot be opened", "fifo.so cannot be used",
                                           "folder.so cannot be used", "text.so cannot be used: it is not an ELF file"};

    for (size_t i = 0; i < 4; i++) {
        assert_null(entries[11 + i]->name);
        assert_false(entries[11 + i]->winner);
        assert_contains(entries[11 + i]->problem, problems[i]);
    }
    demolish(&world);
}

static void test_class_path(void **state)
{
    static const struct {
        const char *class_path;
        const char *path;    /* in the private folder */
        const char *problem; /* NULL: none */
    } rows[] = {
        {"a.so:note_two", "p1/a.so", NULL},
        {"./lib/a:b.so:note_two", "./lib/a:b.so", NULL},
        {"lib/a:b.so:note_second", "lib/a:b.so", NULL},
        {"lib/a:b.so:unheard_of", "lib/a:b.so", NULL},
        {"p1/no_note.so:x", "p1/no_note.so", NULL},
        {"a.so", NULL, "must have the form \"library.so:symbol\""},
        {":x", NULL, "must have the form"},
        {"a.so:", NULL, "must have the form"},
        {"missing.so:x", NULL, "the library missing.so, which class_path of [sandboxes.providers.acme] in "},
        {"missing.so:x", NULL, "does not exist in any of "},
        {"lib/missing.so:x", "lib/missing.so", "does not exist: install it or correct class_path"},
        {"lib/text.so:x", "lib/text.so", "not an ELF file"},
    };

    (void)state;
    use_folders();
    plugin_copy("note_two", "p1/a.so");
    plugin_copy("no_note", "p1/no_note.so");
    plugin_copy("note_two", "lib/a:b.so");
    support_write("lib/text.so", "x");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *toml = text_format("[sandboxes.providers.acme]\nclass_path = '%s'\n", rows[i].class_path);
        struct world world = build(toml);
        const struct registry_entry *entry = find(&world, "acme");

        assert_int_equal(entry->source, REGISTRY_CONFIG);
        if (rows[i].path)
            assert_string_equal(entry->path, support_path(rows[i].path));
        if (rows[i].problem)
            assert_contains(entry->problem, rows[i].problem);
        else
            assert_null(entry->problem);
        demolish(&world);
    }
    AUTO_FREE char *absolute =
        text_format("[sandboxes.providers.acme]\nclass_path = '%s:note_two'\n"
                    "[sandboxes.providers.packed]\nclass_path = 'missing.so:x'\npackage = 'acme-sandbox'\n",
                    support_path("lib/a:b.so"));
    struct world world = build(absolute);

    assert_string_equal(find(&world, "acme")->path, support_path("lib/a:b.so"));
    assert_null(find(&world, "acme")->problem);
    assert_contains(find(&world, "packed")->problem, ": install the package acme-sandbox or correct class_path");
    demolish(&world);
}

/* Field by field: config, what it shadows, the library's own note, the default. */
static void test_fields(void **state)
{
    static const struct {
        const char *toml;
        const char *name;
        const char *working_dir;
        const char *hint;
        bool sandbox_id;
        bool snapshot_name;
        const char *needs;
    } rows[] = {
        {"", "note_two", "/home/two", "sandlot-provider-two", false, true, "sh /bin/sh"},
        {"", "note_second", "/workspace", NULL, true, false, NULL},
        {"[sandboxes.providers.note_two]\nworking_dir = '/c'\n", "note_two", "/c", "sandlot-provider-two", false, true,
         "sh /bin/sh"},
        {"[sandboxes.providers.note_two]\npackage = 'p'\nsupports_sandbox_id = true\n", "note_two", "/home/two", "p",
         true, true, "sh /bin/sh"},
        {"[sandboxes.providers.note_two]\npackage = ''\nsupports_snapshot_name = false\n", "note_two", "/home/two",
         "sandlot-provider-two", false, false, "sh /bin/sh"},
        {"[sandboxes.providers.note_two]\nclass_path = 'a.so:note_second'\n", "note_two", "/home/two",
         "sandlot-provider-two", false, true, "sh /bin/sh"},
        {"[sandboxes.providers.new]\nclass_path = 'a.so:note_two'\n", "new", "/home/two", "sandlot-provider-two", false,
         true, "sh /bin/sh"},
        {"[sandboxes.providers.new]\nclass_path = 'a.so:other'\n", "new", "/workspace", NULL, true, false, NULL},
        {"[sandboxes.providers.daytona]\nclass_path = 'a.so:note_second'\n", "daytona", "/home/daytona",
         "sandlot-provider-daytona", true, false, NULL},
        {"[sandboxes.providers.runloop]\nclass_path = 'a.so:note_two'\nsupports_sandbox_id = false\n", "runloop",
         "/home/user", "sandlot-provider-runloop", false, true, NULL},
    };

    (void)state;
    use_folders();
    plugin_copy("note_two", "p1/a.so");
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct world world = build(rows[i].toml);
        const struct registry_entry *entry = find(&world, rows[i].name);

        if (strcmp(entry->working_dir, rows[i].working_dir) != 0 || entry->supports_sandbox_id != rows[i].sandbox_id ||
            entry->supports_snapshot_name != rows[i].snapshot_name)
            fail_msg("row %zu: %s %d %d", i, entry->working_dir, entry->supports_sandbox_id,
                     entry->supports_snapshot_name);
        assert_string_equal(entry->install_hint ? entry->install_hint : "-", rows[i].hint ? rows[i].hint : "-");
        if (entry->source != REGISTRY_CONFIG || rows[i].needs)
            assert_string_equal(entry->needs ? entry->needs : "-", rows[i].needs ? rows[i].needs : "-");
        demolish(&world);
    }
}

static void test_partial_override(void **state)
{
    struct world world;

    (void)state;
    use_folders();
    plugin_copy("note_two", "p1/a.so");
    world = build("[sandboxes.providers.note_two]\n[sandboxes.providers.ghost]\nworking_dir = '/x'\n"
                  "[sandboxes.providers.daytona]\n[sandboxes.providers.modal]\npackage = 'own-modal'\n");
    const struct registry_entry *entry = find(&world, "note_two");

    assert_int_equal(entry->source, REGISTRY_CONFIG);
    assert_string_equal(entry->path, support_path("p1/a.so"));
    assert_string_equal(entry->symbol, "note_two");
    assert_string_equal(entry->note.description, "First of two in one file");
    assert_null(entry->problem);
    assert_contains(find(&world, "ghost")->problem, "has no class_path, and nothing else provides ghost");
    assert_contains(support_logged(), "config.toml:2: [sandboxes.providers.ghost] has no class_path");
    assert_install_hint(find(&world, "daytona"), true);
    assert_contains(find(&world, "modal")->problem, "it is not installed: install the package own-modal");
    demolish(&world);
}

static void test_isolation(void **state)
{
    struct world world;

    (void)state;
    use_folders();
    plugin_copy("note_two", "p1/a.so");
    world = build("[sandboxes.providers.note_two]\nisolation = 'process'\n[sandboxes.providers.note_second]\nisolation "
                  "= 'none'\n");
    assert_null(find(&world, "note_two")->problem);
    assert_string_equal(find(&world, "note_two")->config->isolation, "process");
    assert_null(find(&world, "note_second")->problem);
    demolish(&world);
}

static void test_unknown(void **state)
{
    struct sandlot_error error = {0};
    struct world world;

    (void)state;
    use_folders();
    world = build("");
    assert_null(registry_find(world.registry, "dayton", &error));
    assert_int_equal(error.code, SANDLOT_CODE_UNKNOWN_PROVIDER);
    assert_contains(error.message, "there is no provider dayton, did you mean daytona?");
    assert_contains(error.message,
                    "available: agentcore, daytona, docker, kubernetes, langsmith, local, modal, runloop, vercel;");
    assert_contains(error.message, "apt install PACKAGE");
    assert_contains(error.message, support_path("p1"));
    assert_contains(error.message, support_path("p2"));
    assert_contains(error.message, "[sandboxes.providers.dayton] in ");
    assert_lacks(error.message, "could not be used");
    sandlot_error_clear(&error);
    assert_null(registry_find(world.registry, "Local", &error));
    sandlot_error_clear(&error);
    demolish(&world);
    world = build("[sandboxes\n");
    assert_null(registry_find(world.registry, "zzzzzzzz", &error));
    assert_lacks(error.message, "did you mean");
    assert_contains(error.message, "config.toml could not be used (invalid TOML syntax: line 1");
    assert_contains(error.message, "so whatever it declares was ignored");
    sandlot_error_clear(&error);
    demolish(&world);
}

static void test_dependencies(void **state)
{
    static const struct {
        const char *needs;
        const char *missing; /* NULL: nothing */
    } rows[] = {
        {NULL, NULL},
        {"", NULL},
        {"sh  /bin/sh", NULL},
        {"no-such-program", "the program no-such-program is not in PATH"},
        {"sh /no/such/file", "the file /no/such/file is not there"},
        {"no-a /no/b", "the program no-a is not in PATH, and the file /no/b is not there"},
        {"bin/sh", "the program bin/sh is not in PATH"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct registry_entry entry = {.needs = rows[i].needs};
        AUTO_FREE char *missing = registry_missing_dependency(&entry);

        assert_string_equal(missing ? missing : "-", rows[i].missing ? rows[i].missing : "-");
    }
}

static void test_credentials(void **state)
{
    static const struct {
        const char *credentials;
        const char *set;
        const char *missing; /* NULL: nothing */
    } rows[] = {
        {NULL, "ACME_X", NULL},
        {"ACME_A", "ACME_A", NULL},
        {"ACME_A", "SANDLOT_ACME_A", NULL},
        {"ACME_A", "ACME_X", "ACME_A (or SANDLOT_ACME_A)"},
        {"ACME_A|ACME_B ACME_C", "ACME_B", "ACME_C (or SANDLOT_ACME_C)"},
        {"ACME_A|ACME_B ACME_C", "ACME_C", "ACME_A or ACME_B (or SANDLOT_ACME_A, SANDLOT_ACME_B)"},
        {"ACME_A ACME_B", "ACME_X", "ACME_A (or SANDLOT_ACME_A), and ACME_B (or SANDLOT_ACME_B)"},
        {"SANDLOT_ACME_A", "ACME_X", "SANDLOT_ACME_A"},
    };
    struct environment *environment = environment_load(true);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct registry_entry entry = {.note = {.credentials = (char *)(uintptr_t)rows[i].credentials}};

        setenv(rows[i].set, "value", 1);
        AUTO_FREE char *missing = registry_missing_credentials(&entry, environment);

        unsetenv(rows[i].set);
        assert_string_equal(missing ? missing : "-", rows[i].missing ? rows[i].missing : "-");
    }
    environment_free(environment);
}

/* Runs the tests in a copy of this program that lies beside folders `builtins` and `plugins`. */
static int run_moved(const char *program)
{
    char folder[] = "/tmp/sandlot-registry-XXXXXX";
    AUTO_FREE char *plugins = text_format("%s/plugins", program);

    if (!mkdtemp(folder))
        return 1;
    setenv("SANDLOT_TEST_PLUGINS", plugins, 0);
    AUTO_FREE char *copy = text_format("mkdir '%s/builtins' '%s/plugins' && cp /proc/%d/exe '%s/test'", folder, folder,
                                       (int)getpid(), folder);
    AUTO_FREE char *run = text_format("'%s/test' moved", folder);
    AUTO_FREE char *clean = text_format("rm -rf '%s'", folder);
    int status = system(copy) == 0 ? system(run) : -1;

    return system(clean) != 0 || !WIFEXITED(status) ? 1 : WEXITSTATUS(status);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        SUPPORTED_TEST(test_builtin_table),
        SUPPORTED_TEST(test_read_late),
        SUPPORTED_TEST(test_stranger_among_own_plugins),
        SUPPORTED_TEST(test_three_sources),
        SUPPORTED_TEST(test_broken_plugin_shadows),
        SUPPORTED_TEST(test_untrusted_folder),
        SUPPORTED_TEST(test_duplicates),
        SUPPORTED_TEST(test_tried_out),
        SUPPORTED_TEST(test_twins),
        SUPPORTED_TEST(test_folders),
        SUPPORTED_TEST(test_listing),
        SUPPORTED_TEST(test_class_path),
        SUPPORTED_TEST(test_fields),
        SUPPORTED_TEST(test_partial_override),
        SUPPORTED_TEST(test_isolation),
        SUPPORTED_TEST(test_unknown),
        SUPPORTED_TEST(test_dependencies),
        SUPPORTED_TEST(test_credentials),
    };
    AUTO_FREE char *program = path_of_this_program();

    if (count < 2 || strcmp(arguments[1], "moved") != 0)
        return run_moved(program);
    return cmocka_run_group_tests_name("registry", tests, NULL, NULL);
}
