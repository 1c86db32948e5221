#include "../network_record.h"
#include "egress.h"
#include "stand_in.h"

#include <stdio.h>
#include <unistd.h>

/* A log that cannot be written stops nobody: the number shows that one is missing. */
static void write_record(struct egress *egress, struct network_record *record)
{
    record->number = ++egress->decisions;
    if (!stand_in_logs())
        return;
    const off_t place = (off_t)((record->number - 1) % NETWORK_RECORDS * sizeof(*record));

    if (pwrite(egress->log_fd, record, sizeof(*record), place) < 0)
        return;
}

void log_decision(struct egress *egress, const struct connection *connection)
{
    const int64_t duration_ms = egress_now_ms() - connection->started_ms;
    struct network_record record = {
        .at_ms = connection->decided_at_ms ? connection->decided_at_ms : egress_time_ms(),
        .duration_ms = duration_ms,
        .bytes_in = connection->bytes_in,
        .bytes_out = connection->bytes_out,
        .port = connection->target.port,
        .allowed = connection->allowed,
    };

    snprintf(record.host, sizeof(record.host), "%s", connection->target.host.name);
    snprintf(record.rule, sizeof(record.rule), "%s", connection->rule);
    snprintf(record.reason, sizeof(record.reason), "%s", connection->reason);
    write_record(egress, &record);
}

void log_name(struct egress *egress, const struct host *host)
{
    struct network_record record = {.at_ms = egress_time_ms()};

    snprintf(record.host, sizeof(record.host), "%s", host->name);
    snprintf(record.reason, sizeof(record.reason), "%s", policy_not_listed);
    write_record(egress, &record);
}
