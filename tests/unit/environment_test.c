/* .env files: grammar, bans, precedence (command line contract 6.7, registry rules 8). */
#include "config/environment.h"

#include "base/redact.h"
#include "support.h"

/* Reads TEXT as the project's file and gives the value of NAME. */
static char *value_of(const char *text, const char *name)
{
    support_write("here/.env", text);
    struct environment *environment = environment_load(false);
    const char *value = environment_get(environment, name);
    char *copy = value ? strdup(value) : NULL;

    environment_free(environment);
    return copy;
}

static void test_grammar(void **state)
{
    static const struct {
        const char *line;
        const char *value; /* of ACME_A; NULL: not set */
    } rows[] = {
        {"ACME_A=x", "x"},
        {"  export   ACME_A=x", "x"},
        {"export\tACME_A = x ", "x"},
        {"ACME_A=", ""},
        {"ACME_A=   ", ""},
        {"ACME_A=x y  ", "x y"},
        {"ACME_A=x # y", "x"},
        {"ACME_A=x\t# y", "x"},
        {"ACME_A=x#y", "x#y"},
        {"ACME_A=#y", "#y"},
        {"ACME_A= # y", ""},
        {"ACME_A=x\r", "x"},
        {"ACME_A=$HOME ${HOME} \\n", "$HOME ${HOME} \\n"},
        {"ACME_A='a \"b\" ${HOME} \\n # c' # d", "a \"b\" ${HOME} \\n # c"},
        {"ACME_A=''", ""},
        {"ACME_A=\"\"", ""},
        {"ACME_A=\"a\\n\\t\\\"\\\\\\$\\q\"", "a\n\t\"\\$\\q"},
        {"ACME_A=\"# x\"   ", "# x"},
        {"ACME_A=\"<${ACME_SET}>\"", "<set>"},
        {"ACME_B=b\nACME_A=\"<${ACME_B}>\"", "<b>"},
        {"ACME_A=\"<${ACME_UNSET}>\"", "<>"},
        {"ACME_A=\"\\${ACME_SET}\"", "${ACME_SET}"},
        {"ACME_A=\"$ACME_SET ${ACME_SET:-x} ${} $\"", "$ACME_SET ${ACME_SET:-x} ${} $"},
        {"\xef\xbb\xbf"
         "ACME_A=x",
         "x"},
        {"\n# c\n\n  # c\nACME_A=x", "x"},
        {"ACME_A=first\nACME_A=second", "first"},
        {"#ACME_A=x", NULL},
        {"ACME_A='x", NULL},
        {"ACME_A='x'y", NULL},
        {"ACME_A=\"x", NULL},
        {"ACME_A=\"x\\\"", NULL},
        {"ACME_A=\"x\"#y", NULL},
        {"ACME_A", NULL},
        {"ACME_A x=1", NULL},
        {"1ACME_A=x", NULL},
        {"acme_a=x", NULL},
    };

    (void)state;
    setenv("ACME_SET", "set", 1);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *value = value_of(rows[i].line, "ACME_A");

        if (rows[i].value) {
            assert_non_null(value);
            assert_string_equal(value, rows[i].value);
        } else {
            assert_null(value);
        }
    }
    unsetenv("ACME_SET");
}

/* Malformed lines are named by number; what stands in them is not shown. */
static void test_malformed(void **state)
{
    AUTO_FREE char *value = value_of("ACME_B=1\nACME_KEY='hunter2\n", "ACME_KEY");

    (void)state;
    assert_null(value);
    assert_contains(support_logged(), "here/.env:2: this line is ignored");
    assert_lacks(support_logged(), "hunter2");
}

static void test_bans(void **state)
{
    static const struct {
        const char *name;
        bool project; /* may a project's file set it? */
        bool user;    /* may the user's own? */
    } rows[] = {
        {"ACME_API_KEY", true, true},
        {"SANDLOT_ACME_API_KEY", true, true},
        {"SANDLOT_ACME_TOKEN", true, true},
        {"SANDLOT_VERCEL_TEAM_ID", true, true},
        {"GITHUB_TOKEN", true, true},
        {"AWS_REGION", true, true},
        {"SANDLOT_PLUGIN_PATH", false, true},
        {"SANDLOT_CONFIG", false, true},
        {"SANDLOT_ACME_REGION", false, true},
        {"SANDLOT_ACME_KEY_URL", false, true},
        {"ACME_API_URL", false, true},
        {"ACME_KEY_ENDPOINT", false, true},
        {"acme_url", false, true},
        {"ACME_DOMAIN", false, true},
        {"HTTPS_PROXY", false, true},
        {"all_proxy", false, true},
        {"AWS_ENDPOINT_URL", false, true},
        {"AWS_ENDPOINT_URL_S3", false, true},
        {"REQUESTS_CA_BUNDLE", false, true},
        {"SSL_CERT_FILE", false, true},
        {"SSL_CERT_DIR", false, true},
        {"AWS_CONFIG_FILE", false, true},
        {"XDG_STATE_HOME", false, true},
        {"LD_PRELOAD", false, false},
        {"LD_LIBRARY_PATH", false, false},
        {"LD_AUDIT", false, false},
        {"SANDLOT_LD_PRELOAD", false, false},
        {"DYLD_INSERT_LIBRARIES", false, false},
        {"PYTHONPATH", false, false},
        {"PYTHONHOME", false, false},
        {"PYTHONSTARTUP", false, false},
        {"NODE_OPTIONS", false, false},
        {"BASH_ENV", false, false},
        {"ENV", false, false},
        {"SHELLOPTS", false, false},
        {"BASHOPTS", false, false},
        {"CDPATH", false, false},
        {"GLOBIGNORE", false, false},
        {"GIT_DIR", false, false},
        {"GIT_SSH_COMMAND", false, false},
        {"GIT_ASKPASS", false, false},
        {"SSH_ASKPASS", false, false},
        {"GIT_CONFIG_GLOBAL", false, false},
        {"GIT_CONFIG_KEY_0", false, false},
        {"SANDLOT_NO_ENV_FILE", false, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        AUTO_FREE char *line = text_format("\n%s=x\n", rows[i].name);

        for (int user = 0; user < 2; user++) {
            const bool allowed = user ? rows[i].user : rows[i].project;
            const char *file = user ? "home/.config/sandlot/.env" : "here/.env";
            AUTO_FREE char *warning = text_format("%s:2: %s is ignored", file, rows[i].name);

            unsetenv(rows[i].name);
            support_forget();
            support_write(file, line);
            struct environment *environment = environment_load(false);

            if (!environment_get(environment, rows[i].name) == allowed)
                fail_msg("%s in %s", rows[i].name, file);
            if (!allowed)
                assert_contains(support_logged(), warning);
            environment_free(environment);
            unlink(support_path(file));
        }
    }
}

/* PATH and HOME are set in this process, so that it shows in the log alone that they were refused. */
static void test_banned_though_set(void **state)
{
    AUTO_FREE char *path = value_of("PATH=/evil\nHOME=/evil\n", "PATH");

    (void)state;
    assert_string_not_equal(path, "/evil");
    assert_contains(support_logged(), ".env:1: PATH is ignored");
    assert_contains(support_logged(), ".env:2: HOME is ignored");
}

static void test_precedence(void **state)
{
    (void)state;
    support_write("home/.config/sandlot/.env", "ACME_A=user\nACME_B=user\nACME_C=user\nACME_D=user\n");
    support_write("here/.env", "ACME_A=project\nACME_B=project\nACME_D=\n");
    setenv("ACME_A", "process", 1);
    struct environment *environment = environment_load(false);

    assert_string_equal(environment_get(environment, "ACME_A"), "process");
    assert_string_equal(environment_get(environment, "ACME_B"), "project");
    assert_string_equal(environment_get(environment, "ACME_C"), "user");
    assert_string_equal(environment_get(environment, "ACME_D"), "");
    assert_null(environment_lookup(environment, "ACME_D"));
    assert_null(environment_get(environment, "ACME_E"));
    environment_free(environment);
    setenv("SANDLOT_NO_ENV_FILE", "1", 1);
    environment = environment_load(false);
    assert_string_equal(environment_get(environment, "ACME_B"), "user");
    environment_free(environment);
    unsetenv("SANDLOT_NO_ENV_FILE");
    environment = environment_load(true);
    assert_null(environment_get(environment, "ACME_B"));
    assert_string_equal(environment_get(environment, "ACME_A"), "process");
    environment_free(environment);
    unsetenv("ACME_A");
}

/* SANDLOT_NAME hides NAME, even when it is empty; what has the prefix is not prefixed again. */
static void test_lookup(void **state)
{
    static const struct {
        const char *prefixed;
        const char *plain;
        const char *value;
    } rows[] = {
        {NULL, NULL, NULL}, {NULL, "p", "p"}, {"s", "p", "s"}, {"", "p", NULL}, {NULL, "", NULL}, {"s", NULL, "s"},
    };
    struct environment *environment = environment_load(true);

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsetenv("SANDLOT_ACME_KEY");
        unsetenv("ACME_KEY");
        if (rows[i].prefixed)
            setenv("SANDLOT_ACME_KEY", rows[i].prefixed, 1);
        if (rows[i].plain)
            setenv("ACME_KEY", rows[i].plain, 1);
        const char *value = environment_lookup(environment, "ACME_KEY");

        assert_string_equal(value ? value : "(none)", rows[i].value ? rows[i].value : "(none)");
    }
    setenv("SANDLOT_SANDLOT_ACME_KEY", "twice", 1);
    unsetenv("SANDLOT_ACME_KEY");
    assert_null(environment_lookup(environment, "SANDLOT_ACME_KEY"));
    unsetenv("SANDLOT_SANDLOT_ACME_KEY");
    unsetenv("ACME_KEY");
    environment_free(environment);
}

/* Of a project's file a provider has what it has allowed; the user's counts where the project's does not. */
static void test_of_provider(void **state)
{
    (void)state;
    support_write("home/.config/sandlot/.env",
                  "ACME_MODE=user\nACME_OTHER=user\nACME_LEAK=\"${ACME_MODE}${ACME_FREE}\"\n");
    support_write(
        "here/.env",
        "ACME_KEY=k\nACME_LOGIN=l\nSANDLOT_ACME_PROJECT_ID=p\nACME_MODE=evil\nACME_FREE=evil\nACME_HEADERS=x\n");
    struct environment *all = environment_load(false);
    struct environment *own = environment_of_provider(all, "ACME_LOGIN|ACME_KEY", "ACME_PROJECT_ID ACME_HEADERS");

    assert_string_equal(environment_lookup(own, "ACME_KEY"), "k");
    assert_string_equal(environment_lookup(own, "ACME_LOGIN"), "l");
    assert_string_equal(environment_lookup(own, "ACME_PROJECT_ID"), "p");
    assert_string_equal(environment_lookup(own, "ACME_MODE"), "user");
    assert_string_equal(environment_lookup(own, "ACME_OTHER"), "user");
    assert_null(environment_lookup(own, "ACME_FREE"));
    assert_null(environment_lookup(own, "ACME_HEADERS"));
    assert_string_equal(environment_lookup(own, "ACME_LEAK"), "user");
    environment_free(own);
    own = environment_of_provider(all, NULL, NULL);
    assert_null(environment_lookup(own, "ACME_KEY"));
    environment_free(own);
    environment_free(all);
}

/* What everybody can write to says what anybody likes. */
static void test_writable_by_everybody(void **state)
{
    static const char *const files[] = {"here/.env", "home/.config/sandlot/.env"};

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        support_write(files[i], "ACME_A=x\n");
        assert_int_equal(chmod(support_path(files[i]), 0666), 0);
        struct environment *environment = environment_load(false);

        assert_null(environment_get(environment, "ACME_A"));
        assert_contains(support_logged(), ".env is ignored: everybody can write to it");
        environment_free(environment);
        support_forget();
        unlink(support_path(files[i]));
    }
}

static void test_nearest(void **state)
{
    (void)state;
    support_write(".env", "ACME_A=above\nACME_B=above\n");
    struct environment *environment = environment_load(false);

    assert_string_equal(environment_get(environment, "ACME_A"), "above");
    environment_free(environment);
    support_write("here/.env", "ACME_A=near\n");
    environment = environment_load(false);
    assert_string_equal(environment_get(environment, "ACME_A"), "near");
    assert_null(environment_get(environment, "ACME_B"));
    assert_contains(support_logged(), "reading variables from ");
    environment_free(environment);
}

/* Standing beside the user's own file, that is still the user's. */
static void test_own_file_is_no_project(void **state)
{
    (void)state;
    support_write("home/.config/sandlot/.env", "ACME_API_URL=https://mine\n");
    assert_int_equal(chdir(support_path("home/.config/sandlot")), 0);
    struct environment *environment = environment_load(false);

    assert_string_equal(environment_get(environment, "ACME_API_URL"), "https://mine");
    environment_free(environment);
}

static void test_unreadable(void **state)
{
    AUTO_FREE char *large = calloc(1, 256 * 1024 + 2);
    struct environment *environment;

    (void)state;
    memset(large, '\n', 256 * 1024 + 1);
    support_write_bytes("here/.env", large, 256 * 1024 + 1);
    environment_free(environment_load(false));
    assert_contains(support_logged(), "here/.env could not be read: it is larger than 256 KiB");
    support_write_bytes("here/.env", "ACME_A=x\0y\n", 11);
    environment = environment_load(false);
    assert_null(environment_get(environment, "ACME_A"));
    assert_contains(support_logged(), "not a text in UTF-8");
    environment_free(environment);
    unlink(support_path("here/.env"));
    assert_int_equal(mkfifo(support_path("here/.env"), 0600), 0);
    environment_free(environment_load(false));
    assert_contains(support_logged(), "not a regular file");
}

/* Somebody else's file above the user's folders is left alone, unless the user went into that person's folder. */
static void test_foreign(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    support_write("here/.env", "ACME_A=x\n");
    assert_int_equal(chown(support_path("here/.env"), 12345, 12345), 0);
    struct environment *environment = environment_load(false);

    assert_null(environment_get(environment, "ACME_A"));
    assert_contains(support_logged(), "belongs to another user");
    environment_free(environment);
    assert_int_equal(chown(support_path("here"), 12345, 12345), 0);
    environment = environment_load(false);
    assert_string_equal(environment_get(environment, "ACME_A"), "x");
    environment_free(environment);
}

static void test_redacted(void **state)
{
    static const char *const names[] = {"ACME_KEY", "ACME_TOKEN", "ACME_SECRET", "ACME_PASSWORD", "acme_token_id"};

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        AUTO_FREE char *line = text_format("%s=hunter-%zu\n", names[i], i);
        AUTO_FREE char *value = value_of(line, names[i]);
        AUTO_FREE char *clean = redact(value);

        assert_string_equal(clean, "***");
    }
    AUTO_FREE char *plain = value_of("ACME_REGION=eu-west-1\n", "ACME_REGION");
    AUTO_FREE char *kept = redact(plain);

    assert_string_equal(kept, "eu-west-1");
    /* What a project's file may not set is not used, but no less secret. */
    AUTO_FREE char *unset = value_of("DATABASE_URL=\"postgres://me:hunter2@db/x\"\nSITE_URL=http://localhost\n"
                                     "TMPDIR=/var/folder\n",
                                     "DATABASE_URL");
    AUTO_FREE char *hidden = redact("<postgres://me:hunter2@db/x> http://localhost /var/folder");

    assert_null(unset);
    assert_string_equal(hidden, "<***> http://localhost /var/folder");
    redact_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUPPORTED_TEST(test_grammar),
        SUPPORTED_TEST(test_malformed),
        SUPPORTED_TEST(test_bans),
        SUPPORTED_TEST(test_banned_though_set),
        SUPPORTED_TEST(test_precedence),
        SUPPORTED_TEST(test_lookup),
        SUPPORTED_TEST(test_nearest),
        SUPPORTED_TEST(test_own_file_is_no_project),
        SUPPORTED_TEST(test_unreadable),
        SUPPORTED_TEST(test_foreign),
        SUPPORTED_TEST(test_redacted),
        SUPPORTED_TEST(test_of_provider),
        SUPPORTED_TEST(test_writable_by_everybody),
    };

    return cmocka_run_group_tests_name("environment", tests, NULL, NULL);
}
