#include "session/runtime.h"

#include "base/error.h"
#include "base/sized.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

const char *sandlot_version(void)
{
    return SANDLOT_VERSION;
}

struct sandlot *sandlot_open(const struct sandlot_options *options, struct sandlot_error *error)
{
    struct sandlot_options own;

    if (sized_read(&own, sizeof(own), options, sizeof(own.size), "sandlot_options", error) < 0)
        return NULL;
    struct sandlot *sandlot = calloc(1, sizeof(*sandlot));

    if (!sandlot) {
        error_no_memory(error);
        return NULL;
    }
    sandlot->message = own.message;
    sandlot->message_context = own.message_context;
    if (own.message)
        log_set_receiver(own.message, own.message_context);
    sandlot->explicit_config = own.config_file != NULL;
    sandlot->config = config_load(own.config_file, error);
    sandlot->environment = sandlot->config ? environment_load(own.no_environment_files) : NULL;
    sandlot->registry = sandlot->environment ? registry_new(sandlot->config) : NULL;
    sandlot->threads = sandlot->registry ? threads_new() : NULL;
    sandlot->descriptors = sandlot->threads ? descriptors_new() : NULL;
    if (!sandlot->descriptors) {
        error_no_memory(error); /* keeps the reason of config_load if there is one */
        sandlot_close(sandlot);
        return NULL;
    }
    return sandlot;
}

void sandlot_close(struct sandlot *sandlot)
{
    if (!sandlot)
        return;
    threads_free(sandlot->threads);
    descriptors_free(sandlot->descriptors);
    if (sandlot->registry)
        registry_free(sandlot->registry);
    if (sandlot->environment)
        environment_free(sandlot->environment);
    if (sandlot->config)
        config_free(sandlot->config);
    if (sandlot->message)
        log_unset_receiver(sandlot->message, sandlot->message_context);
    free(sandlot);
}

struct provider *runtime_load(struct sandlot *sandlot, const char *name, const char *const *parameters, bool lenient,
                              struct sandlot_error *error)
{
    const struct registry_entry *entry =
        registry_find(sandlot->registry, name ? name : RUNTIME_DEFAULT_PROVIDER, error);

    if (!entry)
        return NULL;
    return provider_load(entry, sandlot->environment, sandlot->config->file, parameters, lenient, error);
}

struct sandlot_cancellation *sandlot_cancellation_new(void)
{
    struct sandlot_cancellation *cancellation = malloc(sizeof(*cancellation));

    if (!cancellation)
        return NULL;
    cancellation->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (cancellation->event_fd < 0) {
        free(cancellation);
        return NULL;
    }
    return cancellation;
}

void sandlot_cancel(struct sandlot_cancellation *cancellation)
{
    static const uint64_t one = 1;
    int saved = errno; /* a signal handler must not change it */

    /* Cannot fail in a way that matters: a counter that is full is readable too. */
    if (write(cancellation->event_fd, &one, sizeof(one)) < 0)
        errno = saved;
}

void sandlot_cancellation_free(struct sandlot_cancellation *cancellation)
{
    if (!cancellation)
        return;
    close(cancellation->event_fd);
    free(cancellation);
}

int cancellation_fd(const struct sandlot_cancellation *cancellation)
{
    return cancellation ? cancellation->event_fd : -1;
}

int cancellation_check(int cancel_fd, struct sandlot_error *error)
{
    struct pollfd cancel = {cancel_fd, POLLIN, 0};

    if (cancel_fd < 0 || poll(&cancel, 1, 0) <= 0)
        return 0;
    return error_set(error, SANDLOT_CODE_CANCELLED, "it was cancelled; run it again when you want it to finish");
}
