/*
 * How the secrets of a box travel from the provider to the box's proxy: in a memory file of which the keeper hands on
 * the descriptor and never reads a byte. It holds texts, each ended by a NUL: for each credential "credential", host,
 * header, "plain" or "", placeholder or "", and the value; at last "authorities" and the PEM text of those that are
 * trusted towards the outside in addition.
 */
#ifndef SANDLOT_LOCAL_CREDENTIALS_H
#define SANDLOT_LOCAL_CREDENTIALS_H

#define CREDENTIALS_ONE "credential"
#define CREDENTIALS_AUTHORITIES "authorities"
#define CREDENTIALS_PLAIN "plain"

#endif
