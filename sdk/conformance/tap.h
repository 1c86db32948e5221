/*
 * The results of a group, written by the group's own process as lines of TAP (version 14) without numbers, and read by
 * runner.h, which counts. Beside them records that are not for people begin with RECORD_MARK. Every line begins with a
 * token that only this run knows, so that nothing that a plugin prints can be taken for a result; and whatever comes
 * from the vendor is escaped, so that it cannot begin a line. Safe on any thread.
 */
#ifndef SANDLOT_CONFORMANCE_TAP_H
#define SANDLOT_CONFORMANCE_TAP_H

#include <stdbool.h>
#include <stddef.h>

enum { RECORD_MARK = '\1' };

/* All that follows goes to the descriptor FD, under the name of GROUP, each line behind TOKEN. */
void tap_begin(int fd, const char *token, const char *group);

/* One result. A check that did not pass is told with what was EXPECTED, what CAME, and ADVICE for the vendor. Returns
 * PASSED. */
bool tap_check(bool passed, const char *name, const char *expected, const char *came, const char *advice);

/* A check that cannot be made here; WHY is for people. */
void tap_skip(const char *name, const char *why);

/* A line for people that is no result. */
void tap_remark(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A figure for the summary: milliseconds, bytes, whatever UNIT says. */
void tap_figure(const char *name, double value, const char *unit);

/* A record for the runner, which undoes what was done to the VALUE so that it fits a line. */
void tap_record(const char *kind, const char *value);
void tap_decode(char *value);

/* A short text from printf's format, cut at 2 KiB. It lives until sixteen more were said on this thread. */
const char *say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* LENGTH bytes, as a text that can be shown: what is not printable escaped, a long one cut with a word about it. Lives
 * as say's. */
const char *shown(const char *bytes, size_t length);

/* A text as it may stand as the name of a result, and between YAML's single quotes. Live as say's. */
const char *named(const char *plain);
const char *quoted(const char *plain);

#endif
