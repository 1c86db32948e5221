/*
 * Each directory that is still to be read is a task on a stack that all threads share, so that the walk goes deep first
 * and the stack stays short. A thread keeps only the directory open that it is at; any other is reached again from
 * there or from the start by its names, which is one system call per 4096 bytes of path. That is why a tree of any
 * depth takes one descriptor per thread.
 */
#include "operations/native/walk.h"

#include "base/cleanup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <sandlot/provider.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    DIRENTS = 32 * 1024, /* bytes read from a directory at a time */
    SHARED_LEAST = 512,  /* bytes of entries that are worth giving to another thread */
    LOOKED_EVERY = 32,   /* entries between two looks at the clock */
    /* Work that pays for starting threads, in entries, and what other things count as. */
    WORK_SHARED = 2048,
    WORK_DIRECTORY = 32,
    WORK_LONG_VISIT = 64
};

/* A directory. Lives as long as a task, a thread or a directory below needs its name. */
struct node {
    struct node *parent; /* NULL: the start */
    atomic_size_t references;
    size_t path_length; /* of its path below the start */
    size_t name_length;
    char name[];
};

/* A directory to be read, or, with a length, some entries of one to be visited. */
struct task {
    struct task *next;
    struct node *node;
    size_t length;
    _Alignas(struct dirent64) char dirents[];
};

struct walk {
    const struct walk_plan *plan;
    bool start_is_root;
    atomic_int stopped; /* errno why; 0: goes on */
    atomic_int idle;    /* threads that wait for a task */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct task *tasks; /* all below: under the lock */
    int active;         /* threads that work on a task */
};

struct walk_worker {
    struct walk *walk;
    void *state;
    pthread_t thread;
    struct node *held; /* the directory that is open as held_fd, and whose path is in PATH; NULL: none */
    int held_fd;
    char *path;
    size_t path_capacity;
    unsigned int visited;
    size_t work;      /* done before there were helpers */
    bool may_recruit; /* is the caller's thread, and has not started helpers yet */
    struct walk_worker *helpers;
    int helper_count;
    _Alignas(struct dirent64) char dirents[DIRENTS];
};

void walk_stop(struct walk_worker *worker, int reason)
{
    int none = 0;

    atomic_compare_exchange_strong(&worker->walk->stopped, &none, reason);
}

static bool stopped(const struct walk_worker *worker)
{
    return atomic_load_explicit(&worker->walk->stopped, memory_order_relaxed) != 0;
}

static void node_release(struct node *node)
{
    while (node->parent && atomic_fetch_sub(&node->references, 1) == 1) {
        struct node *parent = node->parent;

        free(node);
        node = parent;
    }
}

static struct node *node_hold(struct node *node)
{
    if (node->parent)
        atomic_fetch_add(&node->references, 1);
    return node;
}

static struct node *node_new(struct node *parent, const char *name, size_t length)
{
    struct node *node = malloc(sizeof(*node) + length + 1);

    if (!node)
        return NULL;
    node->parent = node_hold(parent);
    atomic_init(&node->references, 1);
    node->path_length = parent->path_length + (parent->parent ? 1 : 0) + length;
    node->name_length = length;
    memcpy(node->name, name, length + 1);
    return node;
}

/* Takes over the reference to NODE. */
static struct task *task_new(struct node *node, const char *dirents, size_t length)
{
    struct task *task = node ? malloc(sizeof(*task) + length) : NULL;

    if (!task) {
        if (node)
            node_release(node);
        return NULL;
    }
    *task = (struct task){.node = node, .length = length};
    if (length > 0)
        memcpy(task->dirents, dirents, length);
    return task;
}

static void task_free(struct task *task)
{
    node_release(task->node);
    free(task);
}

/* Puts the list FIRST to LAST on the stack. WAKE: this thread will not come back for them soon. */
static void put_tasks(struct walk *walk, struct task *first, struct task *last, bool wake)
{
    pthread_mutex_lock(&walk->lock);
    last->next = walk->tasks;
    walk->tasks = first;
    if (wake && atomic_load_explicit(&walk->idle, memory_order_relaxed) > 0)
        pthread_cond_broadcast(&walk->changed);
    pthread_mutex_unlock(&walk->lock);
}

/* The next task, waited for as long as some thread may still make one. NULL: there will be none. */
static struct task *take_task(struct walk *walk)
{
    struct task *task = NULL;

    pthread_mutex_lock(&walk->lock);
    walk->active--;
    while (!walk->tasks && walk->active > 0 && !atomic_load(&walk->stopped)) {
        atomic_fetch_add(&walk->idle, 1);
        pthread_cond_wait(&walk->changed, &walk->lock);
        atomic_fetch_sub(&walk->idle, 1);
    }
    if (walk->tasks && !atomic_load(&walk->stopped)) {
        task = walk->tasks;
        walk->tasks = task->next;
        walk->active++;
    } else {
        pthread_cond_broadcast(&walk->changed);
    }
    pthread_mutex_unlock(&walk->lock);
    return task;
}

static void work(struct walk_worker *worker);

static void *helper_main(void *context)
{
    struct walk_worker *worker = context;

    const struct session_root *root = worker->walk->plan->root->shared;
    struct identity before;

    if (identity_assume(root->uid, root->gid, &before) < 0) {
        /* The others do its share. */
        pthread_mutex_lock(&worker->walk->lock);
        worker->walk->active--;
        pthread_cond_broadcast(&worker->walk->changed);
        pthread_mutex_unlock(&worker->walk->lock);
        return NULL;
    }
    work(worker);
    identity_restore(&before);
    return NULL;
}

static int processors(void)
{
    cpu_set_t set;

    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : WALK_THREADS;
}

/* Helpers that cannot be started are done without. No signal of the program is to arrive on one. */
static void recruit(struct walk_worker *worker)
{
    struct walk *walk = worker->walk;
    int wanted = processors() < WALK_THREADS ? processors() - 1 : WALK_THREADS - 1;
    sigset_t all;
    sigset_t before;

    worker->may_recruit = false;
    worker->helpers = wanted > 0 ? calloc((size_t)wanted, sizeof(*worker->helpers)) : NULL;
    if (!worker->helpers)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; worker->helper_count < wanted; worker->helper_count++) {
        struct walk_worker *helper = &worker->helpers[worker->helper_count];

        helper->walk = walk;
        helper->state = (char *)walk->plan->states + (size_t)(worker->helper_count + 1) * walk->plan->state_size;
        pthread_mutex_lock(&walk->lock);
        walk->active++;
        pthread_mutex_unlock(&walk->lock);
        if (pthread_create(&helper->thread, NULL, helper_main, helper) == 0)
            continue;
        pthread_mutex_lock(&walk->lock);
        walk->active--;
        pthread_mutex_unlock(&walk->lock);
        break;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void count_work(struct walk_worker *worker, size_t amount)
{
    worker->work += amount;
    if (worker->may_recruit && worker->work >= WORK_SHARED)
        recruit(worker);
}

/* Has the time come to stop? */
static void look_around(struct walk_worker *worker)
{
    const struct walk_plan *plan = worker->walk->plan;
    struct pollfd cancel = {plan->cancel_fd, POLLIN, 0};

    if (sandlot_now_ms() >= plan->deadline_ms)
        walk_stop(worker, ETIMEDOUT);
    if (plan->cancel_fd >= 0 && poll(&cancel, 1, 0) > 0)
        walk_stop(worker, ECANCELED);
}

bool walk_goes_on(struct walk_worker *worker)
{
    count_work(worker, WORK_LONG_VISIT);
    look_around(worker);
    return !stopped(worker);
}

static bool reserve_path(struct walk_worker *worker, size_t length)
{
    if (length < worker->path_capacity)
        return true;
    size_t capacity = length * 2 + NAME_MAX;
    char *path = realloc(worker->path, capacity);

    if (!path) {
        walk_stop(worker, ENOMEM);
        return false;
    }
    worker->path = path;
    worker->path_capacity = capacity;
    return true;
}

/* Writes the path of NODE below the start into worker->path, from where it differs from that of HELD. */
static bool write_path(struct walk_worker *worker, const struct node *node)
{
    if (!reserve_path(worker, node->path_length))
        return false;
    worker->path[node->path_length] = '\0';
    for (; node->parent && node != worker->held; node = node->parent) {
        char *name = worker->path + node->path_length - node->name_length;

        memcpy(name, node->name, node->name_length);
        if (node->parent->parent)
            name[-1] = '/';
    }
    return true;
}

/* No link on the way, and nothing above. */
static int open_below(int directory, const char *path)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

    return (int)syscall(SYS_openat2, directory, path, &how, sizeof(how));
}

/* Opens PATH, of any length, below DIRECTORY: piece by piece where the kernel takes no path that long. */
static int open_far_below(int directory, char *path)
{
    AUTO_CLOSE int at = -1;

    while (strlen(path) >= PATH_MAX) {
        char *slash = memrchr(path, '/', PATH_MAX - 1);

        if (!slash) {
            errno = ENAMETOOLONG;
            return -1;
        }
        *slash = '\0';
        int next = open_below(at < 0 ? directory : at, path);

        *slash = '/';
        if (next < 0)
            return -1;
        if (at >= 0)
            close(at);
        at = next;
        path = slash + 1;
    }
    return open_below(at < 0 ? directory : at, path);
}

static void let_go(struct walk_worker *worker)
{
    if (!worker->held)
        return;
    if (worker->held->parent)
        close(worker->held_fd);
    node_release(worker->held);
    worker->held = NULL;
}

static void cannot_open(struct walk_worker *worker, const char *relative, int reason)
{
    const struct walk_plan *plan = worker->walk->plan;

    if (reason == EMFILE || reason == ENFILE || reason == ENOMEM)
        walk_stop(worker, reason);
    else if (reason != ENOENT && reason != ENOTDIR && reason != ELOOP && plan->unreadable)
        plan->unreadable(worker->state, worker, relative, reason);
}

/* Makes NODE the directory that this thread is at. False if it cannot be opened, which has then been told. */
static bool go_to(struct walk_worker *worker, struct node *node)
{
    const struct node *from = node;

    if (worker->held && node == worker->held)
        return true;
    while (from->parent && from != worker->held)
        from = from->parent;
    if (!write_path(worker, node))
        return false;
    int fd = worker->walk->plan->start_fd;

    if (node->parent) {
        fd = open_far_below(from == worker->held ? worker->held_fd : fd,
                            worker->path + from->path_length + (from->parent ? 1 : 0));
        int reason = errno;

        let_go(worker);
        if (fd < 0) {
            cannot_open(worker, worker->path, reason);
            return false;
        }
    } else {
        let_go(worker);
    }
    worker->held = node_hold(node);
    worker->held_fd = fd;
    return true;
}

static unsigned char type_of(int directory, const struct dirent64 *entry)
{
    struct stat status;

    if (entry->d_type != DT_UNKNOWN)
        return entry->d_type;
    if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        return DT_UNKNOWN;
    return (unsigned char)IFTODT(status.st_mode);
}

/* The kernel's own trees and devices: endless, changing, and nobody's files. */
static bool is_system(const char *name)
{
    return strcmp(name, "proc") == 0 || strcmp(name, "sys") == 0 || strcmp(name, "dev") == 0 ||
           strcmp(name, "run") == 0;
}

/* Visits one entry. *FOUND: a task for it, if it is a directory to be entered. */
static void visit_entry(struct walk_worker *worker, const struct dirent64 *dirent, struct task **found)
{
    const struct walk_plan *plan = worker->walk->plan;
    struct node *node = worker->held;
    size_t length = strlen(dirent->d_name);
    size_t prefix = node->path_length + (node->parent ? 1 : 0);
    struct walk_entry entry = {.worker = worker,
                               .directory = worker->held_fd,
                               .name = dirent->d_name,
                               .name_length = length,
                               .relative_length = prefix + length,
                               .type = type_of(worker->held_fd, dirent)};

    if (entry.type == DT_UNKNOWN || !reserve_path(worker, prefix + length))
        return;
    if (node->parent)
        worker->path[prefix - 1] = '/';
    memcpy(worker->path + prefix, dirent->d_name, length + 1);
    entry.relative = worker->path;
    bool enter = plan->visit(worker->state, &entry);

    if (entry.type != DT_DIR || !enter || (worker->walk->start_is_root && !node->parent && is_system(entry.name)))
        return;
    *found = task_new(node_new(node, entry.name, length), NULL, 0);
    if (!*found)
        walk_stop(worker, ENOMEM);
}

/* Gives the second half of the entries from AT to LENGTH to a thread that has nothing to do. The new length. */
static size_t share(struct walk_worker *worker, const char *dirents, size_t at, size_t length)
{
    size_t half = at;

    while (half < at + (length - at) / 2)
        half += ((const struct dirent64 *)(const void *)(dirents + half))->d_reclen;
    struct task *task = half < length ? task_new(node_hold(worker->held), dirents + half, length - half) : NULL;

    if (!task)
        return length;
    put_tasks(worker->walk, task, task, true);
    return half;
}

/* Visits the entries in DIRENTS, which are of the directory that the thread is at. */
static void visit_entries(struct walk_worker *worker, const char *dirents, size_t length)
{
    struct walk *walk = worker->walk;
    struct task *first = NULL;
    struct task *last = NULL;

    for (size_t at = 0; at < length && !stopped(worker);) {
        if (length - at >= SHARED_LEAST && atomic_load_explicit(&walk->idle, memory_order_relaxed) > 0)
            length = share(worker, dirents, at, length);
        const struct dirent64 *dirent = (const struct dirent64 *)(const void *)(dirents + at);
        struct task *found = NULL;

        at += dirent->d_reclen;
        if (strcmp(dirent->d_name, ".") == 0 || strcmp(dirent->d_name, "..") == 0)
            continue;
        visit_entry(worker, dirent, &found);
        if (found) {
            found->next = first;
            first = found;
            last = last ? last : found;
        }
        count_work(worker, 1);
        if (++worker->visited % LOOKED_EVERY == 0)
            look_around(worker);
    }
    /* A single one is for ourselves, who are nearest. */
    if (first)
        put_tasks(walk, first, last, first != last);
}

static void read_directory(struct walk_worker *worker)
{
    ssize_t got;

    look_around(worker);
    count_work(worker, WORK_DIRECTORY);
    while (!stopped(worker) && (got = getdents64(worker->held_fd, worker->dirents, sizeof(worker->dirents))) > 0)
        visit_entries(worker, worker->dirents, (size_t)got);
}

static void work(struct walk_worker *worker)
{
    struct task *task;

    while ((task = take_task(worker->walk))) {
        bool there = go_to(worker, task->node);

        if (there && task->length > 0)
            visit_entries(worker, task->dirents, task->length);
        else if (there)
            read_directory(worker);
        task_free(task);
    }
    let_go(worker);
    free(worker->path);
}

int walk_open(const struct file_call *call, int root_fd)
{
    return native_open(root_fd, call->path, O_RDONLY | O_DIRECTORY);
}

int64_t walk_deadline(const struct file_call *call, int64_t limit_ms)
{
    int64_t deadline_ms = sandlot_now_ms() + limit_ms;

    return call->deadline_ms && call->deadline_ms < deadline_ms ? call->deadline_ms : deadline_ms;
}

static bool is_same(int left_fd, int right_fd)
{
    struct stat left;
    struct stat right;

    return fstat(left_fd, &left) == 0 && fstat(right_fd, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

int walk(const struct walk_plan *plan)
{
    struct walk walk = {.plan = plan,
                        .start_is_root = is_same(plan->start_fd, plan->root->fd),
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .changed = PTHREAD_COND_INITIALIZER,
                        .active = 1};
    AUTO_FREE struct walk_worker *worker = calloc(1, sizeof(*worker));
    AUTO_FREE struct node *start = calloc(1, sizeof(*start));

    walk.tasks = task_new(start, NULL, 0);
    if (!worker || !walk.tasks) {
        free(walk.tasks);
        return ENOMEM;
    }
    worker->walk = &walk;
    worker->state = plan->states;
    worker->may_recruit = true;
    work(worker);
    for (int i = 0; i < worker->helper_count; i++)
        pthread_join(worker->helpers[i].thread, NULL);
    free(worker->helpers);
    while (walk.tasks) {
        struct task *task = walk.tasks;

        walk.tasks = task->next;
        task_free(task);
    }
    pthread_cond_destroy(&walk.changed);
    pthread_mutex_destroy(&walk.lock);
    return atomic_load(&walk.stopped);
}
