#include "download.h"

#include "command.h"

#include <inttypes.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/quoting.h>
#include <string.h>

enum { WORDS_SIZE = 480, LINE_SIZE = 64 };

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* The service says of whatever goes wrong with a file that the request is bad. NULL: its words are none that we know.
 */
static const char *file_error(const struct http_response *response)
{
    static const struct {
        const char *words;
        const char *error;
    } errors[] = {{"not a directory", "invalid_path"},
                  {"name too long", "invalid_path"},
                  {"too many levels", "invalid_path"},
                  {"does not exist", "file_not_found"},
                  {"no such file", "file_not_found"},
                  {"is a directory", "is_directory"},
                  {"permission denied", "permission_denied"},
                  {"os error 13", "permission_denied"},
                  {"os error 2)", "file_not_found"},
                  {"os error 21)", "is_directory"},
                  {"os error 20)", "invalid_path"}};

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (api_mentions(response, errors[i].words))
            return errors[i].error;
    return NULL;
}

static enum sandlot_status after_refusal(struct sandlot_call *call, struct sandbox *sandbox, size_t index,
                                         const struct http_response *response, const struct sandlot_transfer *transfer)
{
    char said[WORDS_SIZE - 64];
    char words[WORDS_SIZE];
    const char *error = file_error(response);
    bool running = true;
    enum sandlot_status status = error ? SANDLOT_OK : sandbox_wake(call, sandbox, &running);

    if (status != SANDLOT_OK)
        return status;
    if (!running)
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Runloop's devbox %.100s was not running; try again",
                            sandbox->id);
    http_error_text(response->body, response->length, said, sizeof(said));
    snprintf(words, sizeof(words), "Runloop could not read it (%s)", *said ? said : "it does not say why");
    transfer->done(transfer, index, error ? error : words, 0);
    return SANDLOT_OK;
}

static enum sandlot_status download_one(struct sandlot_call *call, struct sandbox *sandbox,
                                        const struct sandlot_file *file, size_t index,
                                        const struct sandlot_transfer *transfer)
{
    static const char *const headers[] = {"Accept: application/octet-stream", NULL};
    struct json_builder builder = {0};

    json_set_string(&builder, "path", file->path);
    AUTO_FREE char *body = json_finish(&builder, NULL);
    AUTO_FREE char *target = http_target("/v1/devboxes/{}/download_file", sandbox->id);
    AUTO_RESPONSE struct http_response response = {0};
    AUTO_DOCUMENT struct json_object *nothing = NULL;
    const struct http_request request = {.method = "POST",
                                         .target = target,
                                         .headers = headers,
                                         .body = {.bytes = body, .length = body ? strlen(body) : 0},
                                         .repeatable = true,
                                         .sink = file->sink};

    if (!body)
        return api_no_memory(call);
    enum sandlot_status status = api_send(call, sandbox->runloop, &request, NULL, &response, &nothing);

    if (status == SANDLOT_OK)
        transfer->done(transfer, index, NULL, response.bytes);
    return response.status == 400 ? after_refusal(call, sandbox, index, &response, transfer) : status;
}

/* ---- several files ----------------------------------------------------------------------------------------------- */

/*
 * Says for each file "NUMBER WORD"; for a small one "NUMBER file BYTES", the bytes, and "NUMBER end". So many of them
 * that their text has fewer lines than an answer holds. Whatever is not plain is `alone`: asked for in its own request,
 * which then says what is wrong with it.
 */
static const char fetching[] =
    "export LC_ALL=C\n"
    "left=524288\n"
    "fate() {\n"
    "if [ -d \"$f\" ]; then echo is_directory; return; fi\n"
    "if [ ! -e \"$f\" ] && [ ! -L \"$f\" ]; then\n"
    "p=${f%/*}\n"
    "while [ \"$p\" ] && [ ! -e \"$p\" ]; do p=${p%/*}; done\n"
    "if [ -d \"${p:-/}\" ] && [ -x \"${p:-/}\" ]; then echo file_not_found; else echo alone; fi\n"
    "elif [ -f \"$f\" ] && [ -r \"$f\" ]; then echo \"file $(wc -c <\"$f\")\"\n"
    "else echo alone\n"
    "fi\n"
    "}\n"
    "fetch() {\n"
    "f=$2 w=$(fate)\n"
    "n=${w#file }\n"
    "if [ \"$n\" != \"$w\" ]; then\n"
    "n=$((n))\n"
    "if [ \"$n\" -le \"$left\" ]; then\n"
    "left=$((left - n))\n"
    "echo \"$1 file $n\"\n"
    "head -c \"$n\" \"$f\"\n"
    "printf '\\n%s end\\n' \"$1\"\n"
    "return\n"
    "fi\n"
    "w=alone\n"
    "fi\n"
    "echo \"$1 $w\"\n"
    "}\n";

/* What is known of a file. */
enum fate { FATE_ALONE, FATE_BEGUN, FATE_TOLD };

struct download {
    struct sandlot_call *call;
    const struct sandlot_file *files;
    size_t count;
    const struct sandlot_transfer *transfer;
    enum fate *fates;
    size_t index;  /* of the file at hand */
    uint64_t left; /* of its bytes */
    uint64_t bytes;
    bool in_file;
    bool at_end; /* of it: a line of its own must follow */
    char line[LINE_SIZE];
    size_t line_length;
};

static void tell(struct download *download, size_t index, const char *error, uint64_t bytes)
{
    download->fates[index] = FATE_TOLD;
    download->transfer->done(download->transfer, index, error, bytes);
}

static enum sandlot_status make_no_sense(const struct download *download)
{
    return sandlot_fail(download->call, SANDLOT_UNAVAILABLE,
                        "files changed in the devbox while they were downloaded; try again");
}

/* After a file: an empty end of a line, then its end. Both or nothing: else it was cut while it was read. */
static enum sandlot_status take_end(struct download *download, const char *word)
{
    if (*download->line == '\0')
        return SANDLOT_OK;
    if (strcmp(word, " end") != 0 || strtoul(download->line, NULL, 10) != download->index)
        return make_no_sense(download);
    download->at_end = false;
    tell(download, download->index, NULL, download->bytes);
    return SANDLOT_OK;
}

static enum sandlot_status take_line(struct download *download)
{
    static const char *const errors[] = {"file_not_found", "is_directory"};
    char *word;
    unsigned long index = strtoul(download->line, &word, 10);

    if (download->at_end)
        return take_end(download, word);
    if (word == download->line || *word != ' ' || index >= download->count || download->fates[index] != FATE_ALONE)
        return make_no_sense(download);
    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++)
        if (strcmp(word + 1, errors[i]) == 0)
            tell(download, index, errors[i], 0);
    if (strncmp(word, " file ", 6) != 0)
        return SANDLOT_OK;
    download->index = index;
    download->fates[index] = FATE_BEGUN;
    download->bytes = 0;
    download->left = strtoull(word + 6, NULL, 10);
    download->in_file = download->left > 0;
    download->at_end = true;
    return SANDLOT_OK;
}

static enum sandlot_status take_text(struct download *download, const char *bytes, size_t length, size_t *used)
{
    const char *newline = memchr(bytes, '\n', length);
    size_t part = newline ? (size_t)(newline - bytes) : length;

    *used = newline ? part + 1 : part;
    if (part >= LINE_SIZE - download->line_length)
        return make_no_sense(download);
    memcpy(download->line + download->line_length, bytes, part);
    download->line_length += part;
    if (!newline)
        return SANDLOT_OK;
    download->line[download->line_length] = '\0';
    download->line_length = 0;
    return take_line(download);
}

static enum sandlot_status take_content(struct download *download, const char *bytes, size_t length, size_t *used)
{
    const struct sandlot_sink *sink = download->files[download->index].sink;

    *used = length < download->left ? length : (size_t)download->left;
    download->left -= *used;
    download->bytes += *used;
    download->in_file = download->left > 0;
    return sink->write(sink, bytes, *used);
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct download *download = sink->context;
    const char *at = bytes;
    enum sandlot_status status = SANDLOT_OK;

    while (length > 0 && status == SANDLOT_OK) {
        size_t used;

        status = download->in_file ? take_content(download, at, length, &used) : take_text(download, at, length, &used);
        at += used;
        length -= used;
    }
    return status;
}

/* The script for all files; NULL: no memory. */
static char *make_script(const struct download *download)
{
    char *script = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&script, &size);
    bool failed = !stream || fputs(fetching, stream) < 0;

    for (size_t i = 0; i < download->count && !failed; i++) {
        AUTO_FREE char *path = shell_word(download->files[i].path);

        failed = !path || fprintf(stream, "fetch %zu %s 2>/dev/null\n", i, path) < 0;
    }
    failed = stream && fclose(stream) != 0 ? true : failed;
    if (!failed)
        return script;
    free(script);
    return NULL;
}

/* What was begun and not ended is left to the host, which empties its side and asks for it again. */
static enum sandlot_status download_some(struct download *download, struct sandbox *sandbox)
{
    AUTO_FREE char *script = make_script(download);
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = download, .write = take};

    if (!script)
        return api_no_memory(download->call);
    enum sandlot_status status = command_run(download->call, sandbox, script, &sink);

    for (size_t i = 0; i < download->count && status == SANDLOT_OK; i++)
        if (download->fates[i] == FATE_ALONE)
            status = download_one(download->call, sandbox, &download->files[i], i, download->transfer);
    return status;
}

enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer)
{
    struct download download = {.call = call, .files = files, .count = count, .transfer = transfer};

    (void)provider;
    if (count == 0)
        return SANDLOT_OK;
    if (count == 1)
        return download_one(call, sandbox, files, 0, transfer);
    AUTO_FREE enum fate *fates = calloc(count, sizeof(*fates));

    download.fates = fates;
    return fates ? download_some(&download, sandbox) : api_no_memory(call);
}
