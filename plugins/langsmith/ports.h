/* Where LangSmith has the ports of a sandbox: "service URLs". */
#ifndef SANDLOT_LANGSMITH_PORTS_H
#define SANDLOT_LANGSMITH_PORTS_H

#include "sandbox.h"

/* As `find` of struct http_relay. */
FUNCTION_OF(http_relay, find, ports_find);

#endif
