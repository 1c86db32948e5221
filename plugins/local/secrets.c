#include "secrets.h"

#include "credentials.h"

#include <sandlot/sdk/cleanup.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { SECRETS_MOST = 64, VALUE_MOST = 16 * 1024, PLACEHOLDER_LEAST = 16, TRUSTED_MOST = 512 * 1024 };

static bool is_one_line(const char *text)
{
    for (const char *at = text; *at; at++)
        if (((unsigned char)*at < ' ' && *at != '\t') || *at == 0x7f)
            return false;
    return *text;
}

static bool is_word(const char *text)
{
    return is_one_line(text) && !text[strcspn(text, " \t")];
}

/* What is wrong with it; NULL: nothing. Never what its value is. */
static const char *problem_of(const struct sandlot_network_credential *credential)
{
    if (!is_word(credential->host) || strspn(credential->host, "0123456789.") == strlen(credential->host) ||
        strpbrk(credential->host, ":/"))
        return "its host is no name; credentials are for names alone";
    if (!is_word(credential->header))
        return "its header is no name of one";
    if (!credential->value || !is_one_line(credential->value) || strlen(credential->value) > VALUE_MOST)
        return "its value is not one line of at most 16 KiB";
    if (!credential->placeholder_name != !credential->placeholder)
        return "its placeholder lacks the name or the text";
    if (credential->placeholder && (!is_word(credential->placeholder_name) || !is_one_line(credential->placeholder) ||
                                    strlen(credential->placeholder) < PLACEHOLDER_LEAST))
        return "its placeholder is shorter than 16 characters, or none that a variable could hold";
    return NULL;
}

static enum sandlot_status check(struct sandlot_call *call, const struct sandlot_network *network)
{
    if (network->credential_count > SECRETS_MOST)
        return sandlot_fail(call, SANDLOT_UNSUPPORTED,
                            "local sandboxes take at most %d credentials; %zu were asked for", SECRETS_MOST,
                            network->credential_count);
    for (size_t i = 0; i < network->credential_count; i++) {
        const char *problem = problem_of(&network->credentials[i]);

        if (problem)
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "the credential for %.200s cannot be used: %s",
                                network->credentials[i].host ? network->credentials[i].host : "?", problem);
    }
    return SANDLOT_OK;
}

/* What may be known of them; NULL: no memory. */
static char *write_lines(const struct sandlot_network *network)
{
    char *lines = NULL;
    size_t length;
    FILE *stream = open_memstream(&lines, &length);

    for (size_t i = 0; stream && i < network->credential_count; i++) {
        const struct sandlot_network_credential *one = &network->credentials[i];

        fprintf(stream, "%s %s %d %s %s\n", one->host, one->header, one->plain,
                one->placeholder ? one->placeholder_name : "-", one->placeholder ? one->placeholder : "-");
    }
    if (stream && fclose(stream) == 0)
        return lines;
    free(lines);
    return NULL;
}

static bool write_text(int fd, const char *text)
{
    const size_t length = strlen(text) + 1;

    return write(fd, text, length) == (ssize_t)length;
}

static bool write_one(int fd, const struct sandlot_network_credential *one)
{
    return write_text(fd, CREDENTIALS_ONE) && write_text(fd, one->host) && write_text(fd, one->header) &&
           write_text(fd, one->plain ? CREDENTIALS_PLAIN : "") &&
           write_text(fd, one->placeholder ? one->placeholder : "") && write_text(fd, one->value);
}

/* A file in memory alone, which is gone with the last of its descriptors; -1: no memory. */
static int write_secrets(const struct sandlot_network *network, const char *authorities)
{
    AUTO_CLOSE int fd = memfd_create("sandlot-credentials", MFD_CLOEXEC);

    for (size_t i = 0; fd >= 0 && i < network->credential_count; i++)
        if (!write_one(fd, &network->credentials[i]))
            return -1;
    return fd >= 0 && write_text(fd, CREDENTIALS_AUTHORITIES) && write_text(fd, authorities) ? take_fd(&fd) : -1;
}

/* The text of the file with further authorities, to be freed; "" without one. NULL: an error was told to the host. */
static char *read_trusted(struct sandlot_call *call, const char *path, enum sandlot_status *status)
{
    AUTO_CLOSE int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
    struct stat file = {.st_size = 0};
    const bool fine =
        !path || (fd >= 0 && fstat(fd, &file) == 0 && S_ISREG(file.st_mode) && file.st_size < TRUSTED_MOST);
    char *text = fine ? calloc(1, (size_t)file.st_size + 1) : NULL;

    if (text && (!path || read(fd, text, (size_t)file.st_size) == file.st_size) &&
        (!path || strstr(text, "-----BEGIN ")))
        return text;
    free(text);
    *status = sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                           "upstream_ca: %.700s is no file of certificates in PEM form that can be read; name one",
                           path ? path : "");
    return NULL;
}

enum sandlot_status secrets_ask(struct sandlot_call *call, const struct sandlot_network *network, char **lines, int *fd)
{
    enum sandlot_status status = check(call, network);

    if (status != SANDLOT_OK)
        return status;
    AUTO_FREE char *authorities =
        read_trusted(call, SANDLOT_HAS(network, trusted_file) ? network->trusted_file : NULL, &status);

    if (!authorities)
        return status;
    *lines = write_lines(network);
    *fd = *lines ? write_secrets(network, authorities) : -1;
    return *fd >= 0 ? SANDLOT_OK : sandlot_fail(call, SANDLOT_INTERNAL, "out of memory");
}

struct sandlot_network_credential *secrets_read(char *lines, size_t *count)
{
    size_t most = 0;

    *count = 0;
    for (const char *at = lines; (at = strchr(at, '\n')); at++)
        most++;
    struct sandlot_network_credential *list = calloc(most + 1, sizeof(*list));

    for (char *line; list && *count < most && (line = strsep(&lines, "\n"));) {
        struct sandlot_network_credential *one = &list[*count];
        const char *host = strsep(&line, " ");
        const char *header = strsep(&line, " ");
        const char *plain = strsep(&line, " ");

        *one = (struct sandlot_network_credential){.host = host, .header = header};
        one->plain = plain && strcmp(plain, "1") == 0;
        *count += plain ? 1 : 0;
    }
    return list;
}
