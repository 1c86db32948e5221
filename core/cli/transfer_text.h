/* How far a transfer is, in words. */
#ifndef SANDLOT_CLI_TRANSFER_TEXT_H
#define SANDLOT_CLI_TRANSFER_TEXT_H

#include <stdint.h>

/* "1.5 MiB of 3.0 MiB, 768.0 KiB/s, 3 s left", the rate from the first second on; to be freed. TOTAL 0: unknown. NULL:
 * no memory. */
char *transfer_text(uint64_t done, uint64_t total, int64_t elapsed_ms);

#endif
