#include "listing.h"

#include <sandlot/sdk/attempt.h>
#include <sandlot/sdk/cleanup.h>

#include <string.h>

/* Those that have ended stay in the list. */
static const struct rest_entry entry = {.what = "Deno's list of sandboxes",
                                        .items = "",
                                        .id = "id",
                                        .created_at = "createdAt",
                                        .run_label = "labels.\"" LABEL_RUN "\"",
                                        .state = "status",
                                        .left_out = "stopped"};

enum sandlot_status listing_list(struct sandlot_call *call, void *provider, const char *cursor,
                                 const struct sandlot_listing *listing)
{
    return api_list(call, provider, http_target("/api/v2/sandboxes"), cursor, listing, &entry);
}

/* Who looks for one of them. */
struct search {
    struct sandlot_listing listing;
    const char *run_label; /* either this */
    const char *id;        /* or this is known */
    char found[ID_SIZE];
    char *next;
};

static enum sandlot_status look_at(const struct sandlot_listing *listing, const struct sandlot_listed *listed)
{
    struct search *search = listing->context;

    if (search->id ? strcmp(listed->id, search->id) == 0
                   : listed->run_label && strcmp(listed->run_label, search->run_label) == 0)
        snprintf(search->found, sizeof(search->found), "%s", listed->id);
    return SANDLOT_OK;
}

static void note_next(const struct sandlot_listing *listing, const char *cursor)
{
    struct search *search = listing->context;

    search->next = strdup(cursor);
}

static enum sandlot_status look_for(struct sandlot_call *call, struct deno *deno, struct search *search)
{
    AUTO_FREE char *cursor = NULL;
    enum sandlot_status status;

    search->listing =
        (struct sandlot_listing){.size = sizeof(search->listing), .context = search, .add = look_at, .next = note_next};
    do {
        char *target = search->run_label
                           ? http_target("/api/v2/sandboxes?labels%5B" LABEL_RUN "%5D={}", search->run_label)
                           : http_target("/api/v2/sandboxes");

        search->next = NULL;
        status = api_list(call, deno, target, cursor, &search->listing, &entry);
        free(cursor);
        cursor = search->next;
    } while (status == SANDLOT_OK && cursor && !*search->found);
    return status;
}

enum sandlot_status listing_find(struct sandlot_call *call, struct deno *deno, const char *run_label, char id[ID_SIZE])
{
    struct search search = {.run_label = run_label};
    enum sandlot_status status = look_for(call, deno, &search);

    snprintf(id, ID_SIZE, "%s", api_is_id(search.found) ? search.found : "");
    return status;
}

void listing_look(struct sandlot_call *call, struct deno *deno, const char *id, bool *gone)
{
    struct search search = {.id = id};
    struct attempt attempt;

    attempt_begin(&attempt, call, ANSWER_MS);
    if (look_for(&attempt.call, deno, &search) == SANDLOT_OK)
        *gone = !*search.found;
}
