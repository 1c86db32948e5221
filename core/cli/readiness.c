#include "cli/readiness.h"

#include "base/cleanup.h"
#include "base/text.h"

#include <string.h>

char *readiness_problem(const struct registry_entry *entry, const struct environment *environment)
{
    if (entry->problem)
        return strdup(entry->problem);
    AUTO_FREE char *dependency = registry_missing_dependency(entry);

    if (dependency && entry->install_hint && !strstr(dependency, entry->install_hint))
        return text_format("%s; install the package %s", dependency, entry->install_hint);
    if (dependency)
        return TAKE(dependency);
    AUTO_FREE char *credentials = registry_missing_credentials(entry, environment);

    return credentials ? text_format("credentials are missing: set %s", credentials) : NULL;
}
