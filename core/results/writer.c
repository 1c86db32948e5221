#include "results/writer.h"

#include "loader/module.h"

const struct writer_module *writer_load(struct sandlot_error *error)
{
    static const char *const libraries[] = {"libgit2", "libarchive", NULL};
    static const struct module module = {
        .file = WRITER_MODULE_NAME,
        .symbol = WRITER_MODULE_SYMBOL,
        .what = "what writes patches and archives",
        .instead = "use 'sandlot apply'",
        .libraries = libraries,
        .needs = "patches and archives need the libraries libgit2 and libarchive",
        .install =
            "install them: apt-get install libarchive13 and libgit2-1.5 (Debian 13: libarchive13t64, libgit2-1.9); if "
            "they are there, install the packages of Sandlot that were built for this release of Debian",
    };

    return module_load(&module, error);
}
