/* Threads that run one piece of work after another, so that short work does not pay for a new thread each time. */
#ifndef SANDLOT_BASE_THREADS_H
#define SANDLOT_BASE_THREADS_H

struct threads;

/* NULL: no memory. */
struct threads *threads_new(void);

/* Waits until all work has ended, and for the threads. NULL is fine; in a process that was forked off it only forgets.
 */
void threads_free(struct threads *threads);

/* Calls RUN with ARGUMENT at once on a thread that waits, or else on a new one: work never waits for work. Any thread
 * may ask. 0, or an errno value: it will not run. */
int threads_run(struct threads *threads, void (*run)(void *argument), void *argument);

#endif
