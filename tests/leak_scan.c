/*
 * Linked into the command and the worker where they are built with AddressSanitizer, and into nothing else.
 *
 * At the end of a process its leak check reads every byte that a module can write to, for pointers to what was
 * allocated. libasan's own are five megabytes that nobody has touched, and point to nothing of the program's: to read
 * them was almost half of a short command's page faults, and a fifth to a third of its time. So they are shown to it as
 * read-only. (Of what was left out the check could only say too much: a leak that is none, never one less.)
 */
#include <dlfcn.h>
#include <link.h>
#include <string.h>

enum { MOST_PARTS = 32 };

typedef int (*see_module)(struct dl_phdr_info *info, size_t size, void *data);

struct seer {
    see_module see;
    void *data;
};

static int show(struct dl_phdr_info *info, size_t size, void *data)
{
    const struct seer *seer = data;
    struct dl_phdr_info shown = *info;
    ElfW(Phdr) parts[MOST_PARTS];

    if (!strstr(info->dlpi_name, "/libasan.so") || info->dlpi_phnum > MOST_PARTS)
        return seer->see(info, size, seer->data);
    memcpy(parts, info->dlpi_phdr, info->dlpi_phnum * sizeof(*parts));
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (parts[i].p_type == PT_LOAD)
            parts[i].p_flags &= ~(ElfW(Word))PF_W;
    shown.dlpi_phdr = parts;
    return seer->see(&shown, size, seer->data);
}

/* That of the C library; libasan finds this one first. */
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library names them __data
__attribute__((visibility("default"))) int dl_iterate_phdr(see_module see, void *data)
{
    static int (*next)(see_module see, void *data);
    struct seer seer = {see, data};

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return next(show, &seer);
}
