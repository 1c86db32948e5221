#include "download.h"

#include "command.h"
#include "sandbox.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/base64.h>
#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/printed_download.h>

#include <inttypes.h>
#include <string.h>

enum {
    PIECE = 1 << 20,
    ATTEMPTS = 4, /* to get the rest of a file whose download broke */
    LEAST_TOGETHER = 8
};

/* By what it is known whether a file is still the same. */
struct version {
    int64_t size;
    int64_t node;
    char changed[40];
};

/* A file on its way out of the sandbox. */
struct drawing {
    const struct sandlot_sink *sink;
    struct line *line;
    int64_t handle; /* -1: not open */
    bool begun;
    struct version version;
    uint64_t bytes;
    enum sandlot_status sink_status;
    char fate[640]; /* what is wrong with the file; "" for nothing */
};

/* ---- what is wrong with a file ----------------------------------------------------------------------------------- */

/* By code, then by class, then by words: not every failure has all three. */
static const char *word_of(const struct line_fault *fault)
{
    static const struct {
        const char *word;
        const char *codes;   /* between blanks */
        const char *classes; /* likewise */
        const char *text;
    } words[] = {
        {"file_not_found", " ENOENT ", " NotFound ", "no such file"},
        {"permission_denied", " EACCES EPERM EROFS ", " PermissionDenied NotCapable ", "permission denied"},
        {"is_directory", " EISDIR ", " IsADirectory ", "is a directory"},
        {"invalid_path", " ENOTDIR ELOOP ENAMETOOLONG ", " NotADirectory FilesystemLoop ", "not a directory"},
    };
    char code[48];
    char class[48];

    snprintf(code, sizeof(code), " %s ", fault->code);
    snprintf(class, sizeof(class), " %s ", fault->class);
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if ((*fault->code && strstr(words[i].codes, code)) || (*fault->class && strstr(words[i].classes, class)) ||
            strcasestr(fault->text, words[i].text))
            return words[i].word;
    return NULL;
}

/* A failure that is the file's own. */
static enum sandlot_status judge(struct sandlot_call *call, struct drawing *drawing, const struct line_fault *fault)
{
    const char *word = word_of(fault);

    if (fault->protocol != 0)
        return line_fail(call, fault, "read a file");
    snprintf(drawing->fate, sizeof(drawing->fate), "%s",
             word           ? word
             : *fault->text ? fault->text
                            : "Deno's sandbox could not read the file and does not say why");
    return SANDLOT_OK;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

static enum sandlot_status ask(struct sandlot_call *call, struct drawing *drawing, const char *method,
                               struct json_builder *params, struct line_message *answer)
{
    if (drawing->handle >= 0)
        json_set_integer(params, "fileHandleId", drawing->handle);
    enum sandlot_status status = line_call(call, drawing->line, method, params, answer);

    return status == SANDLOT_OK && answer->failed ? judge(call, drawing, &answer->fault) : status;
}

static enum sandlot_status garbled(struct sandlot_call *call, struct drawing *drawing, const struct json_error *error)
{
    drawing->line->broken = true;
    return sandlot_fail(call, SANDLOT_UNAVAILABLE, "Deno's answer about a file %s; try again", error->text);
}

static enum sandlot_status open_file(struct sandlot_call *call, struct drawing *drawing, const char *path)
{
    struct json_builder params = {0};
    struct line_message answer;
    struct json_error error;

    drawing->handle = -1;
    json_set_string(&params, "path", path);
    json_set_boolean(&params, "options.read", true);
    enum sandlot_status status = ask(call, drawing, "open", &params, &answer);

    if (status != SANDLOT_OK || *drawing->fate)
        return status;
    return json_read_integer(answer.ok, "fileHandleId", &drawing->handle, &error) ? SANDLOT_OK
                                                                                  : garbled(call, drawing, &error);
}

/* A file that is not what it was cannot be gone on with. */
static enum sandlot_status compare(struct sandlot_call *call, struct drawing *drawing)
{
    struct json_builder params = {0};
    struct line_message answer;
    struct json_error error;
    struct version version = {0};
    const char *changed = "";
    bool folder = false;
    enum sandlot_status status = ask(call, drawing, "fileStat", &params, &answer);

    if (status != SANDLOT_OK || *drawing->fate)
        return status;
    if (!json_read_integer(answer.ok, "size", &version.size, &error) ||
        !json_find_integer(answer.ok, "ino", &version.node, &error) ||
        !json_find_string(answer.ok, "mtime", &changed, &error) ||
        !json_find_boolean(answer.ok, "isDirectory", &folder, &error))
        return garbled(call, drawing, &error);
    snprintf(version.changed, sizeof(version.changed), "%s", changed);
    if (folder)
        snprintf(drawing->fate, sizeof(drawing->fate), "is_directory");
    else if (drawing->begun && memcmp(&version, &drawing->version, sizeof(version)) != 0)
        snprintf(drawing->fate, sizeof(drawing->fate), "the file changed while it was downloaded; try again");
    drawing->version = version;
    drawing->begun = true;
    return SANDLOT_OK;
}

static enum sandlot_status seek(struct sandlot_call *call, struct drawing *drawing)
{
    struct json_builder params = {0};
    struct line_message answer;
    char offset[24];

    if (drawing->bytes == 0)
        return SANDLOT_OK;
    snprintf(offset, sizeof(offset), "%" PRIu64, drawing->bytes);
    json_set_string(&params, "offset", offset);
    json_set_integer(&params, "whence", 0);
    return ask(call, drawing, "fileSeek", &params, &answer);
}

static enum sandlot_status pass_on(struct sandlot_call *call, struct drawing *drawing, struct json_object *data)
{
    size_t length = (size_t)json_object_get_string_len(data);
    AUTO_FREE char *bytes = malloc(length / 4 * 3 + 1);
    size_t decoded = bytes ? base64_read(bytes, json_object_get_string(data), length) : 0;

    if (!bytes)
        return http_no_memory(call);
    if (decoded == SIZE_MAX) {
        drawing->line->broken = true;
        return sandlot_fail(call, SANDLOT_UNAVAILABLE, "a piece of a file from Deno's sandbox is no base64; try again");
    }
    drawing->sink_status = drawing->sink->write(drawing->sink, bytes, decoded);
    if (drawing->sink_status == SANDLOT_OK)
        drawing->bytes += decoded;
    return drawing->sink_status;
}

/* Until there is no more: the size may be told wrong, as that of what the kernel makes up. */
static enum sandlot_status draw(struct sandlot_call *call, struct drawing *drawing)
{
    enum sandlot_status status = SANDLOT_OK;

    for (bool more = true; more && status == SANDLOT_OK;) {
        struct json_builder params = {0};
        struct line_message answer;

        json_set_integer(&params, "length", PIECE);
        status = ask(call, drawing, "fileRead", &params, &answer);
        if (status != SANDLOT_OK || *drawing->fate)
            return status;
        struct json_object *data =
            json_object_is_type(answer.ok, json_type_object) ? json_object_object_get(answer.ok, "data") : NULL;

        more = json_object_is_type(data, json_type_string);
        if (more)
            status = pass_on(call, drawing, data);
        else if (data || !json_object_is_type(answer.ok, json_type_object))
            status = garbled(call, drawing, &(const struct json_error){"has no bytes"});
    }
    return status;
}

static void close_file(struct sandlot_call *call, struct drawing *drawing)
{
    struct json_builder params = {0};

    if (drawing->handle < 0 || drawing->line->broken)
        return;
    json_set_integer(&params, "fileHandleId", drawing->handle);
    line_ask(call, drawing->line, "fileClose", &params, NULL); /* nobody waits for the answer */
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static enum sandlot_status fetch(struct sandlot_call *call, struct sandbox *sandbox, const char *path,
                                 struct drawing *drawing)
{
    enum sandlot_status status = sandbox_take(call, sandbox, &drawing->line);

    if (status != SANDLOT_OK)
        return status;
    status = open_file(call, drawing, path);
    if (status == SANDLOT_OK && !*drawing->fate)
        status = compare(call, drawing);
    if (status == SANDLOT_OK && !*drawing->fate)
        status = seek(call, drawing);
    if (status == SANDLOT_OK && !*drawing->fate)
        status = draw(call, drawing);
    close_file(call, drawing);
    sandbox_give(call, sandbox, drawing->line);
    return status;
}

static enum sandlot_status download_one(struct sandlot_call *call, void *sandbox, const struct sandlot_file *file,
                                        size_t index, const struct sandlot_transfer *transfer)
{
    struct drawing drawing = {.sink = file->sink};
    struct attempt attempt;
    enum sandlot_status status;
    int i = 0;

    do {
        attempt_begin(&attempt, call, 0);
        status = fetch(&attempt.call, sandbox, file->path, &drawing);
    } while (status == SANDLOT_UNAVAILABLE && drawing.sink_status == SANDLOT_OK && ++i < ATTEMPTS);
    if (drawing.sink_status != SANDLOT_OK)
        return drawing.sink_status;
    if (status != SANDLOT_OK)
        return attempt_fail(&attempt, status);
    transfer->done(transfer, index, *drawing.fate ? drawing.fate : NULL, drawing.bytes);
    return SANDLOT_OK;
}

PRINTED_DOWNLOAD(download_files, command_execute, .one = download_one, .least = LEAST_TOGETHER, .utf8 = true)
