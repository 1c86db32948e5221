/* What the static checks and the table's are there for: a constructor that prints and starts a thread, names of others
 * that are exported, a parameter that sounds secret and is not, and a default that is no number. */
#include "nothing.h"

#include <pthread.h>
#include <unistd.h>

#define CONFORMANCE_CARELESS_PARAMETERS(P)                       \
    P(string, api_key, "", optional, "not declared as a secret") \
    P(integer, memory_mb, "much", optional, "no number by default")
SANDLOT_PARAMETERS(conformance_careless, CONFORMANCE_CARELESS_PARAMETERS)

static enum sandlot_status conformance_careless_open(struct sandlot_call *call, void **provider, const char *api_key,
                                                     int64_t memory_mb)
{
    (void)call;
    (void)api_key;
    (void)memory_mb;
    *provider = NULL;
    return SANDLOT_OK;
}

static void *wait_for_ever(void *nothing)
{
    (void)nothing;
    for (;;)
        pause();
    return NULL;
}

__attribute__((constructor)) static void print_and_start(void)
{
    pthread_t thread;

    if (write(STDOUT_FILENO, "ok - hello\n", 11) == 11 && pthread_create(&thread, NULL, wait_for_ever, NULL) == 0)
        pthread_detach(thread);
}

SANDLOT_EXPORT int json_object_put_of_our_own(void);
SANDLOT_EXPORT int json_object_put_of_our_own(void)
{
    return 0;
}

static const struct sandlot_provider conformance_careless_provider = {
    SANDLOT_TABLE(conformance_careless),
    NOTHING_FUNCTIONS,
};

#define CONFORMANCE_CARELESS_METADATA(M) \
    M(desciption, "misspelt")            \
    M(capabilities, "teleport")          \
    M(working_dir, "home")               \
    M(credentials, "KEY-WITH-DASHES")
SANDLOT_ENTRY_POINT(conformance_careless, CONFORMANCE_CARELESS_METADATA, CONFORMANCE_CARELESS_PARAMETERS);
