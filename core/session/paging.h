/* A list of a provider's over all its pages, whatever stands in it. */
#ifndef SANDLOT_SESSION_PAGING_H
#define SANDLOT_SESSION_PAGING_H

#include "loader/loader.h"

#include <sandlot/sandlot.h>
#include <stdbool.h>
#include <stdint.h>

/* The first member of what a listing hands to its callbacks as their context. */
struct paging {
    const char *what; /* is listed: "volumes" */
    /* Asks PROVIDER for the page of CURSOR. */
    enum sandlot_status (*page)(struct paging *paging, struct sandlot_call *call, struct provider *provider,
                                const char *cursor);
    char *cursor;   /* of the next page; NULL: none */
    bool stopped;   /* whoever asked has had enough */
    bool no_memory; /* there is a next page, but its cursor could not be kept */
};

/* What the provider says of the next page; CURSOR NULL: there is none. */
void paging_next(struct paging *paging, const char *cursor);

/* 0 also when stopped; -1 with the error. */
int paging_run(struct paging *paging, struct provider *provider, int64_t deadline_ms, int cancel_fd,
               struct sandlot_error *error);

#endif
