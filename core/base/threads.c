#include "base/threads.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* As many wait for more work; the others end. */
enum { MOST_IDLE = 4, BRIEF_NS = 60 * 1000 };

struct thread {
    pthread_t id;
    sem_t woken;                 /* posted without the lock, which the thread wants at once */
    void (*run)(void *argument); /* NULL: none yet */
    void *argument;
    struct threads *all;
    struct thread *next; /* in the list that it is in */
};

struct threads {
    pthread_mutex_t lock;   /* over what follows, and what the threads have */
    pthread_cond_t settled; /* nobody is busy any more */
    struct thread *idle;
    struct thread *ended; /* to be joined */
    size_t idle_count;
    size_t busy;
    bool closing;
    pid_t process; /* a forked child has none of the threads */
};

bool comes_soon(bool (*has_come)(void *context), void *context)
{
    struct timespec began;
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &began);
    do {
        if (has_come(context))
            return true;
        sched_yield();
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - began.tv_sec) * 1000000000L + now.tv_nsec - began.tv_nsec < BRIEF_NS);
    return false;
}

struct threads *threads_new(void)
{
    struct threads *threads = calloc(1, sizeof(*threads));

    if (!threads)
        return NULL;
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->settled, NULL);
    threads->process = getpid();
    return threads;
}

/* Joins all threads of LIST, which are about to end. */
static void join_all(struct thread *list)
{
    while (list) {
        struct thread *next = list->next;

        pthread_join(list->id, NULL);
        sem_destroy(&list->woken);
        free(list);
        list = next;
    }
}

/* The work is done. Does the thread wait for more? */
static bool settle(struct thread *thread)
{
    struct threads *threads = thread->all;

    pthread_mutex_lock(&threads->lock);
    const bool stays = !threads->closing && threads->idle_count < MOST_IDLE;
    struct thread **list = stays ? &threads->idle : &threads->ended;

    thread->run = NULL;
    thread->next = *list;
    *list = thread;
    threads->idle_count += stays;
    if (--threads->busy == 0)
        pthread_cond_signal(&threads->settled);
    pthread_mutex_unlock(&threads->lock);
    return stays;
}

static bool is_woken(void *argument)
{
    struct thread *thread = argument;

    return sem_trywait(&thread->woken) == 0;
}

static void *live(void *argument)
{
    struct thread *thread = argument;

    do {
        thread->run(thread->argument);
        /* Whoever makes one small call after another has the next by then. */
        if (settle(thread) && !comes_soon(is_woken, thread))
            while (sem_wait(&thread->woken) < 0)
                continue;
    } while (thread->run);
    return NULL;
}

void threads_free(struct threads *threads)
{
    if (!threads || threads->process != getpid())
        return;
    pthread_mutex_lock(&threads->lock);
    threads->closing = true;
    while (threads->busy > 0)
        pthread_cond_wait(&threads->settled, &threads->lock);
    for (struct thread *thread = threads->idle; thread; thread = thread->next)
        sem_post(&thread->woken);
    pthread_mutex_unlock(&threads->lock);
    join_all(threads->idle);
    join_all(threads->ended);
    pthread_cond_destroy(&threads->settled);
    pthread_mutex_destroy(&threads->lock);
    free(threads);
}

/* A new thread for what RUN names. 0 or an errno value. */
static int begin(struct threads *threads, void (*run)(void *argument), void *argument)
{
    struct thread *thread = calloc(1, sizeof(*thread));

    if (!thread)
        return ENOMEM;
    *thread = (struct thread){.run = run, .argument = argument, .all = threads};
    sem_init(&thread->woken, 0, 0);
    int failed = pthread_create(&thread->id, NULL, live, thread);

    if (failed) {
        sem_destroy(&thread->woken);
        free(thread);
    }
    return failed;
}

/* Takes back that one more is busy. */
static void take_back(struct threads *threads)
{
    pthread_mutex_lock(&threads->lock);
    threads->busy--;
    pthread_mutex_unlock(&threads->lock);
}

/* A forked child begins anew: it has no thread but the one that forked, whatever another held at that moment. */
static void forget_parent(struct threads *threads)
{
    pthread_mutex_init(&threads->lock, NULL);
    pthread_cond_init(&threads->settled, NULL);
    threads->idle = threads->ended = NULL;
    threads->idle_count = threads->busy = 0;
    threads->process = getpid();
}

int threads_run(struct threads *threads, void (*run)(void *argument), void *argument)
{
    if (threads->process != getpid())
        forget_parent(threads);
    pthread_mutex_lock(&threads->lock);
    struct thread *thread = threads->idle;
    struct thread *ended = threads->ended;

    threads->ended = NULL;
    threads->busy++;
    if (thread) {
        threads->idle = thread->next;
        threads->idle_count--;
        thread->argument = argument;
        thread->run = run;
    }
    pthread_mutex_unlock(&threads->lock);
    if (thread)
        sem_post(&thread->woken);
    join_all(ended);
    int failed = thread ? 0 : begin(threads, run, argument);

    if (failed)
        take_back(threads);
    return failed;
}
