/*
 * What may leave a box by its tap device: a filter of classic BPF that the device itself applies. Routes alone would
 * not do: a program that binds a socket to the device passes them over.
 */
#ifndef SANDLOT_LOCAL_TAP_FILTER_H
#define SANDLOT_LOCAL_TAP_FILTER_H

#include "../egress/address.h"

enum { TAP_FILTER_NETWORKS = 1024 };

/* The networks that are closed. Starts zeroed. */
struct tap_filter {
    struct tap_filter_network {
        address network;
        unsigned bits; /* of the mapped form */
    } networks[TAP_FILTER_NETWORKS];
    size_t count;
};

/* Adds a network, to which tap_filter_attach is to be called again. False: there are too many. */
bool tap_filter_close(struct tap_filter *filter, const address *network, unsigned bits);

/* Has the device behind TAP_FD let through what goes to other networks alone, and of other protocols than IP those that
 * find neighbours. 0, or -1 with errno; E2BIG: the kernel takes no filter that long. */
int tap_filter_attach(const struct tap_filter *filter, int tap_fd);

#endif
