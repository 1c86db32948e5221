/* Times as people write them. */
#ifndef SANDLOT_BASE_DURATION_H
#define SANDLOT_BASE_DURATION_H

#include <stdbool.h>
#include <stdint.h>

/* Reads whole seconds ("90") or whole numbers with units, the larger first ("1h30m", "5m", "2d", "90s"), of at most a
 * hundred years in all. No sign, no blank, no fraction. */
bool duration_parse(const char *text, int64_t *seconds);

#endif
