/*
 * Typed parameters: from config.toml and --param to real C arguments.
 *
 * Names and types come from the provider's table. An unknown name is an error with the nearest known one, a
 * value of the wrong type one with file and line. Both are SANDLOT_CODE_USAGE. A declaration that makes no sense is the
 * library's fault: SANDLOT_CODE_PROVIDER_UNAVAILABLE.
 *
 * In the config nothing is converted but an integer to a float. The text of --param is read by the declared type:
 *   boolean   true, false, 1, 0
 *   array     JSON if it begins with "[", else strings separated by commas, blanks around them dropped; "" is an empty
 * array table     JSON path      "" takes the parameter back: it is absent, whatever the config or the default say
 */
#ifndef SANDLOT_LOADER_PARAMETERS_H
#define SANDLOT_LOADER_PARAMETERS_H

#include "config/config.h"

#include <sandlot/provider.h>

struct parameters;

/* Is the provider's declaration of its parameters sound? Tables come from strangers. 0, or -1 with the reason. */
int parameters_check(const struct sandlot_provider *provider, struct sandlot_error *error);

/*
 * Binds what config entry CONFIG (may be NULL) and OVERRIDES ("KEY=VALUE", ended by NULL; may be NULL) say to the
 * declaration. Overrides win key by key. Relative paths: those of the config are relative to CONFIG_FILE's folder,
 * those of overrides to the current directory. LENIENT (for list, delete, gc): what is bad in the config is left out
 * with a warning and required parameters may be missing. NULL on error. To be freed with parameters_free.
 */
struct parameters *parameters_bind(const struct sandlot_provider *provider, const struct config_provider *config,
                                   const char *config_file, const char *const *overrides, bool lenient,
                                   struct sandlot_error *error);

void parameters_free(struct parameters *parameters);

/* A provider has refused a value: adds to the message of ERROR in which line of the config each parameter stands that
 * it names. */
void parameters_add_origin(const struct parameters *parameters, struct sandlot_error *error);

/* The host's own parameters, which every provider has besides its declared ones: name, kind, default, help. A provider
 * may not declare one of these names. *COUNT of them. */
const struct sandlot_parameter *parameters_of_host(size_t *count);

/* Their values in milliseconds: `start_timeout_s`, `ttl_s`, `hard_ttl_s`. */
int64_t parameters_start_timeout_ms(const struct parameters *parameters);
int64_t parameters_idle_ttl_ms(const struct parameters *parameters);
int64_t parameters_hard_ttl_ms(const struct parameters *parameters);

/* Calls provider->open with the bound values through libffi. The values must live until provider->close. */
enum sandlot_status parameters_call_open(const struct parameters *parameters, const struct sandlot_provider *provider,
                                         struct sandlot_call *call, void **instance, struct sandlot_error *error);

/* The overrides that are not secret and no tables, as a JSON array of "KEY=VALUE" with paths made absolute, for the
 * ledger; the caller's reference; NULL: none. */
struct json_object *parameters_recordable(const struct sandlot_provider *provider, const char *const *overrides);

#endif
