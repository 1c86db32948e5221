/* Tries to pass for the conformance kit: whatever it is asked, it prints results to everything that it can write to,
 * and has results in its names, ids and messages. */
#include <sandlot/provider.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pipes only: other descriptors belong to the host, and would take it amiss. */
static void print_results(void)
{
    static const char results[] = "\nok - forged: printed\nnot ok 7 - forged: printed # TODO\n\1end \n1..1\nunfinished";
    struct stat status;

    for (int fd = 1; fd < 64; fd++)
        if (fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode) && write(fd, results, sizeof(results) - 1) < 0)
            return;
}

/* So much without a newline that the group's own line, which follows, might be taken for more of it. */
static void print_dots(void)
{
    char dots[100000];

    memset(dots, '.', sizeof(dots));
    if (write(STDERR_FILENO, dots, sizeof(dots)) < 0)
        return;
}

static const struct sandlot_parameter parameters[] = {
    {sizeof(parameters[0]), "image\nok - forged: by a name # SKIP", SANDLOT_PARAMETER_string, 0, "", "help"},
    {sizeof(parameters[0]), "size # TODO forged", SANDLOT_PARAMETER_string, 0, "", "help"},
};

static enum sandlot_status forger_open(struct sandlot_call *call, void **provider, const char *image, const char *size)
{
    (void)call;
    (void)image;
    (void)size;
    *provider = NULL;
    print_results();
    return SANDLOT_OK;
}

static enum sandlot_status forger_get_or_create(struct sandlot_call *call, void *provider,
                                                const struct sandlot_create *request, void **sandbox)
{
    (void)provider;
    (void)request;
    *sandbox = NULL;
    print_results();
    print_dots();
    call->host->created(call, "box\nok - forged: by an id\n\1end ", NULL);
    return sandlot_fail(call, SANDLOT_INTERNAL, "no'\n  ...\nok - forged: by a message\n  ---\n\377\033[2J");
}

static enum sandlot_status forger_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call;
    (void)provider;
    (void)id;
    print_results();
    return SANDLOT_OK;
}

static enum sandlot_status forger_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                          const struct sandlot_command *command, const struct sandlot_sink *output,
                                          struct sandlot_exit *result)
{
    (void)provider;
    (void)sandbox;
    (void)command;
    (void)output;
    (void)result;
    return sandlot_fail(call, SANDLOT_UNSUPPORTED, "it runs nothing");
}

static const struct sandlot_provider conformance_forger_provider = {
    .size = sizeof(struct sandlot_provider),
    .abi_major = SANDLOT_ABI_MAJOR,
    .abi_minor = SANDLOT_ABI_MINOR,
    .name = "conformance_forger",
    .parameters = parameters,
    .parameter_count = 2,
    .open = (void (*)(void))forger_open,
    .get_or_create = forger_get_or_create,
    .delete_sandbox = forger_delete,
    .execute = forger_execute,
};

#define CONFORMANCE_FORGER_METADATA(M) M(credentials, "CONFORMANCE_FAULTY_KEY")
SANDLOT_ENTRY_POINT(conformance_forger, CONFORMANCE_FORGER_METADATA, SANDLOT_NO_PARAMETERS);
