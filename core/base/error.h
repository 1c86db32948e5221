/* Filling `struct sandlot_error` (sandlot/sandlot.h) where a failure is known. */
#ifndef SANDLOT_BASE_ERROR_H
#define SANDLOT_BASE_ERROR_H

#include <sandlot/provider.h>
#include <sandlot/sandlot.h>
#include <stdarg.h>

/*
 * Stores CODE and a formatted message, with secrets redacted and control characters made visible, and
 * returns -1, so that a function can end with `return error_set(...)`. The first error counts: an error
 * that is set already is kept. ERROR may be NULL.
 */
int error_set(struct sandlot_error *error, enum sandlot_code code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int error_set_v(struct sandlot_error *error, enum sandlot_code code, const char *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

/* "out of memory" as SANDLOT_CODE_INTERNAL_ERROR; returns -1. */
int error_no_memory(struct sandlot_error *error);

/* Puts a formatted prefix before the message of an error that is set; returns -1. */
int error_prefix(struct sandlot_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Puts a formatted text behind it; returns -1. */
int error_append(struct sandlot_error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The exit status of the command line for a code (cli contract): 1, 2 or 3. */
int error_exit_status(enum sandlot_code code);

/* The code for a status of the provider ABI. INVALID_ARGUMENT is a usage error only while nothing was CREATED. */
enum sandlot_code error_code_of_status(enum sandlot_status status, bool created);

static inline bool error_is_set(const struct sandlot_error *error)
{
    return error && error->code != SANDLOT_CODE_OK;
}

#endif
