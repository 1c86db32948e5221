/* Where a cluster is and who one is there: what a kubeconfig, or the pod that this runs in, says of it. */
#ifndef SANDLOT_KUBERNETES_CLUSTER_H
#define SANDLOT_KUBERNETES_CLUSTER_H

#include <json-c/json.h>
#include <sandlot/provider.h>
#include <sandlot/sdk/cleanup.h>

/* All texts are the struct's own; NULL: nothing was said. */
struct cluster {
    char *server;
    char *server_name; /* tls-server-name */
    char *proxy;       /* proxy-url */
    char *authorities; /* PEM */
    bool unverified;   /* insecure-skip-tls-verify */
    char *namespace_;  /* of the context */
    char *certificate; /* PEM, of the client */
    char *key;         /* PEM */
    char *token;
    char *token_file; /* wins over token; read anew from time to time */
    char *user_name;  /* with password: Basic */
    char *password;
    char *impersonate;                      /* as */
    struct json_object *impersonate_groups; /* as-groups: texts, or NULL */
    struct json_object *program;            /* exec, or NULL: a program that gives a token or a certificate */
    char *folder;                           /* of the file that names the user: where a relative program lies */
    char *source;                           /* which file that is, for messages */
};

/* Where to look. */
struct cluster_wish {
    const char *kubeconfig; /* the file, or files with ":" between; NULL: KUBECONFIG, then ~/.kube/config */
    const char *context;    /* NULL: the current one */
};

/*
 * Fills CLUSTER, which is to be cleared in any case, from the kubeconfig or, where there is none, from the service
 * account of the pod that this process runs in. Sends nothing, runs nothing. SANDLOT_AUTH: neither is there;
 * SANDLOT_INVALID_ARGUMENT: it makes no sense.
 */
enum sandlot_status cluster_find(struct sandlot_call *call, const struct cluster_wish *wish, struct cluster *cluster);

/* The whole of a file of at most LIMIT bytes, with a NUL behind, to be freed; NULL: errno tells why. */
char *cluster_read_file(const char *path, size_t limit);

void cluster_clear(struct cluster *cluster);
#define AUTO_CLUSTER CLEANUP(cluster_clear)

#endif
