#include "object.h"

#include "cleanup.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <sandlot/provider.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NAMES = 100000 };

static bool fail(struct object *object, const char *what, const char *why)
{
    snprintf(object->why, sizeof(object->why), "%s: %s", what, why);
    return false;
}

static bool add_name(struct names *names, const char *name)
{
    if (names->count % 64 == 0) {
        char **grown = realloc(names->items, (names->count + 64) * sizeof(*grown));

        if (!grown)
            return false;
        names->items = grown;
    }
    return names->count < MOST_NAMES && (names->items[names->count] = strdup(name)) && ++names->count;
}

bool names_have(const struct names *names, const char *name)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->items[i], name) == 0)
            return true;
    return false;
}

static void names_clear(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
}

void object_clear(struct object *object)
{
    names_clear(&object->exported);
    names_clear(&object->undefined);
    names_clear(&object->needed);
    free(object->note);
    free(object->run_path);
    *object = (struct object){0};
}

/* Several notes of ours are read as one text. */
static bool add_note(struct object *object, const char *text, size_t length)
{
    char *grown = realloc(object->note, object->note_length + length + 1);

    if (!grown)
        return false;
    object->note = grown;
    memcpy(grown + object->note_length, text, length);
    object->note_length += length;
    grown[object->note_length] = '\0';
    return true;
}

static bool read_notes(struct object *object, Elf *elf, const GElf_Phdr *segment)
{
    static const char owner[] = SANDLOT_NOTE_OWNER;

    if (segment->p_offset > object->size || segment->p_filesz > object->size - segment->p_offset)
        return fail(object, "its notes cannot be read", "they lie beyond the end of the file");
    Elf_Data *data = elf_getdata_rawchunk(elf, (int64_t)segment->p_offset, segment->p_filesz,
                                          segment->p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR);
    GElf_Nhdr header;
    size_t name;
    size_t text;

    for (size_t at = 0, next; data && (next = gelf_getnote(data, at, &header, &name, &text)) > 0; at = next)
        if (header.n_type == SANDLOT_NOTE_TYPE && header.n_namesz == sizeof(owner) &&
            memcmp((char *)data->d_buf + name, owner, sizeof(owner)) == 0 &&
            !add_note(object, (char *)data->d_buf + text, header.n_descsz))
            return fail(object, "its notes cannot be read", "out of memory");
    return true;
}

static bool read_segments(struct object *object, Elf *elf)
{
    size_t count = 0;
    GElf_Phdr segment;

    if (elf_getphdrnum(elf, &count) < 0)
        return fail(object, "its program headers cannot be read", elf_errmsg(-1));
    for (size_t i = 0; i < count && gelf_getphdr(elf, (int)i, &segment); i++) {
        if (segment.p_type == PT_NOTE && segment.p_filesz > 0 && !read_notes(object, elf, &segment))
            return false;
        if (segment.p_type == PT_GNU_RELRO)
            object->has_relro = true;
        if (segment.p_type == PT_GNU_STACK) {
            object->names_stack = true;
            object->executable_stack = segment.p_flags & PF_X;
        }
        if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) && (segment.p_flags & PF_X))
            object->writable_code = true;
    }
    return true;
}

static void add_run_path(struct object *object, const char *path)
{
    AUTO_FREE char *before = object->run_path;

    if (asprintf(&object->run_path, "%s%s%s", before ? before : "", before ? ":" : "", path) < 0)
        object->run_path = NULL;
}

static bool read_dynamic(struct object *object, Elf *elf, Elf_Data *data, const GElf_Shdr *section)
{
    GElf_Dyn entry;

    for (int i = 0; gelf_getdyn(data, i, &entry) && entry.d_tag != DT_NULL; i++) {
        const char *text = elf_strptr(elf, section->sh_link, entry.d_un.d_val);

        if (entry.d_tag == DT_NEEDED && text && !add_name(&object->needed, text))
            return fail(object, "its needed libraries cannot be read", "out of memory");
        if ((entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH) && text)
            add_run_path(object, text);
        if (entry.d_tag == DT_BIND_NOW || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_BIND_NOW)) ||
            (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_NOW)))
            object->binds_now = true;
        if (entry.d_tag == DT_TEXTREL || (entry.d_tag == DT_FLAGS && (entry.d_un.d_val & DF_TEXTREL)))
            object->has_text_relocations = true;
    }
    return true;
}

static bool read_symbols(struct object *object, Elf *elf, Elf_Data *data, const GElf_Shdr *section)
{
    GElf_Sym symbol;

    for (int i = 1; gelf_getsym(data, i, &symbol); i++) {
        const char *name = elf_strptr(elf, section->sh_link, symbol.st_name);
        unsigned bind = GELF_ST_BIND(symbol.st_info);

        if (!name || !*name || bind == STB_LOCAL)
            continue;
        bool is_defined = symbol.st_shndx != SHN_UNDEF;

        if ((is_defined && !add_name(&object->exported, name)) ||
            (!is_defined && bind != STB_WEAK && !add_name(&object->undefined, name)))
            return fail(object, "its symbols cannot be read", "there are too many");
    }
    return true;
}

static bool read_sections(struct object *object, Elf *elf)
{
    size_t names = 0;
    GElf_Shdr header;

    elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = elf_nextscn(elf, NULL); section; section = elf_nextscn(elf, section)) {
        if (!gelf_getshdr(section, &header))
            continue;
        const char *name = elf_strptr(elf, names, header.sh_name);

        object->has_symbol_table |= header.sh_type == SHT_SYMTAB;
        object->has_debug_information |= name && strncmp(name, ".debug_", 7) == 0;
        if (header.sh_type != SHT_DYNAMIC && header.sh_type != SHT_DYNSYM)
            continue;
        Elf_Data *data = elf_getdata(section, NULL);

        if (!data)
            return fail(object, "its tables cannot be read", elf_errmsg(-1));
        if (header.sh_type == SHT_DYNAMIC ? !read_dynamic(object, elf, data, &header)
                                          : !read_symbols(object, elf, data, &header))
            return false;
    }
    return true;
}

/* This program is of the machine that the host is of. */
static bool fits_machine(const GElf_Ehdr *header)
{
    AUTO_CLOSE int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    GElf_Ehdr own;
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
    bool fits = elf && gelf_getehdr(elf, &own) && own.e_machine == header->e_machine &&
                own.e_ident[EI_CLASS] == header->e_ident[EI_CLASS] && own.e_ident[EI_DATA] == header->e_ident[EI_DATA];

    elf_end(elf);
    return fits;
}

static void end_elf(Elf **elf)
{
    elf_end(*elf);
}

bool object_read(const char *path, struct object *object)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    GElf_Ehdr header;

    *object = (struct object){0};
    if (fd < 0 || fstat(fd, &status) < 0)
        return fail(object, "it cannot be opened", strerror(errno));
    if (!S_ISREG(status.st_mode))
        return fail(object, "it cannot be checked", "it is not a regular file");
    object->size = (uint64_t)status.st_size;
    elf_version(EV_CURRENT);
    Elf *elf CLEANUP(end_elf) = elf_begin(fd, ELF_C_READ, NULL);

    if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &header))
        return fail(object, "it cannot be checked", "it is not an ELF file");
    object->is_shared = header.e_type == ET_DYN;
    object->machine = header.e_machine;
    object->fits_machine = fits_machine(&header);
    return read_segments(object, elf) && read_sections(object, elf);
}
