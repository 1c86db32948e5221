/* The proxy's own walls. */
#ifndef SANDLOT_EGRESS_CONFINE_H
#define SANDLOT_EGRESS_CONFINE_H

/* Gives up capabilities and the right to gain any: before the helper for names is started. 0 or -1. */
int confine_rights(void);

/* Leaves this process the system calls of a proxy and no others: no files, no processes, no sockets but TCP. 0 or -1.
 */
int confine_calls(void);

#endif
