#include "network/names.h"

#include <dlfcn.h>
#include <idn2.h>
#include <libpsl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Most commands need neither, and to load both takes longer than such a command. */
static struct {
    pthread_once_t once;
    __typeof__(&idn2_to_ascii_8z) to_ascii;
    __typeof__(&idn2_free) release;
    __typeof__(&psl_builtin) suffixes;
    __typeof__(&psl_is_public_suffix2) is_suffix;
} library = {.once = PTHREAD_ONCE_INIT};

/* dlsym gives a pointer to data, which C does not turn into one to a function. */
static void find(void *handle, const char *name, void *function)
{
    void *found = handle ? dlsym(handle, name) : NULL;

    memcpy(function, &found, sizeof(found));
}

static void load(void)
{
    void *idn = dlopen("libidn2.so.0", RTLD_NOW | RTLD_LOCAL);
    void *psl = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL);

    find(idn, "idn2_to_ascii_8z", &library.to_ascii);
    find(idn, "idn2_free", &library.release);
    find(psl, "psl_builtin", &library.suffixes);
    find(psl, "psl_is_public_suffix2", &library.is_suffix);
}

enum names_answer names_to_ascii(const char *name, char **ascii)
{
    char *made = NULL;

    *ascii = NULL;
    pthread_once(&library.once, load);
    if (!library.to_ascii || !library.release)
        return NAMES_CANNOT_TELL;
    if (library.to_ascii(name, &made, IDN2_NFC_INPUT | IDN2_NONTRANSITIONAL) != IDN2_OK)
        return NAMES_NO;
    *ascii = strdup(made);
    library.release(made);
    return *ascii ? NAMES_YES : NAMES_NO;
}

enum names_answer names_is_public_suffix(const char *name)
{
    pthread_once(&library.once, load);
    const psl_ctx_t *suffixes = library.suffixes && library.is_suffix ? library.suffixes() : NULL;

    if (!suffixes)
        return NAMES_CANNOT_TELL;
    return library.is_suffix(suffixes, name, PSL_TYPE_ICANN | PSL_TYPE_NO_STAR_RULE) ? NAMES_YES : NAMES_NO;
}
