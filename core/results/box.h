/* The sandbox's side: what lies in its working directory, and its bytes. All that comes from there is hostile. */
#ifndef SANDLOT_RESULTS_BOX_H
#define SANDLOT_RESULTS_BOX_H

#include "base/stage.h"
#include "operations/files.h"
#include "results/base.h"

struct box {
    struct sandlot_session *session;
    struct sandlot_cancellation *cancellation;
    bool native;        /* its files are reached without commands */
    struct stage stage; /* for bytes that have been fetched */
};

/* 0 or -1. To be cleared in any case; that removes what was fetched. */
int box_begin(struct sandlot_session *session, struct sandlot_cancellation *cancellation, struct box *box,
              struct sandlot_error *error);
void box_end(struct box *box);

/* What stands at the candidates of BASE and below them, sorted. Digests, where there are any, are what the sandbox
 * says. */
int box_list(const struct box *box, const struct base *base, struct nodes *nodes, struct sandlot_error *error);

/* One file that is wanted here. */
struct box_file {
    const char *path;
    size_t index; /* its name in the stage: any number, each once */
    bool here;    /* filled in: it has been fetched */
    unsigned char digest[NODE_DIGEST];
    uint64_t bytes;
    bool binary;
    char *problem; /* filled in: why it could not be; to be freed */
};

/* Copies the bytes of FILES into the stage, and says what they are. 0, also where single ones have problems; or -1. */
int box_fetch(struct box *box, struct box_file *files, size_t count, struct sandlot_error *error);

/* Says what FILES are without keeping their bytes; only of a native box. 0 (also with problems), or -1. */
int box_measure(const struct box *box, struct box_file *files, size_t count, struct sandlot_error *error);

/* Opens what was fetched under INDEX. -1 with errno. */
int box_open_fetched(const struct box *box, size_t index);

#endif
