/*
 * sandlot-egress-credentials: sandlot-egress with credentials. The keeper starts it before it makes the box, with the
 * descriptors of egress_prepare and the memory file of ../credentials.h as 5, no arguments and no environment. It
 * answers with the certificate of the box's authority, or why it cannot be.
 */
#include "../protocol.h"
#include "intercept.h"

#include <sandlot/provider.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECRETS_FD = 5, ANSWER_MS = 5000 };

/* The bytes of the memory file, of which nothing is left; NULL: they cannot be read. They stay for good. */
static char *take_secrets(size_t *length)
{
    struct stat status;

    if (fstat(SECRETS_FD, &status) < 0 || status.st_size <= 0 || status.st_size > CREDENTIALS_BYTES)
        return NULL;
    *length = (size_t)status.st_size;
    char *bytes = malloc(*length);
    const bool whole = bytes && pread(SECRETS_FD, bytes, *length, 0) == (ssize_t)*length;

    if (ftruncate(SECRETS_FD, 0) == 0 && close(SECRETS_FD) == 0 && whole)
        return bytes;
    free(bytes);
    return NULL;
}

static int tell_problem(const struct egress *egress, const char *problem)
{
    struct failure failure = {.status = SANDLOT_DEPENDENCY_MISSING};

    snprintf(failure.message, sizeof(failure.message), "%s", problem);
    protocol_send(egress->control_fd, MESSAGE_FAILED, &failure, sizeof(failure), NULL, 0, egress_now_ms() + ANSWER_MS);
    return 1;
}

int main(void)
{
    struct egress egress;
    struct intercept intercept;
    const char *problem = "the credentials of the sandbox could not be read";
    size_t length = 0;

    if (!egress_prepare(&egress))
        return 1;
    char *secrets = take_secrets(&length);

    if (!secrets || intercept_open(&intercept, secrets, length, &problem) < 0)
        return tell_problem(&egress, problem);
    char *text = authority_text(&intercept.authority);

    if (!text || protocol_send(egress.control_fd, MESSAGE_AUTHORITY, text, strlen(text), NULL, 0,
                               egress_now_ms() + ANSWER_MS) != PROTOCOL_OK)
        return 1;
    free(text);
    egress.interceptor = &interceptor;
    egress.secrets = &intercept;
    return egress_serve(&egress);
}
