/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "status.h"

const char *knob_owner_name(enum knob_owner o)
{
    static const char *const names[OWNER_MAX] = {
        [OWNER_KERNEL] = "kernel-default",
        [OWNER_ADMINISTRATOR] = "administrator",
        [OWNER_PCPTUNED] = "pcptuned",
        [OWNER_FOREIGN] = "foreign",
    };
    return (unsigned)o < OWNER_MAX ? names[o] : "unknown";
}

const char *pressure_name(unsigned resource)
{
    static const char *const names[PRESSURE_MAX] = {
        [PRESSURE_MEMORY] = "memory", [PRESSURE_CPU] = "cpu"};
    return resource < PRESSURE_MAX ? names[resource] : "unknown";
}

static const struct {
    const char *name, *help;
} counters[COUNT_MAX] = {
    [COUNT_STORMS] = {"storms", "Exit storms that were judged"},
    [COUNT_STORMS_TUNED] = {"storms_tuned", "Storms during which a knob was changed"},
    [COUNT_STORMS_WOULD_TUNE] = {"storms_would_tune", "Storms that a dry run would have tuned"},
    [COUNT_STORMS_LEFT_ALONE] = {"storms_left_alone", "Storms that nothing was done about"},
    [COUNT_TASKS] = {"tasks", "Large exits seen"},
    [COUNT_MESSAGES] = {"messages", "Messages of taskstats received"},
    [COUNT_OVERRUNS] = {"overruns", "Times that messages of taskstats were lost"},
    [COUNT_PAGES_ANNOUNCED] = {"pages_announced", "Pages that storms announced"},
    [COUNT_PAGES_FREED] = {"pages_freed", "Pages that were freed during storms"},
    [COUNT_KNOB_WRITES] = {"knob_writes", "Changes and restores of a sysctl"},
    [COUNT_KNOB_REFUSALS] = {"knob_refusals", "Changes and restores that failed"},
    [COUNT_KNOB_HANGS] = {"knob_hangs", "Accesses to a sysctl that exceeded KnobTimeout="},
    [COUNT_FOREIGN_WRITES] = {"foreign_writes", "Values of somebody else found in a sysctl"},
    [COUNT_YIELDS] = {"yields", "Times that a sysctl was left to somebody else"},
    [COUNT_WAKEUPS] = {"wakeups", "Iterations of the event loop"},
    [COUNT_ZONEINFO_READS] = {"zoneinfo_reads", "Readings of /proc/zoneinfo"},
    [COUNT_EVENTS] = {"events", "Events told"},
    [COUNT_EVENTS_DROPPED] = {"events_dropped", "Events lost because their reader was too slow"},
    [COUNT_RELOADS] = {"reloads", "Configurations loaded anew"},
    [COUNT_RELOADS_REJECTED] = {"reloads_rejected", "Configurations refused for their errors"},
    [COUNT_CLIENTS] = {"clients", "Connections to the private socket"},
    [COUNT_CLIENTS_REFUSED] = {"clients_refused",
                               "Connections refused because there were too many"},
    [COUNT_CLIENTS_DROPPED] = {"clients_dropped",
                               "Connections closed because the client did not read, did not "
                               "authenticate or sent rubbish"},
    [COUNT_CALLS_DENIED] = {"calls_denied", "Calls of a method that only root may call"},
};

const char *status_counter_name(enum status_counter c)
{
    return (unsigned)c < COUNT_MAX ? counters[c].name : "unknown";
}

const char *status_counter_help(enum status_counter c)
{
    return (unsigned)c < COUNT_MAX ? counters[c].help : "unknown";
}

void status_init(struct status *s)
{
    *s = (struct status){.version = PCPTUNED_VERSION, .state = "calm"};
    for (unsigned k = 0; k < KNOB_MAX; k++)
        s->knobs[k] = (struct status_knob){.value = -1, .original = -1, .wanted = -1};
}
