/*
 * What a person sees on standard error while work goes on: warnings, progress lines with -v or on a terminal, and on a
 * terminal that can do it one moving line, which is gone as soon as there is a result.
 */
#ifndef SANDLOT_CLI_PROGRESS_H
#define SANDLOT_CLI_PROGRESS_H

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stdint.h>

/* Looks at the terminal. VERBOSITY: -1 errors only, 0, 1, 2. */
void progress_init(int verbosity);

/* May what is a terminal be given colours, by the user's environment? */
bool progress_has_colours(void);

/* Work begins: WHAT, such as "Starting local sandbox". Ends what was shown before. */
void progress_begin(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How far it is; for the provider's reports. TOTAL 0: unknown. CONTEXT is not used. */
void progress_report(void *context, const char *what, uint64_t done, uint64_t total);

/* The same for bytes that are moved: with their unit, the rate, and the time that is left. */
void progress_transfer(uint64_t done, uint64_t total);

/* The work is done, or output begins: clears the moving line. */
void progress_end(void);

/* A line that stays, with -v only. */
void progress_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A line that stays, always. */
void progress_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Bytes from the sandbox (a setup script's output), made harmless if standard error is a terminal. */
void progress_bytes(const void *bytes, size_t length);

/* The receiver of the library's messages. CONTEXT is not used. */
void progress_message(void *context, enum sandlot_message_level level, const char *text);

#endif
