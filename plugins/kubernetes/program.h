/* Credentials from a program: `exec` of a kubeconfig's user (client.authentication.k8s.io). */
#ifndef SANDLOT_KUBERNETES_PROGRAM_H
#define SANDLOT_KUBERNETES_PROGRAM_H

#include "cluster.h"

/* What it gave: a token, or a certificate with its key, or both. */
struct program_answer {
    char *token;
    char *certificate;
    char *key;
    int64_t until_ms; /* of CLOCK_MONOTONIC; 0: it did not say */
};

/* Runs the program that CLUSTER names. ANSWER is to be cleared in any case. */
enum sandlot_status program_run(struct sandlot_call *call, const struct cluster *cluster,
                                struct program_answer *answer);

/* Reads what it printed; VERSION is the apiVersion that it was asked in. */
enum sandlot_status program_read(struct sandlot_call *call, const char *name, const char *version, const char *text,
                                 size_t length, struct program_answer *answer);

void program_answer_clear(struct program_answer *answer);
#define AUTO_PROGRAM_ANSWER CLEANUP(program_answer_clear)

#endif
