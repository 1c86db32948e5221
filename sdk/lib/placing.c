#include <sandlot/sdk/cleanup.h>
#include <sandlot/sdk/placing.h>

#include <sandlot/sdk/quoting.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MODE_BITS = 07777 };

/*
 * place NUMBER STAGED STAGED_BYTES OFFSET BYTES MODE TARGET. OFFSET is - if the file is all of STAGED. A file that is
 * there keeps its mode and owner; one with several names or in a folder that must not be changed is written in place,
 * all others are replaced in one step. Whatever cannot be renamed, because it lies on another disk or is somebody
 * else's, is copied beside its target first.
 */
static const char placing[] =
    "export LC_ALL=C\n"
    "set -f\n"
    "trap 'set +f; rm -rf \"$s\"*' 0\n"
    "trap 'exit 1' 1 2 15\n"
    /* Is something that is no folder on the way to p? */
    "blocked() {\n"
    "q=$p\n"
    "while [ \"$q\" ] && [ ! -e \"$q\" ] && [ ! -L \"$q\" ]; do q=${q%/*}; done\n"
    "[ \"$q\" ] && [ ! -d \"$q\" ]\n"
    "}\n"
    "size() { wc -c <\"$1\"; }\n"
    /* What is there already: may it be written, which mode has it, and can another take its place? */
    "old() {\n"
    "[ -f \"$g\" ] || { echo special; return 1; }\n"
    "[ -w \"$g\" ] || { echo permission_denied; return 1; }\n"
    "set -- $(stat -c '%a %h %u:%g' \"$g\")\n"
    "mode=$1\n"
    "[ \"$2\" = 1 ] && [ -w \"${p:-/}\" ] && [ -x \"${p:-/}\" ] || in_place=1\n"
    "[ \"$in_place\" ] || [ \"$3\" = \"$(stat -c %u:%g \"$f\")\" ] || chown \"$3\" \"$f\" || in_place=1\n"
    "}\n"
    "new() {\n"
    "if [ ! -d \"${p:-/}\" ] && ! mkdir -p \"$p\"; then\n"
    "if blocked; then echo invalid_path; else echo permission_denied; fi\n"
    "return 1\n"
    "fi\n"
    "[ -w \"${p:-/}\" ] && [ -x \"${p:-/}\" ] || { echo permission_denied; return 1; }\n"
    "}\n"
    "fate() {\n"
    "f=$2 g=$7 in_place= mode=\n"
    "[ -f \"$f\" ] && [ \"$(size \"$f\")\" -eq \"$3\" ] || { echo lost; return; }\n"
    "if [ -L \"$g\" ]; then\n"
    "g=$(readlink -f \"$g\" && echo .) || { echo invalid_path; return; }\n"
    "g=${g%??}\n"
    "fi\n"
    "n=${g##*/} p=${g%/*}\n"
    "[ ${#n} -le 255 ] && [ ${#g} -lt 4096 ] || { echo invalid_path; return; }\n"
    "[ ! -d \"$g\" ] || { echo is_directory; return; }\n"
    "if [ \"$4\" != - ]; then\n"
    "f=$f.$1\n"
    "tail -c \"+$(($4 + 1))\" \"$2\" | head -c \"$5\" >\"$f\"\n"
    "[ \"$(size \"$f\")\" -eq \"$5\" ] || { echo unwritten; return; }\n"
    "fi\n"
    "if [ -e \"$g\" ]; then old || return; else new || return; [ \"$6\" = 0 ] || mode=$6; fi\n"
    "if [ \"$in_place\" ]; then\n"
    "if cat <\"$f\" >\"$g\"; then echo placed; else echo unwritten; fi\n"
    "return\n"
    "fi\n"
    "if [ ! -O \"$f\" ] || [ \"$(stat -c %d \"$f\")\" != \"$(stat -c %d \"${p:-/}\")\" ]; then\n"
    "t=$p/${s##*/}.$1\n"
    "cp \"$f\" \"$t\" || { rm -f \"$t\"; echo unwritten; return; }\n"
    "if [ -e \"$g\" ]; then chown \"$(stat -c %u:%g \"$g\")\" \"$t\"; fi\n"
    "f=$t\n"
    "fi\n"
    "if { [ ! \"$mode\" ] || chmod \"$mode\" \"$f\"; } && mv -f \"$f\" \"$g\"; then echo placed; return; fi\n"
    "rm -f \"$f\"\n"
    "echo permission_denied\n"
    "}\n"
    "place() { echo \"$1 $(fate \"$@\" 2>/dev/null)\"; }\n";

static bool write_file(FILE *stream, size_t index, const struct placing_file *file)
{
    AUTO_FREE char *staged = shell_word(file->staged);
    AUTO_FREE char *target = shell_word(file->target);

    if (!staged || !target)
        return false;
    char cut[48] = "- -";

    if (file->part)
        snprintf(cut, sizeof(cut), "%" PRIu64 " %" PRIu64, file->offset, file->bytes);
    fprintf(stream, "place %zu %s %" PRIu64 " %s %o %s\n", index, staged, file->staged_bytes, cut,
            (unsigned int)(file->mode & MODE_BITS), target);
    return true;
}

char *placing_script(const char *prefix, const struct placing_file *files, size_t count)
{
    AUTO_FREE char *word = shell_word(prefix);
    char *script = NULL;
    size_t size = 0;
    FILE *stream = word ? open_memstream(&script, &size) : NULL;
    bool whole = stream != NULL;

    if (stream)
        fprintf(stream, "s=%s\n%s", word, placing);
    for (size_t i = 0; i < count && whole; i++)
        whole = !files[i].target || write_file(stream, i, &files[i]);
    if (stream && fclose(stream) != 0)
        whole = false;
    if (whole)
        return script;
    free(script);
    return NULL;
}

void placing_read(char *output, size_t count, placing_tell tell, void *context)
{
    static const struct {
        const char *word;
        const char *error;
    } fates[] = {{"placed", NULL},
                 {"unwritten", "it could not be written whole; look whether the disk of the sandbox is full"},
                 {"special", "something is there that is no regular file"},
                 {"permission_denied", "permission_denied"},
                 {"is_directory", "is_directory"},
                 {"invalid_path", "invalid_path"}};
    char *rest = NULL;

    for (char *line = strtok_r(output, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char *word;
        unsigned long index = strtoul(line, &word, 10);

        if (word == line || *word != ' ' || index >= count)
            continue;
        for (size_t i = 0; i < sizeof(fates) / sizeof(*fates); i++)
            if (strcmp(word + 1, fates[i].word) == 0)
                tell(context, index, fates[i].error);
    }
}
