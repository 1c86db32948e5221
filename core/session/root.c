/* The sandbox's root for operations on its files: asked of the provider, shared by all threads, renewed in time. */
#include "session/session.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Every use of the sandbox moves its idle time to live, which no less than seconds make up. */
enum { RENEW_MS = 10 * 1000, ASK_MS = 60 * 1000 };

void session_roots_init(struct session_roots *roots)
{
    *roots = (struct session_roots){0};
    pthread_mutex_init(&roots->lock, NULL);
}

/* One user less. Under the lock. */
static void drop(struct session_root *root)
{
    if (!root || --root->users > 0)
        return;
    close(root->fd);
    if (root->alive_fd >= 0)
        close(root->alive_fd);
    free(root);
}

void session_roots_clear(struct session_roots *roots)
{
    drop(TAKE(roots->current));
    pthread_mutex_destroy(&roots->lock);
}

void session_root_give_back(struct sandlot_session *session, struct session_root *root)
{
    if (!root)
        return;
    pthread_mutex_lock(&session->roots.lock);
    drop(root);
    pthread_mutex_unlock(&session->roots.lock);
}

static bool is_alive(const struct session_root *root)
{
    struct pollfd alive = {root->alive_fd, POLLIN, 0};

    return root->alive_fd < 0 || poll(&alive, 1, 0) == 0;
}

/* Can this process follow paths inside ROOT_FD? Not on an old kernel, nor where a filter forbids the call. */
static bool can_resolve(int root_fd)
{
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    AUTO_CLOSE int fd = (int)syscall(SYS_openat2, root_fd, ".", &how, sizeof(how));

    return fd >= 0 || (errno != ENOSYS && errno != EPERM);
}

/* Closes ROOT where the provider may not show it; then there are commands, which run where it may. */
static enum sandlot_status check_place(const struct provider *provider, struct sandlot_root *root)
{
    if (!provider->worker || worker_may_show(provider->worker, root))
        return SANDLOT_OK;
    close(root->fd);
    if (SANDLOT_HAS(root, alive_fd) && root->alive_fd >= 0)
        close(root->alive_fd);
    log_info("%s: its process may not write to what it shows as its sandbox's files: they are reached by commands",
             provider->entry->name);
    return SANDLOT_UNSUPPORTED;
}

/* Asks the provider. ROOT is initialised, and holds no descriptor unless the answer is SANDLOT_OK. */
static enum sandlot_status ask(struct sandlot_session *session, struct sandlot_root *root, int64_t deadline_ms,
                               int cancel_fd, struct sandlot_error *error)
{
    const struct provider *provider = session->provider;

    deadline_ms = deadline_ms ? deadline_ms : sandlot_now_ms() + ASK_MS; /* a transfer has none */
    enum sandlot_status status = session_take_turn(session, deadline_ms, cancel_fd, error);
    struct host_call call;

    *root = (struct sandlot_root){.size = sizeof(*root), .fd = -1, .alive_fd = -1};
    if (status != SANDLOT_OK)
        return status;
    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    status = provider->table.open_root(&call.call, provider->instance, session->sandbox, root);
    session_give_turn_back(session);
    host_call_error(&call, status, "cannot reach the files of the sandbox", true, error);
    host_call_clear(&call);
    if (status == SANDLOT_OK && root->fd < 0) {
        error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                  "%s: the provider opened the sandbox's root without a descriptor; report this to its author",
                  provider->entry->name);
        return SANDLOT_INTERNAL;
    }
    return status == SANDLOT_OK ? check_place(provider, root) : status;
}

/* ANSWER as a root with one user. NULL when out of memory; the descriptors are taken over in any case. */
static struct session_root *new_root(const struct sandlot_root *answer)
{
    AUTO_CLOSE int fd = answer->fd;
    AUTO_CLOSE int alive_fd = SANDLOT_HAS(answer, alive_fd) ? answer->alive_fd : -1;
    struct session_root *root = calloc(1, sizeof(*root));

    if (!root)
        return NULL;
    /* A provider may have forgotten it, and no child of this process is to have the sandbox's root. */
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (alive_fd >= 0)
        fcntl(alive_fd, F_SETFD, FD_CLOEXEC);
    *root = (struct session_root){.fd = take_fd(&fd),
                                  .uid = answer->uid,
                                  .gid = answer->gid,
                                  .alive_fd = take_fd(&alive_fd),
                                  .opened_at_ms = sandlot_now_ms(),
                                  .users = 1};
    return root;
}

static struct session_root *has_none(struct sandlot_session *session, struct sandlot_error *error)
{
    pthread_mutex_lock(&session->roots.lock);
    session->roots.none = true;
    pthread_mutex_unlock(&session->roots.lock);
    error_set(error, SANDLOT_CODE_NOT_SUPPORTED, "%s: the files of this sandbox can only be reached by commands",
              session->provider->entry->name);
    return NULL;
}

/* A new root from the provider, with one user. */
static struct session_root *open_root(struct sandlot_session *session, int64_t deadline_ms, int cancel_fd,
                                      struct sandlot_error *error)
{
    struct sandlot_error why = {0};
    struct sandlot_root answer;
    enum sandlot_status status = ask(session, &answer, deadline_ms, cancel_fd, &why);

    if (status != SANDLOT_UNSUPPORTED && error_is_set(&why))
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    if (status == SANDLOT_UNSUPPORTED)
        return has_none(session, error);
    if (status != SANDLOT_OK)
        return NULL;
    struct session_root *root = new_root(&answer);

    if (!root) {
        error_no_memory(error);
        return NULL;
    }
    if (can_resolve(root->fd))
        return root;
    drop(root);
    return has_none(session, error);
}

/* The current root with one more user, if it still serves. NULL: a new one is needed. */
static struct session_root *take_current(struct session_roots *roots)
{
    struct session_root *root = NULL;

    pthread_mutex_lock(&roots->lock);
    if (roots->current && is_alive(roots->current)) {
        bool old = sandlot_now_ms() - roots->current->opened_at_ms >= RENEW_MS;

        if (!old || roots->renewing)
            root = roots->current;
        else
            roots->renewing = true;
    }
    if (root)
        root->users++;
    pthread_mutex_unlock(&roots->lock);
    return root;
}

/* Makes ROOT (NULL: there is none any more) the current one. */
static void replace_current(struct session_roots *roots, struct session_root *root)
{
    pthread_mutex_lock(&roots->lock);
    roots->renewing = false;
    drop(roots->current);
    roots->current = root;
    if (root)
        root->users++;
    pthread_mutex_unlock(&roots->lock);
}

static bool is_known_to_have_none(struct sandlot_session *session)
{
    pthread_mutex_lock(&session->roots.lock);
    bool none = session->roots.none || !session->provider->table.open_root;
    pthread_mutex_unlock(&session->roots.lock);
    return none;
}

struct session_root *session_root_take(struct sandlot_session *session, int64_t deadline_ms, int cancel_fd,
                                       struct sandlot_error *error)
{
    struct session_roots *roots = &session->roots;

    if (is_known_to_have_none(session))
        return has_none(session, error);
    struct session_root *root = take_current(roots);

    if (root)
        return root;
    root = open_root(session, deadline_ms, cancel_fd, error);
    replace_current(roots, root);
    return root;
}

int session_has_root(struct sandlot_session *session, int64_t deadline_ms, int cancel_fd, struct sandlot_error *error)
{
    struct sandlot_error why = {0};

    if (is_known_to_have_none(session))
        return 0;
    struct session_root *root = session_root_take(session, deadline_ms, cancel_fd, &why);
    int answer = root ? 1 : why.code == SANDLOT_CODE_NOT_SUPPORTED ? 0 : -1;

    session_root_give_back(session, root);
    if (answer < 0)
        error_set(error, why.code, "%s", why.message);
    sandlot_error_clear(&why);
    return answer;
}
