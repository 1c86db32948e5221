#include "network/change.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "network/table.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

/* ---- states ------------------------------------------------------------------------------------------------------ */

static const char *mode_of(struct json_object *state)
{
    struct json_object *mode = config_member(state, "mode");

    return mode ? json_object_get_string(mode) : NULL;
}

static struct json_object *array_of(struct json_object *state, const char *key)
{
    struct json_object *array = config_member(state, key);

    return json_object_is_type(array, json_type_array) ? array : NULL;
}

static size_t length_of(struct json_object *array)
{
    return array ? json_object_array_length(array) : 0;
}

struct json_object *network_state_of(const struct sandlot_network *network)
{
    struct json_object *state = json_object_new_object();
    struct json_object *allow = json_object_new_array();
    struct json_object *credentials = json_object_new_array();
    const char *mode = network_mode_name(network->mode);

    for (size_t i = 0; i < network->entry_count; i++) {
        const struct sandlot_network_entry *entry = &network->entries[i];
        AUTO_FREE char *text = network_entry_text(entry->kind, entry->text, entry->port);

        json_object_array_add(allow, json_object_new_string(text ? text : entry->text));
    }
    for (size_t i = 0; i < network->credential_count; i++) {
        struct json_object *one = json_object_new_object();

        json_object_object_add(one, "host", json_object_new_string(network->credentials[i].host));
        json_object_object_add(one, "header", json_object_new_string(network->credentials[i].header));
        json_object_array_add(credentials, one);
    }
    json_object_object_add(state, "mode", mode ? json_object_new_string(mode) : NULL);
    json_object_object_add(state, "allow", allow);
    json_object_object_add(state, "credentials", credentials);
    json_object_object_add(state, "source", json_object_new_string("the provider"));
    return state;
}

/* The texts of an array, or of the member KEY of its objects, ended by NULL; they live as long as it. */
static const char **texts_of(struct json_object *array, const char *key)
{
    size_t count = length_of(array);
    const char **texts = calloc(count + 1, sizeof(*texts));

    for (size_t i = 0; texts && i < count; i++) {
        struct json_object *one = json_object_array_get_idx(array, i);
        const char *text = json_object_get_string(key ? config_member(one, key) : one);

        texts[i] = text ? text : "";
    }
    return texts;
}

/* ---- is what is remembered what holds? --------------------------------------------------------------------------- */

/* What the list of STATE comes to, to be cleared. False: it has entries that are none by now, such as a set that went.
 */
static bool read_entries(const struct config *config, struct json_object *state, struct network_policy *policy)
{
    AUTO_FREE const char **allow = texts_of(array_of(state, "allow"), NULL);

    *policy = (struct network_policy){0};
    return allow && network_policy_of(config, SANDLOT_NETWORK_ALLOW, allow, policy, NULL) == 0;
}

static bool has_entry(const struct network_policy *policy, const struct network_entry *entry)
{
    for (size_t i = 0; i < policy->entry_count; i++)
        if (network_entry_equal(&policy->entries[i], entry))
            return true;
    return false;
}

/* The entries of a policy are each there once. */
static bool same_lists(const struct config *config, struct json_object *one, struct json_object *other)
{
    struct network_policy left CLEANUP(network_policy_clear) = {0};
    struct network_policy right CLEANUP(network_policy_clear) = {0};
    bool same = read_entries(config, one, &left) && read_entries(config, other, &right) &&
                left.entry_count == right.entry_count;

    for (size_t i = 0; i < left.entry_count && same; i++)
        same = has_entry(&right, &left.entries[i]);
    return same;
}

bool network_state_agrees(const struct config *config, struct json_object *remembered, struct json_object *told)
{
    const char *said = mode_of(told);

    if (!said)
        return true;
    if (!mode_of(remembered) || strcmp(said, mode_of(remembered)) != 0)
        return false;
    return strcmp(said, "allow") != 0 || same_lists(config, remembered, told);
}

int network_state_tell(struct json_object *state, const char *note, bool broken,
                       void (*tell)(void *context, const struct sandlot_network_state *state), void *context,
                       struct sandlot_error *error)
{
    AUTO_FREE const char **allow = texts_of(array_of(state, "allow"), NULL);
    AUTO_FREE const char **hosts = texts_of(array_of(state, "credentials"), "host");
    AUTO_FREE const char **headers = texts_of(array_of(state, "credentials"), "header");
    struct json_object *source = config_member(state, "source");
    const struct sandlot_network_state shown = {.size = sizeof(shown),
                                                .mode = mode_of(state),
                                                .allow = allow,
                                                .credential_hosts = hosts,
                                                .credential_headers = headers,
                                                .source = source ? json_object_get_string(source) : NULL,
                                                .note = note,
                                                .broken = broken};

    if (!allow || !hosts || !headers)
        return error_no_memory(error);
    tell(context, &shown);
    return 0;
}

enum { MOST_NAMED = 20 };

/* The first of the texts, and how many more there are. */
static void add_some(char **sentence, struct json_object *array, const char *key, size_t *named)
{
    AUTO_FREE const char **texts = texts_of(array, key);

    for (const char **text = texts; text && *text; text++, (*named)++)
        if (*named < MOST_NAMED)
            text_append(sentence, "%s%s", *named ? ", " : " ", *text);
}

char *network_sentence(struct json_object *state)
{
    const char *mode = mode_of(state);
    size_t named = 0;

    if (mode && strcmp(mode, "off") == 0)
        return strdup("Its network is off: nothing outside can be reached.");
    if (mode && strcmp(mode, "open") == 0)
        return strdup("Its network is open.");
    char *sentence = strdup("Of the network it reaches these and nothing else:");

    add_some(&sentence, array_of(state, "allow"), NULL, &named);
    add_some(&sentence, array_of(state, "credentials"), "host", &named);
    if (named > MOST_NAMED)
        text_append(&sentence, " and %zu more", named - MOST_NAMED);
    text_append(&sentence, ".");
    return sentence;
}

/* ---- does one entry cover another? ------------------------------------------------------------------------------- */

static bool covers_address(const struct network_entry *network, const struct network_entry *address)
{
    unsigned char wide[16];
    unsigned char narrow[16];
    int family = strchr(network->text, ':') ? AF_INET6 : AF_INET;
    int bits = atoi(strchr(network->text, '/') + 1);
    AUTO_FREE char *one = strndup(network->text, strcspn(network->text, "/"));
    AUTO_FREE char *other = strndup(address->text, strcspn(address->text, "/"));

    if (!one || !other || bits > atoi(strchr(address->text, '/') + 1) || inet_pton(family, one, wide) != 1 ||
        inet_pton(family, other, narrow) != 1)
        return false;
    for (int bit = 0; bit < bits; bit++)
        if ((wide[bit / 8] ^ narrow[bit / 8]) & 0x80 >> bit % 8)
            return false;
    return true;
}

static bool is_below(const char *name, const char *parent)
{
    size_t length = strlen(name);
    size_t tail = strlen(parent);

    return length > tail + 1 && name[length - tail - 1] == '.' && strcmp(name + length - tail, parent) == 0;
}

static bool covers(const struct network_entry *wide, const struct network_entry *entry)
{
    bool port = wide->port == entry->port || (!wide->port && (entry->port == 80 || entry->port == 443));

    if (!port)
        return false;
    if (wide->kind == SANDLOT_NETWORK_CIDR || entry->kind == SANDLOT_NETWORK_CIDR)
        return wide->kind == entry->kind && covers_address(wide, entry);
    if (wide->kind == SANDLOT_NETWORK_BELOW)
        return is_below(entry->text, wide->text) ||
               (entry->kind == SANDLOT_NETWORK_BELOW && strcmp(entry->text, wide->text) == 0);
    return entry->kind == SANDLOT_NETWORK_HOST && strcmp(entry->text, wide->text) == 0;
}

/* ---- changes ----------------------------------------------------------------------------------------------------- */

/* The list as it is to be. */
struct list {
    const struct config *config;
    struct json_object *state;
    const char **items; /* as people wrote them, ended by NULL */
    size_t count;
};

/* Does WRITTEN, an entry or a set, allow ENTRY (IS_SAME: and nothing else)? */
static bool allows(const struct list *list, const char *written, const struct network_entry *entry, bool *is_same)
{
    const char *const alone[] = {written, NULL};
    struct network_policy policy CLEANUP(network_policy_clear) = {0};
    bool found = false;

    if (network_policy_of(list->config, SANDLOT_NETWORK_ALLOW, alone, &policy, NULL) < 0)
        return false;
    for (size_t i = 0; i < policy.entry_count; i++)
        found = found || covers(&policy.entries[i], entry);
    *is_same = *written != '@' && policy.entry_count == 1 && network_entry_equal(&policy.entries[0], entry);
    return found;
}

/* A credential allows its host for as long as the sandbox lives. */
static bool has_credential(struct json_object *state, const struct network_entry *entry)
{
    struct json_object *array = array_of(state, "credentials");

    for (size_t i = 0; i < length_of(array); i++) {
        const char *host = json_object_get_string(config_member(json_object_array_get_idx(array, i), "host"));

        if (host && entry->kind == SANDLOT_NETWORK_HOST && strcmp(host, entry->text) == 0)
            return true;
    }
    return false;
}

static int take_away_entry(struct list *list, const char *denied, const struct network_entry *entry,
                           struct sandlot_error *error)
{
    size_t kept = 0;
    size_t before = list->count;

    for (size_t i = 0; i < list->count; i++) {
        bool is_same = false;

        if (allows(list, list->items[i], entry, &is_same) && !is_same)
            return error_set(error, SANDLOT_CODE_USAGE,
                             "%s is allowed by %s, which allows more; deny that, and allow what is to stay", denied,
                             list->items[i]);
        if (!is_same)
            list->items[kept++] = list->items[i];
    }
    list->count = kept;
    if (has_credential(list->state, entry))
        return error_set(error, SANDLOT_CODE_USAGE,
                         "%s has a credential, which allows it for as long as the sandbox lives; only `network off` "
                         "closes it",
                         denied);
    return kept < before ? 0 : error_set(error, SANDLOT_CODE_USAGE, "%s is not on the list", denied);
}

static int take_away(struct list *list, const char *denied, struct sandlot_error *error)
{
    struct network_entry entry;
    AUTO_FREE char *problem = NULL;
    size_t kept = 0;
    size_t before = list->count;

    if (*denied != '@') {
        if (!network_entry_parse(denied, &entry, &problem))
            return problem ? error_set(error, SANDLOT_CODE_USAGE, "the entry \"%s\" %s", denied, problem)
                           : error_no_memory(error);
        int result = take_away_entry(list, denied, &entry, error);

        network_entry_clear(&entry);
        return result;
    }
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], denied) != 0)
            list->items[kept++] = list->items[i];
    list->count = kept;
    return kept < before ? 0 : error_set(error, SANDLOT_CODE_USAGE, "%s is not on the list", denied);
}

/* Fills LIST with what stands there now and what is to come. */
static int gather(struct list *list, const char *const *added, struct sandlot_error *error)
{
    AUTO_FREE const char **old = texts_of(array_of(list->state, "allow"), NULL);
    size_t more = 0;

    while (added && added[more])
        more++;
    list->items = old ? calloc(length_of(array_of(list->state, "allow")) + more + 1, sizeof(*list->items)) : NULL;
    if (!list->items)
        return error_no_memory(error);
    for (size_t i = 0; old[i]; i++)
        list->items[list->count++] = old[i];
    for (size_t i = 0; i < more; i++) {
        bool known = false;

        for (size_t k = 0; k < list->count && !known; k++)
            known = strcmp(list->items[k], added[i]) == 0;
        if (!known)
            list->items[list->count++] = added[i];
    }
    return 0;
}

static int change_list(struct list *list, const struct sandlot_network_change *change, struct sandlot_error *error)
{
    const char *mode = mode_of(list->state);

    if (mode && strcmp(mode, "open") == 0)
        return error_set(error, SANDLOT_CODE_USAGE,
                         "the sandbox's network is open: there is no list to change; `network off` closes it first, "
                         "where the provider can hold that, or make another sandbox with --allow");
    if (gather(list, change->allow, error) < 0 || !list->items)
        return -1;
    for (const char *const *denied = change->deny; denied && *denied; denied++)
        if (take_away(list, *denied, error) < 0)
            return -1;
    list->items[list->count] = NULL;
    return 0;
}

int network_change_make(const struct config *config, struct json_object *state,
                        const struct sandlot_network_change *change, struct network_policy *policy,
                        struct json_object **changed, struct sandlot_error *error)
{
    struct list list = {.config = config, .state = state};
    enum sandlot_network_mode mode = change->mode ? network_mode_of(change->mode) : SANDLOT_NETWORK_ALLOW;
    bool is_list = mode == SANDLOT_NETWORK_ALLOW;

    *changed = NULL;
    if (!mode)
        return error_set(error, SANDLOT_CODE_USAGE, "a network is off, allow or open, not \"%s\"", change->mode);
    int result = is_list ? change_list(&list, change, error) : 0;

    if (result == 0)
        result = network_policy_of(config, mode, list.items, policy, error);
    free(list.items);
    if (result < 0)
        return -1;
    if (is_list && policy->entry_count == 0 && length_of(array_of(state, "credentials")) == 0)
        policy->mode = SANDLOT_NETWORK_OFF;
    policy->source = strdup("sandlot network");
    *changed = policy->source ? network_policy_json(policy) : NULL;
    if (!*changed)
        return error_no_memory(error);
    if (array_of(state, "credentials"))
        json_object_object_add(*changed, "credentials", json_object_get(array_of(state, "credentials")));
    return 0;
}
