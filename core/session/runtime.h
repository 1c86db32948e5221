/* What the public `struct sandlot` and `struct sandlot_cancellation` are inside the library. */
#ifndef SANDLOT_SESSION_RUNTIME_H
#define SANDLOT_SESSION_RUNTIME_H

#include "base/descriptors.h"
#include "base/log.h"
#include "base/threads.h"
#include "config/config.h"
#include "config/environment.h"
#include "loader/loader.h"
#include "registry/registry.h"

#include <sandlot/sandlot.h>

/* Built once by sandlot_open and only read afterwards, so any thread may use it. */
struct sandlot {
    struct config *config;
    struct environment *environment;
    struct registry *registry;
    bool explicit_config; /* the configuration was named by --config: the ledger records it */
    log_receiver message; /* the caller's, which must not be called after the end; NULL: none */
    void *message_context;
    struct threads *threads;         /* of jobs */
    struct descriptors *descriptors; /* that these may open */
};

struct sandlot_cancellation {
    int event_fd; /* readable from the moment of the cancellation on */
};

/* The descriptor that a cancelled call sees; -1 for NULL. */
int cancellation_fd(const struct sandlot_cancellation *cancellation);

/* 0 while CANCEL_FD (-1: none) is not readable, else -1 with SANDLOT_CODE_CANCELLED. */
int cancellation_check(int cancel_fd, struct sandlot_error *error);

/* Loads provider NAME (NULL: "local") with PARAMETERS; see provider_load. */
struct provider *runtime_load(struct sandlot *sandlot, const char *name, const char *const *parameters, bool lenient,
                              struct sandlot_error *error);

#define RUNTIME_DEFAULT_PROVIDER "local"

#endif
