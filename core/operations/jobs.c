/* The asynchronous forms: each job is the blocking call on a thread that no other has meanwhile, with a cancellation of
 * its own. */
#include "operations/jobs.h"

#include "base/error.h"
#include "base/sized.h"
#include "session/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { OWN_DESCRIPTORS = 2 }; /* of a job that has ended */

struct sandlot_job {
    int done_fd; /* eventfd(2), readable once the job has ended */
    struct sandlot_cancellation *cancellation;
    struct sandlot *sandlot;              /* whose threads run it */
    unsigned promised;                    /* descriptors */
    int (*work)(struct sandlot_job *job); /* 0 or -1 with `error` filled */
    _Atomic enum sandlot_job_state state;
    struct sandlot_error error;
    pthread_mutex_t telling; /* over what follows */
    void (*ended)(void *context);
    void *ended_context;
    bool has_ended; /* whoever asks to be told is told at once */
    bool is_told;
    pthread_cond_t told;
    /* What the kinds of work need and make. */
    struct sandlot_session *session; /* in: of execute and close; out: of open */
    struct sandlot_session *opened;
    struct sandlot_session_options options;
    struct sandlot_execution execution;
    struct sandlot_result result;
    bool has_result;
    struct sandlot_target target;
    char *id;
    const struct job_call *call;
    void *request;
    struct job_arguments arguments;
};

/*
 * Waits until the thread has written that the job has ended, and reads that: a program that another thread starts has a
 * copy of every descriptor until its exec, and epoll(7) watches a file until its last copy is closed; it would go on
 * telling of a job that is no more. An eventfd that was read is not readable.
 */
static void take_end(const struct sandlot_job *job)
{
    struct pollfd done = {job->done_fd, POLLIN, 0};
    uint64_t ends;

    while (read(job->done_fd, &ends, sizeof(ends)) < 0 && (errno == EAGAIN || errno == EINTR))
        poll(&done, 1, -1);
}

static void free_job(struct sandlot_job *job)
{
    if (job->done_fd >= 0)
        close(job->done_fd);
    sandlot_cancellation_free(job->cancellation);
    descriptors_give_back(job->sandlot->descriptors, job->promised);
    pthread_cond_destroy(&job->told);
    pthread_mutex_destroy(&job->telling);
    sandlot_error_clear(&job->error);
    if (job->has_result)
        sandlot_result_clear(&job->result);
    free(job->id);
    free(job->request);
    free(job);
}

/* Once the descriptor is readable. */
static void tell(struct sandlot_job *job)
{
    job->ended(job->ended_context);
    pthread_mutex_lock(&job->telling);
    job->is_told = true;
    pthread_cond_signal(&job->told);
    pthread_mutex_unlock(&job->telling);
}

static void run_job(void *argument)
{
    struct sandlot_job *job = argument;
    static const uint64_t one = 1;

    const int failed = job->work(job);

    session_free(job->session); /* which was closed meanwhile, or else stays */
    descriptors_give_back(job->sandlot->descriptors, job->promised - OWN_DESCRIPTORS);
    job->promised = OWN_DESCRIPTORS;
    /* All that the work has made is visible to whoever sees the state. */
    job->state = failed < 0 ? SANDLOT_JOB_FAILED : SANDLOT_JOB_DONE;
    pthread_mutex_lock(&job->telling);
    const bool tells = job->ended;

    job->has_ended = true;
    pthread_mutex_unlock(&job->telling);
    /* Whoever is woken by this may be faster than this thread, and frees the job: with nobody to tell, nothing here
     * touches it from now on. An eventfd that nobody reads cannot block. */
    while (write(job->done_fd, &one, sizeof(one)) < 0 && errno == EINTR)
        continue;
    if (tells)
        tell(job);
}

/* DESCRIPTORS: the most that it takes. */
static struct sandlot_job *new_job(struct sandlot *sandlot, int (*work)(struct sandlot_job *job), unsigned descriptors,
                                   struct sandlot_error *error)
{
    struct sandlot_job *job = calloc(1, sizeof(*job));

    if (!job) {
        error_no_memory(error);
        return NULL;
    }
    pthread_mutex_init(&job->telling, NULL);
    pthread_cond_init(&job->told, NULL);
    job->sandlot = sandlot;
    job->work = work;
    job->state = SANDLOT_JOB_RUNNING;
    job->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    job->cancellation = sandlot_cancellation_new();
    bool is_full = job->done_fd < 0 || !job->cancellation
                       ? errno == EMFILE
                       : !descriptors_promise(sandlot->descriptors, job->done_fd, descriptors);

    if (job->done_fd >= 0 && job->cancellation && !is_full) {
        job->promised = descriptors;
        return job;
    }
    if (is_full)
        error_set(
            error, SANDLOT_CODE_QUOTA,
            "cannot start a job: with those that run, this process may need more open files than it may have; wait "
            "until others have ended, or raise the limit (ulimit -n): a running command takes up to 8");
    else
        error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot start a job: %s", strerror(errno));
    free_job(job);
    return NULL;
}

/* READY: what sized_read says. */
static struct sandlot_job *start(struct sandlot_job *job, int ready, struct sandlot_error *error)
{
    if (ready < 0) {
        free_job(job);
        return NULL;
    }
    if (job->session)
        job->session->jobs++;
    int failed = threads_run(job->sandlot->threads, run_job, job);

    if (!failed)
        return job;
    if (job->session)
        job->session->jobs--;
    error_set(error, SANDLOT_CODE_INTERNAL_ERROR, "cannot start a job: %s", strerror(failed));
    free_job(job);
    return NULL;
}

static int work_open(struct sandlot_job *job)
{
    job->opened = sandlot_session_open(job->sandlot, &job->options, &job->error);
    return job->opened ? 0 : -1;
}

struct sandlot_job *sandlot_submit_session_open(struct sandlot *sandlot, const struct sandlot_session_options *options,
                                                struct sandlot_error *error)
{
    struct sandlot_job *job = new_job(sandlot, work_open, JOB_OPEN_DESCRIPTORS, error);

    if (!job)
        return NULL;
    int ready = sized_read(&job->options, sizeof(job->options), options, sizeof(options->size),
                           "sandlot_session_options", error);

    job->options.cancellation = job->cancellation;
    return start(job, ready, error);
}

static int work_close(struct sandlot_job *job)
{
    return sandlot_session_close(job->session, &job->error);
}

struct sandlot_job *sandlot_submit_session_close(struct sandlot_session *session, struct sandlot_error *error)
{
    struct sandlot_job *job = new_job(session->sandlot, work_close, JOB_FILE_DESCRIPTORS, error);

    if (!job)
        return NULL;
    job->session = session;
    return start(job, 0, error);
}

static int work_execute(struct sandlot_job *job)
{
    job->result = (struct sandlot_result){.size = sizeof(job->result)};
    int failed = sandlot_execute(job->session, &job->execution, &job->result, &job->error);

    job->has_result = !failed;
    return failed;
}

struct sandlot_job *sandlot_submit_execute(struct sandlot_session *session, const struct sandlot_execution *execution,
                                           struct sandlot_error *error)
{
    struct sandlot_job *job = new_job(session->sandlot, work_execute, JOB_COMMAND_DESCRIPTORS, error);

    if (!job)
        return NULL;
    job->session = session;
    int ready = sized_read(&job->execution, sizeof(job->execution), execution, sizeof(execution->size),
                           "sandlot_execution", error);

    job->execution.cancellation = job->cancellation;
    return start(job, ready, error);
}

static int work_delete(struct sandlot_job *job)
{
    return sandlot_delete(job->sandlot, &job->target, job->id, &job->error);
}

struct sandlot_job *sandlot_submit_delete(struct sandlot *sandlot, const struct sandlot_target *target, const char *id,
                                          struct sandlot_error *error)
{
    struct sandlot_job *job = new_job(sandlot, work_delete, JOB_FILE_DESCRIPTORS, error);

    if (!job)
        return NULL;
    job->id = strdup(id ? id : "");
    int ready =
        job->id ? sized_read(&job->target, sizeof(job->target), target, sizeof(target->size), "sandlot_target", error)
                : error_no_memory(error);

    job->target.cancellation = job->cancellation;
    return start(job, ready, error);
}

static int work_call(struct sandlot_job *job)
{
    return job->call->run(job->session, job->request, &job->arguments, &job->error);
}

struct sandlot_job *job_submit(struct sandlot_session *session, const struct job_call *call, const void *request,
                               struct job_arguments arguments, struct sandlot_error *error)
{
    struct sandlot_job *job =
        new_job(session ? session->sandlot : arguments.sandlot, work_call, call->descriptors, error);

    if (!job)
        return NULL;
    job->session = session;
    job->call = call;
    job->arguments = arguments;
    job->request = calloc(1, call->size);
    int ready = job->request ? sized_read(job->request, call->size, request, sizeof(size_t), call->request, error)
                             : error_no_memory(error);

    if (job->request)
        memcpy((char *)job->request + call->cancellation, &job->cancellation, sizeof(struct sandlot_cancellation *));
    return start(job, ready, error);
}

int sandlot_job_descriptor(const struct sandlot_job *job)
{
    return job->done_fd;
}

int sandlot_job_notify(struct sandlot_job *job, void (*ended)(void *context), void *context,
                       struct sandlot_error *error)
{
    pthread_mutex_lock(&job->telling);
    bool taken = job->ended;
    bool at_once = job->has_ended;

    if (!taken) {
        job->ended_context = context;
        job->ended = ended;
    }
    pthread_mutex_unlock(&job->telling);
    if (taken)
        return error_set(error, SANDLOT_CODE_USAGE, "somebody is told of this job's end already; a job tells it once");
    if (at_once) {
        struct pollfd done = {job->done_fd, POLLIN, 0};

        while (poll(&done, 1, -1) < 0)
            continue;
        tell(job);
    }
    return 0;
}

void sandlot_job_cancel(struct sandlot_job *job)
{
    sandlot_cancel(job->cancellation);
}

static bool has_ended(void *argument)
{
    const struct sandlot_job *job = argument;

    return job->state != SANDLOT_JOB_RUNNING;
}

enum sandlot_job_state sandlot_job_wait(struct sandlot_job *job, int timeout_ms, struct sandlot_error *error)
{
    struct pollfd done = {job->done_fd, POLLIN, 0};
    int64_t deadline_ms = timeout_ms < 0 ? 0 : sandlot_now_ms() + timeout_ms;
    enum sandlot_job_state state;

    if (timeout_ms != 0)
        comes_soon(has_ended, job);
    while ((state = job->state) == SANDLOT_JOB_RUNNING) {
        int64_t left = timeout_ms < 0 ? -1 : deadline_ms - sandlot_now_ms();

        if (timeout_ms >= 0 && left <= 0)
            return state;
        if (poll(&done, 1, (int)left) < 0 && errno != EINTR)
            return state;
    }
    if (state == SANDLOT_JOB_FAILED)
        error_set(error, job->error.code, "%s", job->error.message ? job->error.message : "it failed");
    return state;
}

struct sandlot_session *sandlot_job_session(struct sandlot_job *job)
{
    if (sandlot_job_wait(job, 0, NULL) != SANDLOT_JOB_DONE)
        return NULL;
    struct sandlot_session *session = job->opened;

    job->opened = NULL;
    return session;
}

int sandlot_job_result(struct sandlot_job *job, struct sandlot_result *result)
{
    if (sandlot_job_wait(job, 0, NULL) != SANDLOT_JOB_DONE || !job->has_result)
        return -1;
    if (sized_check(result, SIZED_UP_TO(struct sandlot_result, output_length), "sandlot_result", NULL) < 0)
        return -1;
    sized_write(result, &job->result, sizeof(job->result));
    job->has_result = false;
    return 0;
}

void sandlot_job_free(struct sandlot_job *job)
{
    if (!job)
        return;
    if (job->state == SANDLOT_JOB_RUNNING)
        sandlot_job_cancel(job);
    pthread_mutex_lock(&job->telling);
    while (job->ended && !job->is_told)
        pthread_cond_wait(&job->told, &job->telling);
    pthread_mutex_unlock(&job->telling);
    take_end(job);
    if (job->opened)
        sandlot_session_close(job->opened, NULL);
    free_job(job);
}
