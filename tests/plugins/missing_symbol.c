/* Its note names an entry function that the library does not export. */
#include "nothing.h"

NOTHING_NOTE(missing_symbol, "[missing_symbol]\nabi = 1.0\nsymbol = missing_symbol\n");

SANDLOT_EXPORT extern const int some_data[4];
SANDLOT_EXPORT int something_else(void);

const int some_data[4] = {1, 2, 3, 4};

int something_else(void)
{
    return 0;
}
