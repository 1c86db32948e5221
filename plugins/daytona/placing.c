#include "placing.h"

#include "cleanup.h"
#include "command.h"

#include <inttypes.h>
#include <sandlot/sdk/quoting.h>
#include <string.h>

enum { FATES_SIZE = 16384, MODE_BITS = 07777, LINE = 57 };

/*
 * place NUMBER BYTES MODE TARGET puts file NUMBER of folder $d to TARGET, if it has all its BYTES. A file that is there
 * keeps its mode and owner; one with several names or in a folder that must not be changed is written in place, all
 * others are replaced in one step. MODE is for new files; 0: as they are.
 */
static const char functions[] =
    "export LC_ALL=C\n"
    "set -f\n"
    "trap 'rm -rf \"$d\"' 0\n"
    "trap 'exit 1' 1 2 15\n"
    "blocked() {\n"
    "q=$p\n"
    "while [ \"$q\" ] && [ ! -e \"$q\" ] && [ ! -L \"$q\" ]; do q=${q%/*}; done\n"
    "[ \"$q\" ] && [ ! -d \"$q\" ]\n"
    "}\n"
    "fate() {\n"
    "f=$d/$1 g=$4 in_place= mode=\n"
    "[ -f \"$f\" ] && [ \"$(wc -c <\"$f\")\" -eq \"$2\" ] || { echo lost; return; }\n"
    "if [ -L \"$g\" ]; then\n"
    "g=$(readlink -f \"$g\" && echo .) || { echo invalid_path; return; }\n"
    "g=${g%??}\n"
    "fi\n"
    "n=${g##*/} p=${g%/*}\n"
    "[ ${#n} -le 255 ] && [ ${#g} -lt 4096 ] || { echo invalid_path; return; }\n"
    "[ ! -d \"$g\" ] || { echo is_directory; return; }\n"
    "if [ -e \"$g\" ]; then\n"
    "[ -f \"$g\" ] || { echo special; return; }\n"
    "[ -w \"$g\" ] || { echo permission_denied; return; }\n"
    "set -- $(stat -c '%a %h %u:%g' \"$g\")\n"
    "mode=$1\n"
    "[ \"$2\" = 1 ] && [ -w \"${p:-/}\" ] && [ -x \"${p:-/}\" ] || in_place=1\n"
    "[ \"$in_place\" ] || [ \"$3\" = \"$(stat -c %u:%g \"$f\")\" ] || chown \"$3\" \"$f\" || in_place=1\n"
    "else\n"
    "if [ ! -d \"${p:-/}\" ] && ! mkdir -p \"$p\"; then\n"
    "if blocked; then echo invalid_path; else echo permission_denied; fi\n"
    "return\n"
    "fi\n"
    "[ -w \"${p:-/}\" ] && [ -x \"${p:-/}\" ] || { echo permission_denied; return; }\n"
    "[ \"$3\" = 0 ] || mode=$3\n"
    "fi\n"
    "if [ \"$in_place\" ]; then\n"
    "if cat <\"$f\" >\"$g\"; then echo placed; else echo unwritten; fi\n"
    "return\n"
    "fi\n"
    "if [ \"$(stat -c %d \"$f\")\" != \"$(stat -c %d \"${p:-/}\")\" ]; then\n"
    "t=$p/${d##*/}\n"
    "cp -p \"$f\" \"$t\" || { rm -f \"$t\"; echo unwritten; return; }\n"
    "f=$t\n"
    "fi\n"
    "if { [ ! \"$mode\" ] || chmod \"$mode\" \"$f\"; } && mv -f \"$f\" \"$g\"; then echo placed; return; fi\n"
    "rm -f \"$f\"\n"
    "echo permission_denied\n"
    "}\n"
    "place() { echo \"$1 $(fate \"$@\" 2>/dev/null)\"; }\n";

/* ---- the script ----------------------------------------------------------------------------------------------- */

static void add_base64(FILE *stream, const unsigned char *bytes, size_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    for (size_t at = 0; at < length; at += 3) {
        unsigned int left = length - at < 3 ? (unsigned int)(length - at) : 3;
        unsigned int group = (unsigned int)bytes[at] << 16 | (left > 1 ? (unsigned int)bytes[at + 1] << 8 : 0) |
                             (left > 2 ? (unsigned int)bytes[at + 2] : 0);

        putc(letters[group >> 18], stream);
        putc(letters[group >> 12 & 63], stream);
        putc(left > 1 ? letters[group >> 6 & 63] : '=', stream);
        putc(left > 2 ? letters[group & 63] : '=', stream);
        if (at % LINE == LINE - 3)
            putc('\n', stream);
    }
}

/* A file that the command carries: to its place in the folder. */
static void add_content(FILE *stream, size_t index, const struct placing *file)
{
    fprintf(stream, "base64 -d >\"$d/%zu\" <<'end'\n", index);
    add_base64(stream, (const unsigned char *)file->content, (size_t)file->bytes);
    fputs("\nend\n", stream);
}

static bool add_file(FILE *stream, size_t index, const struct placing *file)
{
    AUTO_FREE char *target = shell_word(file->target);

    if (!target)
        return false;
    if (file->content)
        add_content(stream, index, file);
    fprintf(stream, "place %zu %" PRIu64 " %o %s\n", index, file->bytes, (unsigned int)(file->mode & MODE_BITS),
            target);
    return true;
}

static char *make_script(const char *folder, const struct placing *files, size_t count)
{
    char *script = NULL;
    size_t size = 0;
    bool added = true;
    bool carries = false;
    FILE *stream = open_memstream(&script, &size);

    if (!stream)
        return NULL;
    for (size_t i = 0; i < count; i++)
        carries |= files[i].content != NULL;
    if (carries)
        fputs("command -v base64 >/dev/null || { echo lacking; exit; }\n", stream);
    fprintf(stream, "d=%s\n%s", folder, functions);
    if (carries)
        fputs("umask 077\nmkdir \"$d\"\numask 022\n", stream);
    for (size_t i = 0; i < count && added; i++)
        added = files[i].left_out || add_file(stream, i, &files[i]);
    if (fclose(stream) == 0 && added)
        return script;
    free(script);
    return NULL;
}

/* ---- the fates ------------------------------------------------------------------------------------------------ */

/* What WORD says of a file; "" if it says nothing. */
static const char *meaning(const char *word)
{
    static const char *const codes[] = {"file_not_found", "permission_denied", "is_directory", "invalid_path"};

    if (strcmp(word, "placed") == 0)
        return NULL;
    if (strcmp(word, "unwritten") == 0)
        return "it could not be written whole; look whether the disk of the sandbox is full";
    if (strcmp(word, "special") == 0)
        return "something is there that is no regular file";
    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++)
        if (strcmp(word, codes[i]) == 0)
            return codes[i];
    return "";
}

enum sandlot_status placing_run(struct sandlot_call *call, struct sandbox *sandbox, const char *folder,
                                const struct placing *files, size_t count,
                                void (*tell)(void *context, size_t index, const char *error), void *context,
                                bool *lacking)
{
    AUTO_FREE char *script = make_script(folder, files, count);
    AUTO_FREE char *fates = malloc(FATES_SIZE);
    char *rest = NULL;

    if (!script || !fates)
        return api_no_memory(call);
    enum sandlot_status status = command_run(call, sandbox, script, fates, FATES_SIZE);

    if (status != SANDLOT_OK)
        return status;
    /* Lines of a number and a word. */
    for (char *line = strtok_r(fates, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *word;
        unsigned long index = strtoul(line, &word, 10);
        const char *error = word > line && *word == ' ' && index < count ? meaning(word + 1) : "";

        *lacking |= strcmp(line, "lacking") == 0;
        if (!error || *error)
            tell(context, index, error);
    }
    return SANDLOT_OK;
}
