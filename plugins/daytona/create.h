/* Making a sandbox. */
#ifndef SANDLOT_DAYTONA_CREATE_H
#define SANDLOT_DAYTONA_CREATE_H

#include "record.h"

/*
 * Makes a sandbox as the parameters and REQUEST want it, once, whatever becomes of the answers, and tells the host its
 * id. RECORD is to be cleared.
 */
enum sandlot_status create_sandbox(struct sandlot_call *call, struct daytona *daytona,
                                   const struct sandlot_create *request, struct record *record);

/* The whole minutes of a lifetime, rounded up: Daytona counts in no smaller unit. */
int64_t create_minutes(int64_t milliseconds);

#endif
