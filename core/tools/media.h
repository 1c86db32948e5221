/* What kind of file some bytes are, by the bytes and not by a name. */
#ifndef SANDLOT_TOOLS_MEDIA_H
#define SANDLOT_TOOLS_MEDIA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MEDIA_MAXIMUM = 3750000 }; /* bytes; as base64 they are what model providers take at most */

enum media_kind { MEDIA_NONE, MEDIA_IMAGE, MEDIA_AUDIO };

struct media {
    enum media_kind kind;
    const char *name;      /* "PNG image" */
    const char *mime_type; /* NULL if KIND is MEDIA_NONE */
    const char *advice;    /* a sentence: how to look into it by a command */
    uint32_t width;        /* pixels of an image, 0: unknown */
    uint32_t height;
};

void media_detect(const void *bytes, size_t length, struct media *media);

#endif
