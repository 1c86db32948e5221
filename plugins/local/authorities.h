/* The certificate authorities that this machine trusts. */
#ifndef SANDLOT_LOCAL_AUTHORITIES_H
#define SANDLOT_LOCAL_AUTHORITIES_H

/* Where a box finds them, with its own. */
#define AUTHORITIES_OF_BOX "/etc/ssl/certs/ca-certificates.crt"

/* And its programs in Java, on a machine that has that (Debian). */
#define AUTHORITIES_OF_JAVA "/etc/ssl/certs/java/cacerts"

/* Opens the file of all of them, PEM; -1: there is none. */
int authorities_open(void);

#endif
