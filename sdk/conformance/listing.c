#include "listing.h"

#include "cleanup.h"

#include <string.h>

/* A listing of thousands of sandboxes takes no longer; one that gives page after page has to end somewhere. */
enum { MOST_PAGES = 1000, LONGEST_LISTING_MS = 10000 };

struct pages {
    void (*each)(void *context, const struct sandlot_listed *sandbox);
    void *context;
    char *next; /* the cursor of the next page; NULL: this was the last */
    int64_t end_ms;
};

static enum sandlot_status on_sandbox(const struct sandlot_listing *listing, const struct sandlot_listed *sandbox)
{
    struct pages *pages = listing->context;

    if (!sandbox->id || !*sandbox->id)
        return SANDLOT_INTERNAL;
    if (sandlot_now_ms() > pages->end_ms)
        return SANDLOT_TIMEOUT;
    pages->each(pages->context, sandbox);
    return SANDLOT_OK;
}

static void on_next(const struct sandlot_listing *listing, const char *cursor)
{
    struct pages *pages = listing->context;

    free(pages->next);
    pages->next = cursor ? strdup(cursor) : NULL;
}

static enum sandlot_status complain(struct direct *direct, enum sandlot_status status, const char *why)
{
    snprintf(direct->message, sizeof(direct->message), "%s", why);
    return status;
}

enum sandlot_status listing_read(struct direct *direct,
                                 void (*each)(void *context, const struct sandlot_listed *sandbox), void *context)
{
    struct pages pages = {.each = each, .context = context, .end_ms = sandlot_now_ms() + LONGEST_LISTING_MS};
    const struct sandlot_listing listing = {
        .size = sizeof(listing), .context = &pages, .add = on_sandbox, .next = on_next};
    enum sandlot_status status = SANDLOT_OK;
    char *cursor = NULL;

    for (int page = 0; status == SANDLOT_OK && (page == 0 || cursor); page++) {
        pages.next = NULL;
        direct->limit_ms = pages.end_ms - sandlot_now_ms();
        if (direct->limit_ms <= 0) {
            status = complain(direct, SANDLOT_TIMEOUT, "the listing takes longer than ten seconds");
            break;
        }
        status = direct_list(direct, cursor, &listing);
        if (status == SANDLOT_OK && cursor && pages.next && strcmp(cursor, pages.next) == 0)
            status = complain(direct, SANDLOT_INTERNAL, "the listing gives the same cursor again and again");
        else if (status == SANDLOT_OK && pages.next && page == MOST_PAGES)
            status = complain(direct, SANDLOT_INTERNAL, "the listing has no end: there is a page after the 1000th");
        free(cursor);
        cursor = pages.next;
    }
    free(cursor);
    direct->limit_ms = 0;
    return status;
}

const char *listed_label(const struct sandlot_listed *sandbox)
{
    return SANDLOT_HAS(sandbox, run_label) && sandbox->run_label ? sandbox->run_label : "";
}

static bool is_known(const struct sandboxes *sandboxes, const char *id)
{
    for (size_t i = 0; i < sandboxes->count; i++)
        if (strcmp(sandboxes->ids[i], id) == 0)
            return true;
    return false;
}

static void keep_ours(void *context, const struct sandlot_listed *sandbox)
{
    struct found *found = context;

    if (strncmp(listed_label(sandbox), found->kit->label, strlen(found->kit->label)) != 0 &&
        !is_known(&found->kit->sandboxes, sandbox->id))
        return;
    char **grown = realloc(found->ids, (found->count + 1) * sizeof(*grown));

    if (grown)
        found->ids = grown;
    if (grown && (grown[found->count] = strdup(sandbox->id)))
        found->count++;
    else
        found->incomplete = true;
}

enum sandlot_status listing_find_ours(struct direct *direct, struct found *found)
{
    *found = (struct found){.kit = direct->kit};
    enum sandlot_status status = listing_read(direct, keep_ours, found);

    return found->incomplete ? complain(direct, SANDLOT_INTERNAL, "memory ran out") : status;
}

void found_clear(struct found *found)
{
    for (size_t i = 0; i < found->count; i++)
        free(found->ids[i]);
    free(found->ids);
    *found = (struct found){0};
}
