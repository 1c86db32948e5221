/*
 * libarchive pulls its bytes, but an answer of a service is pushed. So the parser runs in a thread of its own, and the
 * two hand over to each other: the parser runs only while the caller waits, and the bytes are lent and never copied.
 */
#include <sandlot/sdk/archive.h>
#include <sandlot/sdk/cleanup.h>

#include "archive_names.h"

#include <archive.h>
#include <archive_entry.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_FAULT = 400, BLOCK = 512 };

struct tar_reader {
    struct sandlot_call *call;
    const struct tar_receiver *receiver;
    struct sandlot_sink sink;
    uint64_t most;
    uint64_t unpacked;
    pthread_t thread;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t turned;
    const void *bytes; /* lent by the caller until the parser wants more */
    size_t length;
    bool parsing; /* whose turn it is */
    bool over;    /* the parser has ended */
    bool dropped; /* the rest is not wanted: nobody is to be called any more */
    bool joined;
    enum sandlot_status status;
    char fault[LONGEST_FAULT]; /* "": told by somebody else */
};

char *sdk_archive_name(char *name)
{
    while (strncmp(name, "./", 2) == 0 && name[2 + strspn(name + 2, "/")])
        name += 2 + strspn(name + 2, "/");
    size_t length = strlen(name);

    while (length > 1 && name[length - 1] == '/')
        name[--length] = '\0';
    if (length == 0 || *name == '/')
        return NULL;
    for (const char *at = name; *at; at += *at == '/') {
        size_t size = strcspn(at, "/");

        if (size == 2 && memcmp(at, "..", 2) == 0)
            return NULL;
        at += size;
    }
    return name;
}

/* ---- the parser's thread ----------------------------------------------------------------------------------------- */

static enum sandlot_status fault(struct tar_reader *reader, enum sandlot_status status, const char *text)
{
    snprintf(reader->fault, sizeof(reader->fault), "%s", text);
    return status;
}

/* Gives the turn to the caller and waits for the next bytes. */
static la_ssize_t on_read(struct archive *archive, void *context, const void **bytes)
{
    struct tar_reader *reader = context;

    (void)archive;
    pthread_mutex_lock(&reader->lock);
    reader->parsing = false;
    pthread_cond_broadcast(&reader->turned);
    while (!reader->parsing)
        pthread_cond_wait(&reader->turned, &reader->lock);
    *bytes = reader->bytes;
    la_ssize_t length = (la_ssize_t)reader->length;

    pthread_mutex_unlock(&reader->lock);
    return length;
}

static enum sandlot_status unreadable(struct tar_reader *reader, struct archive *archive)
{
    const char *why = archive_error_string(archive);
    char text[LONGEST_FAULT];

    snprintf(text, sizeof(text), "the archive cannot be read: %s", why ? why : "it is damaged");
    return fault(reader, SANDLOT_INTERNAL, text);
}

/* LENGTH bytes more have been unpacked. */
static enum sandlot_status count(struct tar_reader *reader, uint64_t length)
{
    reader->unpacked += length;
    if (reader->most != 0 && reader->unpacked > reader->most)
        return fault(reader, SANDLOT_EXHAUSTED, "the archive unpacks to more than it may");
    return SANDLOT_OK;
}

static enum sandlot_status pass_content(struct tar_reader *reader, struct archive *archive, uint64_t length,
                                        const struct sandlot_sink *sink)
{
    const void *bytes;
    size_t size;
    la_int64_t offset;
    uint64_t passed = 0;
    int result;

    while ((result = archive_read_data_block(archive, &bytes, &size, &offset)) == ARCHIVE_OK) {
        if ((uint64_t)offset != passed)
            return fault(reader, SANDLOT_INTERNAL, "the archive has a file with holes, which is not supported");
        passed += size;
        enum sandlot_status status = count(reader, size);

        if (status == SANDLOT_OK && reader->dropped)
            status = SANDLOT_CANCELLED;
        if (status == SANDLOT_OK && sink && size > 0)
            status = sink->write(sink, bytes, size);
        if (status != SANDLOT_OK)
            return status;
    }
    if (result != ARCHIVE_EOF)
        return unreadable(reader, archive);
    return passed == length ? SANDLOT_OK : fault(reader, SANDLOT_INTERNAL, "the archive has a file that is cut short");
}

static enum sandlot_status pass_entry(struct tar_reader *reader, struct archive *archive, struct archive_entry *entry)
{
    const char *raw = archive_entry_pathname(entry);
    AUTO_FREE char *copy = strdup(raw ? raw : "");
    const char *name = copy ? sdk_archive_name(copy) : NULL;
    bool folder = archive_entry_filetype(entry) == AE_IFDIR;
    bool plain = folder || (archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry));
    const struct sandlot_sink *sink = NULL;
    char text[LONGEST_FAULT];

    if (!name || !plain) {
        snprintf(text, sizeof(text), "the archive holds '%.200s', which %s, and is refused", raw ? raw : "",
                 name ? "is a link or a device" : "leads out of its folder");
        return fault(reader, SANDLOT_INTERNAL, text);
    }
    const struct tar_entry told = {name, folder, folder ? 0 : (uint64_t)archive_entry_size(entry),
                                   (uint32_t)archive_entry_perm(entry)};
    enum sandlot_status status = count(reader, BLOCK);

    if (status != SANDLOT_OK || (folder && strcmp(name, ".") == 0))
        return status;
    status = reader->receiver->begin(reader->receiver->context, &told, &sink);
    if (status == SANDLOT_OK && !folder)
        status = pass_content(reader, archive, told.length, sink);
    if (status == SANDLOT_OK && reader->receiver->end)
        status = reader->receiver->end(reader->receiver->context, &told);
    return status;
}

/* As archive_read_open(3), which heeds no result: without memory for the callback's data it goes on, and crashes
 * (3.6.2). */
static bool open_archive(struct tar_reader *reader, struct archive *archive)
{
    return archive_read_support_filter_gzip(archive) == ARCHIVE_OK &&
           archive_read_support_format_tar(archive) == ARCHIVE_OK &&
           archive_read_set_read_callback(archive, on_read) == ARCHIVE_OK &&
           archive_read_set_callback_data(archive, reader) == ARCHIVE_OK && archive_read_open1(archive) == ARCHIVE_OK;
}

static enum sandlot_status pass_all(struct tar_reader *reader, struct archive *archive)
{
    struct archive_entry *entry;
    enum sandlot_status status = SANDLOT_OK;
    int result = ARCHIVE_OK;

    if (!open_archive(reader, archive))
        return unreadable(reader, archive);
    while (status == SANDLOT_OK && (result = archive_read_next_header(archive, &entry)) == ARCHIVE_OK)
        status = reader->dropped ? SANDLOT_CANCELLED : pass_entry(reader, archive, entry);
    return status != SANDLOT_OK || result == ARCHIVE_EOF ? status : unreadable(reader, archive);
}

static void *parse(void *context)
{
    struct tar_reader *reader = context;
    /* libarchive gives names by the locale, which in a provider is whatever the host has. Without this one a name that
     * is not ASCII cannot be had, and is refused. */
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = uselocale(utf8);
    struct archive *archive = archive_read_new();
    enum sandlot_status status = archive ? pass_all(reader, archive)
                                         : fault(reader, SANDLOT_INTERNAL, "there is not enough memory for an archive");

    if (archive)
        archive_read_free(archive);
    uselocale(before);
    if (utf8)
        freelocale(utf8);
    pthread_mutex_lock(&reader->lock);
    reader->status = status;
    reader->over = true;
    reader->parsing = false;
    pthread_cond_broadcast(&reader->turned);
    pthread_mutex_unlock(&reader->lock);
    return NULL;
}

/* ---- the caller's side ------------------------------------------------------------------------------------------- */

/* Lends BYTES to the parser until it wants more or has ended. */
static void give_turn(struct tar_reader *reader, const void *bytes, size_t length)
{
    pthread_mutex_lock(&reader->lock);
    while (reader->parsing) /* it is still on its way to its first question */
        pthread_cond_wait(&reader->turned, &reader->lock);
    if (!reader->over) {
        reader->bytes = bytes;
        reader->length = length;
        reader->parsing = true;
        pthread_cond_broadcast(&reader->turned);
        while (reader->parsing)
            pthread_cond_wait(&reader->turned, &reader->lock);
    }
    pthread_mutex_unlock(&reader->lock);
}

static enum sandlot_status tell(struct tar_reader *reader)
{
    if (reader->over && reader->status != SANDLOT_OK && *reader->fault)
        sandlot_fail(reader->call, reader->status, "%s; check where it comes from", reader->fault);
    return reader->over ? reader->status : SANDLOT_OK;
}

static enum sandlot_status on_write(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct tar_reader *reader = sink->context;

    if (length > 0) /* no bytes would be the end to libarchive */
        give_turn(reader, bytes, length);
    return tell(reader);
}

enum sandlot_status tar_reader_open(struct sandlot_call *call, const struct tar_receiver *receiver, uint64_t most,
                                    struct tar_reader **reader)
{
    struct tar_reader *made = calloc(1, sizeof(*made));
    sigset_t all;
    sigset_t before;

    *reader = NULL;
    if (!made)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for an archive; free some");
    made->call = call;
    made->receiver = receiver;
    made->most = most;
    made->sink = (struct sandlot_sink){.size = sizeof(made->sink), .context = made, .write = on_write};
    made->parsing = true;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->turned, NULL);
    sigfillset(&all); /* signals are for the threads of the host */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&made->thread, NULL, parse, made);

    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) {
        *reader = made;
        return SANDLOT_OK;
    }
    pthread_cond_destroy(&made->turned);
    pthread_mutex_destroy(&made->lock);
    free(made);
    return sandlot_fail(call, SANDLOT_EXHAUSTED,
                        "a thread for an archive could not be started; raise the limit of threads");
}

const struct sandlot_sink *tar_reader_sink(struct tar_reader *reader)
{
    return &reader->sink;
}

/* No bytes are the end; the parser asks again if it is not content with that, and is told the same again. */
static void finish(struct tar_reader *reader)
{
    if (reader->joined)
        return;
    do
        give_turn(reader, "", 0);
    while (!reader->over);
    pthread_join(reader->thread, NULL);
    reader->joined = true;
}

enum sandlot_status tar_reader_end(struct tar_reader *reader)
{
    finish(reader);
    return tell(reader);
}

void tar_reader_free(struct tar_reader *reader)
{
    if (!reader)
        return;
    pthread_mutex_lock(&reader->lock);
    reader->dropped = true;
    pthread_mutex_unlock(&reader->lock);
    finish(reader);
    pthread_cond_destroy(&reader->turned);
    pthread_mutex_destroy(&reader->lock);
    free(reader);
}
