/*
 * What the providers of this folder share: boxes that are folders below $FIRST_FOLDER, and commands in them. Nothing is
 * isolated. Box ID is $FIRST_FOLDER/ID/ with the folder `files`, where commands start, and the file `label`.
 */
#ifndef SANDLOT_ABI_BOXES_H
#define SANDLOT_ABI_BOXES_H

#include <sandlot/provider.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BOX_PATH = 1024 };

static inline enum sandlot_status box_fault(struct sandlot_call *call, const char *what)
{
    return sandlot_fail(call, SANDLOT_INTERNAL, "%s: %s; look at FIRST_FOLDER", what, strerror(errno));
}

/* The path of NAME in box ID. False after host->fail. */
static inline bool box_path(struct sandlot_call *call, const char *id, const char *name, char *path)
{
    const char *folder = call->host->environment(call, "FIRST_FOLDER");

    if (!folder || strchr(id, '/'))
        sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "FIRST_FOLDER or the id is missing; set the variable");
    else if (snprintf(path, BOX_PATH, "%s/%s/%s", folder, id, name) < BOX_PATH)
        return true;
    return false;
}

/* One shell command of the test's own, with $1 and $2. */
static inline bool box_shell(const char *script, const char *first, const char *second)
{
    pid_t child = fork();
    int how = -1;

    if (child == 0) {
        execl("/bin/sh", "sh", "-c", script, "sh", first, second, (char *)NULL);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    return how == 0;
}

/* Finds box SANDBOX_ID or makes one, and tells the host. *SANDBOX is its id, to be freed. */
static inline enum sandlot_status box_get_or_create(struct sandlot_call *call, const struct sandlot_create *request,
                                                    void **sandbox)
{
    char path[BOX_PATH];
    char id[64];

    snprintf(id, sizeof(id), "%s", request->sandbox_id ? request->sandbox_id : request->run_label);
    if (!box_path(call, id, "files", path))
        return SANDLOT_INVALID_ARGUMENT;
    if (request->sandbox_id && access(path, X_OK) != 0)
        return sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no box %s; make one", id);
    if (!request->sandbox_id &&
        !box_shell("mkdir -p \"$1\" && printf %s \"$2\" >\"$1/../label\"", path, request->run_label))
        return box_fault(call, "cannot make a box");
    call->host->created(call, id, path);
    *sandbox = strdup(id);
    return *sandbox ? SANDLOT_OK : SANDLOT_INTERNAL;
}

static inline enum sandlot_status box_delete(struct sandlot_call *call, const char *id)
{
    char path[BOX_PATH];

    if (!*id || !box_path(call, id, "", path))
        return SANDLOT_INVALID_ARGUMENT;
    return box_shell("rm -rf -- \"$1\"", path, NULL) ? SANDLOT_OK : box_fault(call, "cannot delete a box");
}

/* All of SOURCE in a file without a name; -1 on error. */
static inline int box_collect(const struct sandlot_source *source, enum sandlot_status *status)
{
    char buffer[65536];
    size_t length = 1;
    int fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    *status = fd < 0 ? SANDLOT_INTERNAL : SANDLOT_OK;
    while (*status == SANDLOT_OK && length > 0) {
        length = 0;
        *status = source->read(source, buffer, sizeof(buffer), &length);
        if (*status == SANDLOT_OK && write(fd, buffer, length) != (ssize_t)length)
            *status = SANDLOT_INTERNAL;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Passes on what comes out of PIPE until it ends, or the command's or the call's time is up. */
static inline enum sandlot_status box_watch(struct sandlot_call *call, int64_t timeout_ms, int pipe,
                                            const struct sandlot_sink *output, bool *timed_out)
{
    const int64_t end = timeout_ms > 0 ? sandlot_now_ms() + timeout_ms : INT64_MAX;
    char buffer[8192];

    for (;;) {
        struct pollfd watched[] = {{pipe, POLLIN, 0}, {call->cancel_fd, POLLIN, 0}};

        if (poll(watched, 2, sandlot_remaining_ms(call, 100)) < 0 && errno != EINTR)
            return SANDLOT_INTERNAL;
        *timed_out = sandlot_now_ms() >= end;
        if (*timed_out)
            return SANDLOT_OK;
        if (sandlot_cancelled(call))
            return SANDLOT_CANCELLED;
        if (sandlot_remaining_ms(call, 1) == 0)
            return SANDLOT_TIMEOUT;
        ssize_t length = watched[0].revents ? read(pipe, buffer, sizeof(buffer)) : -1;

        if (length == 0)
            return SANDLOT_OK;
        enum sandlot_status status = length > 0 ? output->write(output, buffer, (size_t)length) : SANDLOT_OK;

        if (status != SANDLOT_OK)
            return status;
    }
}

static inline void box_become(const char *folder, const struct sandlot_command *command, int input, int output)
{
    static const char *const nothing[] = {NULL};
    const char *const *environment = command->environment ? command->environment : nothing;

    setpgid(0, 0);
    if (dup2(input, 0) == 0 && dup2(output, 1) == 1 && dup2(output, 2) == 2 &&
        chdir(command->working_dir ? command->working_dir : folder) == 0)
        execle("/bin/sh", "sh", "-c", "--", command->command, (char *)NULL, environment);
    _exit(126);
}

static inline enum sandlot_status box_execute(struct sandlot_call *call, const char *id,
                                              const struct sandlot_command *command, const struct sandlot_sink *output,
                                              struct sandlot_exit *result)
{
    enum sandlot_status status = SANDLOT_OK;
    char folder[BOX_PATH];
    int ends[2];
    int how = 0;

    if (!box_path(call, id, "files", folder))
        return SANDLOT_INVALID_ARGUMENT;
    int input = command->input ? box_collect(command->input, &status) : open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (status != SANDLOT_OK || input < 0 || pipe2(ends, O_CLOEXEC) < 0) {
        if (input >= 0)
            close(input);
        return status != SANDLOT_OK ? status : box_fault(call, "cannot start a command");
    }
    pid_t child = fork();

    if (child == 0)
        box_become(folder, command, input, ends[1]);
    close(input);
    close(ends[1]);
    if (child > 0)
        status = box_watch(call, command->timeout_ms, ends[0], output, &result->timed_out);
    close(ends[0]);
    if (child > 0 && (status != SANDLOT_OK || result->timed_out))
        kill(-child, SIGKILL);
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR)
        continue;
    result->exit_code = result->timed_out ? 124 : WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    return child > 0 ? status : box_fault(call, "cannot start a process");
}

#endif
