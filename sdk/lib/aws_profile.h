/* For the other files of aws_credentials.h. */
#ifndef SANDLOT_SDK_AWS_PROFILE_H
#define SANDLOT_SDK_AWS_PROFILE_H

#include <sandlot/sdk/aws_credentials.h>

/*
 * The last value of KEY in the section "[KIND NAME]" ("[NAME]" for "") of a shared file's TEXT, to be freed; NULL:
 * there is none. PARENT: the key that it is indented below; NULL: none.
 */
char *aws_file_value(const char *text, const char *kind, const char *name, const char *parent, const char *key);

/* Reads keys that the machine hands out. SANDLOT_NOT_FOUND: nothing of the kind is here, and nobody was told. */
enum sandlot_status aws_metadata_find(struct sandlot_call *call, struct aws_credentials *credentials);

/* Copies what was found at PLACE; TOKEN may be NULL or "". SANDLOT_INVALID_ARGUMENT: it fits into no header. */
enum sandlot_status aws_credentials_take(struct sandlot_call *call, const char *place, const char *key_id,
                                         const char *secret, const char *token, struct aws_credentials *credentials);

/* Takes over the keys in the document TEXT, whose members are called KeyId, Secret, TOKEN and Expiration. WHO says so,
 * in a message. */
enum sandlot_status aws_credentials_read(struct sandlot_call *call, const char *who, const char *text, size_t length,
                                         const char *token, struct aws_credentials *credentials);

#endif
