#include "network/entry.h"

#include "base/cleanup.h"
#include "base/text.h"
#include "network/names.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_ENTRY = 1024, LONGEST_NAME = 253, LONGEST_LABEL = 63 };

/* Sets *PROBLEM, and returns false. */
__attribute__((format(printf, 2, 3))) static bool refuse(char **problem, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    *problem = text_format_v(format, arguments);
    va_end(arguments);
    return false;
}

/* ---- characters -------------------------------------------------------------------------------------------------- */

static bool is_ascii(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text >= 0x80)
            return false;
    return true;
}

/* What could be no part of any entry, or part of something else. */
static bool check_characters(const char *written, char **problem)
{
    if (!*written)
        return refuse(problem, "is empty; write a host such as example.com");
    if (strlen(written) > LONGEST_ENTRY)
        return refuse(problem, "is too long for the name of a host");
    if (!text_utf8_valid(written, strlen(written)))
        return refuse(problem, "is not UTF-8");
    for (const char *c = written; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return refuse(problem, "holds a blank or a control character");
    if (strstr(written, "://"))
        return refuse(problem, "names a scheme; write the host alone, as in example.com");
    if (strchr(written, '@'))
        return refuse(problem,
                      "holds a user's name (\"@\"); write the host alone; a set of hosts begins with \"@\" and "
                      "stands alone");
    if (strchr(written, '%'))
        return refuse(problem, "holds a \"%%\"; zones of addresses and encoded characters are not taken");
    if (strchr(written, '\\') || strchr(written, '?') || strchr(written, '#'))
        return refuse(problem, "holds more than a host; write the host alone, as in example.com");
    return true;
}

/* ---- ports ------------------------------------------------------------------------------------------------------- */

static bool parse_port(const char *text, uint16_t *port, char **problem)
{
    size_t digits = strspn(text, "0123456789");
    long number = digits > 0 && digits <= 5 && !text[digits] && *text != '0' ? strtol(text, NULL, 10) : 0;

    if (number < 1 || number > UINT16_MAX)
        return refuse(problem, "has no port from 1 to 65535 behind its colon");
    *port = (uint16_t)number;
    return true;
}

/* ---- addresses --------------------------------------------------------------------------------------------------- */

/* An address in its binary form. */
struct address {
    int family;
    unsigned char bytes[16];
    int bits; /* 32 or 128 */
};

static bool parse_address(const char *text, struct address *address)
{
    *address = (struct address){.family = AF_INET, .bits = 32};
    if (inet_pton(AF_INET, text, address->bytes) == 1)
        return true;
    *address = (struct address){.family = AF_INET6, .bits = 128};
    return inet_pton(AF_INET6, text, address->bytes) == 1;
}

/* An IPv4 address in the clothes of IPv6, which would pass by what is said about either. */
static bool is_mapped(const struct address *address)
{
    return address->family == AF_INET6 && IN6_IS_ADDR_V4MAPPED((const struct in6_addr *)(const void *)address->bytes);
}

/* Clears the bits behind LENGTH. Were there any? */
static bool clear_host_bits(struct address *address, int length)
{
    bool cleared = false;

    for (int bit = length; bit < address->bits; bit++) {
        unsigned char mask = (unsigned char)(0x80 >> bit % 8);

        cleared = cleared || address->bytes[bit / 8] & mask;
        address->bytes[bit / 8] &= (unsigned char)~mask;
    }
    return cleared;
}

static bool store_network(const struct address *address, int length, struct network_entry *entry)
{
    char text[INET6_ADDRSTRLEN];

    inet_ntop(address->family, address->bytes, text, sizeof(text));
    entry->kind = SANDLOT_NETWORK_CIDR;
    entry->text = text_format("%s/%d", text, length);
    return entry->text;
}

/* LENGTH: the text behind the slash. */
static bool parse_network(const struct address *address, const char *length, struct network_entry *entry,
                          char **problem)
{
    struct address network = *address;
    size_t digits = strspn(length, "0123456789");
    int bits = digits > 0 && digits <= 3 && !length[digits] ? atoi(length) : -1;

    if (bits < 0 || bits > address->bits || (digits > 1 && *length == '0'))
        return refuse(problem, "has no length from 1 to %d behind its slash", address->bits);
    if (bits == 0)
        return refuse(problem, "is every address there is: that is the mode open");
    if (!clear_host_bits(&network, bits))
        return store_network(&network, bits, entry);
    struct network_entry meant = {0};

    if (store_network(&network, bits, &meant))
        refuse(problem, "is an address within a network; if the network is meant, write %s", meant.text);
    network_entry_clear(&meant);
    return false;
}

/* TEXT without brackets. LENGTH: the text behind a slash, or NULL. */
static bool parse_literal(const char *text, const char *length, struct network_entry *entry, char **problem)
{
    struct address address;

    if (!parse_address(text, &address))
        return refuse(problem, "is no address: IPv4 is written as four decimal numbers, IPv6 as in 2001:db8::1");
    if (is_mapped(&address))
        return refuse(problem, "is an IPv4 address inside an IPv6 one; write the IPv4 address");
    if (length)
        return parse_network(&address, length, entry, problem);
    return store_network(&address, address.bits, entry);
}

/* "[ADDRESS]" or "[ADDRESS]:PORT" */
static bool parse_brackets(const char *written, struct network_entry *entry, char **problem)
{
    const char *end = strchr(written, ']');
    AUTO_FREE char *inside = end ? strndup(written + 1, (size_t)(end - written - 1)) : NULL;

    if (!end || !inside || (end[1] && end[1] != ':') || !strchr(inside, ':'))
        return refuse(problem, "is no address in brackets, such as [2001:db8::1]:5432");
    if (end[1] && !parse_port(end + 2, &entry->port, problem))
        return false;
    return parse_literal(inside, NULL, entry, problem);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Is the last label one that programs read as a number, and the name by that as an address: "0x7f.1", "2130706433"? Of
 * what begins like a hexadecimal one the proxy of local takes nothing. */
static bool looks_numeric(const char *name)
{
    const char *dot = strrchr(name, '.');
    const char *last = dot ? dot + 1 : name;

    if (last[0] == '0' && (last[1] == 'x' || last[1] == 'X'))
        return true;
    return *last && !last[strspn(last, "0123456789")];
}

static bool check_label(const char *label, size_t length, char **problem)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789-_";

    if (length == 0)
        return refuse(problem, "has an empty part between dots");
    if (length > LONGEST_LABEL)
        return refuse(problem, "has a part of more than %d characters", LONGEST_LABEL);
    if (strspn(label, letters) < length)
        return refuse(problem, "holds a character that no name of a host has");
    if (label[0] == '-' || label[length - 1] == '-')
        return refuse(problem, "has a part that begins or ends with \"-\"");
    return true;
}

static bool check_labels(const char *name, char **problem)
{
    for (const char *label = name;; label++) {
        size_t length = strcspn(label, ".");

        if (!check_label(label, length, problem))
            return false;
        label += length;
        if (!*label)
            break;
    }
    return strlen(name) <= LONGEST_NAME || refuse(problem, "is longer than %d characters", LONGEST_NAME);
}

/* *NAME in the characters of the DNS. */
static bool make_ascii(char **name, char **problem)
{
    bool was_ascii = is_ascii(*name);

    for (char *c = *name; *c; c++)
        if (*c >= 'A' && *c <= 'Z')
            *c = (char)(*c - 'A' + 'a');
    if (was_ascii && !strstr(*name, "xn--"))
        return true;
    char *ascii = NULL;
    enum names_answer answer = names_to_ascii(*name, &ascii);

    if (answer == NAMES_CANNOT_TELL)
        return was_ascii || refuse(problem, "has letters that need the library libidn2: install the package libidn2-0, "
                                            "or write the name as xn--...");
    if (answer == NAMES_NO)
        return refuse(problem, "is not allowed as an international name (IDNA)");
    free(*name);
    *name = ascii;
    struct address address;

    return (!parse_address(ascii, &address) && !looks_numeric(ascii)) ||
           refuse(problem, "is a number in the clothes of a name; write the address in ASCII");
}

static bool check_wildcard(const char *name, char **problem)
{
    switch (names_is_public_suffix(name)) {
    case NAMES_NO:
        return true;
    case NAMES_YES:
        return refuse(problem, "is everything below %s, where strangers have their names; list the hosts that you mean",
                      name);
    case NAMES_CANNOT_TELL:
        break;
    }
    return refuse(problem, "needs the list of public suffixes: install the package libpsl5, or list single hosts");
}

/* HOST, to be changed, is what stands before a port. */
static bool parse_name(const char *host, struct network_entry *entry, char **problem)
{
    bool below = strncmp(host, "*.", 2) == 0;
    AUTO_FREE char *name = strdup(host + (below ? 2 : 0));

    if (!name)
        return false;
    if (strchr(name, '*'))
        return refuse(problem, "has a \"*\" that does not stand alone in front, as it does in *.example.com");
    if (!make_ascii(&name, problem))
        return false;
    size_t length = strlen(name);

    if (length > 1 && name[length - 1] == '.')
        name[length - 1] = '\0';
    if (looks_numeric(name))
        return refuse(problem, "is a number that only looks like a host; write the address as four decimal numbers");
    if (!check_labels(name, problem) || (below && !check_wildcard(name, problem)))
        return false;
    entry->kind = below ? SANDLOT_NETWORK_BELOW : SANDLOT_NETWORK_HOST;
    entry->text = TAKE(name);
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

/* With a slash: a network, or a mistake. */
static bool parse_with_slash(const char *written, const char *slash, struct network_entry *entry, char **problem)
{
    AUTO_FREE char *before = strndup(written, (size_t)(slash - written));
    struct address address;

    if (!before)
        return false;
    if (!parse_address(before, &address))
        return refuse(problem, "holds a path; write the host alone, as in example.com");
    return parse_literal(before, slash + 1, entry, problem);
}

static bool parse_host_and_port(const char *written, struct network_entry *entry, char **problem)
{
    const char *colon = strchr(written, ':');
    AUTO_FREE char *host = colon ? strndup(written, (size_t)(colon - written)) : strdup(written);
    struct address address;

    if (!host)
        return false;
    if (colon && !parse_port(colon + 1, &entry->port, problem))
        return false;
    if (!*host)
        return refuse(problem, "has no host before its colon");
    return parse_address(host, &address) ? parse_literal(host, NULL, entry, problem) : parse_name(host, entry, problem);
}

static bool parse(const char *written, struct network_entry *entry, char **problem)
{
    const char *colon = strchr(written, ':');
    const char *slash = strchr(written, '/');

    if (strcmp(written, "*") == 0 || strncmp(written, "*:", 2) == 0)
        return refuse(problem, "is everything: that is the mode open");
    if (*written == '[')
        return parse_brackets(written, entry, problem);
    if (slash)
        return parse_with_slash(written, slash, entry, problem);
    if (colon && strchr(colon + 1, ':'))
        return parse_literal(written, NULL, entry, problem);
    return parse_host_and_port(written, entry, problem);
}

bool network_entry_parse(const char *written, struct network_entry *entry, char **problem)
{
    *entry = (struct network_entry){0};
    *problem = NULL;
    if (check_characters(written, problem) && parse(written, entry, problem))
        return true;
    network_entry_clear(entry);
    return false;
}

char *network_entry_text(enum sandlot_network_kind kind, const char *text, uint16_t port)
{
    const char *slash = kind == SANDLOT_NETWORK_CIDR ? strchr(text, '/') : NULL;
    bool is_wide = slash && strchr(text, ':');
    bool is_single = slash && strcmp(slash, is_wide ? "/128" : "/32") == 0;
    int length = is_single ? (int)(slash - text) : (int)strlen(text);
    const char *star = kind == SANDLOT_NETWORK_BELOW ? "*." : "";

    if (!port)
        return text_format("%s%.*s", star, length, text);
    return text_format(is_wide ? "%s[%.*s]:%u" : "%s%.*s:%u", star, length, text, (unsigned)port);
}

bool network_entry_equal(const struct network_entry *one, const struct network_entry *other)
{
    return one->kind == other->kind && one->port == other->port && strcmp(one->text, other->text) == 0;
}

void network_entry_clear(struct network_entry *entry)
{
    free(entry->text);
    *entry = (struct network_entry){0};
}
