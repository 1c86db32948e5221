/*
 * Names that people give their sandboxes: a folder beside the ledger with a file for each, which holds the label of its
 * record. The record has the name too, and decides: a file whose record is gone, or has another name, says nothing.
 */
#ifndef SANDLOT_SESSION_NAMES_H
#define SANDLOT_SESSION_NAMES_H

#include "session/ledger.h"

/* 1 to 63 bytes of a-z, 0-9, "." and "-", the first of them a letter, the last no sign. 0, or -1 with
 * SANDLOT_CODE_USAGE. */
int names_check(const char *name, struct sandlot_error *error);

/* Writes RECORD, which has a name, and makes that name its own. SANDLOT_CODE_CONFLICT: a living sandbox has it, or is
 * called so by its provider; nothing is written. 0 or -1. */
int names_write_record(struct ledger_record *record, int cancel_fd, struct sandlot_error *error);

/* The record that has NAME, to be freed; NULL: there is none, or its sandbox has no id yet, or NAME is the id of
 * another that the ledger knows: an id goes before a name. Looks at one file where there is no such name. */
struct ledger_record *names_find(const char *name);

#endif
