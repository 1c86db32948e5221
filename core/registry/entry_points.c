#include "registry/entry_points.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "config/config.h"
#include "config/value.h"

#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <ini.h>
#include <inttypes.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Bounds. inih as packaged cuts longer lines, sections and keys without a word, so they are checked before it sees the
 * text. The others keep a hostile file from costing more than a moment and a few MiB.
 */
enum {
    LONGEST_LINE = 198,
    LONGEST_NAME = 49, /* of a section or key */
    MOST_PROVIDERS = 64,
    MOST_PARAMETERS = 256,
    LARGEST_NOTE_SEGMENT = 4 << 20,
    LARGEST_SYMBOL_TABLE = 64 << 20,
    SMALL_FILE = 128 << 10,
};

#define LARGEST_FILE (UINT64_C(2) << 30)

static const char owner[] = SANDLOT_NOTE_OWNER;

static const struct {
    enum capability capability;
    const char *name;
} capabilities[] = {
    {CAPABILITY_LIST, "list"},
    {CAPABILITY_UPLOAD, "upload"},
    {CAPABILITY_DOWNLOAD, "download"},
    {CAPABILITY_FILES, "files"},
    {CAPABILITY_PAUSE, "pause"},
    {CAPABILITY_SNAPSHOT, "snapshot"},
    {CAPABILITY_SNAPSHOT_BASE, "snapshot-base"},
    {CAPABILITY_FORK, "fork"},
    {CAPABILITY_TERMINAL, "terminal"},
    {CAPABILITY_STREAMING, "streaming"},
    {CAPABILITY_CHECK, "check"},
    {CAPABILITY_NETWORK_LIVE, "network-live"},
    {CAPABILITY_NETWORK_LOG, "network-log"},
    {CAPABILITY_PORTS, "ports"},
    {CAPABILITY_URLS, "urls"},
    {CAPABILITY_CHANGES, "changes"},
    {CAPABILITY_VOLUMES, "volumes"},
    {CAPABILITY_NETWORK_OFF, "network-off"},
    {CAPABILITY_NETWORK_OPEN, "network-open"},
    {CAPABILITY_NETWORK_HOSTS, "network-hosts"},
    {CAPABILITY_NETWORK_PORTS, "network-ports"},
    {CAPABILITY_NETWORK_CIDRS, "network-cidrs"},
    {CAPABILITY_NETWORK_CREDENTIALS, "network-credentials"},
};

static const char *const kinds[] = {
    [SANDLOT_PARAMETER_string] = "string",   [SANDLOT_PARAMETER_path] = "path",
    [SANDLOT_PARAMETER_integer] = "integer", [SANDLOT_PARAMETER_float] = "float",
    [SANDLOT_PARAMETER_boolean] = "boolean", [SANDLOT_PARAMETER_array] = "array",
    [SANDLOT_PARAMETER_table] = "table",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *capability_name(enum capability capability)
{
    for (size_t i = 0; i < COUNT(capabilities); i++)
        if (capabilities[i].capability == capability)
            return capabilities[i].name;
    return "";
}

/* Sets *PROBLEM, once, and returns false. */
__attribute__((format(printf, 2, 3))) static bool fail(char **problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!*problem)
        *problem = text_format_v(format, arguments);
    va_end(arguments);
    return false;
}

static void clear_point(struct entry_point *point)
{
    free(point->name);
    free(point->symbol);
    free(point->description);
    free(point->working_dir);
    free(point->inside);
    free(point->inside_unless);
    free(point->inside_network);
    free(point->credentials);
    free(point->environment);
    free(point->project);
    free(point->reads);
    free(point->writes);
    free(point->needs);
    free(point->package);
    free(point->problem);
    for (size_t i = 0; i < point->parameter_count; i++) {
        free(point->parameters[i].name);
        free(point->parameters[i].default_text);
        free(point->parameters[i].help);
    }
    free(point->parameters);
}

void entry_points_clear(struct entry_points *points)
{
    for (size_t i = 0; i < points->count; i++)
        clear_point(&points->items[i]);
    free(points->items);
    *points = (struct entry_points){0};
}

/* ---- the text ---------------------------------------------------------------------------------------------------- */

/* One text while inih reads it. */
struct reading {
    struct entry_points *points;
    size_t first;   /* index of the first provider of this text */
    bool abi_given; /* of the provider that is being read */
    char **problem;
};

static bool store(char **field, const char *key, const char *value, char **problem)
{
    if (*field)
        return fail(problem, "its note is damaged: the key %s stands there twice", key);
    *field = strdup(value);
    return *field || fail(problem, "out of memory");
}

/* The words of a list may stand in several lines. */
static bool add_words(char **field, const char *value, char **problem)
{
    char *joined = text_format("%s%s%s", *field ? *field : "", *field ? " " : "", value);

    if (!joined)
        return fail(problem, "out of memory");
    free(*field);
    *field = joined;
    return true;
}

static struct parameter_note *parameter_of(struct entry_point *point, const char *name, char **problem)
{
    for (size_t i = 0; i < point->parameter_count; i++)
        if (strcmp(point->parameters[i].name, name) == 0)
            return &point->parameters[i];
    if (!*name || point->parameter_count == MOST_PARAMETERS) {
        fail(problem,
             *name ? "its note is damaged: there are more than %d parameters"
                   : "its note is damaged: a parameter has no name",
             MOST_PARAMETERS);
        return NULL;
    }
    struct parameter_note *grown = realloc(point->parameters, (point->parameter_count + 1) * sizeof(*grown));

    if (grown)
        point->parameters = grown;
    char *copy = grown ? strdup(name) : NULL;

    if (!copy) {
        fail(problem, "out of memory");
        return NULL;
    }
    point->parameters[point->parameter_count] = (struct parameter_note){.name = copy};
    return &point->parameters[point->parameter_count++];
}

static bool word_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* "kind flag help". A kind or flag of a later SDK leaves kind 0, and the parameter is not shown. */
static bool read_parameter(struct entry_point *point, const char *name, const char *value, char **problem)
{
    static const char *const flags[] = {
        [SANDLOT_FLAG_optional] = "optional",
        [SANDLOT_FLAG_required] = "required",
        [SANDLOT_FLAG_secret] = "secret",
        [SANDLOT_FLAG_required_secret] = "required_secret",
    };
    struct parameter_note *parameter = parameter_of(point, name, problem);
    const char *flag = value + strcspn(value, " \t");
    size_t kind_length = (size_t)(flag - value);

    if (!parameter)
        return false;
    flag += strspn(flag, " \t");
    size_t flag_length = strcspn(flag, " \t");
    const char *help = flag + flag_length + strspn(flag + flag_length, " \t");
    enum sandlot_parameter_kind kind = 0;
    bool flag_known = false;

    for (unsigned i = 0; i < COUNT(kinds); i++)
        if (kinds[i] && word_is(value, kind_length, kinds[i]))
            kind = (enum sandlot_parameter_kind)i;
    for (unsigned i = 0; i < COUNT(flags); i++) {
        if (word_is(flag, flag_length, flags[i])) {
            parameter->flags = i;
            flag_known = true;
        }
    }
    if (flag_known)
        parameter->kind = kind;
    return store(&parameter->help, name, help, problem);
}

static bool read_default(struct entry_point *point, const char *name, const char *value, char **problem)
{
    struct parameter_note *parameter = parameter_of(point, name, problem);

    return parameter && store(&parameter->default_text, name, value, problem);
}

static void set_problem(struct entry_point *point, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void set_problem(struct entry_point *point, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (!point->problem)
        point->problem = text_format_v(format, arguments);
    va_end(arguments);
}

static void read_switch(struct entry_point *point, const char *key, const char *value, bool *field)
{
    if (strcmp(value, "yes") == 0 || strcmp(value, "no") == 0)
        *field = value[0] == 'y';
    else
        set_problem(point, "its note says %s = \"%s\", which is neither yes nor no: ask its vendor for a new build",
                    key, value);
}

/* "MAJOR.MINOR", both of at most five digits. */
static bool parse_abi(const char *value, unsigned *major, unsigned *minor)
{
    const size_t major_length = strspn(value, "0123456789");
    const char *dot = value + major_length;
    const size_t minor_length = *dot == '.' ? strspn(dot + 1, "0123456789") : 0;

    if (major_length == 0 || major_length > 5 || minor_length == 0 || minor_length > 5 || dot[1 + minor_length])
        return false;
    *major = (unsigned)strtoul(value, NULL, 10);
    *minor = (unsigned)strtoul(dot + 1, NULL, 10);
    return true;
}

static void read_abi(struct reading *reading, struct entry_point *point, const char *value)
{
    reading->abi_given = true;
    if (!parse_abi(value, &point->abi_major, &point->abi_minor))
        set_problem(point, "its note says abi = \"%s\", which is no version: ask its vendor for a new build", value);
    else if (point->abi_major != SANDLOT_ABI_MAJOR)
        set_problem(point, "it was built for version %u.%u of the provider ABI, this Sandlot speaks %d.%d: %s",
                    point->abi_major, point->abi_minor, SANDLOT_ABI_MAJOR, SANDLOT_ABI_MINOR,
                    point->abi_major > SANDLOT_ABI_MAJOR ? "install a newer Sandlot, or an older build of the plugin"
                                                         : "install a newer build of the plugin");
}

static void read_capabilities(struct entry_point *point, const char *value)
{
    for (size_t i = 0; i < COUNT(capabilities); i++)
        if (text_has_word(value, capabilities[i].name))
            point->capabilities |= capabilities[i].capability;
}

/* One key of a provider; false if the note is damaged. Unknown keys are those of a later SDK. */
static bool read_key(struct reading *reading, struct entry_point *point, const char *key, const char *value)
{
    const struct {
        const char *key;
        char **field;
        bool words;
    } texts[] = {
        {"symbol", &point->symbol, false},
        {"description", &point->description, false},
        {"working_dir", &point->working_dir, false},
        {"credentials", &point->credentials, true},
        {"environment", &point->environment, true},
        {"project", &point->project, true},
        {"reads", &point->reads, true},
        {"writes", &point->writes, true},
        {"needs", &point->needs, true},
        {"package", &point->package, false},
        {"inside", &point->inside, true},
        {"inside_unless", &point->inside_unless, true},
        {"inside_network", &point->inside_network, true},
    };

    for (size_t i = 0; i < COUNT(texts); i++)
        if (strcmp(key, texts[i].key) == 0)
            return texts[i].words ? add_words(texts[i].field, value, reading->problem)
                                  : store(texts[i].field, key, value, reading->problem);
    if (strcmp(key, "abi") == 0)
        read_abi(reading, point, value);
    else if (strcmp(key, "sandbox_id") == 0)
        read_switch(point, key, value, &point->supports_sandbox_id);
    else if (strcmp(key, "snapshot_name") == 0)
        read_switch(point, key, value, &point->supports_snapshot_name);
    else if (strcmp(key, "confined") == 0)
        read_switch(point, key, value, &point->confined);
    else if (strcmp(key, "capabilities") == 0)
        read_capabilities(point, value);
    else if (strncmp(key, "parameter.", 10) == 0)
        return read_parameter(point, key + 10, value, reading->problem);
    else if (strncmp(key, "default.", 8) == 0)
        return read_default(point, key + 8, value, reading->problem);
    return true;
}

/* Drops a default without its parameter, and a parameter of a kind that this version does not know. */
static void check_parameters(struct entry_point *point)
{
    size_t kept = 0;

    for (size_t i = 0; i < point->parameter_count; i++) {
        struct parameter_note *parameter = &point->parameters[i];

        if (parameter->kind && !parameter->default_text)
            parameter->default_text = strdup("");
        if (parameter->kind && parameter->default_text) {
            if (!value_default_fits(parameter->kind, parameter->default_text))
                set_problem(
                    point, "its parameter %s is of the kind %s, and its default is not: ask its vendor for a new build",
                    parameter->name, kinds[parameter->kind]);
            point->parameters[kept++] = *parameter;
            continue;
        }
        free(parameter->name);
        free(parameter->default_text);
        free(parameter->help);
    }
    point->parameter_count = kept;
}

static void check_point(const struct reading *reading, struct entry_point *point)
{
    if (!reading->abi_given)
        set_problem(point, "its note has no key abi: ask its vendor for a new build");
    if (!point->symbol || !*point->symbol)
        set_problem(point, "its note has no key symbol: ask its vendor for a new build");
    if (point->working_dir && point->working_dir[0] != '/')
        set_problem(point,
                    "its note says working_dir = \"%s\", which is no absolute path: ask its vendor for a new build",
                    point->working_dir);
    check_parameters(point);
}

static bool add_point(struct reading *reading, const char *name)
{
    struct entry_points *points = reading->points;
    const char *bad_name = config_name_problem(name);

    if (bad_name)
        return fail(reading->problem, "its note is damaged: the provider's name \"%s\" %s", name, bad_name);
    for (size_t i = 0; i < points->count; i++)
        if (strcmp(points->items[i].name, name) == 0)
            return fail(reading->problem, "its note is damaged: the provider %s stands there twice", name);
    if (points->count == MOST_PROVIDERS)
        return fail(reading->problem, "its note is damaged: there are more than %d providers", MOST_PROVIDERS);
    struct entry_point *grown = realloc(points->items, (points->count + 1) * sizeof(*grown));

    if (grown)
        points->items = grown;
    char *copy = grown ? strdup(name) : NULL;

    if (!copy)
        return fail(reading->problem, "out of memory");
    points->items[points->count++] = (struct entry_point){.name = copy, .supports_sandbox_id = true, .confined = true};
    return true;
}

/* inih calls this for every "key = value"; a section is known by the name that comes along. */
static int on_key(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    struct entry_points *points = reading->points;

    if (*reading->problem)
        return 0;
    if (points->count == reading->first || strcmp(points->items[points->count - 1].name, section) != 0) {
        if (points->count > reading->first)
            check_point(reading, &points->items[points->count - 1]);
        reading->abi_given = false;
        if (!add_point(reading, section))
            return 0;
    }
    return read_key(reading, &points->items[points->count - 1], key, value);
}

/* A section header or key that inih would cut? */
static bool check_name(const char *line, char **problem)
{
    const bool is_section = *line == '[';
    const char *begin = is_section ? line + 1 : line;
    size_t size = strcspn(begin, is_section ? "]\n" : "=:\n");

    while (!is_section && size && (begin[size - 1] == ' ' || begin[size - 1] == '\t'))
        size--;
    return size <= LONGEST_NAME ||
           fail(problem, "its note is damaged: a name in it is longer than %d bytes", LONGEST_NAME);
}

/* What inih would cut or misunderstand, and what would upset a terminal. TEXT ends with NUL. */
static bool check_text(const char *text, char **problem)
{
    for (const char *c = text; *c; c++)
        if (((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t') || *c == 0x7f ||
            ((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] < 0xa0))
            return fail(problem, "its note is damaged: there is a control character in it");
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");

        if (length > LONGEST_LINE)
            return fail(problem, "its note is damaged: a line in it is longer than %d bytes", LONGEST_LINE);
        /* inih takes it for a continuation of the value before. */
        if (*line == ' ' || *line == '\t')
            return fail(problem, "its note is damaged: a line in it begins with a blank");
        if (length && *line != ';' && *line != '#' && !check_name(line, problem))
            return false;
        line += length + (line[length] == '\n');
    }
    return true;
}

bool entry_points_parse(const char *text, size_t length, struct entry_points *points, char **problem)
{
    struct reading reading = {points, points->count, false, problem};

    *problem = NULL;
    if (length > SANDLOT_NOTE_MAXIMUM)
        return fail(problem, "its note is too large: more than %d bytes", SANDLOT_NOTE_MAXIMUM);
    size_t size = strnlen(text, length);

    for (size_t i = size; i < length; i++)
        if (text[i])
            return fail(problem, "its note is damaged: there are bytes behind the end of the text");
    AUTO_FREE char *copy = strndup(text, size);

    if (!copy)
        return fail(problem, "out of memory");
    if (!text_utf8_valid(copy, size))
        return fail(problem, "its note is damaged: it is not UTF-8");
    if (!check_text(copy, problem))
        return false;
    int line = ini_parse_string(copy, on_key, &reading);

    if (!*problem && line != 0)
        return fail(problem, "its note is damaged: line %d makes no sense", line);
    if (*problem)
        return false;
    if (points->count == reading.first)
        return fail(problem, "its note is damaged: it names no provider");
    check_point(&reading, &points->items[points->count - 1]);
    return true;
}

/* ---- the ELF file ------------------------------------------------------------------------------------------------ */

/* One file while it is read. */
struct file {
    Elf *elf;
    GElf_Ehdr header;
    uint64_t size;
    struct entry_points *points;
    size_t note_bytes; /* of our notes, together */
    char **problem;
};

static void end_elf(Elf **elf)
{
    elf_end(*elf);
}

/* The machine that this program was compiled for. */
#if defined(__x86_64__)
enum { OUR_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { OUR_MACHINE = EM_AARCH64 };
#elif defined(__riscv)
enum { OUR_MACHINE = EM_RISCV };
#elif defined(__i386__)
enum { OUR_MACHINE = EM_386 };
#elif defined(__arm__)
enum { OUR_MACHINE = EM_ARM };
#elif defined(__powerpc64__)
enum { OUR_MACHINE = EM_PPC64 };
#elif defined(__s390x__)
enum { OUR_MACHINE = EM_S390 };
#elif defined(__loongarch__)
enum { OUR_MACHINE = 258 };
#else
#error "add the ELF machine number of this architecture"
#endif

enum {
    OUR_CLASS = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32,
    OUR_DATA = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB,
};

static const char *machine_name(unsigned machine)
{
    switch (machine) {
    case EM_X86_64:
        return "x86-64";
    case EM_AARCH64:
        return "AArch64";
    case EM_386:
        return "i386";
    case EM_ARM:
        return "ARM";
    case EM_RISCV:
        return "RISC-V";
    case EM_PPC64:
        return "PowerPC";
    case EM_S390:
        return "s390";
    default:
        return NULL;
    }
}

/* Why a library of this header does not fit this program; NULL: it does. To be freed. */
static char *foreign(const GElf_Ehdr *header)
{
    const char *name = machine_name(header->e_machine);

    if (header->e_machine == OUR_MACHINE && header->e_ident[EI_CLASS] == OUR_CLASS &&
        header->e_ident[EI_DATA] == OUR_DATA)
        return NULL;
    AUTO_FREE char *number = text_format("ELF machine %u", (unsigned)header->e_machine);

    return text_format(
        "it was built for another architecture (%s, %d bit, %s endian): install the build for this machine",
        name ? name : number, header->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32,
        header->e_ident[EI_DATA] == ELFDATA2LSB ? "little" : "big");
}

/* Does the table of COUNT entries of SIZE bytes at OFFSET lie within the file? */
static bool table_fits(const struct file *file, uint64_t offset, uint64_t count, uint64_t size)
{
    return count == 0 || (offset <= file->size && count * size <= file->size - offset);
}

/*
 * Header fields are 16 bits wide, so that the products in table_fits cannot overflow. A section count of 0 with a table
 * is the form for more than 65,279 sections, which would cost libelf memory without bound.
 */
static bool check_header(struct file *file)
{
    const GElf_Ehdr *header = &file->header;

    if (header->e_type != ET_DYN)
        return fail(file->problem, "it is an ELF file, but no shared object");
    if (file->size > LARGEST_FILE || (header->e_shoff != 0 && header->e_shnum == 0))
        return fail(file->problem, "it is too large for a provider, or damaged");
    if (!table_fits(file, header->e_phoff, header->e_phnum, header->e_phentsize) ||
        !table_fits(file, header->e_shoff, header->e_shnum, header->e_shentsize))
        return fail(file->problem, "the file is cut short or damaged: install it again");
    return true;
}

/* Is the note at HEADER one of ours? */
static bool is_ours(const GElf_Nhdr *header, const char *name)
{
    return header->n_type == SANDLOT_NOTE_TYPE && header->n_namesz == sizeof(owner) &&
           memcmp(name, owner, sizeof(owner)) == 0;
}

/* All notes of one segment. *FOUND becomes true with one of ours. */
static bool read_notes(struct file *file, Elf_Data *data, bool *found)
{
    const char *bytes = data->d_buf;
    size_t offset = 0;

    while (offset < data->d_size) {
        GElf_Nhdr header;
        size_t name;
        size_t text;
        size_t next = gelf_getnote(data, offset, &header, &name, &text);

        if (next == 0) {
            /* Damaged. Somebody else's notes are not our business, unless ours is among the rest. */
            if (!memmem(bytes + offset, data->d_size - offset, owner, sizeof(owner)))
                return true;
            return fail(file->problem, "its note is damaged: its size is wrong");
        }
        offset = next;
        if (!is_ours(&header, bytes + name))
            continue;
        *found = true;
        file->note_bytes += header.n_descsz;
        if (file->note_bytes > SANDLOT_NOTE_MAXIMUM)
            return fail(file->problem, "its note is too large: more than %d bytes", SANDLOT_NOTE_MAXIMUM);
        if (!entry_points_parse(bytes + text, header.n_descsz, file->points, file->problem))
            return false;
    }
    return true;
}

static bool read_note_segment(struct file *file, const GElf_Phdr *segment, bool *found)
{
    if (segment->p_offset > file->size || segment->p_filesz > file->size - segment->p_offset)
        return fail(file->problem, "the file is cut short or damaged: its notes lie beyond its end");
    if (segment->p_filesz == 0)
        return true;
    if (segment->p_filesz > LARGEST_NOTE_SEGMENT)
        return fail(file->problem, "its notes are too large: more than %d bytes", LARGEST_NOTE_SEGMENT);
    Elf_Data *data = elf_getdata_rawchunk(file->elf, (int64_t)segment->p_offset, segment->p_filesz,
                                          segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);

    return data ? read_notes(file, data, found)
                : fail(file->problem, "its notes cannot be read: %s", elf_errmsg(elf_errno()));
}

/* Reads the notes of every PT_NOTE segment: these survive strip(1), which may remove sections. */
static bool read_note_segments(struct file *file, bool *found)
{
    size_t count = 0;

    if (elf_getphdrnum(file->elf, &count) < 0)
        return fail(file->problem, "its program headers cannot be read: %s", elf_errmsg(elf_errno()));
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr segment;

        if (!gelf_getphdr(file->elf, (int)i, &segment))
            return fail(file->problem, "its program headers cannot be read: %s", elf_errmsg(elf_errno()));
        if (segment.p_type == PT_NOTE && !read_note_segment(file, &segment, found))
            return false;
    }
    return true;
}

static bool has_modest_size(const struct file *file, size_t section)
{
    GElf_Shdr header;
    Elf_Scn *found = elf_getscn(file->elf, section);

    return found && gelf_getshdr(found, &header) && header.sh_size <= LARGEST_SYMBOL_TABLE;
}

/* The section of the dynamic symbols; NULL: there is none, or it cannot be read. */
static Elf_Scn *find_symbols(const struct file *file, GElf_Shdr *header)
{
    Elf_Scn *section = NULL;

    while ((section = elf_nextscn(file->elf, section)))
        if (gelf_getshdr(section, header) && header->sh_type == SHT_DYNSYM)
            break;
    return section;
}

static bool is_exported_function(const GElf_Sym *symbol)
{
    const unsigned bind = GELF_ST_BIND(symbol->st_info);

    return symbol->st_shndx != SHN_UNDEF && GELF_ST_TYPE(symbol->st_info) == STT_FUNC &&
           (bind == STB_GLOBAL || bind == STB_WEAK);
}

/* Marks, in EXPORTED, the providers whose symbol the table defines. */
static void find_exports(const struct file *file, Elf_Data *data, const GElf_Shdr *header, bool *exported)
{
    const size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

    for (size_t i = 1; i < count; i++) {
        GElf_Sym symbol;

        if (!gelf_getsym(data, (int)i, &symbol))
            return;
        const char *name =
            is_exported_function(&symbol) ? elf_strptr(file->elf, header->sh_link, symbol.st_name) : NULL;

        for (size_t j = 0; name && j < file->points->count; j++)
            if (file->points->items[j].symbol && strcmp(file->points->items[j].symbol, name) == 0)
                exported[j] = true;
    }
}

/* Without section headers the question is left to the loader, which finds out with dlsym(3). */
static void check_exports(struct file *file)
{
    bool exported[MOST_PROVIDERS] = {false};
    GElf_Shdr header;
    Elf_Scn *section = find_symbols(file, &header);

    if (!section || header.sh_size > LARGEST_SYMBOL_TABLE || !has_modest_size(file, header.sh_link))
        return;
    Elf_Data *data = elf_getdata(section, NULL);

    if (data)
        find_exports(file, data, &header, exported);
    for (size_t i = 0; i < file->points->count; i++)
        if (!exported[i])
            set_problem(
                &file->points->items[i],
                "its note names the symbol %s, which the library does not export: ask its vendor for a new build",
                file->points->items[i].symbol ? file->points->items[i].symbol : "");
}

/* The providers of a library for another machine keep their names, so that a listing can say what is wrong with which.
 */
static void mark_foreign(struct entry_points *points, const char *reason)
{
    for (size_t i = 0; i < points->count; i++)
        set_problem(&points->items[i], "%s", reason);
}

static enum entry_points_result read_elf(struct file *file)
{
    AUTO_FREE char *reason = foreign(&file->header);
    bool found = false;

    if (!check_header(file))
        return ENTRY_POINTS_UNUSABLE;
    if (!read_note_segments(file, &found)) {
        entry_points_clear(file->points);
        return ENTRY_POINTS_UNUSABLE;
    }
    if (!found)
        return ENTRY_POINTS_NO_NOTE;
    if (reason)
        mark_foreign(file->points, reason);
    else
        check_exports(file);
    return ENTRY_POINTS_FOUND;
}

/*
 * Opens the file for libelf; *IMAGE is to be freed after it is closed again. Files are read with pread(2), never
 * mapped: somebody may cut the file short at any moment, and touching a map of what is gone ends the process with
 * SIGBUS. A small file is read at once, which is quicker than libelf's many reads of its parts.
 */
static Elf *open_elf(int fd, uint64_t size, char **image)
{
    elf_version(EV_CURRENT);
    if (size == 0 || size > SMALL_FILE)
        return elf_begin(fd, ELF_C_READ, NULL);
    *image = malloc(size);
    ssize_t got = *image ? pread(fd, *image, size, 0) : -1;

    return got > 0 ? elf_memory(*image, (size_t)got) : NULL;
}

enum entry_points_result entry_points_read(int fd, struct entry_points *points, char **problem)
{
    struct stat status;
    AUTO_FREE char *image = NULL;

    *points = (struct entry_points){0};
    *problem = NULL;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode)) {
        fail(problem, "it is not a regular file");
        return ENTRY_POINTS_UNUSABLE;
    }
    struct file file = {.size = (uint64_t)status.st_size, .points = points, .problem = problem};
    Elf *elf CLEANUP(end_elf) = open_elf(fd, file.size, &image);

    file.elf = elf;
    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &file.header)) {
        fail(problem, "it is not an ELF file");
        return ENTRY_POINTS_UNUSABLE;
    }
    return read_elf(&file);
}
