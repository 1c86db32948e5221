/* The words after `sandlot plugin check`. */
#ifndef SANDLOT_CONFORMANCE_OPTIONS_H
#define SANDLOT_CONFORMANCE_OPTIONS_H

#include "kit.h"

enum { EXIT_PASSED = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNREADABLE = 3 };

/* Fills KIT. Returns -1 to go on, or the status to end with; what was wrong or asked for has been printed. */
int options_read(int count, char **words, struct kit *kit);

#endif
