#include "operations/derived/script.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "operations/file_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/*
 * What the script itself says of its frame must not look like one to the parser, for a terminal may show the script
 * before it runs: each mark is printed from two halves. Functions of the user's that bash inherits, and
 * aliases, must not stand in for the programs that are meant.
 */
static const char prologue[] =
    "set +x +v -f\n"
    "exec 2>/dev/null\n"
    "\\unalias -a\n"
    "unset -f awk base64 cat cd chmod chown cksum command cp cut dd echo exec exit find grep head ln ls mkdir mktemp "
    "mv od "
    "printf read readlink realpath rm rmdir sed set sort stat tail test touch tr trap true uuencode wc xargs\n"
    "s_locale=${LC_ALL-}\n"
    "export LC_ALL=C\n"
    "IFS=' \t\n'\n"
    "s_clean() { :; }\n"
    "trap 's_clean; exit 143' 1 2 15\n"
    "s_stop() { s_clean; echo \"</$s_a$s_b\"; exit 0; }\n"
    "s_end() { echo 'done:0;'; s_stop; }\n"
    "s_word() { echo \"$1:$2;\"; }\n"
    "s_fail() { echo \"fail:$1;\"; s_stop; }\n"
    "s_need() { for s_t; do command -v \"$s_t\" >/dev/null || { echo \"missing:$s_t;\"; s_stop; }; done; }\n"
    "s_code() {\n"
    "if command -v base64; then s_c=base64 s_k=b\n"
    "elif command -v uuencode; then s_c='uuencode -m -' s_k=u\n"
    "elif command -v od; then s_c='od -An -v -to1' s_k=o\n"
    "else s_c=; fi >/dev/null\n"
    "[ \"$s_c\" ] || s_need base64\n"
    "}\n"
    "s_data() { s_code; s_d=$($s_c); echo \"$1=${#s_d}$s_k$s_d;\"; }\n"
    "s_flow() { s_code; echo \"$1=-$s_k\"; $s_c; echo ';'; }\n"
    "s_names() { eval \"$s_rare\"; s_names; }\n"
    "s_reason() { eval \"$s_rare\"; s_reason \"$1\"; }\n"
    "s_lost() { eval \"$s_rare\"; s_lost; }\n"
    "s_gone() { eval \"$s_rare\"; s_gone; }\n";

/*
 * What only failures need. It lies in a variable, in single quotes, of which it has none itself: most of what the
 * beginning of a script costs is that the shell parses it, and this is parsed when it is needed.
 */
static const char rare[] =
    /* The names beside $f, for a message that suggests one. */
    "s_names() {\n"
    "s_p=${f%/*}\n"
    "cd \"${s_p:-/}\" && [ -r . ] || return\n"
    "set +f\n"
    "s_i=0\n"
    "for s_n in * .[!.]* ..?*; do\n"
    "[ -e \"$s_n\" ] || [ -L \"$s_n\" ] || continue\n"
    "printf \"%s\\0\" \"$s_n\"\n"
    "s_i=$((s_i + 1))\n"
    "[ $s_i -le $s_near ] || break\n"
    "done | s_data names\n"
    "}\n"
    /* From what a program said to the name of an errno: of several lines the first tells the cause, but it may be part
     * of a name. */
    "s_reason() {\n"
    "for s_t in \"${1%%\n*}\" \"$1\"; do\n"
    "case ${s_t##*: } in\n"
    "*[Pp]ermission*) s_fail eacces;; *\"not permitted\"*) s_fail eperm;; *[Rr]ead-only*) s_fail erofs;;\n"
    "*\" space \"*) s_fail enospc;; *[Qq]uota*) s_fail edquot;; *busy*) s_fail ebusy;;\n"
    "*\"too long\"*) s_fail enametoolong;; *[Ll]evels*|*[Ll]oop*) s_fail eloop;;\n"
    "*\"ot a dir\"*) s_fail enotdir;; *\"s a dir\"*) s_fail eisdir;;\n"
    "esac\n"
    "done\n"
    "s_fail eio\n"
    "}\n"
    /* A link whose end cannot be looked at: only the system knows whether that is because it is one of a ring. */
    "s_lost() {\n"
    "s_m=$(cat \"$s_w\" 2>&1)\n"
    "case ${s_m##*: } in\n"
    "*[Ll]evels*|*[Ll]oop*) s_fail eloop;; *[Pp]ermission*) s_fail eacces;; *\"ot a dir\"*) s_fail enotdir;;\n"
    "esac\n"
    "}\n"
    /* Walks down to the first name that is not there, as the system does. */
    "s_gone() {\n"
    "s_r=${f#/} s_w=\n"
    "[ ${#f} -lt 4096 ] || s_fail enametoolong\n"
    "while [ \"$s_r\" ]; do\n"
    "s_n=${s_r%%/*}\n"
    "[ -x \"${s_w:-/}\" ] || s_fail eacces\n"
    "[ ${#s_n} -le 255 ] || s_fail enametoolong\n"
    "s_w=$s_w/$s_n\n"
    "[ -e \"$s_w\" ] || { [ ! -L \"$s_w\" ] || s_lost; break; }\n"
    "case $s_r in */*) [ -d \"$s_w\" ] || s_fail enotdir; s_r=${s_r#*/};; *) s_r=;; esac\n"
    "done\n"
    "s_names\n"
    "s_fail enoent\n"
    "}\n";

static bool make_room(struct script *script, size_t more)
{
    size_t wanted = script->length + more + 1;

    if (!script->text)
        return false;
    if (wanted <= script->capacity)
        return true;
    size_t capacity = wanted + wanted / 2;
    char *grown = realloc(script->text, capacity);

    if (!grown) {
        free(script->text);
        script->text = NULL;
        return false;
    }
    script->text = grown;
    script->capacity = capacity;
    return true;
}

static void add_bytes(struct script *script, const char *bytes, size_t length)
{
    if (!make_room(script, length))
        return;
    memcpy(script->text + script->length, bytes, length);
    script->length += length;
    script->text[script->length] = '\0';
}

void script_add(struct script *script, const char *text)
{
    add_bytes(script, text, strlen(text));
}

void script_format(struct script *script, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    AUTO_FREE char *text = text_format_v(format, arguments);
    va_end(arguments);
    if (text) {
        script_add(script, text);
        return;
    }
    free(script->text);
    script->text = NULL;
}

static void make_mark(char mark[SCRIPT_MARK + 1])
{
    unsigned char random[SCRIPT_MARK / 2] = {0};
    size_t got = 0;

    while (got < sizeof(random)) {
        ssize_t more = getrandom(random + got, sizeof(random) - got, 0);

        if (more > 0)
            got += (size_t)more;
    }
    for (size_t i = 0; i < sizeof(random); i++)
        snprintf(mark + 2 * i, 3, "%02x", random[i]);
}

void script_init(struct script *script)
{
    *script = (struct script){.capacity = sizeof(prologue) + sizeof(rare) + 4096};
    script->text = malloc(script->capacity);
    make_mark(script->mark);
    script_add(script, prologue);
    script_set(script, "s_rare", rare);
    script_format(script, "s_near=%d\ns_a=%.*s\ns_b='%s>'\necho \"<$s_a$s_b\"\n", FILE_NEIGHBOURS, SCRIPT_MARK / 2,
                  script->mark, script->mark + SCRIPT_MARK / 2);
}

void script_clear(struct script *script)
{
    free(script->text);
    script->text = NULL;
}

void script_set(struct script *script, const char *name, const char *value)
{
    if (!text_utf8_valid(value, strlen(value)) || strpbrk(value, "\r\b\033")) {
        /* Commands are UTF-8, and may pass a terminal. The "." keeps newlines at the end. */
        script_format(script, "%s=$(", name);
        script_print(script, value, strlen(value));
        script_format(script, "; echo .)\n%s=${%s%%.}\n", name, name);
        return;
    }
    AUTO_FREE char *word = text_shell_quote(value);

    if (word) {
        script_format(script, "%s=%s\n", name, word);
        return;
    }
    free(script->text);
    script->text = NULL;
}

/* How BYTE is written in the format of printf(1), which is itself in single quotes. */
static size_t print_byte(unsigned char byte, char out[8])
{
    static const char plain[] = " !\"#$&()*+,-./:;<=>?@[]^_`{|}~";

    if ((byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
        (byte && strchr(plain, byte))) {
        out[0] = (char)byte;
        return 1;
    }
    if (byte == '%' || byte == '\\' || byte == '\n') {
        out[0] = byte == '%' ? '%' : '\\';
        out[1] = byte == '\n' ? 'n' : (char)byte;
        return 2;
    }
    return (size_t)snprintf(out, 8, "\\%03o", byte);
}

size_t script_print_cost(const void *bytes, size_t length)
{
    size_t cost = 0;
    char out[8];

    for (size_t i = 0; i < length; i++)
        cost += print_byte(((const unsigned char *)bytes)[i], out);
    return cost;
}

void script_quote_format(struct script *script, const void *bytes, size_t length)
{
    if (!make_room(script, script_print_cost(bytes, length) + 2))
        return;
    char *at = script->text + script->length;

    *at++ = '\'';
    for (size_t i = 0; i < length; i++) {
        char out[8];
        size_t size = print_byte(((const unsigned char *)bytes)[i], out);

        memcpy(at, out, size);
        at += size;
    }
    *at++ = '\'';
    *at = '\0';
    script->length = (size_t)(at - script->text);
}

void script_print(struct script *script, const void *bytes, size_t length)
{
    script_add(script, "printf -- ");
    script_quote_format(script, bytes, length);
}

bool script_fits(const struct script *script)
{
    return script->text && script->length <= SCRIPT_BUDGET;
}
