/* What a sandbox's working directory began as: a folder that its provider names, or one that was imported. */
#ifndef SANDLOT_RESULTS_BASE_H
#define SANDLOT_RESULTS_BASE_H

#include "results/manifest.h"
#include "session/session.h"

struct base {
    struct ledger_record *record; /* of the sandbox; NULL: it has none */
    struct manifest manifest;     /* of the import; or, with TOLD, of what was applied last */
    bool told;                    /* by the provider: the base is what the folder has now */
    char *folder;                 /* on this machine */
    int fd;                       /* of it; -1: it is not there (any more), errno REASON */
    int reason;
    int64_t since_ms;        /* with TOLD: what changed in the folder later is somebody else's work */
    struct nodes candidates; /* sorted; nothing else may differ. None of them: see ALL */
    bool all;                /* all may differ */
};

/* Finds the base of the session's sandbox, and what may differ from it. 0, or -1: not_supported, with what to do. To be
 * cleared in any case. */
int base_find(struct sandlot_session *session, int cancel_fd, struct base *base, struct sandlot_error *error);
void base_clear(struct base *base);

/* May PATH differ? */
bool base_covers(const struct base *base, const char *path);

/* Walks what may differ below FOLDER_FD: the sandbox's working directory, or the base's folder. */
int base_walk(const struct base *base, const struct node_walk *walk, int folder_fd, struct sandlot_error *error);

/* What stood at the candidates and below them, sorted: by the manifest, or what the folder has now. */
int base_list(const struct base *base, int cancel_fd, struct nodes *nodes, struct sandlot_error *error);

/* 0 if the folder is there, else -1 with file_not_found. */
int base_need_folder(const struct base *base, struct sandlot_error *error);

/* Remembers, beside the sandbox's record, what is in base->manifest. */
int base_remember(struct base *base, struct sandlot_error *error);

#endif
