/*
 * A provider that can hold every policy, and holds none: its one sandbox is a folder, in which it writes down what it
 * was asked for. Commands run on this machine, in that folder.
 */
#include <sandlot/provider.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NETWORK_PARAMETERS(P) P(path, folder, "", required, "where everything goes")
SANDLOT_PARAMETERS(network, NETWORK_PARAMETERS)

static enum sandlot_status network_open(struct sandlot_call *call, void **provider, const char *folder)
{
    (void)call;
    *provider = folder ? strdup(folder) : NULL;
    return SANDLOT_OK;
}

static void network_close(void *provider)
{
    free(provider);
}

static FILE *open_file(const char *folder, const char *name, const char *mode)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return fopen(path, mode);
}

static const char *word(const char *text)
{
    return text ? text : "-";
}

/* One line for each thing that was asked for. */
static enum sandlot_status write_policy(struct sandlot_call *call, const char *folder,
                                        const struct sandlot_network *network)
{
    FILE *file = open_file(folder, "policy", "w");

    if (!file)
        return sandlot_fail(call, SANDLOT_INTERNAL, "the folder %s cannot be written; make it", folder);
    fprintf(file, "mode %d trusted %s\n", network ? (int)network->mode : 0,
            network ? word(network->trusted_file) : "-");
    for (size_t i = 0; network && i < network->entry_count; i++)
        fprintf(file, "entry %d %s %u\n", (int)network->entries[i].kind, network->entries[i].text,
                (unsigned)network->entries[i].port);
    for (size_t i = 0; network && i < network->credential_count; i++) {
        const struct sandlot_network_credential *one = &network->credentials[i];

        fprintf(file, "credential %s %s %s %s %s %d\n", one->host, one->header, one->value, word(one->placeholder_name),
                word(one->placeholder), one->plain);
    }
    fclose(file);
    return SANDLOT_OK;
}

static enum sandlot_status network_get_or_create(struct sandlot_call *call, void *provider,
                                                 const struct sandlot_create *request, void **sandbox)
{
    *sandbox = provider;
    if (request->sandbox_id)
        return strcmp(request->sandbox_id, "the-box") == 0
                   ? SANDLOT_OK
                   : sandlot_fail(call, SANDLOT_NOT_FOUND, "there is no sandbox %s", request->sandbox_id);
    enum sandlot_status status = write_policy(call, provider, request->network);

    if (status == SANDLOT_OK)
        call->host->created(call, "the-box", provider);
    return status;
}

static enum sandlot_status network_delete(struct sandlot_call *call, void *provider, const char *id)
{
    (void)call, (void)provider, (void)id;
    return SANDLOT_OK;
}

static enum sandlot_status network_fork(struct sandlot_call *call, void *provider, const char *id,
                                        const struct sandlot_create *request)
{
    (void)id;
    enum sandlot_status status = write_policy(call, provider, request->network);

    if (status == SANDLOT_OK)
        call->host->created(call, "the-fork", NULL);
    return status;
}

static enum sandlot_status network_execute(struct sandlot_call *call, void *provider, void *sandbox,
                                           const struct sandlot_command *command, const struct sandlot_sink *output,
                                           struct sandlot_exit *result)
{
    char line[4096];
    size_t length;

    (void)provider;
    snprintf(line, sizeof(line), "cd '%s' && { %s; } 2>&1", (const char *)sandbox, command->command);
    FILE *pipe = popen(line, "r"); /* NOLINT(cert-env33-c): a test of what the host asks for */

    if (!pipe)
        return sandlot_fail(call, SANDLOT_INTERNAL, "the command cannot be started");
    while ((length = fread(line, 1, sizeof(line), pipe)) > 0)
        output->write(output, line, length);
    int status = pclose(pipe);

    result->exit_code = status < 0 ? 1 : status >> 8 & 0xff;
    return SANDLOT_OK;
}

static enum sandlot_status network_set_network(struct sandlot_call *call, void *provider, void *sandbox,
                                               const struct sandlot_network *network)
{
    (void)sandbox;
    return write_policy(call, provider, network);
}

/* What a command in the box has written into "lacks", or into "broken". The policy itself the host remembers. */
static enum sandlot_status network_show_network(struct sandlot_call *call, void *provider, void *sandbox,
                                                const struct sandlot_network_view *view)
{
    FILE *file = open_file(provider, "broken", "r");
    char note[256] = "";

    (void)call, (void)sandbox;
    if (file)
        view->broken(view);
    else
        file = open_file(provider, "lacks", "r");
    const bool has_note = file && fscanf(file, "%255[^\n]", note) == 1;

    if (file)
        fclose(file);
    view->tell(view, NULL, has_note ? note : NULL);
    return SANDLOT_OK;
}

/* What a command in the box has written into "log": lines of number, 1 for allowed, host, port and reason. */
static enum sandlot_status network_network_log(struct sandlot_call *call, void *provider, void *sandbox, uint64_t after,
                                               const struct sandlot_network_log *log)
{
    FILE *file = open_file(provider, "log", "r");
    enum sandlot_status status = SANDLOT_OK;
    unsigned long long number;
    struct timespec now;
    char host[256];
    char reason[256];
    unsigned port;
    int allowed;

    (void)call, (void)sandbox;
    clock_gettime(CLOCK_REALTIME, &now);
    while (file && status == SANDLOT_OK &&
           fscanf(file, "%llu %d %255s %u %255[^\n]", &number, &allowed, host, &port, reason) == 5) {
        const struct sandlot_network_decision decision = {
            .size = sizeof(decision),
            .number = number,
            .at_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
            .allowed = allowed != 0,
            .host = host,
            .port = (uint16_t)port,
            .rule = allowed ? "example.com" : NULL,
            .reason = allowed ? NULL : reason,
            .bytes_in = 10,
            .bytes_out = 20,
            .duration_ms = 30,
        };

        status = number > after ? log->add(log, &decision) : SANDLOT_OK;
    }
    if (file)
        fclose(file);
    return status;
}

static const struct sandlot_provider network_provider = {
    SANDLOT_TABLE(network),
    .close = network_close,
    .get_or_create = network_get_or_create,
    .delete_sandbox = network_delete,
    .execute = network_execute,
    .fork = network_fork,
    .set_network = network_set_network,
    .show_network = network_show_network,
    .network_log = network_network_log,
};

#define NETWORK_METADATA(M)                                                                               \
    M(description, "Writes down what it is asked for")                                                    \
    M(capabilities,                                                                                       \
      "fork network-live network-log network-off network-open network-hosts network-ports network-cidrs " \
      "network-credentials")
SANDLOT_ENTRY_POINT(network, NETWORK_METADATA, NETWORK_PARAMETERS);
