#include "network/policy.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"
#include "base/text.h"
#include "config/value.h"
#include "network/sets.h"
#include "network/table.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_ENTRIES = 4096 };

const char *network_mode_name(enum sandlot_network_mode mode)
{
    return mode == SANDLOT_NETWORK_OFF     ? "off"
           : mode == SANDLOT_NETWORK_ALLOW ? "allow"
           : mode == SANDLOT_NETWORK_OPEN  ? "open"
                                           : NULL;
}

void network_policy_clear(struct network_policy *policy)
{
    for (size_t i = 0; i < policy->written_count; i++)
        free(policy->written[i]);
    for (size_t i = 0; i < policy->entry_count; i++)
        network_entry_clear(&policy->entries[i]);
    for (size_t i = 0; i < policy->credential_count; i++)
        network_credential_clear(&policy->credentials[i]);
    free(policy->written);
    free(policy->entries);
    free(policy->credentials);
    free(policy->trusted_file);
    free(policy->source);
    *policy = (struct network_policy){0};
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

/* What is being built, and how its mistakes are told. */
struct building {
    const struct config *config;
    struct network_policy *policy;
    const char *where;        /* "--allow", "config.toml: [network] allow" */
    struct json_object *sets; /* once one was asked for */
};

static int read_entry(const struct building *building, const char *written, const char *in, struct network_entry *entry,
                      struct sandlot_error *error)
{
    AUTO_FREE char *problem = NULL;

    if (network_entry_parse(written, entry, &problem))
        return 0;
    return problem ? error_set(error, SANDLOT_CODE_USAGE, "%s%s: the entry \"%s\" %s", building->where, in, written,
                               problem)
                   : error_no_memory(error);
}

/* Takes ENTRY over, whatever comes of it. */
static int add_entry(struct building *building, struct network_entry *entry, struct sandlot_error *error)
{
    struct network_policy *policy = building->policy;
    bool known = policy->entry_count == MOST_ENTRIES;

    for (size_t i = 0; i < policy->entry_count && !known; i++)
        known = network_entry_equal(&policy->entries[i], entry);
    struct network_entry *grown =
        known ? NULL : realloc(policy->entries, (policy->entry_count + 1) * sizeof(*policy->entries));

    if (grown) {
        policy->entries = grown;
        policy->entries[policy->entry_count++] = *entry;
        return 0;
    }
    network_entry_clear(entry);
    if (policy->entry_count == MOST_ENTRIES)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "%s: there are more than %d entries; a network (10.0.0.0/8) or a "
                         "wildcard (*.example.com) says much at once",
                         building->where, MOST_ENTRIES);
    return known ? 0 : error_no_memory(error);
}

static int unknown_set(const struct building *building, const char *name, struct sandlot_error *error)
{
    AUTO_FREE const char **names = calloc((size_t)json_object_object_length(building->sets) + 1, sizeof(*names));
    size_t count = 0;

    json_object_object_foreach(building->sets, key, value)
    {
        (void)value;
        if (names)
            names[count++] = key;
    }
    const char *nearest = names ? text_nearest(name, names, count) : NULL;

    return error_set(error, SANDLOT_CODE_USAGE,
                     "%s: there is no set @%s%s%s%s; `sandlot network sets` prints those there "
                     "are",
                     building->where, name, nearest ? "; did you mean @" : "", nearest ? nearest : "",
                     nearest ? "?" : "");
}

static int add_set(struct building *building, const char *name, struct sandlot_error *error)
{
    if (!building->sets && !(building->sets = network_policy_sets(building->config, error)))
        return -1;
    struct json_object *set = config_member(building->sets, name);

    if (!set)
        return unknown_set(building, name, error);
    AUTO_FREE char *in = text_format(": the set @%s", name);

    for (size_t i = 0; i < json_object_array_length(set); i++) {
        struct network_entry entry;

        if (read_entry(building, json_object_get_string(json_object_array_get_idx(set, i)), in ? in : "", &entry,
                       error) < 0 ||
            add_entry(building, &entry, error) < 0)
            return -1;
    }
    return 0;
}

/* Takes TEXT over, NULL when there was no memory for it. What is there already stays there once. */
static int add_text(struct network_policy *policy, char *text, struct sandlot_error *error)
{
    AUTO_FREE char *own = text;

    for (size_t i = 0; own && i < policy->written_count; i++)
        if (strcmp(policy->written[i], own) == 0)
            return 0;
    char **grown = own ? realloc(policy->written, (policy->written_count + 1) * sizeof(*policy->written)) : NULL;

    if (!grown)
        return error_no_memory(error);
    policy->written = grown;
    policy->written[policy->written_count++] = TAKE(own);
    return 0;
}

static int add_written(struct building *building, const char *written, struct sandlot_error *error)
{
    struct network_entry entry;

    if (*written == '@')
        return add_set(building, written + 1, error) < 0 ? -1 : add_text(building->policy, strdup(written), error);
    if (read_entry(building, written, "", &entry, error) < 0)
        return -1;
    char *text = network_entry_text(entry.kind, entry.text, entry.port);

    if (add_entry(building, &entry, error) == 0)
        return add_text(building->policy, text, error);
    free(text);
    return -1;
}

struct json_object *network_policy_sets(const struct config *config, struct sandlot_error *error)
{
    struct network_table table;
    struct json_object *sets =
        network_table_read(config, NULL, &table, error) == 0 ? network_sets_load(table.sets, error) : NULL;

    network_table_clear(&table);
    return sets;
}

/* ---- credentials ------------------------------------------------------------------------------------------------- */

static const char *text_of(struct json_object *object, const char *key)
{
    struct json_object *value = config_member(object, key);

    return value ? json_object_get_string(value) : NULL;
}

/* A path of the config file, absolute, to be freed. */
static char *path_of(const struct config *config, const char *path)
{
    AUTO_FREE char *folder = path_parent(config->file);

    return folder ? path_absolute(path, folder) : NULL;
}

static int set_source(const struct config *config, const struct network_table *table, struct json_object *object,
                      struct network_credential *credential, struct sandlot_error *error)
{
    static const char *const keys[] = {"env", "file", "command"};
    int given = 0;

    for (size_t i = 0; i < 3; i++) {
        const char *from = text_of(object, keys[i]);

        if (!from)
            continue;
        free(credential->from);
        given++;
        credential->source = (enum network_secret_source)i;
        credential->from = i == NETWORK_FROM_FILE ? path_of(config, from) : strdup(from);
        if (!credential->from)
            return error_no_memory(error);
    }
    if (given == 1)
        return 0;
    return network_table_fail(table, "credentials", error,
                              "credentials: the one for %s must have one of env, file and command, and has %s",
                              credential->host, given ? "several" : "none");
}

static int set_host(const struct network_table *table, const char *written, struct network_credential *credential,
                    struct sandlot_error *error)
{
    struct network_entry entry;
    AUTO_FREE char *problem = NULL;

    if (!network_entry_parse(written, &entry, &problem))
        return problem ? network_table_fail(table, "credentials", error, "credentials: the host \"%s\" %s", written,
                                            problem)
                       : error_no_memory(error);
    bool is_host = entry.kind == SANDLOT_NETWORK_HOST && !entry.port;

    if (is_host)
        credential->host = TAKE(entry.text);
    network_entry_clear(&entry);
    return is_host
               ? 0
               : network_table_fail(table, "credentials", error,
                                    "credentials: the host \"%s\" must be the name of one host, without wildcard and "
                                    "port: a secret goes to nobody else",
                                    written);
}

static int check_names(const struct network_table *table, const struct network_credential *credential,
                       struct sandlot_error *error)
{
    const char *header = network_header_problem(credential->header);
    const char *variable = credential->placeholder_name ? network_variable_problem(credential->placeholder_name) : NULL;

    if (header)
        return network_table_fail(table, "credentials", error, "credentials: for %s the header \"%s\" %s",
                                  credential->host, credential->header, header);
    if (variable)
        return network_table_fail(table, "credentials", error, "credentials: for %s the placeholder \"%s\" %s",
                                  credential->host, credential->placeholder_name, variable);
    if (credential->user && strchr(credential->user, ':'))
        return network_table_fail(table, "credentials", error, "credentials: for %s the user of `basic` holds a colon",
                                  credential->host);
    return 0;
}

static char *copy_of(struct json_object *object, const char *key, bool *failed)
{
    const char *text = text_of(object, key);
    char *copy = text ? strdup(text) : NULL;

    *failed = *failed || (text && !copy);
    return copy;
}

static int fill_credential(const struct config *config, const struct network_table *table, struct json_object *object,
                           struct network_credential *credential, struct sandlot_error *error)
{
    const char *host = text_of(object, "host");
    const char *header = text_of(object, "header");
    bool no_memory = false;

    if (!host || !header)
        return network_table_fail(table, "credentials", error, "credentials: one has no %s", host ? "header" : "host");
    if (set_host(table, host, credential, error) < 0)
        return -1;
    credential->header = strdup(header);
    credential->user = copy_of(object, "basic", &no_memory);
    credential->placeholder_name = copy_of(object, "placeholder", &no_memory);
    credential->plain = json_object_get_boolean(config_member(object, "plain"));
    if (no_memory || !credential->header)
        return error_no_memory(error);
    return check_names(table, credential, error) < 0 ? -1 : set_source(config, table, object, credential, error);
}

static bool same_place(const struct network_credential *one, const struct network_credential *other)
{
    return one->host && other->host && strcmp(one->host, other->host) == 0 &&
           strcasecmp(one->header, other->header) == 0;
}

static int add_credentials(struct network_policy *policy, const struct config *config,
                           const struct network_table *table, struct sandlot_error *error)
{
    size_t count = table->credentials ? json_object_array_length(table->credentials) : 0;

    policy->credentials = calloc(count + 1, sizeof(*policy->credentials));
    if (!policy->credentials)
        return error_no_memory(error);
    for (size_t i = 0; i < count; i++) {
        struct network_credential *credential = &policy->credentials[policy->credential_count++];

        if (fill_credential(config, table, json_object_array_get_idx(table->credentials, i), credential, error) < 0)
            return -1;
        for (size_t other = 0; other < i; other++)
            if (same_place(&policy->credentials[other], credential))
                return network_table_fail(table, "credentials", error,
                                          "credentials: there are two for the header %s of %s", credential->header,
                                          credential->host);
    }
    return 0;
}

/* ---- the levels -------------------------------------------------------------------------------------------------- */

static int add_list(struct building *building, const char *const *allow, struct sandlot_error *error)
{
    for (; allow && *allow; allow++)
        if (add_written(building, *allow, error) < 0)
            return -1;
    return 0;
}

int network_policy_of(const struct config *config, enum sandlot_network_mode mode, const char *const *allow,
                      struct network_policy *policy, struct sandlot_error *error)
{
    struct building building = {.config = config, .policy = policy, .where = "--allow"};

    *policy = (struct network_policy){.mode = mode};
    int result = add_list(&building, allow, error);

    json_object_put(building.sets);
    return result;
}

static int from_command_line(const struct config *config, const char *mode, const char *const *allow,
                             struct network_policy *policy, struct sandlot_error *error)
{
    enum sandlot_network_mode asked = mode ? network_mode_of(mode) : SANDLOT_NETWORK_ALLOW;

    if (!asked)
        return error_set(error, SANDLOT_CODE_USAGE, "--network is off, allow or open, not \"%s\"", mode);
    if (allow && *allow && asked != SANDLOT_NETWORK_ALLOW)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "--network %s and --allow contradict each other; leave one of them out", mode);
    if (network_policy_of(config, asked, allow, policy, error) < 0)
        return -1;
    policy->source = strdup("the command line");
    return policy->source ? 0 : error_no_memory(error);
}

static int from_table(const struct config *config, const struct network_table *table, struct network_policy *policy,
                      struct sandlot_error *error)
{
    AUTO_FREE char *where = text_format("%s: %s allow", table->file, table->name);
    struct building building = {.config = config, .policy = policy, .where = where ? where : "allow"};
    int result = 0;

    policy->mode = table->mode;
    policy->source = text_format("%s of %s", table->name, table->file);
    if (!policy->source)
        return error_no_memory(error);
    for (size_t i = 0; table->allow && result == 0 && i < json_object_array_length(table->allow); i++)
        result = add_written(&building, json_object_get_string(json_object_array_get_idx(table->allow, i)), error);
    json_object_put(building.sets);
    return result;
}

/* An empty list allows nothing; credentials are worth nothing where nothing leaves, and a wish for them alone is one
 * for their hosts. */
static void settle_mode(struct network_policy *policy, const struct network_table *credentials)
{
    if (!policy->mode && policy->credential_count > 0) {
        policy->mode = SANDLOT_NETWORK_ALLOW;
        policy->source = text_format("%s of %s", credentials->name, credentials->file);
    }
    if (policy->mode == SANDLOT_NETWORK_ALLOW && policy->entry_count + policy->credential_count == 0)
        policy->mode = SANDLOT_NETWORK_OFF;
    if (policy->mode != SANDLOT_NETWORK_OFF)
        return;
    for (size_t i = 0; i < policy->credential_count; i++)
        network_credential_clear(&policy->credentials[i]);
    policy->credential_count = 0;
}

static int combine(const struct config *config, const struct network_table *own, const struct network_table *common,
                   const char *mode, const char *const *allow, struct network_policy *policy,
                   struct sandlot_error *error)
{
    const struct network_table *words = own->mode ? own : common;
    const struct network_table *credentials = own->credentials ? own : common;
    struct json_object *trusted = own->upstream_ca ? own->upstream_ca : common->upstream_ca;
    bool is_said = mode || (allow && *allow);
    int failed = is_said       ? from_command_line(config, mode, allow, policy, error)
                 : words->mode ? from_table(config, words, policy, error)
                               : 0;

    if (failed || add_credentials(policy, config, credentials, error) < 0)
        return -1;
    if (trusted && !(policy->trusted_file = path_of(config, json_object_get_string(trusted))))
        return error_no_memory(error);
    settle_mode(policy, credentials);
    return policy->mode && !policy->source ? error_no_memory(error) : 0;
}

int network_policy_find(const struct config *config, const char *provider, const char *mode, const char *const *allow,
                        struct network_policy *policy, struct sandlot_error *error)
{
    struct network_table own = {0};
    struct network_table common = {0};
    int result = -1;

    *policy = (struct network_policy){0};
    if (config->may_limit_network && !mode && !(allow && *allow))
        return error_set(error, SANDLOT_CODE_USAGE,
                         "%s could not be used (%s) and seems to limit the network; mend it, or say --network",
                         config->file, config->problem ? config->problem : "it cannot be read");
    if (network_table_read(config, NULL, &common, error) == 0 && network_table_read(config, provider, &own, error) == 0)
        result = combine(config, &own, &common, mode, allow, policy, error);
    network_table_clear(&own);
    network_table_clear(&common);
    return result;
}

/* ---- what is made of it ------------------------------------------------------------------------------------------ */

/* A variable holds one text, which may stand for secrets of several hosts. False: no memory. */
static bool share_placeholder(struct network_policy *policy, struct network_credential *credential)
{
    for (struct network_credential *one = policy->credentials; one < credential; one++) {
        if (!credential->placeholder || !one->placeholder ||
            strcmp(one->placeholder_name, credential->placeholder_name) != 0)
            continue;
        free(credential->placeholder);
        credential->placeholder = strdup(one->placeholder);
        return credential->placeholder;
    }
    return true;
}

int network_policy_read_secrets(struct network_policy *policy, int cancel_fd, struct sandlot_error *error)
{
    for (size_t i = 0; i < policy->credential_count; i++) {
        if (network_credential_read(&policy->credentials[i], cancel_fd, error) < 0)
            return -1;
        if (!share_placeholder(policy, &policy->credentials[i]))
            return error_no_memory(error);
    }
    return 0;
}

int network_view_make(const struct network_policy *policy, struct network_view *view, struct sandlot_error *error)
{
    *view = (struct network_view){.entries = calloc(policy->entry_count + 1, sizeof(*view->entries)),
                                  .credentials = calloc(policy->credential_count + 1, sizeof(*view->credentials))};
    if (!view->entries || !view->credentials)
        return error_no_memory(error);
    for (size_t i = 0; i < policy->entry_count; i++) {
        const struct network_entry *entry = &policy->entries[i];

        view->entries[i] = (struct sandlot_network_entry){entry->kind, entry->text, entry->port};
    }
    for (size_t i = 0; i < policy->credential_count; i++) {
        const struct network_credential *from = &policy->credentials[i];

        view->credentials[i] = (struct sandlot_network_credential){
            from->host, from->header, from->value, from->placeholder_name, from->placeholder, from->plain};
    }
    view->network = (struct sandlot_network){sizeof(view->network), policy->mode,      view->entries,
                                             policy->entry_count,   view->credentials, policy->credential_count,
                                             policy->trusted_file};
    return 0;
}

void network_view_clear(struct network_view *view)
{
    free(view->entries);
    free(view->credentials);
    *view = (struct network_view){0};
}

static struct json_object *credentials_json(const struct network_policy *policy)
{
    struct json_object *array = json_object_new_array();

    for (size_t i = 0; i < policy->credential_count; i++) {
        struct json_object *one = json_object_new_object();

        json_object_object_add(one, "host", json_object_new_string(policy->credentials[i].host));
        json_object_object_add(one, "header", json_object_new_string(policy->credentials[i].header));
        json_object_array_add(array, one);
    }
    return array;
}

struct json_object *network_policy_json(const struct network_policy *policy)
{
    struct json_object *object = policy->mode ? json_object_new_object() : NULL;
    struct json_object *allow = object ? json_object_new_array() : NULL;

    if (!object)
        return NULL;
    for (size_t i = 0; i < policy->written_count; i++)
        json_object_array_add(allow, json_object_new_string(policy->written[i]));
    json_object_object_add(object, "mode", json_object_new_string(network_mode_name(policy->mode)));
    json_object_object_add(object, "allow", allow);
    json_object_object_add(object, "credentials", credentials_json(policy));
    json_object_object_add(object, "source", policy->source ? json_object_new_string(policy->source) : NULL);
    return object;
}
