#include "tap_filter.h"

#include "../network_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>
#include <netinet/icmp6.h>
#include <string.h>
#include <sys/ioctl.h>

/* Where things stand in a frame. */
enum {
    KIND_AT = 12,
    TO_4_AT = 14 + 16,
    PROTOCOL_6_AT = 14 + 6,
    TO_6_AT = 14 + 24,
    TYPE_6_AT = 14 + 40,
    WORD_BITS = 32,
    MAPPED_BITS = 96
};
static const uint32_t ALL = 0xffffffff; /* of a frame: it goes through */

struct program {
    struct sock_filter code[BPF_MAXINSNS];
    size_t length;
};

/* One that is too long goes on counting. */
static void add(struct program *program, uint16_t code, unsigned char if_true, unsigned char if_false, uint32_t value)
{
    if (program->length < BPF_MAXINSNS)
        program->code[program->length] = (struct sock_filter){code, if_true, if_false, value};
    program->length++;
}

bool tap_filter_close(struct tap_filter *filter, const address *network, unsigned bits)
{
    for (size_t i = 0; i < filter->count; i++)
        if (filter->networks[i].bits == bits && address_equals(&filter->networks[i].network, network))
            return true;
    if (filter->count == TAP_FILTER_NETWORKS)
        return false;
    filter->networks[filter->count++] = (struct tap_filter_network){*network, bits};
    return true;
}

static bool is_version_4(const struct tap_filter_network *one)
{
    return one->bits >= MAPPED_BITS && address_is_version_4(&one->network);
}

/* Drops what goes to ONE. Its words, from FIRST on, stand in the frame from AT on. */
static void drop(struct program *program, const struct tap_filter_network *one, unsigned first, uint32_t at)
{
    const unsigned words = (one->bits - first * WORD_BITS + WORD_BITS - 1) / WORD_BITS;

    for (unsigned i = 0; i < words; i++) {
        const unsigned bits = one->bits - (first + i) * WORD_BITS;
        const uint32_t mask = bits >= WORD_BITS ? ALL : ~(ALL >> bits);
        const unsigned char rest = (unsigned char)(3 * (words - i - 1) + 1);
        uint32_t word;

        memcpy(&word, one->network.s6_addr + (size_t)(first + i) * sizeof(word), sizeof(word));
        add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, at + i * (uint32_t)sizeof(word));
        add(program, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
        add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, rest, ntohl(word) & mask);
    }
    add(program, BPF_RET | BPF_K, 0, 0, 0);
}

static void judge_version_4(struct program *program, const struct tap_filter *filter)
{
    add(program, BPF_LD | BPF_H | BPF_ABS, 0, 0, KIND_AT);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ETH_P_ARP);
    add(program, BPF_RET | BPF_K, 0, 0, ALL);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ETH_P_IP);
    const size_t over = program->length;

    add(program, BPF_JMP | BPF_JA, 0, 0, 0); /* to the other version, which is behind this one */
    add(program, BPF_LD | BPF_W | BPF_ABS, 0, 0, TO_4_AT);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, ntohl(inet_addr(LINK_RESOLVER)));
    add(program, BPF_RET | BPF_K, 0, 0, ALL);
    for (size_t i = 0; i < filter->count; i++)
        if (is_version_4(&filter->networks[i]))
            drop(program, &filter->networks[i], MAPPED_BITS / WORD_BITS, TO_4_AT);
    add(program, BPF_RET | BPF_K, 0, 0, ALL);
    if (over < BPF_MAXINSNS)
        program->code[over].k = (uint32_t)(program->length - over - 1);
}

static void judge_version_6(struct program *program, const struct tap_filter *filter)
{
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ETH_P_IPV6);
    add(program, BPF_RET | BPF_K, 0, 0, 0);
    /* Neighbours are found by multicast, and none of them goes further than pasta. */
    add(program, BPF_LD | BPF_B | BPF_ABS, 0, 0, PROTOCOL_6_AT);
    add(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 4, IPPROTO_ICMPV6);
    add(program, BPF_LD | BPF_B | BPF_ABS, 0, 0, TYPE_6_AT);
    add(program, BPF_JMP | BPF_JGE | BPF_K, 0, 2, ND_NEIGHBOR_SOLICIT);
    add(program, BPF_JMP | BPF_JGT | BPF_K, 1, 0, ND_NEIGHBOR_ADVERT);
    add(program, BPF_RET | BPF_K, 0, 0, ALL);
    for (size_t i = 0; i < filter->count; i++)
        if (!is_version_4(&filter->networks[i]))
            drop(program, &filter->networks[i], 0, TO_6_AT);
    add(program, BPF_RET | BPF_K, 0, 0, ALL);
}

int tap_filter_attach(const struct tap_filter *filter, int tap_fd)
{
    struct program program;

    program.length = 0;
    judge_version_4(&program, filter);
    judge_version_6(&program, filter);
    if (program.length > BPF_MAXINSNS) {
        errno = E2BIG;
        return -1;
    }
    const struct sock_fprog whole = {(unsigned short)program.length, program.code};

    return ioctl(tap_fd, TUNATTACHFILTER, &whole);
}
