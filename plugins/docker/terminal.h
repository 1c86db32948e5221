#ifndef SANDLOT_DOCKER_TERMINAL_H
#define SANDLOT_DOCKER_TERMINAL_H

#include <sandlot/provider.h>

/* terminal of the table. */
enum sandlot_status terminal_run(struct sandlot_call *call, void *provider, void *sandbox,
                                 const struct sandlot_terminal *terminal, struct sandlot_exit *result);

#endif
