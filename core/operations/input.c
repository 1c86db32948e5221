#include "operations/input.h"

#include "base/error.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A terminal that is gone is the end of input; the same error from a disk is none. */
static bool is_lost_terminal(int fd, int reason)
{
    struct stat status;

    return reason == EIO && fstat(fd, &status) == 0 && S_ISCHR(status.st_mode);
}

static enum sandlot_status read_input(const struct sandlot_source *source, void *buffer, size_t capacity,
                                      size_t *length)
{
    struct input *input = source->context;

    for (;;) {
        struct pollfd fds[2] = {{input->fd, POLLIN, 0}, {input->cancel_fd, POLLIN, 0}};
        int64_t left = input->deadline_ms ? input->deadline_ms - sandlot_now_ms() : INT32_MAX;
        int ready = poll(fds, 2, left < 0 ? 0 : left > INT32_MAX ? INT32_MAX : (int)left);

        if (ready < 0 && errno == EINTR)
            continue;
        if (fds[1].revents)
            return SANDLOT_CANCELLED;
        if (ready == 0 && left <= 0)
            return SANDLOT_TIMEOUT;
        if (ready == 0)
            continue;
        ssize_t got = read(input->fd, buffer, capacity);

        if (got < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        *length = got > 0 ? (size_t)got : 0;
        if (got >= 0 || is_lost_terminal(input->fd, errno))
            return SANDLOT_OK;
        input->problem = errno;
        return SANDLOT_INTERNAL;
    }
}

void input_init(struct input *input, int fd, int64_t deadline_ms, int cancel_fd)
{
    *input = (struct input){.fd = fd, .cancel_fd = cancel_fd, .deadline_ms = deadline_ms};
    input->source = (struct sandlot_source){sizeof(input->source), input, read_input, fd};
}

int input_error(const struct input *input, struct sandlot_error *error)
{
    if (!input->problem)
        return 0;
    return error_set(error, SANDLOT_CODE_USAGE, "the command's input cannot be read: %s", strerror(input->problem));
}

static bool is_variable(const char *entry)
{
    if (!isalpha((unsigned char)*entry) && *entry != '_')
        return false;
    while (isalnum((unsigned char)*entry) || *entry == '_')
        entry++;
    return *entry == '=';
}

int check_variables(const char *const *environment, struct sandlot_error *error)
{
    for (const char *const *entry = environment; entry && *entry; entry++)
        if (!is_variable(*entry))
            return error_set(error, SANDLOT_CODE_USAGE,
                             "\"%.*s\" is no name for a variable of the command; use letters, digits and \"_\"",
                             (int)strcspn(*entry, "="), *entry);
    return 0;
}
