/* The network namespace of the next box, made ahead: it takes the kernel longer than all other kinds together. */
#ifndef SANDLOT_LOCAL_NETWORK_H
#define SANDLOT_LOCAL_NETWORK_H

/*
 * Where the keeper is root a network namespace of its own user namespace does as well as one of the box's: in neither
 * has a box any right. For other users a box makes its own. The functions are for the thread that makes boxes.
 */
struct network {
    int home_fd; /* the keeper's own network; -1: nothing is made ahead */
};

/* Starts the thread that makes them. Where that fails boxes make their own. */
void network_start(struct network *network);

/* A network namespace that nothing is in and that nothing has been in, its loopback interface up. -1: there is none. */
int network_take(void);

/* Has one made for the next box. */
void network_want(const struct network *network);

#endif
