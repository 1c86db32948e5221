/*
 * A program that runs commands in many sandboxes at once on one thread of its own: the loop of a server.
 *
 * Each of SESSIONS goes through opening, executing and closing, and each step is a job whose descriptor epoll(7)
 * watches. Every fourth command would run for a minute and is cancelled. Only sandlot/sandlot.h is needed:
 *
 *   cc -o embedding embedding.c $(pkg-config --cflags --libs sandlot)
 */
#include <sandlot/sandlot.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { SESSIONS = 8, PATIENCE_MS = 60000 };

enum step { OPENING, EXECUTING, CLOSING, ENDED };

/* One sandbox's way through the program. */
struct task {
    int number;
    enum step step;
    struct sandlot_job *job; /* the step's; what it points to below must outlive it */
    struct sandlot_session *session;
    struct sandlot_execution execution;
    char command[64];
    bool to_be_cancelled;
    bool well;
};

static void report(const struct task *task, struct sandlot_error *error)
{
    fprintf(stderr, "sandbox %d: %s: %s\n", task->number, sandlot_code_name(error->code),
            error->message ? error->message : "no reason");
    sandlot_error_clear(error);
}

/* Waits for the job of the next step, or ends the task where there is none. */
static void begin(struct task *task, enum step step, struct sandlot_job *job, int epoll, struct sandlot_error *error)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = task};

    task->job = job;
    task->step = job ? step : ENDED;
    if (!job) {
        task->well = false;
        report(task, error);
    } else if (epoll_ctl(epoll, EPOLL_CTL_ADD, sandlot_job_descriptor(job), &event) < 0) {
        perror("epoll_ctl");
        exit(1);
    }
}

static void execute(struct task *task, int epoll)
{
    struct sandlot_error error = {0};

    task->to_be_cancelled = task->number % 4 == 3;
    snprintf(task->command, sizeof(task->command), task->to_be_cancelled ? "sleep 60" : "expr %d '*' %d", task->number,
             task->number);
    task->execution = (struct sandlot_execution){.size = sizeof(task->execution), .command = task->command};
    begin(task, EXECUTING, sandlot_submit_execute(task->session, &task->execution, &error), epoll, &error);
    if (task->job && task->to_be_cancelled)
        sandlot_job_cancel(task->job);
}

static void close_session(struct task *task, int epoll)
{
    struct sandlot_error error = {0};

    begin(task, CLOSING, sandlot_submit_session_close(task->session, &error), epoll, &error);
}

static void print_result(struct task *task, struct sandlot_job *job)
{
    struct sandlot_result result = {.size = sizeof(result)};

    if (sandlot_job_result(job, &result) < 0 || atoi(result.output) != task->number * task->number)
        task->well = false;
    else
        printf("sandbox %d: %s", task->number, result.output);
    sandlot_result_clear(&result);
}

/* The job of the task has ended: looks at what came of it and goes on. */
static void advance(struct task *task, int epoll)
{
    struct sandlot_error error = {0};
    struct sandlot_job *job = task->job;
    bool done = sandlot_job_wait(job, 0, &error) == SANDLOT_JOB_DONE;
    bool cancelled = error.code == SANDLOT_CODE_CANCELLED && task->to_be_cancelled && task->step == EXECUTING;

    if (cancelled) {
        printf("sandbox %d: cancelled\n", task->number);
        sandlot_error_clear(&error);
    } else if (!done) {
        task->well = false;
        report(task, &error);
    }
    switch (task->step) {
    case OPENING:
        task->session = sandlot_job_session(job);
        if (task->session)
            execute(task, epoll);
        else
            task->step = ENDED;
        break;
    case EXECUTING:
        if (done && !task->to_be_cancelled)
            print_result(task, job);
        close_session(task, epoll);
        break;
    case CLOSING:
    case ENDED:
        task->step = ENDED;
        break;
    }
    sandlot_job_free(job); /* takes its descriptor out of the epoll set too */
}

static int run_all(struct sandlot *sandlot, int epoll)
{
    struct task tasks[SESSIONS] = {{0}};
    int running = 0;
    int well = 0;

    for (int i = 0; i < SESSIONS; i++) {
        struct sandlot_error error = {0};

        tasks[i].number = i;
        tasks[i].well = true;
        begin(&tasks[i], OPENING, sandlot_submit_session_open(sandlot, NULL, &error), epoll, &error);
        running += tasks[i].step != ENDED;
    }
    while (running > 0) {
        struct epoll_event event;

        int ready = epoll_wait(epoll, &event, 1, PATIENCE_MS);

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready != 1) {
            fprintf(stderr, "nothing has happened for a minute\n");
            exit(1);
        }
        struct task *task = event.data.ptr;

        advance(task, epoll);
        running -= task->step == ENDED;
    }
    for (int i = 0; i < SESSIONS; i++)
        well += tasks[i].well;
    printf("%d of %d sandboxes did what they were asked\n", well, SESSIONS);
    return well == SESSIONS ? 0 : 1;
}

int main(void)
{
    struct sandlot_error error = {0};
    struct sandlot *sandlot = sandlot_open(NULL, &error);
    int epoll = epoll_create1(EPOLL_CLOEXEC);

    if (!sandlot || epoll < 0) {
        fprintf(stderr, "%s\n", error.message ? error.message : "no descriptor is free");
        sandlot_error_clear(&error);
        sandlot_close(sandlot);
        return 1;
    }
    int status = run_all(sandlot, epoll);

    close(epoll);
    sandlot_close(sandlot);
    return status;
}
