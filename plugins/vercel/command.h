/* Commands. */
#ifndef SANDLOT_VERCEL_COMMAND_H
#define SANDLOT_VERCEL_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/*
 * Runs a script of our own with WORDS as "$1", "$2", ..., and keeps the first CAPACITY - 1 bytes of what it prints: in
 * one request, which may be carried out twice, even at the same time. SANDLOT_UNAVAILABLE: SCRIPT may be running still.
 * SANDLOT_UNSUPPORTED and SANDLOT_INVALID_ARGUMENT: Vercel does not take so much in one request.
 */
enum sandlot_status command_run_with(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                     const char *const *words, char *text, size_t capacity);

/* As staged_upload.h wants it. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif
