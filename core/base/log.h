/* Messages for people: warnings, progress, details. Secrets are redacted on the way. */
#ifndef SANDLOT_BASE_LOG_H
#define SANDLOT_BASE_LOG_H

#include <sandlot/sandlot.h>
#include <stdarg.h>

typedef void (*log_receiver)(void *context, enum sandlot_message_level level, const char *text);

/* Where messages go; NULL: warnings and errors to standard error as "sandlot: ...". A process has one log. */
void log_set_receiver(log_receiver receiver, void *context);

/* Back to standard error, if RECEIVER and CONTEXT are still those that were set last. */
void log_unset_receiver(log_receiver receiver, const void *context);

void log_message(enum sandlot_message_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));
void log_message_v(enum sandlot_message_level level, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#define log_warning(...) log_message(SANDLOT_MESSAGE_WARNING, __VA_ARGS__)
#define log_info(...) log_message(SANDLOT_MESSAGE_INFO, __VA_ARGS__)
#define log_debug(...) log_message(SANDLOT_MESSAGE_DEBUG, __VA_ARGS__)

#endif
