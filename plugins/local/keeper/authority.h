/* The certificates that the programs of a box with credentials trust: its own authority's, and the machine's. */
#ifndef SANDLOT_LOCAL_KEEPER_AUTHORITY_H
#define SANDLOT_LOCAL_KEEPER_AUTHORITY_H

/* Makes the folder "authority" in the box's folder, with the file ca-certificates.crt that begins with CERTIFICATE,
 * PEM, and with what TRUSTSTORE_FD holds (-1: nothing) as cacerts. Opens it (O_PATH); -1 with errno. */
int authority_folder(int box_fd, const char *certificate, int truststore_fd);

#endif
