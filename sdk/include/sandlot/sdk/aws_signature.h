/*
 * sandlot/sdk/aws_signature.h - signs a request by Amazon's Signature Version 4.
 *
 *   struct aws_request request = {.method = "PUT", .url = url, .region = "us-west-2", .service = "acme",
 *                                 .headers = (const char *const[]){"Content-Type: application/json", NULL},
 *                                 .body = body, .length = length, .time_s = time(NULL)};
 *   char *lines[AWS_SIGNATURE_LINES];
 *   if (!aws_sign(&request, &credentials, lines))
 *       ... out of memory
 *   request.headers = (const char *const *)lines;   send all of them, and the signed ones
 *   ...
 *   aws_signature_free(lines);
 *
 * libcurl can sign too, but the version of Debian 12 is wrong for escaped paths, sorted queries and headers that it
 * removes.
 */
#ifndef SANDLOT_SDK_AWS_SIGNATURE_H
#define SANDLOT_SDK_AWS_SIGNATURE_H

#include <sandlot/sdk/aws_credentials.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AWS_SIGNATURE_LINES 4

struct aws_request {
    const char *method;
    const char *url; /* as it will be sent, escaped as http_target does */
    const char *region;
    const char *service;
    const char *const *headers; /* to be signed, as they will be sent; each name once; ended by NULL; or NULL */
    const void *body;           /* NULL: none */
    size_t length;
    int64_t time_s; /* since 1970 */
};

/* The headers Authorization, X-Amz-Date and, if the credentials have a token, X-Amz-Security-Token, ended by NULL.
 * False when out of memory, or if the URL is none. */
bool aws_sign(const struct aws_request *request, const struct aws_credentials *credentials,
              char *lines[AWS_SIGNATURE_LINES]);

void aws_signature_free(char *lines[AWS_SIGNATURE_LINES]);

#ifdef __cplusplus
}
#endif

#endif
