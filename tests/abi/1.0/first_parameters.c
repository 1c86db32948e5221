/* A provider of ABI 1.0 with parameters of every kind and every flag, which its one command prints. */
#include "boxes.h"

#include <inttypes.h>

#define PARAMETERS(P)                                             \
    P(string, text, "a text", optional, "a text")                 \
    P(string, absent_text, "", optional, "a text that is absent") \
    P(path, place, "", required, "a path")                        \
    P(integer, number, "-7", optional, "a number")                \
    P(integer, absent_number, "", optional, "a number")           \
    P(float, fraction, "0.5", optional, "a fraction")             \
    P(float, absent_fraction, "", optional, "a fraction")         \
    P(boolean, truth, "true", optional, "true or false")          \
    P(array, list, "a,b", optional, "a list")                     \
    P(table, tree, "{\"a\": 1}", optional, "a table")             \
    P(string, key, "", secret, "a secret")                        \
    P(string, other_key, "", required_secret, "a secret that must be there")
SANDLOT_PARAMETERS(first_parameters, PARAMETERS)

struct values {
    const char *text;
    const char *absent_text;
    const char *place;
    int64_t number;
    int64_t absent_number;
    double fraction;
    double absent_fraction;
    bool truth;
    const char *list;
    const char *tree;
    size_t key_length;
    size_t other_key_length;
};

static enum sandlot_status first_parameters_open(struct sandlot_call *call, void **provider, const char *text,
                                                 const char *absent_text, const char *place, int64_t number,
                                                 int64_t absent_number, double fraction, double absent_fraction,
                                                 bool truth, const char *list, const char *tree, const char *key,
                                                 const char *other_key)
{
    struct values *values = malloc(sizeof(*values));

    if (!values)
        return sandlot_fail(call, SANDLOT_INTERNAL, "out of memory; try again");
    *values = (struct values){text,
                              absent_text,
                              place,
                              number,
                              absent_number,
                              fraction,
                              absent_fraction,
                              truth,
                              list,
                              tree,
                              key ? strlen(key) : 0,
                              other_key ? strlen(other_key) : 0};
    *provider = values;
    return SANDLOT_OK;
}

static void first_close(void *provider)
{
    free(provider);
}

static enum sandlot_status first_get_or_create(struct sandlot_call *call, void *provider,
                                               const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    call->host->created(call, request->sandbox_id ? request->sandbox_id : "parameters-1", "/");
    *sandbox = NULL;
    return SANDLOT_OK;
}

static enum sandlot_status first_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status first_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                         const struct sandlot_command *command, const struct sandlot_sink *output,
                                         struct sandlot_exit *result)
{
    const struct values *values = provider;
    char text[2048];

    (void)call;
    (void)sandbox;
    (void)command;
    int length =
        snprintf(text, sizeof(text), "%s|%s|%s|%" PRId64 "|%d|%g|%d|%d|%s|%s|%zu|%zu\n", values->text,
                 values->absent_text ? values->absent_text : "absent", values->place, values->number,
                 values->absent_number == SANDLOT_ABSENT_INTEGER, values->fraction, isnan(values->absent_fraction) != 0,
                 values->truth, values->list, values->tree, values->key_length, values->other_key_length);

    result->exit_code = 0;
    return output->write(output, text, (size_t)length);
}

static const struct sandlot_provider first_parameters_provider = {
    SANDLOT_TABLE(first_parameters), .close = first_close,     .get_or_create = first_get_or_create,
    .delete_sandbox = first_delete,  .execute = first_execute,
};

#define METADATA(M) M(description, "Parameters of every kind of ABI 1.0")
SANDLOT_ENTRY_POINT(first_parameters, METADATA, PARAMETERS);
