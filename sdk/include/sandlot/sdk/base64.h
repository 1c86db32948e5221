/* sandlot/sdk/base64.h - bytes as text (RFC 4648, section 4), for services and shell commands that take text alone. */
#ifndef SANDLOT_SDK_BASE64_H
#define SANDLOT_SDK_BASE64_H

#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Writes LENGTH bytes to TEXT, padded and without NUL. Returns the number of characters: four for every three begun. */
size_t base64_write(char *text, const void *bytes, size_t length);

/* Reads LENGTH characters of TEXT into BYTES, which has room for three quarters of them: padded or not, also with the
 * "-" and "_" of URLs (section 5). Returns the number of bytes; SIZE_MAX: it is no base64. */
size_t base64_read(void *bytes, const char *text, size_t length);

/* As base64_write, in lines of 76 characters, each with a newline at its end, for `base64 -d` in a sandbox. */
void base64_print(FILE *stream, const void *bytes, size_t length);

#ifdef __cplusplus
}
#endif

#endif
