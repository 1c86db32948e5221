/*
 * sandlot-egress-credentials: sandlot-egress with credentials. The keeper starts it before it makes the box, with the
 * descriptors of egress_prepare and the memory file of ../credentials.h as 5, no arguments and no environment. It
 * answers with the certificate of the box's authority, or why it cannot be.
 */
#include "../authorities.h"
#include "../protocol.h"
#include "intercept.h"
#include "truststore.h"

#include <sandlot/provider.h>
#include <sandlot/sdk/cleanup.h>
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

/* Tells the keeper whom the box has to trust; where this machine has Java, in a form for that as well. False: it is
 * gone, or memory is. */
static bool tell_authority(const struct egress *egress, const struct intercept *intercept)
{
    AUTO_FREE char *text = authority_text(&intercept->authority);
    AUTO_CLOSE int store =
        text && access(AUTHORITIES_OF_JAVA, F_OK) == 0 ? truststore_make(text, intercept->authorities_fd) : -1;

    return text && protocol_send(egress->control_fd, MESSAGE_AUTHORITY, text, strlen(text), &store, store >= 0,
                                 egress_now_ms() + ANSWER_MS) == PROTOCOL_OK;
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
    if (!tell_authority(&egress, &intercept) || intercept_trust(&intercept) < 0)
        return 1;
    egress.interceptor = &interceptor;
    egress.secrets = &intercept;
    return egress_serve(&egress);
}
