/* Output that is too long for an answer is kept in a file of the sandbox. */
#ifndef SANDLOT_TOOLS_SAVED_OUTPUT_H
#define SANDLOT_TOOLS_SAVED_OUTPUT_H

#include <sandlot/sandlot.h>

enum { SAVED_PATH_MAXIMUM = 500 };

/*
 * Writes TEXT to a new file in a private directory of the sandbox: below its $TMPDIR, or /tmp, or else its working
 * directory. Returns the file's path, at most SAVED_PATH_MAXIMUM bytes, to be freed; NULL with the reason why nothing
 * was saved.
 */
char *saved_output(struct sandlot_session *session, const char *text, size_t length,
                   struct sandlot_cancellation *cancellation, struct sandlot_error *error);

#endif
