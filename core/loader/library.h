/* A provider's shared object, loaded: in this process, or in a worker. Knows neither registry nor config. */
#ifndef SANDLOT_LOADER_LIBRARY_H
#define SANDLOT_LOADER_LIBRARY_H

#include <sandlot/provider.h>

enum { LIBRARY_REASON = 1024 };

/* dlopen. NULL: WHY (LIBRARY_REASON bytes) has the reason in one line. */
void *library_open(const char *path, char *why);

/* The entry function SYMBOL of LIBRARY, which was opened from PATH. NULL: WHY has the reason. */
sandlot_entry library_entry(void *library, const char *path, const char *symbol, char *why);

#endif
