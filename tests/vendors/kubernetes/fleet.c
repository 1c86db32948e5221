/*
 * One client process with many sandboxes, for the benchmark of fleets:
 *
 *   fleet SANDBOXES CLIENTS KEY=VALUE...
 *
 * CLIENTS threads make SANDBOXES sandboxes of the provider `kubernetes` with these parameters, one after the other
 * each, run one command in each and delete it. A sandbox that is lost (its pod was evicted, say) is made anew, under
 * another number. Prints as key=value what it took; each command writes its number to $FLEET_LOG of the service.
 */
#include "sandlot/sandlot.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_CLIENTS = 256, ATTEMPTS = 5 };

static struct sandlot *sandlot;
static const char *const *parameters;
static atomic_int next;
static atomic_int number;
static atomic_int failed;
static atomic_int lost;
static int sandboxes;

static double now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Runs one command. True: it ran and said what it should. */
static bool run(struct sandlot_session *session, struct sandlot_error *error)
{
    char line[96];
    char wanted[32];
    int own = atomic_fetch_add(&number, 1);
    struct sandlot_result result = {.size = sizeof(result)};

    snprintf(line, sizeof(line), "echo %d >>\"$FLEET_LOG\"; echo ran %d", own, own);
    snprintf(wanted, sizeof(wanted), "ran %d\n", own);
    const struct sandlot_execution execution = {.size = sizeof(execution), .command = line, .timeout_ms = 120000};
    bool right = sandlot_execute(session, &execution, &result, error) == 0 && result.exit_code == 0 &&
                 strcmp(result.output, wanted) == 0;

    sandlot_result_clear(&result);
    return right;
}

static bool use_one(struct sandlot_error *error)
{
    const struct sandlot_session_options options = {
        .size = sizeof(options), .provider = "kubernetes", .parameters = parameters};
    struct sandlot_session *session = sandlot_session_open(sandlot, &options, error);
    struct sandlot_error closing = {0};

    if (!session)
        return false;
    bool right = run(session, error);

    if (sandlot_session_close(session, &closing) < 0) {
        fprintf(stderr, "delete: %s\n", closing.message);
        atomic_fetch_add(&failed, 1);
    }
    sandlot_error_clear(&closing);
    return right;
}

static void *client(void *context)
{
    (void)context;
    while (atomic_fetch_add(&next, 1) < sandboxes) {
        bool right = false;

        for (int i = 0; i < ATTEMPTS && !right; i++) {
            struct sandlot_error error = {0};

            right = use_one(&error);
            if (!right) {
                fprintf(stderr, "lost: %s\n", error.message ? error.message : "another output");
                atomic_fetch_add(i + 1 < ATTEMPTS ? &lost : &failed, 1);
            }
            sandlot_error_clear(&error);
        }
    }
    return NULL;
}

int main(int count, char **words)
{
    const struct sandlot_options options = {.size = sizeof(options)};
    struct sandlot_error error = {0};
    pthread_t threads[MOST_CLIENTS];
    struct rusage usage;

    sandboxes = count > 2 ? atoi(words[1]) : 0;
    int clients = count > 2 ? atoi(words[2]) : 0;

    if (sandboxes < 1 || clients < 1 || clients > MOST_CLIENTS)
        return 2;
    parameters = (const char *const *)(words + 3);
    sandlot = sandlot_open(&options, &error);
    if (!sandlot)
        return 1;
    double began = now_s();

    for (int i = 0; i < clients; i++)
        pthread_create(&threads[i], NULL, client, NULL);
    for (int i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    double took = now_s() - began;

    getrusage(RUSAGE_SELF, &usage);
    double processor = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
                       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;

    printf("seconds=%.1f processor_ms=%.2f peak_kib=%ld lost=%d failed=%d commands=%d\n", took,
           processor * 1000 / sandboxes, usage.ru_maxrss, lost, failed, number);
    sandlot_close(sandlot);
    return failed > 0;
}
