/* A module of Sandlot's own: a library with one table, loaded when it is asked for, so that neither the command nor
 * libsandlot needs what it links. */
#ifndef SANDLOT_LOADER_MODULE_H
#define SANDLOT_LOADER_MODULE_H

#include <sandlot/sandlot.h>

/* Which one, and the words of what is said when it cannot be had. */
struct module {
    const char *file;             /* its name; all lie in the folder `modules` beside that of the built-ins */
    const char *symbol;           /* of its table, which begins with a pointer to the SANDLOT_VERSION of its build */
    const char *what;             /* what it is, as the subject of a sentence */
    const char *instead;          /* what one can do without it, after "or" */
    const char *const *libraries; /* that it links, as the dynamic loader names them; ended by NULL */
    const char *needs;            /* who needs which of them */
    const char *install;          /* how to install these */
};

/* The table of MODULE, which stays loaded; NULL with the error. */
const void *module_load(const struct module *module, struct sandlot_error *error);

#endif
