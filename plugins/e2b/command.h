/* Commands. */
#ifndef SANDLOT_E2B_COMMAND_H
#define SANDLOT_E2B_COMMAND_H

#include "sandbox.h"

#include <sandlot/sdk/staged_upload.h>

FUNCTION_OF(sandlot_provider, execute, command_execute);

/* Hands WORDS to sh as "$1", "$2", ... of SCRIPT, all in one request, and keeps the first CAPACITY - 1 bytes of what it
 * prints. It may be carried out twice, even at the same time. SANDLOT_UNAVAILABLE: SCRIPT may be running still. */
enum sandlot_status command_run_with(struct sandlot_call *call, struct sandbox *sandbox, const char *script,
                                     const char *const *words, char *text, size_t capacity);

/* ---- for streams of the daemon's ---- */

/* Without a byte for so long a stream is broken: twice the time in which a daemon says that it is there, and some more.
 */
enum { COMMAND_SILENCE_MS = 75 * 1000 };

/* Adds the header that asks the daemon to say so. */
void command_ask_for_life(struct sandbox_way *way);

/* Writes what TEXT, of an event, has in base64 to OUTPUT. NULL and other types are nothing. */
enum sandlot_status command_take_bytes(const struct sandlot_sink *output, struct json_object *text);

/* `clean_up` of staged_upload.h. */
FUNCTION_OF(staged_upload_vendor, clean_up, command_clean_up);

#endif
