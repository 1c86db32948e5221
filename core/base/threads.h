/* Threads that run one piece of work after another, so that short work does not pay for a new thread each time. */
#ifndef SANDLOT_BASE_THREADS_H
#define SANDLOT_BASE_THREADS_H

#include <stdbool.h>

struct threads;

/*
 * Asks HAS_COME again and again, letting other threads run, for 60 us at most: a small call of a box on this machine
 * has ended within that, or the next one has been made, and to be woken from sleep would take as long again. Whether it
 * has come.
 */
bool comes_soon(bool (*has_come)(void *context), void *context);

/* NULL: no memory. */
struct threads *threads_new(void);

/* Waits until all work has ended, and for the threads. NULL is fine; in a process that was forked off it only forgets.
 */
void threads_free(struct threads *threads);

/* Calls RUN with ARGUMENT at once on a thread that waits, or else on a new one: work never waits for work. Any thread
 * may ask. 0, or an errno value: it will not run. */
int threads_run(struct threads *threads, void (*run)(void *argument), void *argument);

#endif
