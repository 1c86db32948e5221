/*
 * SandboxCreateV2, or SandboxCreate where the newer kind of sandbox does not do.
 *
 * Whether a request that is sent again makes a second sandbox nobody promises. But a name is unique among the sandboxes
 * that run: the run label is the name, and after a lost answer the name leads to the sandbox.
 */
#include "create.h"

#include "message.h"
#include "origin.h"
#include "policy.h"

#include <sandlot/sdk/json.h>
#include <sandlot/sdk/parameters.h>
#include <sandlot/sdk/text_format.h>

#include <ctype.h>
#include <string.h>

enum {
    LONGEST_LIFE_S = 24 * 3600,
    LONGEST_TAG = 63,
    MOST_CORES = 1024,
};

/* What a request is made of; the messages point into it. */
struct definition {
    Modal__SandboxCreateRequest request;
    Modal__Sandbox sandbox;
    Modal__Resources resources;
    Modal__GpuConfig gpu;
    Modal__NetworkAccess network;
    struct policy_lists network_lists;
    Modal__SchedulerPlacement placement;
    Modal__Empty ports;
    Modal__StringMap variables;
    Modal__SandboxTag *tags;
    Modal__SandboxTag **tag_list;
    Modal__Entry *entries;
    Modal__Entry **entry_list;
    struct json_object *variable_table; /* what the strings live in */
    struct json_object *tag_table;
    char *image_id;
    char *gpu_type;
    char *texts[3]; /* cut into words */
    char **words[3];
    char **secret_ids;
    size_t secret_count;
};

static void definition_clear(struct definition *definition)
{
    for (size_t i = 0; i < definition->secret_count; i++)
        free(definition->secret_ids[i]);
    for (size_t i = 0; i < 3; i++) {
        free(definition->texts[i]);
        free(definition->words[i]);
    }
    policy_lists_clear(&definition->network_lists);
    json_object_put(definition->variable_table);
    json_object_put(definition->tag_table);
    free(definition->secret_ids);
    free(definition->tags);
    free(definition->tag_list);
    free(definition->entries);
    free(definition->entry_list);
    free(definition->image_id);
    free(definition->gpu_type);
}

/* ---- what is wanted --------------------------------------------------------------------------------------------- */

/* The words of TEXT between commas and blanks, as list NUMBER. */
static bool cut(struct definition *definition, size_t number, const char *text, char ***list, size_t *count)
{
    char *rest = NULL;
    char *own = strdup(text ? text : "");
    char **words = own ? calloc(strlen(own) / 2 + 2, sizeof(*words)) : NULL;

    *count = 0;
    definition->texts[number] = own;
    definition->words[number] = words;
    if (!words)
        return false;
    for (char *word = strtok_r(own, ", \t", &rest); word; word = strtok_r(NULL, ", \t", &rest))
        words[(*count)++] = word;
    *list = words;
    return true;
}

static enum sandlot_status set_resources(struct sandlot_call *call, struct definition *definition,
                                         const struct parameters *parameters)
{
    Modal__Resources *resources = &definition->resources;
    const char *colon = parameters->gpu ? strchr(parameters->gpu, ':') : NULL;
    double cpu = parameters->cpu;

    *resources = (Modal__Resources)MODAL__RESOURCES__INIT;
    definition->sandbox.resources = resources;
    if (!isnan(cpu) && !(cpu >= 0.001 && cpu <= MOST_CORES))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "cpu must be a number of cores such as 0.5 or 4");
    resources->milli_cpu = isnan(cpu) ? 0 : (uint32_t)(cpu * 1000 + 0.5);
    if (parameters->memory_mb != SANDLOT_ABSENT_INTEGER &&
        (parameters->memory_mb < 1 || parameters->memory_mb > INT32_MAX))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "memory_mb must be at least 1");
    resources->memory_mb = parameters->memory_mb == SANDLOT_ABSENT_INTEGER ? 0 : (uint32_t)parameters->memory_mb;
    if (!parameter_is_said(parameters->gpu))
        return SANDLOT_OK;
    char *end = NULL;
    long count = colon ? strtol(colon + 1, &end, 10) : 1;

    if (colon == parameters->gpu || (colon && (*end || end == colon + 1)) || count < 1 || count > 64)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "gpu must be a kind and perhaps a number, such as H100:2");
    definition->gpu_type = strndup(parameters->gpu, strcspn(parameters->gpu, ":"));
    if (!definition->gpu_type)
        return api_no_memory(call);
    for (char *at = definition->gpu_type; *at; at++)
        *at = (char)toupper((unsigned char)*at);
    definition->gpu = (Modal__GpuConfig)MODAL__GPU_CONFIG__INIT;
    definition->gpu.count = (uint32_t)count;
    definition->gpu.gpu_type = definition->gpu_type;
    resources->gpu_config = &definition->gpu;
    return SANDLOT_OK;
}

/* As the parameters want it. */
static enum sandlot_status set_own_network(struct sandlot_call *call, struct definition *definition,
                                           const struct parameters *parameters)
{
    Modal__NetworkAccess *network = &definition->network;

    *network = (Modal__NetworkAccess)MODAL__NETWORK_ACCESS__INIT;
    if (!cut(definition, 0, parameters->network_allow_list, &network->allowed_cidrs, &network->n_allowed_cidrs) ||
        !cut(definition, 1, parameters->domain_allow_list, &network->allowed_domains, &network->n_allowed_domains))
        return api_no_memory(call);
    bool some = network->n_allowed_cidrs + network->n_allowed_domains > 0;

    if (some && parameters->network_block)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                            "network_block and a list of what may be reached exclude each other; leave one out");
    network->network_access_type = parameters->network_block ? MODAL__NETWORK_ACCESS_TYPE__BLOCKED
                                   : some                    ? MODAL__NETWORK_ACCESS_TYPE__ALLOWLIST
                                                             : MODAL__NETWORK_ACCESS_TYPE__OPEN;
    return SANDLOT_OK;
}

static enum sandlot_status set_network(struct sandlot_call *call, struct definition *definition,
                                       const struct modal *modal, const struct sandlot_network *asked)
{
    enum sandlot_status status = policy_check(call, modal, asked);

    definition->sandbox.network_access = &definition->network;
    if (status != SANDLOT_OK)
        return status;
    return asked ? policy_write(call, asked, &definition->network_lists, &definition->network)
                 : set_own_network(call, definition, &modal->parameters);
}

static enum sandlot_status set_placement(struct sandlot_call *call, struct definition *definition,
                                         const struct parameters *parameters)
{
    definition->placement = (Modal__SchedulerPlacement)MODAL__SCHEDULER_PLACEMENT__INIT;
    if (!cut(definition, 2, parameters->regions, &definition->placement.regions, &definition->placement.n_regions))
        return api_no_memory(call);
    if (definition->placement.n_regions > 0)
        definition->sandbox.scheduler_placement = &definition->placement;
    if (parameter_is_said(parameters->cloud))
        definition->sandbox.cloud_provider_str = (char *)parameters->cloud;
    return SANDLOT_OK;
}

/* Whole seconds, rounded up, cut to Modal's maximum. */
static uint32_t seconds(int64_t milliseconds, uint32_t otherwise)
{
    int64_t whole = milliseconds / 1000 + (milliseconds % 1000 != 0);

    return whole <= 0 ? otherwise : whole > LONGEST_LIFE_S ? LONGEST_LIFE_S : (uint32_t)whole;
}

/* ---- tables ----------------------------------------------------------------------------------------------------- */

static enum sandlot_status set_variables(struct sandlot_call *call, struct definition *definition,
                                         const struct parameters *parameters)
{
    enum sandlot_status status =
        parameter_variables(call, "environment", parameters->environment, &definition->variable_table);
    size_t count = 0;

    if (status != SANDLOT_OK || !definition->variable_table)
        return status;
    size_t most = (size_t)json_object_object_length(definition->variable_table);

    definition->entries = calloc(most + 1, sizeof(*definition->entries));
    definition->entry_list = calloc(most + 1, sizeof(*definition->entry_list));
    if (!definition->entries || !definition->entry_list)
        return api_no_memory(call);
    json_object_object_foreach(definition->variable_table, key, value)
    {
        definition->entries[count] = (Modal__Entry)MODAL__ENTRY__INIT;
        definition->entries[count].key = key;
        definition->entries[count].value = (char *)json_object_get_string(value);
        definition->entry_list[count] = &definition->entries[count];
        count++;
    }
    definition->variables = (Modal__StringMap)MODAL__STRING_MAP__INIT;
    definition->variables.contents = definition->entry_list;
    definition->variables.n_contents = count;
    return SANDLOT_OK;
}

static bool is_tag(const char *text)
{
    size_t length = strlen(text);

    for (const char *at = text; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            return false;
    return length > 0 && length <= LONGEST_TAG;
}

static void add_tag(struct definition *definition, const char *name, const char *value)
{
    size_t count = definition->request.n_tags++;

    definition->tags[count] = (Modal__SandboxTag)MODAL__SANDBOX_TAG__INIT;
    definition->tags[count].tag_name = (char *)name;
    definition->tags[count].tag_value = (char *)value;
    definition->tag_list[count] = &definition->tags[count];
}

static enum sandlot_status set_tags(struct sandlot_call *call, struct definition *definition,
                                    const struct parameters *parameters, const struct sandlot_create *request)
{
    enum sandlot_status status = parameter_texts(call, "tags", parameters->tags, &definition->tag_table);

    if (status != SANDLOT_OK)
        return status;
    size_t most = request->label_count +
                  (definition->tag_table ? (size_t)json_object_object_length(definition->tag_table) : 0) + 1;

    definition->tags = calloc(most, sizeof(*definition->tags));
    definition->tag_list = calloc(most, sizeof(*definition->tag_list));
    if (!definition->tags || !definition->tag_list)
        return api_no_memory(call);
    definition->request.tags = definition->tag_list;
    for (size_t i = 0; i < request->label_count; i++)
        add_tag(definition, request->labels[i].key, request->labels[i].value);
    if (!definition->tag_table)
        return SANDLOT_OK;
    json_object_object_foreach(definition->tag_table, key, value)
    {
        if (!is_tag(key) || !is_tag(json_object_get_string(value)))
            return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT,
                                "tags.%.70s: a tag and its value have 1 to %d letters, digits, \".\", \"_\" and \"-\"",
                                key, LONGEST_TAG);
        if (strncmp(key, "sandlot", 7) != 0)
            add_tag(definition, key, json_object_get_string(value));
    }
    return SANDLOT_OK;
}

/* ---- secrets ---------------------------------------------------------------------------------------------------- */

/* The id of a secret: of the one with NAME, or of a new one that holds VARIABLES for this sandbox alone. */
static enum sandlot_status add_secret(struct sandlot_call *call, struct modal *modal, struct definition *definition,
                                      const char *name, const Modal__StringMap *variables)
{
    Modal__SecretGetOrCreateRequest request = MODAL__SECRET_GET_OR_CREATE_REQUEST__INIT;
    const struct rpc rpc = {.name = "SecretGetOrCreate",
                            .request = &request.base,
                            .answer = &modal__secret_get_or_create_response__descriptor,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND)};
    AUTO_MESSAGE Modal__SecretGetOrCreateResponse *answer = NULL;
    int code = GRPC_OK;

    request.environment_name = (char *)modal->settings.environment;
    if (name)
        request.deployment_name = (char *)name;
    if (variables) {
        request.object_creation_type = MODAL__OBJECT_CREATION__EPHEMERAL;
        request.env_dict = variables->contents;
        request.n_env_dict = variables->n_contents;
    }
    enum sandlot_status status = api_call(call, modal, &rpc, &code, &answer);

    if (status != SANDLOT_OK)
        return status;
    if (code != GRPC_OK)
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "Modal has no secret \"%.100s\"; check secrets", name);
    char *id = strdup(answer->secret_id);
    char **longer = reallocarray(definition->secret_ids, definition->secret_count + 1, sizeof(*longer));

    definition->secret_ids = longer ? longer : definition->secret_ids;
    if (!id || !longer) {
        free(id);
        return api_no_memory(call);
    }
    longer[definition->secret_count++] = id;
    definition->sandbox.secret_ids = longer;
    definition->sandbox.n_secret_ids = definition->secret_count;
    return SANDLOT_OK;
}

static enum sandlot_status set_secrets(struct sandlot_call *call, struct modal *modal, struct definition *definition)
{
    const char *text = modal->parameters.secrets;
    struct json_error error;
    AUTO_DOCUMENT struct json_object *names =
        parameter_is_said(text) ? json_read_document(text, strlen(text), &error) : NULL;
    enum sandlot_status status = SANDLOT_OK;

    if (parameter_is_said(text) && !json_object_is_type(names, json_type_array))
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "secrets must be an array of names");
    for (size_t i = 0; names && i < json_object_array_length(names) && status == SANDLOT_OK; i++) {
        struct json_object *name = json_object_array_get_idx(names, i);

        status = json_object_is_type(name, json_type_string)
                     ? add_secret(call, modal, definition, json_object_get_string(name), NULL)
                     : sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "secrets must be an array of names");
    }
    return status;
}

/* ---- the definition --------------------------------------------------------------------------------------------- */

static enum sandlot_status define(struct sandlot_call *call, struct modal *modal, const struct sandlot_create *request,
                                  struct definition *definition)
{
    const struct parameters *parameters = &modal->parameters;
    Modal__Sandbox *sandbox = &definition->sandbox;
    const char *folder = sandbox_working_dir(modal);

    definition->request = (Modal__SandboxCreateRequest)MODAL__SANDBOX_CREATE_REQUEST__INIT;
    definition->request.definition = sandbox;
    *sandbox = (Modal__Sandbox)MODAL__SANDBOX__INIT;
    definition->ports = (Modal__Empty)MODAL__EMPTY__INIT;
    sandbox->open_ports = &definition->ports;
    sandbox->name = (char *)request->run_label;
    sandbox->workdir = (char *)folder;
    /* Without a word it would be ended after five minutes. */
    sandbox->timeout_secs = seconds(request->hard_ttl_ms, LONGEST_LIFE_S);
    sandbox->idle_timeout_secs = seconds(request->idle_ttl_ms, 0);
    if (*folder != '/')
        return sandlot_fail(call, SANDLOT_INVALID_ARGUMENT, "working_dir must be an absolute path");
    enum sandlot_status status = set_resources(call, definition, parameters);

    if (status == SANDLOT_OK)
        status = set_network(call, definition, modal, network_asked(request));
    if (status == SANDLOT_OK)
        status = set_placement(call, definition, parameters);
    if (status == SANDLOT_OK)
        status = set_variables(call, definition, parameters);
    return status == SANDLOT_OK ? set_tags(call, definition, parameters, request) : status;
}

/* ---- sending ---------------------------------------------------------------------------------------------------- */

/*
 * The sandbox may be there although we were not told so: it is then ours all the same, to be used or to be deleted.
 * *ID, to be freed, stays NULL if it is not.
 */
static enum sandlot_status look_up(struct sandlot_call *call, struct modal *modal, bool older, const char *name,
                                   char **id)
{
    Modal__SandboxGetFromNameRequest request = MODAL__SANDBOX_GET_FROM_NAME_REQUEST__INIT;
    const struct rpc rpc = {.name = older ? "SandboxGetFromName" : "SandboxGetFromNameV2",
                            .request = &request.base,
                            .answer = &modal__sandbox_id__descriptor,
                            .accepted = GRPC_BIT(GRPC_NOT_FOUND)};
    AUTO_MESSAGE Modal__SandboxId *answer = NULL;
    int code = GRPC_OK;

    request.sandbox_name = (char *)name;
    request.app_name = (char *)modal->parameters.app;
    request.environment_name = (char *)modal->settings.environment;
    enum sandlot_status status = api_call(call, modal, &rpc, &code, &answer);

    return status == SANDLOT_OK && code == GRPC_OK && text_is_word(answer->sandbox_id)
               ? api_copy(call, answer->sandbox_id, id)
               : status;
}

static enum sandlot_status send(struct sandlot_call *call, struct modal *modal, struct definition *definition,
                                bool older, int *code, Modal__SandboxCreateResponse **answer)
{
    const struct rpc rpc = {.name = older ? "SandboxCreate" : "SandboxCreateV2",
                            .request = &definition->request.base,
                            .answer = &modal__sandbox_create_response__descriptor,
                            .accepted = GRPC_BIT(GRPC_ALREADY_EXISTS) | (older ? 0 : GRPC_BIT(GRPC_UNIMPLEMENTED))};
    enum sandlot_status status = SANDLOT_OK;

    definition->request.ephemeral_secrets = NULL;
    if (definition->entry_list && older)
        status = add_secret(call, modal, definition, NULL, &definition->variables);
    else if (definition->entry_list)
        definition->request.ephemeral_secrets = &definition->variables;
    return status == SANDLOT_OK ? api_call(call, modal, &rpc, code, answer) : status;
}

/* Tells the host of the sandbox as soon as there is one. *ID is to be freed. */
static enum sandlot_status make(struct sandlot_call *call, struct modal *modal, struct definition *definition,
                                bool older, Modal__SandboxCreateResponse **answer, char **id)
{
    const char *name = definition->sandbox.name;
    int code = GRPC_OK;
    enum sandlot_status status = send(call, modal, definition, older, &code, answer);

    if (status == SANDLOT_OK && code == GRPC_UNIMPLEMENTED) {
        older = true; /* a server from before the newer kind */
        status = send(call, modal, definition, older, &code, answer);
    }
    /* An id that nobody could ask for is none: what it was to be is not told, or is damaged. */
    if (status == SANDLOT_OK && code == GRPC_OK && text_is_word((*answer)->sandbox_id)) {
        status = api_copy(call, (*answer)->sandbox_id, id);
    } else if (status != SANDLOT_AUTH && status != SANDLOT_INVALID_ARGUMENT && status != SANDLOT_CANCELLED) {
        enum sandlot_status found = look_up(call, modal, older, name, id);

        status = *id ? SANDLOT_OK : status == SANDLOT_OK ? found : status;
        if (status == SANDLOT_OK && !*id)
            status = sandlot_fail(call, SANDLOT_UNAVAILABLE,
                                  "Modal made a sandbox named %.64s and does not know it any more; try again", name);
    }
    if (*id)
        call->host->created(call, *id, sandbox_working_dir(modal));
    return status;
}

enum sandlot_status create_sandbox(struct sandlot_call *call, struct modal *modal, const struct sandlot_create *request,
                                   struct sandbox **sandbox)
{
    CLEANUP(definition_clear) struct definition definition = {0};
    AUTO_MESSAGE Modal__SandboxCreateResponse *answer = NULL;
    AUTO_FREE char *id = NULL;
    const char *app_id = NULL;
    enum sandlot_status status = define(call, modal, request, &definition);

    if (status == SANDLOT_OK)
        status = api_app(call, modal, true, &app_id);
    if (status == SANDLOT_OK)
        status = origin_find(call, modal, app_id, request->snapshot, &definition.image_id);
    if (status == SANDLOT_OK)
        status = set_secrets(call, modal, &definition);
    if (status != SANDLOT_OK)
        return status;
    definition.request.app_id = (char *)app_id;
    definition.sandbox.image_id = definition.image_id;
    /* The newer kind has no graphics processors. */
    status = make(call, modal, &definition,
                  modal->settings.first_generation || parameter_is_said(modal->parameters.gpu), &answer, &id);
    if (status != SANDLOT_OK || !sandbox)
        return status;
    bool told = answer && strcmp(answer->sandbox_id, id) == 0; /* else it was looked up */
    const Modal__CommandRouterAccess *access = told ? answer->command_router_access : NULL;

    status = sandbox_open(call, modal, id, told ? answer->task_id : NULL, access ? access->url : NULL,
                          access ? access->jwt : NULL, sandbox);
    if (status == SANDLOT_OK)
        (*sandbox)->made_here = true;
    return status;
}
