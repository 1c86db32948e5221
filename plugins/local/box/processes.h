/* Ending whole trees of processes that do not want to end. */
#ifndef SANDLOT_LOCAL_PROCESSES_H
#define SANDLOT_LOCAL_PROCESSES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* CLOCK_MONOTONIC in milliseconds. */
int64_t processes_now_ms(void);

/* Sends SIGNAL to every descendant of ROOT. */
void processes_signal(pid_t root, int signal);

/*
 * Kills every descendant of ROOT but the COUNT processes of SPARED and what is below those. All are stopped first,
 * until a look finds no new one, so that none can fork away from the kill; that takes until DEADLINE_MS at most. The
 * caller reaps them.
 */
void processes_kill(pid_t root, const pid_t *spared, size_t count, int64_t deadline_ms);

/* How many threads user UID has on this machine: what RLIMIT_NPROC is counted against. */
size_t processes_of_user(uid_t uid);

#endif
