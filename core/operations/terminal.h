/* What goes into a request for a terminal. */
#ifndef SANDLOT_OPERATIONS_TERMINAL_H
#define SANDLOT_OPERATIONS_TERMINAL_H

#include <stdbool.h>

/* Does NAME look like a terminal's in terminfo(5)? It becomes TERM, which programs make a path of. */
bool terminal_name_is_valid(const char *name);

#endif
