/* What a vendor can publish of a run. */
#ifndef SANDLOT_CONFORMANCE_SUMMARY_H
#define SANDLOT_CONFORMANCE_SUMMARY_H

#include "runner.h"

/* total.omitted of a group that the user did not ask for. */
#define SUMMARY_NOT_ASKED_FOR "not asked for"

/* As comments of TAP, on standard output. */
void summary_print(const struct run *run, const struct kit *kit);

/* As Markdown. False: errno says why the file could not be written. */
bool summary_write(const struct run *run, const struct kit *kit, const char *path);

#endif
