/*
 * The tool readFiles knows the paths below one folder, answers with whole files, and does not say what is the matter
 * with one. So a command prints the files, one behind the other:
 *
 *   NUMBER LENGTH     LENGTH bytes follow, then a line: 0, or 1 if the file became shorter meanwhile
 *   NUMBER CODE       one of the codes of sandlot_transfer
 */
#include "download.h"

#include "command.h"

#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/quoting.h>

#include <string.h>

enum { LINE_SIZE = 64, MOST_AT_ONCE = 256 };

static const char functions[] =
    "export LC_ALL=C\n"
    "why() {\n"
    "if [ -d \"$1\" ]; then echo is_directory\n"
    "elif [ -e \"$1\" ] && [ ! -f \"$1\" ]; then echo invalid_path\n"
    "else case $({ cat <\"$1\"; } 2>&1 >/dev/null) in\n"
    "*[Pp]ermission*) echo permission_denied ;;\n"
    "*symbolic*|*too\\ long*|*[Nn]ot\\ a\\ dir*) echo invalid_path ;;\n"
    "*) echo file_not_found ;;\n"
    "esac; fi\n"
    "}\n"
    "get() {\n"
    "if [ ! -f \"$2\" ] || [ ! -r \"$2\" ]; then echo \"$1 $(why \"$2\" 2>/dev/null)\"; return; fi\n"
    "n=$(($(wc -c <\"$2\")))\n"
    "echo \"$1 $n\"\n"
    "{ head -c \"$n\" <\"$2\"; head -c \"$n\" /dev/zero; } 2>/dev/null | head -c \"$n\"\n"
    "if [ \"$(($(wc -c <\"$2\")))\" -lt \"$n\" ]; then echo 1; else echo 0; fi\n"
    "}\n";

/* Takes what the command prints apart. */
struct download {
    struct sandlot_call *call;
    const struct sandlot_file *files;
    const struct sandlot_transfer *transfer;
    size_t count;
    size_t told; /* files whose fate is known: they come in order */
    char line[LINE_SIZE];
    size_t used;
    bool in_file;
    uint64_t length; /* of the file at hand */
    uint64_t left;
};

static enum sandlot_status make_no_sense(const struct download *download)
{
    return sandlot_fail(download->call, SANDLOT_INTERNAL,
                        "what the sandbox says of files to be downloaded makes no sense; try again");
}

static void tell(struct download *download, const char *error)
{
    download->transfer->done(download->transfer, download->told, error, error ? 0 : download->length);
    download->told++;
    download->in_file = false;
}

static enum sandlot_status take_line(struct download *download)
{
    char *word;

    download->line[download->used] = '\0';
    download->used = 0;
    if (download->in_file) {
        tell(download, download->line[0] == '0' ? NULL : "it became shorter while it was read; download it again");
        return SANDLOT_OK;
    }
    unsigned long index = strtoul(download->line, &word, 10);

    if (word == download->line || *word != ' ' || index != download->told || index >= download->count)
        return make_no_sense(download);
    word++;
    if (*word < '0' || *word > '9') {
        tell(download, word);
        return SANDLOT_OK;
    }
    download->in_file = true;
    download->length = download->left = strtoull(word, NULL, 10);
    return SANDLOT_OK;
}

static enum sandlot_status take(const struct sandlot_sink *sink, const void *bytes, size_t length)
{
    struct download *download = sink->context;
    const char *at = bytes;
    enum sandlot_status status = SANDLOT_OK;

    while (length > 0 && status == SANDLOT_OK) {
        size_t taken = 1;

        if (download->in_file && download->left > 0) {
            const struct sandlot_sink *own = download->files[download->told].sink;

            taken = download->left < length ? (size_t)download->left : length;
            status = own->write(own, at, taken);
            download->left -= taken;
        } else if (*at == '\n') {
            status = take_line(download);
        } else if (download->used == LINE_SIZE - 1) {
            status = make_no_sense(download);
        } else {
            download->line[download->used++] = *at;
        }
        at += taken;
        length -= taken;
    }
    return status;
}

static char *make_script(const struct sandlot_file *files, size_t count)
{
    char *script = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&script, &size);
    bool whole = stream != NULL;

    if (stream)
        fputs(functions, stream);
    for (size_t i = 0; i < count && whole; i++) {
        AUTO_FREE char *path = shell_word(files[i].path);

        whole = path != NULL;
        if (path)
            fprintf(stream, "get %zu %s\n", i, path);
    }
    if (stream && fclose(stream) == 0 && whole)
        return script;
    free(script);
    return NULL;
}

/* Some of the files: a script has an end. */
static enum sandlot_status download_some(struct download *download, struct sandbox *sandbox)
{
    const struct sandlot_sink sink = {.size = sizeof(sink), .context = download, .write = take};
    AUTO_FREE char *script = make_script(download->files, download->count);

    if (!script)
        return api_no_memory(download->call);
    enum sandlot_status status = command_run(download->call, sandbox, script, &sink);

    if (status == SANDLOT_OK && download->told < download->count)
        return make_no_sense(download);
    return status;
}

/* The fates of some of the files are those of all, counted from FIRST. */
struct part {
    struct sandlot_transfer transfer;
    const struct sandlot_transfer *whole;
    size_t first;
};

static void tell_whole(const struct sandlot_transfer *transfer, size_t index, const char *error, uint64_t bytes)
{
    const struct part *part = transfer->context;

    part->whole->done(part->whole, part->first + index, error, bytes);
}

enum sandlot_status download_files(struct sandlot_call *call, void *provider, void *sandbox,
                                   const struct sandlot_file *files, size_t count,
                                   const struct sandlot_transfer *transfer)
{
    enum sandlot_status status = SANDLOT_OK;

    (void)provider;
    for (size_t first = 0; first < count && status == SANDLOT_OK; first += MOST_AT_ONCE) {
        struct part part = {.transfer = {sizeof(part.transfer), &part, tell_whole}, .whole = transfer, .first = first};
        struct download download = {.call = call,
                                    .files = files + first,
                                    .transfer = &part.transfer,
                                    .count = count - first < MOST_AT_ONCE ? count - first : MOST_AT_ONCE};

        status = download_some(&download, sandbox);
    }
    return status;
}
