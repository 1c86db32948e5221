#include "config/environment.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { LARGEST_FILE = 256 * 1024, SHORTEST_HIDDEN = 8 };

#define OWN_PREFIX "SANDLOT_"

/* Whose file it is decides what it may set. */
enum file_kind { PROJECT_FILE, USER_FILE };

struct variable {
    char *name;
    char *value;
    enum file_kind kind;
};

struct environment {
    struct variable *variables; /* of the files only; the process environment is asked afresh */
    size_t count;
};

/*
 * What no .env file may set: these change which program or code runs, here or in what a provider starts. fnmatch(3)
 * patterns.
 */
static const char *const never[] = {
    "PATH",
    "LD_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "GCONV_PATH",
    "LOCPATH",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONSTARTUP",
    "PYTHONINSPECT",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYLIB",
    "RUBYOPT",
    "JAVA_TOOL_OPTIONS",
    "BASH_ENV",
    "BASH_FUNC_*",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "IFS",
    "PS4",
    "PROMPT_COMMAND",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_EXEC_PATH",
    "GIT_SSH",
    "GIT_SSH_*",
    "GIT_ASKPASS",
    "GIT_CONFIG*",
    "GIT_PROXY_COMMAND",
    "GIT_TEMPLATE_DIR",
    "GIT_EDITOR",
    "GIT_PAGER",
    "GIT_EXTERNAL_*",
    "GIT_SEQUENCE_*",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "SSH_ASKPASS",
    "SSH_ASKPASS_*",
    "SSH_AUTH_SOCK",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "OPENSSL_ENGINES",
    "SANDLOT_NO_ENV_FILE",
};

/*
 * What a project's file may not set besides: it travels with a cloned repository, and could send the user's keys to a
 * stranger or lead Sandlot to other files. Compared without regard to case, as http_proxy and HTTP_PROXY mean the same.
 */
static const char *const never_from_project[] = {
    "HOME",
    "XDG_*",
    "TMPDIR",
    "URL",
    "*_URL",
    "*_URI",
    "*_API_BASE",
    "*_API_HOST",
    "ENDPOINT",
    "*_ENDPOINT",
    "DOMAIN",
    "*_DOMAIN",
    "PROXY",
    "*_PROXY",
    "AWS_ENDPOINT_URL*",
    "*_CA_BUNDLE",
    "SSL_CERT_*",
    "*_EXTRA_CA_CERTS",
    "SSLKEYLOGFILE",
    "NETRC",
    "CURL_HOME",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_CA_BUNDLE",
    "MODAL_CONFIG_PATH",
    "*_HEADERS",
    "MCP_*",
};

static bool matches(const char *name, const char *const *patterns, size_t count, int flags)
{
    for (size_t i = 0; i < count; i++)
        if (fnmatch(patterns[i], name, flags) == 0)
            return true;
    return false;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool is_own(const char *name)
{
    return strncmp(name, OWN_PREFIX, strlen(OWN_PREFIX)) == 0;
}

/* Does the name say that its value is secret? */
static bool is_secret(const char *name)
{
    return strcasestr(name, "KEY") || strcasestr(name, "TOKEN") || strcasestr(name, "SECRET") ||
           strcasestr(name, "PASSWORD");
}

/* The SANDLOT_ forms that a project may set: prefixed credentials, of which some vendors have three parts. */
static bool is_credential(const char *name)
{
    static const char *const parts[] = {"*_PROJECT_ID", "*_TEAM_ID", "*_ORGANIZATION_ID"};

    return is_secret(name) || matches(name, parts, COUNT(parts), 0);
}

static bool is_banned(enum file_kind kind, const char *name)
{
    const char *plain = is_own(name) ? name + strlen(OWN_PREFIX) : name;

    if (matches(name, never, COUNT(never), 0) || matches(plain, never, COUNT(never), 0))
        return true;
    if (kind == USER_FILE)
        return false;
    return matches(plain, never_from_project, COUNT(never_from_project), FNM_CASEFOLD) ||
           (is_own(name) && !is_credential(plain));
}

/* What the files say, FIRST and those behind it: the project's comes first. */
static const char *file_value(const struct environment *environment, const char *name, enum file_kind first)
{
    for (size_t i = 0; i < environment->count; i++)
        if (environment->variables[i].kind >= first && strcmp(environment->variables[i].name, name) == 0)
            return environment->variables[i].value;
    return NULL;
}

const char *environment_get(const struct environment *environment, const char *name)
{
    const char *value = getenv(name);

    return value ? value : file_value(environment, name, PROJECT_FILE);
}

void environment_each_of_files(const struct environment *environment,
                               void (*each)(void *context, const char *name, const char *value), void *context)
{
    for (size_t i = 0; i < environment->count; i++)
        each(context, environment->variables[i].name, environment->variables[i].value);
}

const char *environment_lookup(const struct environment *environment, const char *name)
{
    AUTO_FREE char *prefixed = is_own(name) ? NULL : text_format(OWN_PREFIX "%s", name);
    const char *value = prefixed ? environment_get(environment, prefixed) : NULL;

    if (!value)
        value = environment_get(environment, name);
    return value && *value ? value : NULL;
}

/* The first writer of a file wins. Takes VALUE over. */
static bool add(struct environment *environment, enum file_kind kind, const char *name, char *value)
{
    for (size_t i = 0; i < environment->count; i++) {
        if (environment->variables[i].kind == kind && strcmp(environment->variables[i].name, name) == 0) {
            free(value);
            return true;
        }
    }
    struct variable *grown = realloc(environment->variables, (environment->count + 1) * sizeof(*grown));

    if (grown)
        environment->variables = grown;
    char *copy = grown ? strdup(name) : NULL;

    if (!copy) {
        free(value);
        return false;
    }
    if (is_secret(name))
        redact_add(value);
    environment->variables[environment->count++] = (struct variable){copy, value, kind};
    return true;
}

/* What is not used is as secret as the rest: a DATABASE_URL has a password. Plain paths and addresses are not, and
 * would be missing everywhere. */
static void hide_ignored(const char *value)
{
    if (strlen(value) >= SHORTEST_HIDDEN && *value != '/' && (!strstr(value, "://") || strchr(value, '@')))
        redact_add(value);
}

/* Is NAME, or what follows SANDLOT_ in it, one of the words of LIST? */
static bool is_listed(const char *list, const char *name)
{
    const char *plain = is_own(name) ? name + strlen(OWN_PREFIX) : name;
    AUTO_FREE char *words = list ? strdup(list) : NULL;

    for (char *at = words; at && *at; at++)
        if (*at == '|')
            *at = ' ';
    return words && (text_has_word(words, name) || text_has_word(words, plain));
}

struct environment *environment_of_provider(const struct environment *environment, const char *credentials,
                                            const char *project)
{
    struct environment *own = calloc(1, sizeof(*own));

    for (size_t i = 0; own && environment && i < environment->count; i++) {
        const struct variable *variable = &environment->variables[i];
        bool is_allowed =
            variable->kind == USER_FILE || is_listed(credentials, variable->name) || is_listed(project, variable->name);
        char *value = is_allowed ? strdup(variable->value) : NULL;

        if (!is_allowed || (value && add(own, variable->kind, variable->name, value)))
            continue;
        environment_free(own);
        return NULL;
    }
    return own;
}

/* One file while it is read. */
struct reading {
    struct environment *environment;
    const char *file;
    enum file_kind kind;
};

/* ---- one line ---------------------------------------------------------------------------------------------------- */

static bool starts_name(char c)
{
    return c == '_' || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static size_t name_length(const char *text)
{
    size_t length = 0;

    if (starts_name(text[0]))
        while (starts_name(text[length]) || (text[length] >= '0' && text[length] <= '9'))
            length++;
    return length;
}

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

/* Is there nothing but a comment behind a closing quote? */
static bool ends_well(const char *at)
{
    const char *next = skip_blanks(at);

    return *next == '\0' || (*next == '#' && next > at);
}

/* `${NAME}` at AT: appends its value and returns the position behind it; NULL if it is not one. An unset one is empty.
 */
static const char *expand(const struct reading *reading, const char *at, char **value, bool *no_memory)
{
    size_t length = at[0] == '$' && at[1] == '{' ? name_length(at + 2) : 0;

    if (length == 0 || at[2 + length] != '}')
        return NULL;
    AUTO_FREE char *name = strndup(at + 2, length);
    const char *found = name ? getenv(name) : NULL;

    if (name && !found) /* the user's file does not take up what a project has written */
        found = file_value(reading->environment, name, reading->kind);
    if (!name || !text_append(value, "%s", found ? found : ""))
        *no_memory = true;
    return at + length + 3;
}

/* What the backslash sequence \C means; 0: nothing, the backslash stays. */
static char escaped(char c)
{
    switch (c) {
    case 'n':
        return '\n';
    case 't':
        return '\t';
    case '"':
    case '\\':
    case '$':
        return c;
    default:
        return '\0';
    }
}

/* The value after the double quote before AT; NULL if it is not closed, or more than a comment follows. */
static char *double_quoted(const struct reading *reading, const char *at)
{
    AUTO_FREE char *value = strdup("");
    bool no_memory = !value;

    while (!no_memory && *at && *at != '"') {
        const char *next = expand(reading, at, &value, &no_memory);
        /* As many plain characters at once as there are. */
        size_t plain = strcspn(at, "\"\\$");

        if (next) {
            at = next;
        } else if (plain) {
            no_memory = !text_append(&value, "%.*s", (int)plain, at);
            at += plain;
        } else if (*at == '\\' && escaped(at[1])) {
            no_memory = !text_append(&value, "%c", escaped(at[1]));
            at += 2;
        } else {
            no_memory = !text_append(&value, "%c", *at++);
        }
    }
    return !no_memory && *at == '"' && ends_well(at + 1) ? TAKE(value) : NULL;
}

static char *single_quoted(const char *at)
{
    const char *end = strchr(at, '\'');

    return end && ends_well(end + 1) ? strndup(at, (size_t)(end - at)) : NULL;
}

/* AT is where the value begins, without leading blanks; AFTER_BLANK: there was one, so that "#" begins a comment. */
static char *unquoted(const char *at, bool after_blank)
{
    size_t length = 0;

    for (; at[length]; length++)
        if (at[length] == '#' && (length ? at[length - 1] == ' ' || at[length - 1] == '\t' : after_blank))
            break;
    while (length && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    return strndup(at, length);
}

static char *parse_value(const struct reading *reading, const char *text)
{
    const char *at = skip_blanks(text);

    if (*at == '"')
        return double_quoted(reading, at + 1);
    if (*at == '\'')
        return single_quoted(at + 1);
    return unquoted(at, at > text);
}

/* Reads one line; false if it is malformed. */
static bool read_line(const struct reading *reading, int number, const char *line)
{
    const char *at = skip_blanks(line);

    if (*at == '\0' || *at == '#')
        return true;
    if (strncmp(at, "export", 6) == 0 && (at[6] == ' ' || at[6] == '\t'))
        at = skip_blanks(at + 6);
    size_t length = name_length(at);
    const char *equals = skip_blanks(at + length);

    if (length == 0 || *equals != '=')
        return false;
    AUTO_FREE char *name = strndup(at, length);

    if (!name)
        return false;
    if (is_banned(reading->kind, name)) {
        /* Said with -v only: a project's .env serves other programs too, and often has a DATABASE_URL. */
        log_info("%s:%d: %s is ignored: %s may not set it; set it in the environment instead", reading->file, number,
                 name, reading->kind == PROJECT_FILE ? "the .env file of a project" : "a .env file");
        AUTO_FREE char *ignored = parse_value(reading, equals + 1);

        hide_ignored(ignored ? ignored : "");
        return true;
    }
    char *value = parse_value(reading, equals + 1);

    return value && add(reading->environment, reading->kind, name, value);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static void read_text(const struct reading *reading, char *text)
{
    static const char byte_order_mark[] = "\xef\xbb\xbf";
    int number = 0;

    if (strncmp(text, byte_order_mark, 3) == 0)
        text += 3;
    for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
        size_t length = strlen(line);

        number++;
        if (length && line[length - 1] == '\r')
            line[length - 1] = '\0';
        /* The line itself is not shown: it may be half of a secret. */
        if (!read_line(reading, number, line))
            log_warning("%s:%d: this line is ignored: it must have the form NAME=value, with quotes that are closed",
                        reading->file, number);
    }
}

/*
 * Why the open file of that STATUS is not read; NULL: it is. Somebody else could have put it above the user's folders,
 * in /tmp say, so that the user's work lands in the stranger's account. Whoever owns the current directory may have a
 * project's: that repository was entered on purpose.
 */
static const char *distrust_file(const struct stat *status, enum file_kind kind)
{
    struct stat here;

    if (S_ISREG(status->st_mode) && (status->st_mode & S_IWOTH))
        return "everybody can write to it";
    if (status->st_uid == 0 || status->st_uid == geteuid())
        return NULL;
    if (kind == PROJECT_FILE && stat(".", &here) == 0 && status->st_uid == here.st_uid)
        return NULL;
    return "it belongs to another user";
}

/* What the open file FD holds, to be freed; NULL: it is not read, which the log tells. */
static char *read_trusted(const struct reading *reading, int fd)
{
    struct stat status;
    size_t length = 0;
    const char *distrust = fstat(fd, &status) == 0 ? distrust_file(&status, reading->kind) : NULL;
    AUTO_FREE char *text = distrust ? NULL : path_read_descriptor(fd, LARGEST_FILE, &length);

    if (distrust)
        log_warning("%s is ignored: %s", reading->file, distrust);
    else if (!text)
        log_warning("%s could not be read: %s; its variables are not set", reading->file,
                    errno == EFBIG ? "it is larger than 256 KiB" : path_read_problem(errno));
    else if (strlen(text) != length || !text_utf8_valid(text, length))
        log_warning("%s is not a text in UTF-8: its variables are not set", reading->file);
    else
        return TAKE(text);
    return NULL;
}

static bool is_folder(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
}

/* Reads FILE; false if there is none, so that the search goes on. */
static bool read_file(struct environment *environment, const char *file, enum file_kind kind)
{
    const struct reading reading = {environment, file, kind};
    AUTO_CLOSE int fd = path_open_file(AT_FDCWD, file, 0);

    if (fd < 0 ? errno == ENOENT || errno == ENOTDIR : is_folder(fd))
        return false;
    if (fd < 0) {
        log_warning("%s could not be read: %s; its variables are not set", file, strerror(errno));
        return true;
    }
    AUTO_FREE char *text = read_trusted(&reading, fd);

    if (text) {
        log_info("reading variables from %s", file);
        read_text(&reading, text);
    }
    return true;
}

static bool same_file(const char *a, const char *b)
{
    struct stat a_status;
    struct stat b_status;

    return stat(a, &a_status) == 0 && stat(b, &b_status) == 0 && a_status.st_dev == b_status.st_dev &&
           a_status.st_ino == b_status.st_ino;
}

/* The nearest .env from the current directory upwards. The user's own file, met on the way, is left for later. */
static void read_project(struct environment *environment, const char *user_file)
{
    AUTO_FREE char *folder = getcwd(NULL, 0);

    while (folder && *folder == '/') {
        AUTO_FREE char *file = text_format("%s/.env", folder[1] ? folder : "");

        if (!file || same_file(file, user_file))
            return;
        if (read_file(environment, file, PROJECT_FILE) || !folder[1])
            return;
        char *parent = path_parent(folder);

        free(folder);
        folder = parent;
    }
}

struct environment *environment_load(bool without_files)
{
    struct environment *environment = calloc(1, sizeof(*environment));
    const char *off = getenv("SANDLOT_NO_ENV_FILE");

    if (!environment || without_files)
        return environment;
    AUTO_FREE char *folder = path_config_home();
    AUTO_FREE char *user_file = folder ? text_format("%s/.env", folder) : NULL;

    if (!user_file) {
        environment_free(environment);
        return NULL;
    }
    if (!off || strcmp(off, "1") != 0)
        read_project(environment, user_file);
    read_file(environment, user_file, USER_FILE);
    return environment;
}

void environment_free(struct environment *environment)
{
    if (!environment)
        return;
    for (size_t i = 0; i < environment->count; i++) {
        free(environment->variables[i].name);
        free(environment->variables[i].value);
    }
    free(environment->variables);
    free(environment);
}
