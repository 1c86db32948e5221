/* Keeps the secrets of the host out of what tools answer. */
#ifndef SANDLOT_SERVER_MASKING_H
#define SANDLOT_SERVER_MASKING_H

#include "config/environment.h"

/* From now on the values of .env files are secrets; those of credentials are by the loader. */
void masking_learn(const struct environment *environment);

/* JSON with every secret in its strings replaced; takes JSON over and returns it or a new text. NULL when out of
 * memory, or if it is no JSON: better nothing than a secret. */
char *masking_apply(char *json);

#endif
