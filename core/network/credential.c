#include "network/credential.h"

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/redact.h"
#include "base/text.h"
#include "network/output_of.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

enum { LARGEST_VALUE = 16 * 1024, SHORTEST_PLACEHOLDER = 16, COMMAND_MS = 10 * 1000 };

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *network_header_problem(const char *header)
{
    /* What shapes the request itself, or belongs to one stretch of its way. */
    static const char *const kept[] = {
        "Host",    "Content-Length", "Transfer-Encoding", "Connection",       "Upgrade",        "Keep-Alive", "TE",
        "Trailer", "Expect",         "Proxy-*",           "Content-Encoding", "Accept-Encoding"};

    if (!*header)
        return "is empty";
    if (header[strspn(header, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~")])
        return "holds a character that no name of a header has";
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (fnmatch(kept[i], header, FNM_CASEFOLD) == 0)
            return "belongs to the connection and cannot be set";
    return NULL;
}

const char *network_variable_problem(const char *name)
{
    /* What changes which programs run, what they load, whom they trust and where they connect to. */
    static const char *const kept[] = {"PATH",     "HOME",     "SHELL",      "IFS",     "ENV",    "BASH_*",
                                       "LD_*",     "*_PROXY",  "SSL_*",      "CURL_*",  "GIT_*",  "*_CA_BUNDLE",
                                       "*_CAINFO", "PIP_CERT", "NODE_*",     "PYTHON*", "PERL*",  "RUBY*",
                                       "JAVA_*",   "GLIBC_*",  "GCONV_PATH", "LOCPATH", "TMPDIR", "USER",
                                       "LOGNAME",  "PWD",      "TERM",       "LANG",    "LC_*",   "PROMPT_COMMAND"};
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");

    if (!*name || name[length] || isdigit((unsigned char)*name))
        return "is no name of a variable: letters, digits and underscores";
    for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
        if (fnmatch(kept[i], name, FNM_CASEFOLD) == 0)
            return "is a variable that changes what programs do";
    return NULL;
}

/* ---- the value --------------------------------------------------------------------------------------------------- */

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

/* Complains about CREDENTIAL; never about what came. */
static int fail(const struct network_credential *credential, const char *why, struct sandlot_error *error)
{
    static const char *const sources[] = {"the variable", "the file", "the command"};

    return error_set(error, SANDLOT_CODE_AUTH, "the credential for %s: %s %s %s", credential->host,
                     sources[credential->source], credential->from, why);
}

/* The end of the line goes; what is left must be one line of text. NULL: fine. */
static const char *trim(char *text, size_t length)
{
    if (strlen(text) != length)
        return "gives a NUL character; a header holds text";
    if (length > 0 && text[length - 1] == '\n')
        text[--length] = '\0';
    if (length > 0 && text[length - 1] == '\r')
        text[--length] = '\0';
    if (length == 0)
        return "gives nothing; it must give the secret";
    for (const char *c = text; *c; c++)
        if (*c == '\n' || *c == '\r')
            return "gives more than one line; a header holds one";
        else if (iscntrl((unsigned char)*c))
            return "gives a control character; a header holds none";
    return NULL;
}

static char *read_file(const char *path, size_t *length, const char **why)
{
    char *text = path_read_file(path, LARGEST_VALUE, length);

    if (!text)
        *why = errno == ENOENT   ? "is not there; correct `file` or write it"
               : errno == EACCES ? "may not be read; give yourself the right to"
               : errno == EFBIG  ? "is larger than 16 KiB, which no header is"
                                 : "cannot be read; see whether it is a regular file that you may read";
    return text;
}

static char *read_variable(const char *name, size_t *length, const char **why)
{
    const char *value = getenv(name);
    char *copy = value && *value ? strdup(value) : NULL;

    *length = copy ? strlen(copy) : 0;
    if (!copy)
        *why = "is not set in the environment; set it (files named .env do not count here)";
    return copy;
}

/* What it says, to be wiped; NULL: *WHY. */
static char *read_source(const struct network_credential *credential, int cancel_fd, size_t *length, const char **why)
{
    switch (credential->source) {
    case NETWORK_FROM_ENVIRONMENT:
        return read_variable(credential->from, length, why);
    case NETWORK_FROM_FILE:
        return read_file(credential->from, length, why);
    case NETWORK_FROM_COMMAND:
        break;
    }
    return output_of(credential->from, COMMAND_MS, LARGEST_VALUE, cancel_fd, length, why);
}

/* "Basic ..." of user and password, to be wiped. */
static char *basic(const char *user, const char *password)
{
    char *pair = text_format("%s:%s", user, password);
    char *encoded = pair ? base64_encode(pair, strlen(pair)) : NULL;
    char *value = encoded ? text_format("Basic %s", encoded) : NULL;

    redact_add(encoded);
    wipe(&pair);
    wipe(&encoded);
    return value;
}

/* ---- the placeholder --------------------------------------------------------------------------------------------- */

/* A character of the same kind; with SIGNS those of ASCII that are no letter and no digit stay, for they tell programs
 * what it is. */
static char same_kind(char character, unsigned char random, bool signs)
{
    if (isupper((unsigned char)character))
        return (char)('A' + random % 26);
    if (isdigit((unsigned char)character))
        return (char)('0' + random % 10);
    const bool is_sign = (unsigned char)character < 0x80 && !islower((unsigned char)character);

    return signs && is_sign ? character : (char)('a' + random % 26);
}

/* Is what VALUE has beside its signs a secret by itself? */
static bool may_show_signs(const char *value)
{
    size_t others = 0;

    for (; *value; value++)
        others += isalnum((unsigned char)*value) ? 1 : 0;
    return others >= SHORTEST_PLACEHOLDER;
}

/* As VALUE is written, with letters and digits of chance, of which there are enough that nobody meets it by accident.
 */
static char *make_placeholder(const char *value)
{
    size_t length = strlen(value);
    size_t room = length + SHORTEST_PLACEHOLDER;
    bool signs = may_show_signs(value);
    AUTO_FREE unsigned char *random = malloc(room);
    char *text = random ? calloc(1, room + 1) : NULL;
    size_t free_ones = 0;

    if (!text || getrandom(random, room, 0) != (ssize_t)room) {
        free(text);
        return NULL;
    }
    for (size_t i = 0; i < room && (i < length || free_ones < SHORTEST_PLACEHOLDER); i++) {
        text[i] = same_kind(i < length ? value[i] : 'x', random[i], signs);
        free_ones += isalnum((unsigned char)text[i]) ? 1 : 0;
    }
    return text;
}

int network_credential_read(struct network_credential *credential, int cancel_fd, struct sandlot_error *error)
{
    const char *why = "gives nothing that can be used";
    size_t length = 0;
    char *value = read_source(credential, cancel_fd, &length, &why);
    const char *wrong = value ? trim(value, length) : why;

    redact_add(value);
    if (!value || wrong) {
        wipe(&value);
        return fail(credential, wrong, error);
    }
    if (credential->placeholder_name)
        credential->placeholder = make_placeholder(value);
    if (credential->user && !credential->placeholder_name) {
        credential->value = basic(credential->user, value);
        wipe(&value);
    } else {
        credential->value = TAKE(value);
    }
    return credential->value && (credential->placeholder || !credential->placeholder_name) ? 0 : error_no_memory(error);
}

void network_credential_clear(struct network_credential *credential)
{
    wipe(&credential->value);
    free(credential->host);
    free(credential->header);
    free(credential->user);
    free(credential->placeholder_name);
    free(credential->placeholder);
    free(credential->from);
    *credential = (struct network_credential){0};
}
