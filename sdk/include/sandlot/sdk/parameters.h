/*
 * sandlot/sdk/parameters.h - what parameters of kind table and array say, read alike by all providers:
 * `--param environment={"A":1}`, `--param ports=3000,8080`, and the same in config.toml.
 *
 * NAME is the parameter, for messages. TEXT is what the host passes on: JSON, or NULL or "" for nothing, for which NULL
 * is the result. Every result is to be released with json_object_put (AUTO_DOCUMENT of cleanup.h). What makes no sense
 * is SANDLOT_INVALID_ARGUMENT, with a sentence that names the parameter and the place.
 */
#ifndef SANDLOT_SDK_PARAMETERS_H
#define SANDLOT_SDK_PARAMETERS_H

#include <sandlot/provider.h>
#include <sandlot/sdk/function_of.h>
#include <sandlot/sdk/json.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * All parameters as fields of a struct, as arguments of `open` behind `provider`, and as what sets the one from the
 * other:
 *
 *   struct parameters {
 *       ACME_PARAMETERS(PARAMETER_FIELD)
 *   };
 *
 *   static enum sandlot_status acme_open(struct sandlot_call *call,
 *                                        void **provider ACME_PARAMETERS(PARAMETER_ARGUMENT))
 *   {
 *       const struct parameters parameters = {ACME_PARAMETERS(PARAMETER_VALUE)};
 *
 * The strings are the host's, and live as long as the provider.
 */
#define PARAMETER_FIELD(kind, name, default_, flag, help) SANDLOT_C_##kind name;
#define PARAMETER_ARGUMENT(kind, name, default_, flag, help) , SANDLOT_C_##kind name
#define PARAMETER_VALUE(kind, name, default_, flag, help) .name = (name),

/*
 * SANDLOT_PARAMETERS(vendor, VENDOR_PARAMETERS), and an `open` and `close` that only make and free what is behind the
 * provider: VENDOR_open makes a TYPE_ of zeros and has INIT set it by its `struct parameters`, VENDOR_close gives it to
 * CLEAR before it is freed.
 *
 *   PARAMETER_OBJECT(acme, ACME_PARAMETERS, struct acme, acme_init, acme_clear)
 */
#define PARAMETER_OBJECT(vendor, PARAMETERS, type_, init, clear)                                                   \
    SANDLOT_PARAMETERS(vendor, PARAMETERS)                                                                         \
    static enum sandlot_status vendor##_open(struct sandlot_call *call,                                            \
                                             void **provider PARAMETERS(PARAMETER_ARGUMENT))                       \
    {                                                                                                              \
        const struct parameters parameters_said = {PARAMETERS(PARAMETER_VALUE)};                                   \
        void *object = calloc(1, sizeof(type_));                                                                   \
                                                                                                                   \
        if (!object)                                                                                               \
            return sandlot_fail(call, SANDLOT_INTERNAL, "there is not enough memory for the provider; free some"); \
        init((type_ *)object, &parameters_said);                                                                   \
        *provider = object;                                                                                        \
        return SANDLOT_OK;                                                                                         \
    }                                                                                                              \
    static void vendor##_close(void *provider)                                                                     \
    {                                                                                                              \
        if (provider)                                                                                              \
            clear((type_ *)provider);                                                                              \
        free(provider);                                                                                            \
    }

/* Is there anything in TEXT, a parameter of whatever kind that comes as text? */
static inline bool parameter_is_said(const char *text)
{
    return text && *text;
}

/* TEXT if anything is in it, else the VARIABLE of the environment, else NULL: an address, a region. */
static inline const char *parameter_or_variable(struct sandlot_call *call, const char *text, const char *variable)
{
    return parameter_is_said(text) ? text : call->host->environment(call, variable);
}

/* ---- into the body of a request ---------------------------------------------------------------------------------- */

/* Each sets what was said at PATH of BODY, and nothing if nothing was: a text as it is, a number (unless it is
 * SANDLOT_ABSENT_INTEGER), an array or table as it is. */
void parameter_set_text(struct json_builder *body, const char *path, const char *text);
void parameter_set_integer(struct json_builder *body, const char *path, int64_t number);
void parameter_set_json(struct json_builder *body, const char *path, const char *text);

/* Sets all labels that Sandlot wants a new sandbox to have as members of the object at PATH. */
void parameter_set_labels(struct json_builder *body, const char *path, const struct sandlot_create *request);

/* The same for what the functions below make of TEXT; those that fail set nothing. */
enum sandlot_status parameter_set_texts(struct sandlot_call *call, struct json_builder *body, const char *path,
                                        const char *name, const char *text);
enum sandlot_status parameter_set_variables(struct sandlot_call *call, struct json_builder *body, const char *path,
                                            const char *name, const char *text);

/* ---- as documents ------------------------------------------------------------------------------------------------ */

/* A table of texts, such as labels: numbers and booleans become texts as they are written. */
enum sandlot_status parameter_texts(struct sandlot_call *call, const char *name, const char *text,
                                    struct json_object **table);

/* The same for environment variables: names are letters, digits and "_", and begin with no digit. */
enum sandlot_status parameter_variables(struct sandlot_call *call, const char *name, const char *text,
                                        struct json_object **table);

/* An array of ports, 1 to 65535, as integers; each may be said as a number or a text. */
enum sandlot_status parameter_ports(struct sandlot_call *call, const char *name, const char *text,
                                    struct json_object **ports);

#ifdef __cplusplus
}
#endif

#endif
