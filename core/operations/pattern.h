/*
 * Glob patterns. Case-sensitive. A pattern without "/" matches the base name at any depth, also inside dot directories;
 * one with "/" matches the path relative to the search directory. "*", "?", "[abc]", "[!a]", "[^a]" within one
 * component, "**" for any number of components, "{a,b}" nested; no escape character. A name that begins with "." is
 * matched only by a component that begins with a literal ".".
 */
#ifndef SANDLOT_OPERATIONS_PATTERN_H
#define SANDLOT_OPERATIONS_PATTERN_H

#include <sandlot/sandlot.h>
#include <stdbool.h>

struct pattern;

enum { PATTERN_ALTERNATIVES = 1000 };

/* NULL with invalid_pattern (a ".." component, an empty pattern) or pattern_too_broad. */
struct pattern *pattern_compile(const char *text, struct sandlot_error *error);
void pattern_free(struct pattern *pattern);

/* Does RELATIVE, a path below the search directory without leading slash, match? Safe on many threads at once, takes
 * time in proportion to the lengths. */
bool pattern_matches(const struct pattern *pattern, const char *relative);

/* Could anything below the directory RELATIVE ("" is the search directory itself) match? False: need not be entered. */
bool pattern_may_enter(const struct pattern *pattern, const char *relative);

/* The deepest directory, relative and without wildcards, in which all that matches lies: "" if it may lie anywhere.
 * To be freed; NULL without memory. */
char *pattern_directory(const struct pattern *pattern);

/* How many components what matches has at most; 0: any number. */
size_t pattern_depth(const struct pattern *pattern);

#endif
