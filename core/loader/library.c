#include "loader/library.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>

/* The dynamic loader's own reason, without the path if it begins with that: the message has it already. */
static const char *loader_reason(const char *path)
{
    const char *reason = dlerror();
    size_t length = strlen(path);

    if (!reason)
        return "the dynamic loader gives no reason";
    return strncmp(reason, path, length) == 0 && strncmp(reason + length, ": ", 2) == 0 ? reason + length + 2 : reason;
}

void *library_open(const char *path, char *why)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        snprintf(why, LIBRARY_REASON, "%s; install what it needs, or build it again for this machine",
                 loader_reason(path));
    return library;
}

/* dlsym finds data too, and what the libraries below LIBRARY export; to call either would end in a crash. */
static bool is_function_of(void *library, void *symbol)
{
    struct link_map *own = NULL;
    struct link_map *home = NULL;
    const ElfW(Sym) *description = NULL;
    Dl_info info;

    if (dlinfo(library, RTLD_DI_LINKMAP, &own) != 0 || !dladdr1(symbol, &info, (void **)&home, RTLD_DL_LINKMAP))
        return false;
    if (home != own || !dladdr1(symbol, &info, (void **)&description, RTLD_DL_SYMENT))
        return false;
    return !description || ELF64_ST_TYPE(description->st_info) != STT_OBJECT;
}

sandlot_entry library_entry(void *library, const char *path, const char *symbol, char *why)
{
    sandlot_entry entry = NULL;

    dlerror();
    void *found = dlsym(library, symbol);

    if (!found)
        snprintf(why, LIBRARY_REASON,
                 "it has no symbol \"%s\" (%s); correct the part after the colon of class_path, or install another "
                 "version",
                 symbol, loader_reason(path));
    else if (!is_function_of(library, found))
        snprintf(why, LIBRARY_REASON, "its symbol \"%s\" is no function of its own; name the provider's entry function",
                 symbol);
    else
        memcpy(&entry, &found, sizeof(entry)); /* ISO C has no cast from an object to a function */
    return entry;
}
