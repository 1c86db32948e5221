/*
 * Each file is the standard output of a process of its own: a line that says whether there is one and how long it is (a
 * file of the kernel's own does not know), the bytes, and a trailer that says that these are all. A stream that breaks
 * is taken up at the byte where it did, for the worker keeps what a process has printed.
 */
#include "operations.h"

#include "message.h"
#include "process.h"

#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/random.h>

#include <inttypes.h>
#include <string.h>

enum { WORD = 32, LINE_SIZE = 32, LONGEST_DOWNLOAD_S = 6 * 3600 };

static const char printing[] =
    "p=%s\n"
    "if [ -d \"$p\" ]; then echo is_directory\n"
    "elif [ -f \"$p\" ]; then\n"
    "if [ -r \"$p\" ]; then\n"
    "n=$(stat -L -c %%s \"$p\" 2>/dev/null)\n"
    "[ \"${n:-0}\" -gt 0 ] || n=\n"
    "echo \"file $n\"\n"
    "{ if [ \"$n\" ]; then head -c \"$n\" \"$p\"; else cat \"$p\"; fi; } 2>/dev/null && printf %%s %s\n"
    "else echo permission_denied; fi\n"
    "elif [ -e \"$p\" ]; then echo special\n"
    "else\n"
    "q=$p\n"
    "while [ \"$q\" ] && [ ! -e \"$q\" ]; do q=${q%%/*}; done\n"
    "if [ -d \"${q:-/}\" ] && [ ! -x \"${q:-/}\" ]; then echo permission_denied; else echo file_not_found; fi\n"
    "fi\n";

/* What has come of one file. The trailer is held back until it is known that it is none of the file's bytes. */
struct incoming {
    const struct sandlot_sink *sink;
    char line[LINE_SIZE];
    size_t line_length;
    bool answered; /* the line is over */
    bool is_file;  /* as it says */
    char held[WORD];
    size_t held_length;
    uint64_t bytes;
};

static enum sandlot_status deliver(struct incoming *incoming, const char *bytes, size_t length)
{
    incoming->bytes += length;
    return length > 0 ? incoming->sink->write(incoming->sink, bytes, length) : SANDLOT_OK;
}

/* Passes on all but the last bytes, which may be the trailer. */
static enum sandlot_status hold_back(struct incoming *incoming, const char *bytes, size_t length)
{
    size_t beyond = incoming->held_length + length > WORD ? incoming->held_length + length - WORD : 0;
    size_t of_held = beyond < incoming->held_length ? beyond : incoming->held_length;
    enum sandlot_status status = deliver(incoming, incoming->held, of_held);

    if (status != SANDLOT_OK)
        return status;
    memmove(incoming->held, incoming->held + of_held, incoming->held_length - of_held);
    incoming->held_length -= of_held;
    status = deliver(incoming, bytes, beyond - of_held);
    memcpy(incoming->held + incoming->held_length, bytes + (beyond - of_held), length - (beyond - of_held));
    incoming->held_length += length - (beyond - of_held);
    return status;
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct incoming *incoming = sink->context;
    const char *at = bytes;

    while (!incoming->answered && length > 0) {
        char letter = *at++;

        length--;
        if (letter == '\n')
            incoming->answered = true;
        else if (incoming->line_length < sizeof(incoming->line) - 1)
            incoming->line[incoming->line_length++] = letter;
    }
    incoming->is_file = incoming->answered && strncmp(incoming->line, "file ", 5) == 0;
    return incoming->is_file ? hold_back(incoming, at, length) : SANDLOT_OK;
}

/* What became of the file; "" if the answer makes no sense. */
static const char *fate(const struct incoming *incoming, const char *word)
{
    static const char *const codes[] = {"file_not_found", "permission_denied", "is_directory"};

    uint64_t expected = incoming->is_file ? strtoull(incoming->line + 5, NULL, 10) : 0;

    if (incoming->is_file)
        return incoming->held_length == WORD && memcmp(incoming->held, word, WORD) == 0 &&
                       (expected == 0 || incoming->bytes == expected)
                   ? NULL
                   : "it could not be read to its end; look whether somebody changes it";
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (strcmp(incoming->line, codes[i]) == 0)
            return codes[i];
    return strcmp(incoming->line, "special") == 0 ? "it is no regular file" : "";
}

static enum sandlot_status download_one(struct sandlot_call *call, void *handle, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    struct sandbox *sandbox = handle;
    AUTO_FREE char *path = shell_word(file->path);
    AUTO_FREE char *script = NULL;
    char word[WORD + 1];
    struct incoming incoming = {.sink = file->sink};
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = &incoming, .write = take};
    struct process process;

    random_digits(word, WORD);
    if (!path || asprintf(&script, printing, path, word) < 0)
        return api_no_memory(call);
    const char *const words[] = {"sh", "-c", script, NULL};
    enum sandlot_status status = process_start(call, sandbox, words, NULL, LONGEST_DOWNLOAD_S, true, &process);

    if (status == SANDLOT_OK)
        status = process_read(call, &process, &sink);
    if (status != SANDLOT_OK)
        return status;
    const char *error = fate(&incoming, word);

    if (error && !*error)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE,
                            "Modal's sandbox %.100s did not say what became of a file to download; try again",
                            sandbox->id);
    transfer->done(transfer, index, error, error ? 0 : incoming.bytes);
    return SANDLOT_OK;
}

PRINTED_DOWNLOAD(download_files, command_execute, .one = download_one, .least = 16, .utf8 = true)
