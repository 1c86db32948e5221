/* sandlot/sdk/text_format.h - a text that is printed: a header, an address, a command. */
#ifndef SANDLOT_SDK_TEXT_FORMAT_H
#define SANDLOT_SDK_TEXT_FORMAT_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What printf would write, to be freed; NULL: no memory. (asprintf leaves its pointer undefined then.)
 *
 *   place->header = text_format("X-Acme-Token: %s", token);
 *   return place->header ? SANDLOT_OK : http_no_memory(call);
 */
__attribute__((format(printf, 1, 2))) char *text_format(const char *format, ...);

/* Is TEXT one word: printable letters of ASCII without a blank among them, and not empty? For keys, names of images,
 * ids: what stands in a line of somebody else's, where a blank or a newline would begin something else. */
bool text_is_word(const char *text);

/* Is TEXT UTF-8, as JSON, protobuf and many a query want it? The names of files need not be. */
bool text_is_utf8(const char *text);

#ifdef __cplusplus
}
#endif

#endif
