/*
 * What ends the calls of a group's process early: the runner asks with SIGTERM when the run was interrupted, and an
 * alarm when the time for cleaning up is over. Every call to the host and to the provider is given one of these.
 */
#ifndef SANDLOT_CONFORMANCE_STOP_H
#define SANDLOT_CONFORMANCE_STOP_H

#include <sandlot/sandlot.h>

/* Makes both and listens to the signals. Without descriptors or memory nothing can be ended early. */
void stop_begin(void);

struct sandlot_cancellation *stop_cancellation(void);

/* Becomes readable; -1: it never will. */
int stop_descriptor(void);

bool stop_requested(void);

#endif
