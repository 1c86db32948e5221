#include "session/paging.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "loader/host.h"
#include "session/readiness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PAGES = 10000 };

void paging_next(struct paging *paging, const char *cursor)
{
    free(paging->cursor);
    paging->cursor = cursor ? strdup(cursor) : NULL;
    paging->no_memory = cursor && !paging->cursor;
}

static int one_page(struct paging *paging, struct provider *provider, int64_t deadline_ms, int cancel_fd,
                    struct sandlot_error *error)
{
    AUTO_FREE char *cursor = TAKE(paging->cursor);
    struct host_call call;
    char what[32];

    host_call_init(&call, provider->entry->name, provider->environment, deadline_ms, cancel_fd);
    snprintf(what, sizeof(what), "cannot list %s", paging->what);
    enum sandlot_status status = paging->page(paging, &call.call, provider, cursor);
    int failed = paging->stopped ? 0 : host_call_error(&call, status, what, true, error);

    host_call_clear(&call);
    return !failed && paging->no_memory ? error_no_memory(error) : failed;
}

int paging_run(struct paging *paging, struct provider *provider, int64_t deadline_ms, int cancel_fd,
               struct sandlot_error *error)
{
    int result = 0;
    int page = 0;

    if (readiness_check_credentials(provider, error) < 0)
        return -1;
    do
        result = one_page(paging, provider, deadline_ms, cancel_fd, error);
    while (result == 0 && !paging->stopped && paging->cursor && ++page < MOST_PAGES);
    free(TAKE(paging->cursor));
    if (page == MOST_PAGES)
        return error_set(error, SANDLOT_CODE_PROVIDER_ERROR,
                         "%s: the list of %s has no end (%d pages); report this to the provider's author",
                         provider->entry->name, paging->what, MOST_PAGES);
    return result;
}
