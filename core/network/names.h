/* What is to be known of names of hosts beyond their characters. The libraries for it are loaded by the first question.
 */
#ifndef SANDLOT_NETWORK_NAMES_H
#define SANDLOT_NETWORK_NAMES_H

enum names_answer { NAMES_NO, NAMES_YES, NAMES_CANNOT_TELL /* the library is not installed */ };

/* *ASCII: NAME, UTF-8, as it is asked for in the DNS (IDNA 2008, non-transitional), to be freed. NAMES_NO: it cannot be
 * a name. */
enum names_answer names_to_ascii(const char *name, char **ascii);

/* Do strangers have names of their own directly below NAME, as below "com" and "co.uk"? By the list of ICANN's
 * suffixes; names of companies on it (githubusercontent.com) and what is not on it (corp) are none. */
enum names_answer names_is_public_suffix(const char *name);

#endif
