/* What a vendor can publish of a run. */
#ifndef SANDLOT_CONFORMANCE_SUMMARY_H
#define SANDLOT_CONFORMANCE_SUMMARY_H

#include "runner.h"

/* As comments of TAP, on standard output. */
void summary_print(const struct run *run, const struct kit *kit);

/* As Markdown. False: errno says why the file could not be written. */
bool summary_write(const struct run *run, const struct kit *kit, const char *path);

#endif
