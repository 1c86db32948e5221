/* What programs in Java trust: a file of their own form (JKS), since they read no PEM. */
#ifndef SANDLOT_INTERCEPT_TRUSTSTORE_H
#define SANDLOT_INTERCEPT_TRUSTSTORE_H

/*
 * A memory file with the certificate OURS (PEM) and those of AUTHORITIES_FD, which is left at its beginning. It has the
 * password that all such files have, "changeit". -1: it cannot be made.
 */
int truststore_make(const char *ours, int authorities_fd);

#endif
