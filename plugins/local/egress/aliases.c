#include "aliases.h"

#include "../network_link.h"

#include <stdlib.h>
#include <string.h>

/* Of the range all addresses but the first and the last. */
enum { RANGE = (1 << (32 - GATE_NAMES_BITS)) - 2 };

static address first_address(void)
{
    address first = {0};

    address_parse(GATE_NAMES, &first);
    return first;
}

/* The address that was given as number NUMBER. */
static address address_of(uint64_t number)
{
    uint32_t offset = 1 + (uint32_t)(number % RANGE);
    address value = first_address();

    for (int i = 15; i >= 12; i--, offset >>= 8)
        value.s6_addr[i] = (unsigned char)(value.s6_addr[i] + (offset & 0xff));
    return value;
}

static uint64_t oldest(const struct aliases *aliases)
{
    return aliases->given > ALIASES ? aliases->given - ALIASES : 0;
}

bool aliases_give(struct aliases *aliases, const struct host *host, address *value)
{
    if (!aliases->names)
        aliases->names = calloc(ALIASES, sizeof(*aliases->names));
    if (!aliases->names)
        return false;
    for (uint64_t number = oldest(aliases); number < aliases->given; number++)
        if (host_equals(&aliases->names[number % ALIASES], host)) {
            *value = address_of(number);
            return true;
        }
    aliases->names[aliases->given % ALIASES] = *host;
    *value = address_of(aliases->given++);
    return true;
}

const struct host *aliases_find(const struct aliases *aliases, const address *value)
{
    for (uint64_t number = oldest(aliases); number < aliases->given; number++) {
        const address given = address_of(number);

        if (address_equals(&given, value))
            return &aliases->names[number % ALIASES];
    }
    return NULL;
}
