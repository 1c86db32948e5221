/*
 * The decisions of a box's network policy, as they stand in boxes/ID/network.log: a ring of records, number N at place
 * (N - 1) % NETWORK_RECORDS, each written at once. Of one that is being written the reader sees the old or the new
 * number; the file never grows beyond the ring.
 */
#ifndef SANDLOT_LOCAL_NETWORK_RECORD_H
#define SANDLOT_LOCAL_NETWORK_RECORD_H

#include <stdint.h>

enum { NETWORK_RECORDS = 1024 };

struct network_record {
    uint64_t number; /* from 1 on; 0: none */
    int64_t at_ms;   /* UTC: when it was decided */
    int64_t duration_ms;
    uint64_t bytes_in; /* to the box */
    uint64_t bytes_out;
    uint16_t port;
    uint8_t allowed;
    uint8_t unused[5];
    char host[256];   /* as parsed, "" if the request named none */
    char rule[272];   /* the entry that allowed it, "": none */
    char reason[160]; /* why it was denied or failed, "": nothing to tell */
};

#endif
