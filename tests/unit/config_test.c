/* config.toml: where it is looked for, what is accepted, what is dropped with which warning (registry rules 5). */
#include "config/config.h"

#include "support.h"

/* One document and what must come of it. */
struct row {
    const char *toml;
    const char *warning; /* part of the only warning; NULL: none; separated by "|" if there are two */
    size_t providers;
};

static struct config *parse(const char *toml)
{
    struct config *config = config_parse("/c.toml", toml, strlen(toml));

    assert_non_null(config);
    return config;
}

#define P "[sandboxes.providers.acme]\n"

static void test_warnings(void **state)
{
    static const struct row rows[] = {
        {"", NULL, 0},
        {"[sandboxes]\n", NULL, 0},
        {"[sandboxes]\nproviders = {}\n", NULL, 0},
        {"[sandboxs]\n", "/c.toml:1: top level: the key sandboxs is unknown, did you mean sandboxes?", 0},
        {"sandboxes = 5\n", "/c.toml:1: sandboxes is an integer, but must be a table", 0},
        {"[sandboxes]\nproviders = 'x'\n", "/c.toml:2: sandboxes.providers is a string, but must be a table", 0},
        {"[sandboxes]\ndefault = 5\n", "/c.toml:2: [sandboxes] default is an integer, but must be a string", 0},
        {"[sandboxes]\ndefault = ''\n", "/c.toml:2: [sandboxes] default is not a provider's name", 0},
        {"[sandboxes]\ndefaults = 'a'\n", "the key defaults is unknown, did you mean default?", 0},
        {"[sandboxes.providers]\nacme = 5\n", "/c.toml:2: sandboxes.providers.acme is an integer, but must be a table",
         0},
        {"[[sandboxes.providers.acme]]\n", "is an array, but must be a table", 0},
        {"[sandboxes.providers.\"\"]\n", "its name is empty", 0},
        {"[sandboxes.providers.none]\n", "its name is the word for no sandbox", 0},
        {"[sandboxes.providers.-a]\n", "its name begins with \"-\"", 0},
        {"[sandboxes.providers.'a b']\n", "its name holds a blank", 0},
        {"[sandboxes.providers.'a/b']\n", "its name holds a \"/\"", 0},
        {"[sandboxes.providers.\"a\\u0007\"]\n", "its name holds a control character", 0},
        {"[sandboxes.providers.\"a\\u0085\"]\n", "its name holds a control character", 0},
        {P, NULL, 1},
        {P "class_path = 'x.so:s'\n", NULL, 1},
        {P "class_path = 'x.so'\n", "/c.toml:2: [sandboxes.providers.acme] class_path \"x.so\" has no colon", 1},
        {P "class_path = 5\n",
         "/c.toml:2: [sandboxes.providers.acme] class_path is an integer, but must be a string|whole entry", 0},
        {P "class_path = \"a\\u0000:b\"\n", "holds a NUL|whole entry", 0},
        {P "working_dir = 5\n", "/c.toml:2: [sandboxes.providers.acme] working_dir is an integer, but must be a string",
         1},
        {P "working_dir = 'here'\n", "must be an absolute path", 1},
        {P "package = []\n", "package is an array, but must be a string", 1},
        {P "supports_sandbox_id = 'false'\n", "supports_sandbox_id is a string, but must be a boolean", 1},
        {P "supports_snapshot_name = 1.5\n", "supports_snapshot_name is a float, but must be a boolean", 1},
        {P "isolation = 1979-05-27\n", "isolation is a date or time, but must be a string", 1},
        {P "isolation = 'landlock'\n", "parameter confinement", 1},
        {P "isolation = true\n", "isolation is a boolean, but must be a string", 1},
        {P "isolation = 'process'\n", NULL, 1},
        {P "params = 5\n", "params is an integer, but must be a table", 1},
        {P "workingdir = '/x'\n",
         "/c.toml:2: [sandboxes.providers.acme]: the key workingdir is unknown, did you mean working_dir?", 1},
        {P "zzzzzz = '/x'\n", "the key zzzzzz is unknown and ignored", 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        support_forget();
        struct config *config = parse(rows[i].toml);
        AUTO_FREE char *parts = strdup(rows[i].warning ? rows[i].warning : "");

        assert_int_equal(config->provider_count, rows[i].providers);
        for (char *rest = parts, *part; (part = strsep(&rest, "|"));)
            assert_contains(support_logged(), part);
        if (!rows[i].warning)
            assert_string_equal(support_logged(), "");
        config_free(config);
    }
}

static void test_fields(void **state)
{
    struct config *config = parse("[sandboxes]\ndefault = 'acme'\n" P
                                  "class_path = 'x:y.so:sym'\nworking_dir = '/w'\npackage = 'p'\nisolation = 'none'\n"
                                  "supports_sandbox_id = false\nsupports_snapshot_name = true\n"
                                  "[sandboxes.providers.acme.params]\nimage = 'i'\ncount = 3\n"
                                  "table = { a = 1 }\n[sandboxes.providers.bare]\n");
    const struct config_provider *acme = config_find(config, "acme");
    const struct config_provider *bare = config_find(config, "bare");

    (void)state;
    assert_string_equal(config->default_provider, "acme");
    assert_null(config->problem);
    assert_string_equal(acme->class_path, "x:y.so:sym");
    assert_string_equal(acme->working_dir, "/w");
    assert_string_equal(acme->package, "p");
    assert_string_equal(acme->isolation, "none");
    assert_int_equal(acme->supports_sandbox_id, CONFIG_NO);
    assert_int_equal(acme->supports_snapshot_name, CONFIG_YES);
    assert_int_equal(acme->line, 3);
    assert_int_equal(json_object_get_int(json_object_object_get(acme->params, "count")), 3);
    assert_int_equal(config_parameter_line(acme, "count"), 12);
    assert_int_equal(config_parameter_line(acme, "table"), 13);
    assert_int_equal(config_parameter_line(acme, "absent"), 0);
    assert_int_equal(config_parameter_line(acme, ""), 0);
    assert_null(bare->class_path);
    assert_null(bare->params);
    assert_int_equal(bare->supports_sandbox_id, CONFIG_UNSET);
    assert_null(config_find(config, "Acme"));
    config_free(config);
}

/* A broken field takes nothing else with it, and no value of params is ever shown. */
static void test_one_field_only(void **state)
{
    struct config *config = parse("[sandboxes]\ndefault = 'x'\nproviders = 5\n");

    (void)state;
    assert_string_equal(config->default_provider, "x");
    assert_null(config->problem);
    config_free(config);
    config = parse(P "working_dir = 1\npackage = 'p'\n[sandboxes.providers.acme.params]\nkey = 'hunter2'\n"
                     "[sandboxes.providers.b]\nparams = 'hunter2'\n");
    assert_string_equal(config_find(config, "acme")->package, "p");
    assert_null(config_find(config, "b")->params);
    assert_lacks(support_logged(), "hunter2");
    config_free(config);
}

static void test_problem(void **state)
{
    struct config *config = parse("[sandboxes]\ndefault = \n");

    (void)state;
    assert_contains(config->problem, "invalid TOML syntax: line 2");
    assert_contains(support_logged(), "/c.toml:2:");
    assert_int_equal(config->provider_count, 0);
    config_free(config);
    config = parse("sandboxes = []\n");
    assert_contains(config->problem, "sandboxes is an array");
    config_free(config);
}

static struct config *load(const char *file)
{
    struct sandlot_error error = {0};
    struct config *config = config_load(file, &error);

    assert_int_equal(error.code, SANDLOT_CODE_OK);
    assert_non_null(config);
    return config;
}

/* The order of precedence, and what each place does when the file is missing. */
static void test_places(void **state)
{
    struct sandlot_error error = {0};
    struct config *config = load(NULL);

    (void)state;
    assert_string_equal(support_logged(), "");
    assert_null(config->problem);
    assert_string_equal(config->file, support_path("home/.config/sandlot/config.toml"));
    config_free(config);
    support_write("home/.config/sandlot/config.toml", "[sandboxes]\ndefault = 'from-default'\n");
    config = load(NULL);
    assert_string_equal(config->default_provider, "from-default");
    config_free(config);
    setenv("SANDLOT_CONFIG", "", 1);
    config = load(NULL);
    assert_string_equal(config->default_provider, "from-default");
    config_free(config);
    setenv("SANDLOT_CONFIG", support_path("missing.toml"), 1);
    config = load(NULL);
    assert_null(config->default_provider);
    assert_null(config->problem);
    assert_contains(support_logged(), "missing.toml, which does not exist");
    config_free(config);
    setenv("SANDLOT_CONFIG", support_write("variable.toml", "[sandboxes]\ndefault = 'from-variable'\n"), 1);
    config = load(NULL);
    assert_string_equal(config->default_provider, "from-variable");
    config_free(config);
    support_write("here/flag.toml", "[sandboxes]\ndefault = 'from-flag'\n");
    config = load("flag.toml");
    assert_string_equal(config->default_provider, "from-flag");
    assert_string_equal(config->file, support_path("here/flag.toml"));
    config_free(config);
    assert_null(config_load("none.toml", &error));
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    assert_contains(error.message, "here/none.toml");
    sandlot_error_clear(&error);
    assert_null(config_load("", &error));
    assert_int_equal(error.code, SANDLOT_CODE_USAGE);
    sandlot_error_clear(&error);
}

/* A file that is there but cannot be read is a warning and a problem, whoever named it; a FIFO does not block. */
static void test_unreadable(void **state)
{
    AUTO_FREE char *large = calloc(1, (1 << 20) + 2);

    (void)state;
    memset(large, '\n', (1 << 20) + 1);
    assert_int_equal(mkfifo(support_path("fifo"), 0600), 0);
    const char *const rows[][2] = {
        {support_path("fifo"), "not a regular file"},
        {support_path("home"), "Is a directory"},
        {support_write_bytes("large", large, (1 << 20) + 1), "larger than 1 MiB"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct config *config = load(rows[i][0]);

        assert_contains(config->problem, "could not read config file: ");
        assert_contains(config->problem, rows[i][1]);
        assert_contains(support_logged(), rows[i][1]);
        config_free(config);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUPPORTED_TEST(test_warnings), SUPPORTED_TEST(test_fields), SUPPORTED_TEST(test_one_field_only),
        SUPPORTED_TEST(test_problem),  SUPPORTED_TEST(test_places), SUPPORTED_TEST(test_unreadable),
    };

    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
