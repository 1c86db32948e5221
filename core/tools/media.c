#include "tools/media.h"

#include "base/text.h"

#include <string.h>

#define TO_LOOK_INSIDE "Look into it with execute: file, or xxd FILE | head."

static const struct {
    const char *magic;
    size_t length;
    size_t at;
    enum media_kind kind;
    const char *name;
    const char *mime_type;
    const char *advice;
} kinds[] = {
    {"\x89PNG\r\n\x1a\n", 8, 0, MEDIA_IMAGE, "PNG image", "image/png", TO_LOOK_INSIDE},
    {"\xff\xd8\xff", 3, 0, MEDIA_IMAGE, "JPEG image", "image/jpeg", TO_LOOK_INSIDE},
    {"GIF87a", 6, 0, MEDIA_IMAGE, "GIF image", "image/gif", TO_LOOK_INSIDE},
    {"GIF89a", 6, 0, MEDIA_IMAGE, "GIF image", "image/gif", TO_LOOK_INSIDE},
    {"WEBP", 4, 8, MEDIA_IMAGE, "WebP image", "image/webp", TO_LOOK_INSIDE},
    {"WAVE", 4, 8, MEDIA_AUDIO, "WAV sound", "audio/wav", TO_LOOK_INSIDE},
    {"ID3", 3, 0, MEDIA_AUDIO, "MP3 sound", "audio/mpeg", TO_LOOK_INSIDE},
    {"\xff\xfb", 2, 0, MEDIA_AUDIO, "MP3 sound", "audio/mpeg", TO_LOOK_INSIDE},
    {"\xff\xf3", 2, 0, MEDIA_AUDIO, "MP3 sound", "audio/mpeg", TO_LOOK_INSIDE},
    {"\xff\xf2", 2, 0, MEDIA_AUDIO, "MP3 sound", "audio/mpeg", TO_LOOK_INSIDE},
    {"%PDF-", 5, 0, MEDIA_NONE, "PDF document", NULL, "See its text with execute: pdftotext FILE -"},
    {"PK\x03\x04", 4, 0, MEDIA_NONE, "ZIP archive, or an office document", NULL, "List it with execute: unzip -l FILE"},
    {"\x1f\x8b", 2, 0, MEDIA_NONE, "gzip data", NULL, "Unpack it with execute: tar -tzf FILE, or zcat FILE | head"},
    {"\x7f"
     "ELF",
     4, 0, MEDIA_NONE, "ELF program or library", NULL, "Look into it with execute: readelf -h FILE"},
    {"SQLite format 3", 15, 0, MEDIA_NONE, "SQLite database", NULL, "Look into it with execute: sqlite3 FILE .schema"},
};

static uint32_t big(const unsigned char *at, size_t bytes)
{
    uint32_t number = 0;

    for (size_t i = 0; i < bytes; i++)
        number = number << 8 | at[i];
    return number;
}

static uint32_t little(const unsigned char *at, size_t bytes)
{
    uint32_t number = 0;

    for (size_t i = bytes; i > 0; i--)
        number = number << 8 | at[i - 1];
    return number;
}

/* The size stands in the first frame header, after segments that have to be stepped over. */
static void measure_jpeg(const unsigned char *bytes, size_t length, struct media *media)
{
    for (size_t at = 2; at + 9 <= length && bytes[at] == 0xff;) {
        unsigned char marker = bytes[at + 1];

        if (marker == 0xff) { /* filling */
            at++;
            continue;
        }
        if (marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc) {
            media->height = big(bytes + at + 5, 2);
            media->width = big(bytes + at + 7, 2);
            return;
        }
        at += 2 + (size_t)big(bytes + at + 2, 2);
    }
}

static void measure_webp(const unsigned char *bytes, size_t length, struct media *media)
{
    if (length < 30)
        return;
    if (memcmp(bytes + 12, "VP8 ", 4) == 0) {
        media->width = little(bytes + 26, 2) & 0x3fff;
        media->height = little(bytes + 28, 2) & 0x3fff;
    } else if (memcmp(bytes + 12, "VP8L", 4) == 0) {
        media->width = (little(bytes + 21, 4) & 0x3fff) + 1;
        media->height = (little(bytes + 21, 4) >> 14 & 0x3fff) + 1;
    } else if (memcmp(bytes + 12, "VP8X", 4) == 0) {
        media->width = little(bytes + 24, 3) + 1;
        media->height = little(bytes + 27, 3) + 1;
    }
}

static void measure(const unsigned char *bytes, size_t length, struct media *media)
{
    if (strcmp(media->mime_type, "image/png") == 0 && length >= 24) {
        media->width = big(bytes + 16, 4);
        media->height = big(bytes + 20, 4);
    } else if (strcmp(media->mime_type, "image/gif") == 0 && length >= 10) {
        media->width = little(bytes + 6, 2);
        media->height = little(bytes + 8, 2);
    } else if (strcmp(media->mime_type, "image/jpeg") == 0) {
        measure_jpeg(bytes, length, media);
    } else if (strcmp(media->mime_type, "image/webp") == 0) {
        measure_webp(bytes, length, media);
    }
}

void media_detect(const void *bytes, size_t length, struct media *media)
{
    const unsigned char *at = bytes;

    *media = (struct media){.kind = MEDIA_NONE, .name = "unknown type", .advice = TO_LOOK_INSIDE};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (length < kinds[i].at + kinds[i].length || memcmp(at + kinds[i].at, kinds[i].magic, kinds[i].length) != 0)
            continue;
        if (kinds[i].at > 0 && memcmp(at, "RIFF", 4) != 0)
            continue;
        media->kind = kinds[i].kind;
        media->name = kinds[i].name;
        media->mime_type = kinds[i].mime_type;
        media->advice = kinds[i].advice;
        break;
    }
    if (media->kind == MEDIA_IMAGE)
        measure(at, length, media);
    else if (!media->mime_type && strcmp(media->name, "unknown type") == 0 && text_utf8_valid(bytes, length))
        media->name = "by its name only: it holds text";
}
