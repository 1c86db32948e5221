#include "operations.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/batch.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>
#include <sandlot/sdk/quoting.h>
#include <sandlot/sdk/random.h>
#include <sandlot/sdk/script.h>
#include <sandlot/sdk/text_format.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    LEAST_TOGETHER = 16, /* files that are moved by one command */
    SMALL = 1024 * 1024, /* a file of so many bytes is held in memory, and can be sent again */
    PLAIN_MODE = 0644,
    DOWNLOADS = 4 /* attempts to get the rest of a file whose download broke */
};

/* What is told of one file: one of the host's words, or a sentence; "" for success. */
struct fate {
    char error[640];
};

static void fail_file(struct fate *fate, const char *error)
{
    snprintf(fate->error, sizeof(fate->error), "%s", error);
}

static bool says(const struct api_answer *answer, const char *text)
{
    return strcasestr(answer->message, text) != NULL;
}

/*
 * What an error answer about a file means. SANDLOT_OK: FATE is the file's. The service tells a missing sandbox and a
 * missing file apart only by the word in the answer, if there is one.
 */
static enum sandlot_status judge(struct sandlot_call *call, const struct sandbox *sandbox,
                                 const struct api_answer *answer, struct fate *fate)
{
    bool about_file = strcmp(answer->error, "FileNotFound") == 0 || strcmp(answer->error, "ReadError") == 0 ||
                      strcmp(answer->error, "WriteError") == 0;

    if (answer->status == 404 && !about_file) {
        enum sandlot_status status = sandbox_must_exist(call, sandbox);

        if (status != SANDLOT_OK)
            return status;
    }
    if (says(answer, "is a directory"))
        fail_file(fate, "is_directory");
    else if (answer->status == 403 || says(answer, "permission denied") || says(answer, "read-only file system"))
        fail_file(fate, "permission_denied");
    else if (says(answer, "not a directory") || says(answer, "name too long"))
        fail_file(fate, "invalid_path");
    else if (answer->status == 404 || says(answer, "no such file") || strcmp(answer->error, "FileNotFound") == 0)
        fail_file(fate, "file_not_found");
    else
        fail_file(fate, answer->message[0] ? answer->message : "LangSmith refuses the file and does not say why");
    return SANDLOT_OK;
}

/* ---- upload ----------------------------------------------------------------------------------------------------- */

/* A source whose bytes are counted. */
struct counted {
    struct sandlot_source source;
    const struct sandlot_source *from;
    uint64_t bytes;
};

static enum sandlot_status read_counted(const struct sandlot_source *source, void *buffer, size_t capacity,
                                        size_t *length)
{
    struct counted *counted = source->context;
    enum sandlot_status status = counted->from->read(counted->from, buffer, capacity, length);

    if (status == SANDLOT_OK)
        counted->bytes += *length;
    return status;
}

static void count(struct counted *counted, const struct sandlot_source *from)
{
    *counted = (struct counted){.from = from};
    counted->source = (struct sandlot_source){
        .size = sizeof(counted->source), .context = counted, .read = read_counted, .poll_fd = from->poll_fd};
}

/* LENGTH bytes of SOURCE in memory, to be freed. *STATUS: why there are none. */
static char *read_all(const struct sandlot_source *source, size_t length, enum sandlot_status *status)
{
    char *bytes = malloc(length + 1);

    *status = bytes ? SANDLOT_OK : SANDLOT_INTERNAL;
    for (size_t have = 0; *status == SANDLOT_OK && have < length;) {
        size_t more = 0;

        *status = source->read(source, bytes + have, length - have, &more);
        if (*status == SANDLOT_OK && more == 0)
            *status = SANDLOT_INVALID_ARGUMENT; /* it is shorter than was said */
        have += more;
    }
    if (*status == SANDLOT_OK)
        return bytes;
    free(bytes);
    return NULL;
}

/* How many bytes the service says that it has written, if it says so. */
static bool is_whole(const struct api_answer *answer, uint64_t bytes)
{
    int64_t written = -1;

    if (answer->document)
        json_find_integer(answer->document, "written", &written, NULL);
    return written < 0 || (uint64_t)written == bytes;
}

static enum sandlot_status send_form(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                     const struct http_body *body, struct api_answer *answer)
{
    static const int expected[] = {400, 403, 404, 409, 413, 422, 500, 0};
    const struct http_part part = {
        .name = "file", .file_name = "file", .type = "application/octet-stream", .body = *body};
    struct api_request request = {.method = "POST",
                                  .target = sandbox_target(sandbox, "/upload", path),
                                  .parts = &part,
                                  .part_count = 1,
                                  .repeatable = true, /* it replaces the file whole */
                                  .expected = expected};

    return api_send(call, sandbox->api, &request, answer);
}

/*
 * Sends one file. Small ones are sent again after a failure. A large one cannot be, so the sandbox had better be awake
 * when it comes.
 */
static enum sandlot_status send_file(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                     const struct sandlot_source *source, uint64_t length, struct fate *fate,
                                     uint64_t *bytes)
{
    struct counted counted;
    enum sandlot_status status = SANDLOT_OK;
    bool small = length <= SMALL;
    AUTO_ANSWER struct api_answer answer = {0};

    count(&counted, source);
    AUTO_FREE char *memory = small ? read_all(&counted.source, (size_t)length, &status) : NULL;

    if (!small)
        status = sandbox_wake(call, sandbox);
    if (status != SANDLOT_OK)
        return sandlot_fail(call, status, "the content of '%s' could not be read; try again", path);
    const struct http_body body = {.bytes = memory, .source = small ? NULL : &counted.source, .length = length};

    status = send_form(call, sandbox, path, &body, &answer);
    *bytes = counted.bytes;
    if (status != SANDLOT_OK)
        return status;
    sandbox_seen_awake(sandbox);
    if (answer.status >= 300)
        return judge(call, sandbox, &answer, fate);
    if (!answer.document)
        return api_want_document(call, &answer, "LangSmith's answer to an upload");
    if (!is_whole(&answer, counted.bytes))
        fail_file(fate, "LangSmith wrote only a part of the file; try again");
    return SANDLOT_OK;
}

/* Where a file is sent whose mode is to be set, or whose name is none in a query: beside its place, so that it gets
 * there in one step, unless its folder has such a name. To be freed. */
static char *path_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    char digits[17];

    random_digits(digits, sizeof(digits) - 1);
    if (!text_is_utf8(path))
        return text_format("/tmp/.sandlot-%s", digits);
    return text_format("%.*s/.sandlot-%s", (int)(slash ? slash - path : 0), path, digits);
}

/*
 * Puts a file from beside its place into it. The service cannot set modes. A file that is there already is filled
 * anew, so that it stays the same file with the same mode.
 */
static enum sandlot_status put_in_place(struct sandlot_call *call, struct sandbox *sandbox, const char *beside,
                                        const char *path, uint32_t mode, struct fate *fate)
{
    AUTO_FREE char *from = shell_word(beside);
    AUTO_FREE char *to = shell_word(path);
    AUTO_FREE char *script =
        !from || !to ? NULL
                     : text_format("f=%s t=%s\n"
                                   "exec 2>/dev/null\n"
                                   "mkdir -p \"${t%%/*}/\"\n"
                                   "if [ -d \"$t\" ]; then echo is_directory\n"
                                   "elif [ -e \"$t\" ] && cat \"$f\" >\"$t\"; then echo placed\n"
                                   "elif [ ! -e \"$t\" ] && chmod %o \"$f\" && mv -f \"$f\" \"$t\"; then echo placed\n"
                                   "else echo permission_denied; fi\n"
                                   "rm -f \"$f\"\n",
                                   from, to, mode ? mode & 07777 : PLAIN_MODE);
    char said[64];

    if (!script)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to upload a file; free some");
    const struct script_place place = {.sandbox = sandbox, .execute = command_execute};
    enum sandlot_status status = script_read(call, &place, script, said, sizeof(said));

    said[strcspn(said, "\n")] = '\0';
    if (status == SANDLOT_OK && strcmp(said, "placed") != 0)
        fail_file(fate, *said ? said : "the file could not be put in its place");
    return status;
}

/* What was sent of a file that comes to nothing. */
static void remove_beside(struct sandlot_call *call, struct sandbox *sandbox, const char *beside)
{
    AUTO_FREE char *word = shell_word(beside);
    AUTO_FREE char *script = word ? text_format("rm -f %s\n", word) : NULL;

    if (script)
        command_clean_up(call, sandbox, script);
}

static enum sandlot_status upload_one(struct sandlot_call *call, struct sandbox *sandbox,
                                      const struct sandlot_file *file, struct fate *fate, uint64_t *bytes)
{
    const bool as_it_is = file->mode == 0 && text_is_utf8(file->path);
    AUTO_FREE char *beside = as_it_is ? NULL : path_beside(file->path);

    if (as_it_is)
        return send_file(call, sandbox, file->path, file->source, file->length, fate, bytes);
    if (!beside)
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory to upload a file; free some");
    enum sandlot_status status = send_file(call, sandbox, beside, file->source, file->length, fate, bytes);

    if (status == SANDLOT_OK && fate->error[0] == '\0')
        status = put_in_place(call, sandbox, beside, file->path, file->mode, fate);
    else if (status == SANDLOT_OK)
        remove_beside(call, sandbox, beside);
    if (status != SANDLOT_OK && status != SANDLOT_AUTH && status != SANDLOT_NOT_FOUND)
        remove_beside(call, sandbox, beside);
    return status;
}

static enum sandlot_status upload_some(struct sandlot_call *call, void *provider, void *sandbox,
                                       const struct sandlot_file *files, size_t count,
                                       const struct sandlot_transfer *transfer)
{
    (void)provider;
    for (size_t i = 0; i < count; i++) {
        struct fate fate = {0};
        uint64_t bytes = 0;
        enum sandlot_status status = upload_one(call, sandbox, &files[i], &fate, &bytes);

        if (status != SANDLOT_OK)
            return status;
        transfer->done(transfer, i, fate.error[0] ? fate.error : NULL, bytes);
    }
    return SANDLOT_OK;
}

BATCH_UPLOAD(files_upload, command_execute, .move = upload_some, .least = LEAST_TOGETHER)

enum sandlot_status files_put(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                              const struct sandlot_source *source, uint64_t length)
{
    struct fate fate = {0};
    uint64_t bytes;
    enum sandlot_status status = send_file(call, sandbox, path, source, length, &fate, &bytes);

    if (status == SANDLOT_OK && fate.error[0])
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "LangSmith could not write '%s' in the sandbox: %s", path,
                            fate.error);
    return status;
}

/* ---- download --------------------------------------------------------------------------------------------------- */

/* A download under way. */
struct arriving {
    struct sandlot_sink sink; /* what the client writes to */
    const struct sandlot_sink *to;
    uint64_t bytes;
    enum sandlot_status status; /* of the host's sink */
};

static enum sandlot_status write_counted(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct arriving *arriving = sink->context;

    arriving->status = arriving->to->write(arriving->to, bytes, length);
    if (arriving->status == SANDLOT_OK)
        arriving->bytes += length;
    return arriving->status;
}

/* Is ANSWER the rest of a file from byte HAD on, and not the whole of one that has changed? */
static bool continues(const struct api_answer *answer, uint64_t had)
{
    const char *range = http_header(&answer->response, "Content-Range");

    return answer->status == 206 && range && strncasecmp(range, "bytes ", 6) == 0 &&
           strtoull(range + 6, NULL, 10) == had;
}

/*
 * One request for what is missing. TAG: what the service calls this state of the file, to be freed; with it the rest
 * can be asked for after a break, and the service refuses if it has changed.
 */
static enum sandlot_status fetch(struct sandlot_call *call, struct sandbox *sandbox, const char *path, char **tag,
                                 struct arriving *arriving, struct fate *fate)
{
    static const int expected[] = {400, 403, 404, 409, 416, 422, 500, 0};
    AUTO_ANSWER struct api_answer answer = {0};
    uint64_t had = arriving->bytes;
    AUTO_FREE char *range = had > 0 ? text_format("Range: bytes=%llu-", (unsigned long long)had) : NULL;
    AUTO_FREE char *if_range = had > 0 ? text_format("If-Range: %s", *tag) : NULL;

    if (had > 0 && (!range || !if_range))
        return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for a download; free some");
    struct api_request request = {.method = "GET",
                                  .target = sandbox_target(sandbox, "/download", path),
                                  .range = range,
                                  .if_range = if_range,
                                  .expected = expected,
                                  .sink = &arriving->sink};
    enum sandlot_status status = api_send(call, sandbox->api, &request, &answer);
    const char *etag = http_header(&answer.response, "ETag");

    if (!*tag && etag && *etag == '"')
        *tag = strdup(etag);
    if (status != SANDLOT_OK)
        return status;
    sandbox_seen_awake(sandbox);
    if (answer.status >= 300)
        return judge(call, sandbox, &answer, fate);
    if (answer.status == 204) /* an empty file comes as 200 */
        return sandlot_fail(call, SANDLOT_INTERNAL, "LangSmith's answer to a download is no file (204); try again");
    if (had > 0 && !continues(&answer, had))
        fail_file(fate, "the file changed while it was downloaded; try again");
    return SANDLOT_OK;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *sandbox, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    struct arriving arriving = {.to = file->sink};
    struct fate fate = {0};
    AUTO_FREE char *tag = NULL;
    struct attempt attempt;
    enum sandlot_status status;

    arriving.sink = (struct sandlot_sink){.size = sizeof(arriving.sink), .context = &arriving, .write = write_counted};
    for (int i = 1;; i++) {
        attempt_begin(&attempt, call, 0);
        status = fetch(&attempt.call, sandbox, file->path, &tag, &arriving, &fate);
        if (status != SANDLOT_UNAVAILABLE || arriving.status != SANDLOT_OK || !tag || arriving.bytes == 0 ||
            i == DOWNLOADS)
            break;
    }
    if (status == SANDLOT_OK)
        transfer->done(transfer, index, fate.error[0] ? fate.error : NULL, arriving.bytes);
    return status == SANDLOT_OK || arriving.status != SANDLOT_OK ? status : attempt_fail(&attempt, status);
}

PRINTED_DOWNLOAD(files_download, command_execute, .one = download_one, .least = LEAST_TOGETHER, .utf8 = true)
