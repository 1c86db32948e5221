#include "loader/host.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/redact.h"
#include "base/text.h"

#include <pthread.h>
#include <string.h>

/* A provider's sentence that is longer than this is no sentence. */
enum { LONGEST_MESSAGE = 4096 };

/* Guards `message` of every call: a provider may fail on several threads at once, which is rare and short. */
static pthread_mutex_t message_lock = PTHREAD_MUTEX_INITIALIZER;

static struct host_call *host_call_of(struct sandlot_call *call)
{
    return (struct host_call *)((char *)call - offsetof(struct host_call, call));
}

/* What a provider said as proper UTF-8 of bounded length, without blanks and newlines at its end; to be freed. Secrets
 * go first: one that the bound cuts in two would not be known any more. */
static char *sentence(const char *message)
{
    AUTO_FREE char *clean = redact(message);
    size_t length = clean ? strnlen(clean, LONGEST_MESSAGE) : 0;

    while (length > 0 && strchr(" \t\r\n", clean[length - 1]))
        length--;
    return clean ? text_utf8_replace(clean, length, NULL) : NULL;
}

static enum sandlot_status host_fail(struct sandlot_call *call, enum sandlot_status status, const char *message)
{
    struct host_call *host_call = host_call_of(call);
    AUTO_FREE char *copy = message ? sentence(message) : NULL;

    if (!copy || !*copy)
        return status;
    pthread_mutex_lock(&message_lock);
    if (!host_call->message)
        host_call->message = TAKE(copy);
    pthread_mutex_unlock(&message_lock);
    return status;
}

static void host_log(struct sandlot_call *call, enum sandlot_log_level level, const char *message)
{
    static const enum sandlot_message_level levels[] = {
        [SANDLOT_LOG_ERROR] = SANDLOT_MESSAGE_ERROR,
        [SANDLOT_LOG_WARNING] = SANDLOT_MESSAGE_WARNING,
        [SANDLOT_LOG_INFO] = SANDLOT_MESSAGE_INFO,
        [SANDLOT_LOG_DEBUG] = SANDLOT_MESSAGE_DEBUG,
    };
    AUTO_FREE char *copy = message ? sentence(message) : NULL;

    if (copy)
        log_message((size_t)level < sizeof(levels) / sizeof(levels[0]) ? levels[level] : SANDLOT_MESSAGE_DEBUG,
                    "%s: %s", host_call_of(call)->provider, copy);
}

static const char *host_environment(struct sandlot_call *call, const char *name)
{
    const struct environment *environment = host_call_of(call)->environment;

    return environment && name && *name ? environment_lookup(environment, name) : NULL;
}

static void host_progress(struct sandlot_call *call, const char *what, uint64_t done, uint64_t total)
{
    const struct host_call *host_call = host_call_of(call);

    if (host_call->progress && what)
        host_call->progress(host_call->context, what, done, total);
}

static void host_created(struct sandlot_call *call, const char *id, const char *working_dir)
{
    const struct host_call *host_call = host_call_of(call);

    /* Without an id there is nothing to delete later: the fault must not go unseen. */
    if (!id || !*id)
        log_warning("%s: the provider reported a new sandbox without an id; `sandlot gc` looks for it by its label",
                    host_call->provider);
    else if (host_call->created)
        host_call->created(host_call->context, id, working_dir && *working_dir ? working_dir : NULL);
}

static const struct sandlot_host host = {
    .size = sizeof(struct sandlot_host),
    .abi_major = SANDLOT_ABI_MAJOR,
    .abi_minor = SANDLOT_ABI_MINOR,
    .fail = host_fail,
    .log = host_log,
    .environment = host_environment,
    .progress = host_progress,
    .created = host_created,
};

void host_call_init(struct host_call *call, const char *provider, const struct environment *environment,
                    int64_t deadline_ms, int cancel_fd)
{
    *call = (struct host_call){
        .call = {.size = sizeof(call->call), .host = &host, .deadline_ms = deadline_ms, .cancel_fd = cancel_fd},
        .provider = provider,
        .environment = environment,
    };
}

void host_call_clear(struct host_call *call)
{
    free(call->message);
    call->message = NULL;
}

void host_call_crashed(struct sandlot_call *call, const char *text)
{
    struct host_call *host_call = host_call_of(call);
    char *copy = text ? sentence(text) : NULL;

    pthread_mutex_lock(&message_lock);
    free(host_call->message);
    host_call->message = copy;
    host_call->crashed = true;
    pthread_mutex_unlock(&message_lock);
}

/* Why it failed and what to do, for a provider that did not say. */
static const char *default_sentence(enum sandlot_status status)
{
    switch (status) {
    case SANDLOT_NOT_FOUND:
        return "there is no such sandbox (any more); `sandlot list` shows those that exist";
    case SANDLOT_AUTH:
        return "credentials are missing, wrong or expired; `sandlot providers` names the variables to set";
    case SANDLOT_INVALID_ARGUMENT:
        return "the provider refused the request as invalid; check its parameters with `sandlot providers`";
    case SANDLOT_UNSUPPORTED:
        return "this provider cannot do that; `sandlot providers` shows what each one can do";
    case SANDLOT_UNAVAILABLE:
        return "the provider's service cannot be reached at the moment; check the network and try again later";
    case SANDLOT_TIMEOUT:
        return "the provider did not answer in time; try again, or allow more time";
    case SANDLOT_CANCELLED:
        return "it was cancelled; run it again when you want it to finish";
    case SANDLOT_EXHAUSTED:
        return "a quota or limit is used up; delete sandboxes that are not needed any more or raise the limit";
    case SANDLOT_DEPENDENCY_MISSING:
        return "something that the provider needs is not installed; `sandlot doctor` looks for it";
    case SANDLOT_OK:
    case SANDLOT_INTERNAL:
        break;
    }
    return "a fault inside the provider, which gave no reason; run again with -vv and report it to its author";
}

int host_call_error(const struct host_call *call, enum sandlot_status status, const char *what, bool created,
                    struct sandlot_error *error)
{
    if (status == SANDLOT_OK)
        return 0;
    enum sandlot_code code = call->crashed ? SANDLOT_CODE_PROVIDER_CRASHED : error_code_of_status(status, created);

    pthread_mutex_lock(&message_lock);
    error_set(error, code, "%s: %s: %s", call->provider, what,
              call->message ? call->message : default_sentence(status));
    pthread_mutex_unlock(&message_lock);
    return -1;
}
