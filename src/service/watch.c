/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "watch.h"

#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>

#include "clock.h"
#include "hostfacts.h"
#include "psi.h"
#include "vmstat.h"

#define ZONEINFO_PATH "/proc/zoneinfo"

/* Memory stalls that make a look worth while: 10 % of half a second. */
#define PSI_STALL (50 * NSEC_PER_MSEC)
#define PSI_WINDOW (500 * NSEC_PER_MSEC)

struct watch {
    struct params params;
    watch_say say;
    void *say_arg;
    struct host_facts host;
    struct zone_table zones;
    struct zoneinfo *zoneinfo;
    struct vmstat *vmstat;
    struct exits *exits;
    int psi_fd;
    bool exits_missing_told, zoneinfo_bad_told;
    bool cpus_missed;  /* the exits of CPUs that came are not announced, and that was told */
    uint64_t overruns; /* as last told */
    char detail[SIGNAL_MAX][WATCH_DETAIL];
    struct psi psi[PSI_RESOURCES];
    struct snapshot s;
};

static _printf_(4, 5) void say(struct watch *w, enum event_kind kind, enum event_level level,
                               const char *fmt, ...)
{
    char text[384];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    w->say(w->say_arg, kind, level, text);
}

/* Of a signal that is missing, or there with a reservation. */
static _printf_(4, 5) void lacks(struct watch *w, enum signal_id id, enum event_level level,
                                 const char *fmt, ...)
{
    char text[384];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    snprintf(w->detail[id], sizeof(w->detail[id]), "%.*s", WATCH_DETAIL - 1, text);
    w->say(w->say_arg, EVENT_SIGNAL, level, text);
}

static void is_back(struct watch *w, enum signal_id id, const char *text)
{
    w->detail[id][0] = '\0';
    w->say(w->say_arg, EVENT_SIGNAL, LEVEL_NOTICE, text);
}

void watch_zoneinfo(struct watch *w, nsec_t now)
{
    struct parse_error where = {0};

    if (!w->zoneinfo)
        return;
    int r = zoneinfo_read(w->zoneinfo, &w->zones, &where);
    bool told = w->zoneinfo_bad_told;
    w->s.signals[SIGNAL_ZONEINFO] = r >= 0;
    w->zoneinfo_bad_told = r < 0;
    if (r >= 0)
        w->s.zones_at = now;
    w->s.zones_vm.valid = w->vmstat && vmstat_read(w->vmstat, &w->s.zones_vm) >= 0;
    if (r >= 0 && told)
        is_back(w, SIGNAL_ZONEINFO, ZONEINFO_PATH " can be read again");
    if (r >= 0 || told)
        return;
    if (r == -EBADMSG)
        lacks(w, SIGNAL_ZONEINFO, LEVEL_WARNING,
              ZONEINFO_PATH ":%u: %s; no knob value can be computed, storms are only reported",
              where.line, where.reason);
    else
        lacks(w, SIGNAL_ZONEINFO, LEVEL_WARNING,
              ZONEINFO_PATH " cannot be read: %s; no knob value can be computed", strerror(-r));
}

static void open_zoneinfo(struct watch *w)
{
    int r = zoneinfo_open(ZONEINFO_PATH, &w->zoneinfo);

    if (r < 0)
        lacks(w, SIGNAL_ZONEINFO, LEVEL_WARNING,
              ZONEINFO_PATH " cannot be opened: %s; no knob value can be computed, storms are only "
                            "reported",
              strerror(-r));
    else
        watch_zoneinfo(w, clock_monotonic());
}

static void open_vmstat(struct watch *w)
{
    if (!w->params.vmstat)
        return;
    int r = vmstat_open(&w->vmstat);
    if (r >= 0)
        r = vmstat_read(w->vmstat, &w->s.vm);
    w->s.signals[SIGNAL_VMSTAT] = r >= 0;
    if (r < 0)
        lacks(w, SIGNAL_VMSTAT, LEVEL_WARNING,
              "/proc/vmstat cannot be read: %s; false alarms go unnoticed until the last exit",
              strerror(-r));
}

static void open_psi(struct watch *w)
{
    struct psi psi;
    nsec_t window;

    if (!w->params.psi)
        return;
    int r = psi_read(PSI_MEMORY, &psi);
    w->s.signals[SIGNAL_PSI] = r >= 0;
    if (r < 0) {
        lacks(w, SIGNAL_PSI, LEVEL_INFO, "no pressure information: %s; everything else works",
              r == -ENOENT       ? "compiled out (CONFIG_PSI)"
              : r == -EOPNOTSUPP ? "switched off (boot with psi=1)"
                                 : strerror(-r));
        return;
    }
    w->psi_fd = psi_trigger(PSI_MEMORY, PSI_STALL, PSI_WINDOW, &window);
    if (w->psi_fd < 0)
        lacks(w, SIGNAL_PSI, LEVEL_INFO, "no trigger on memory pressure: %s; everything else works",
              strerror(-w->psi_fd));
}

static const char *exits_why(int error)
{
    switch (error) {
    case -EPERM:
        return "CAP_NET_ADMIN is missing, or this is a container";
    case -ENOENT:
        return "kernel without CONFIG_TASKSTATS";
    case -EBADMSG:
        return "this kernel's struct taskstats is not known";
    default:
        return strerror(-error);
    }
}

/* What is left where exits are not announced. */
static const char *instead_of_exits(const struct watch *w)
{
    return w->s.signals[SIGNAL_VMSTAT] ? "storms are seen in /proc/vmstat, up to 500 ms late"
           : w->params.vmstat          ? "no storm is seen, for /proc/vmstat cannot be read"
                                       : "no storm is seen, for Vmstat=no";
}

static void open_exits(struct watch *w)
{
    const struct exits_config c = {.task_size = w->params.task_size,
                                   .task_timeout = w->params.task_timeout,
                                   .page_size = w->host.page_size};
    if (!w->params.taskstats)
        return;
    int r = exits_open(&c, &w->host, &w->exits);
    w->s.signals[SIGNAL_TASKSTATS] = r >= 0;
    if (r < 0 && !w->exits_missing_told) {
        lacks(w, SIGNAL_TASKSTATS, LEVEL_WARNING, "exits are not announced: %s; %s", exits_why(r),
              instead_of_exits(w));
        w->exits_missing_told = true;
        return;
    }
    if (r < 0)
        return;
    if (w->exits_missing_told)
        is_back(w, SIGNAL_TASKSTATS, "exits are announced again");
    w->exits_missing_told = false;
    if (!exits_get_stats(w->exits).filtered)
        lacks(w, SIGNAL_TASKSTATS, LEVEL_NOTICE,
              "the layout of taskstats could not be verified; no filter in the kernel, every exit "
              "wakes us");
}

int watch_open(const struct params *p, watch_say say_fn, void *arg, struct watch **ret)
{
    struct watch *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->params = *p;
    w->say = say_fn;
    w->say_arg = arg;
    w->psi_fd = -1;
    w->s.host = &w->host;
    w->s.zones = &w->zones;
    open_vmstat(w); /* first: each reading of the lists is taken together with one of it */
    open_zoneinfo(w);
    hostfacts_read(w->s.signals[SIGNAL_ZONEINFO] ? &w->zones : NULL, &w->host);
    open_psi(w);
    open_exits(w);
    *ret = w;
    return 0;
}

void watch_close(struct watch *w)
{
    if (!w)
        return;
    exits_close(w->exits);
    vmstat_close(w->vmstat);
    zoneinfo_close(w->zoneinfo);
    zone_table_done(&w->zones);
    closep(&w->psi_fd);
    free(w);
}

static void close_exits(struct watch *w)
{
    w->detail[SIGNAL_TASKSTATS][0] = '\0';
    exits_close(TAKE_PTR(w->exits));
    w->s.signals[SIGNAL_TASKSTATS] = w->exits_missing_told = false;
}

static void close_vmstat(struct watch *w)
{
    w->detail[SIGNAL_VMSTAT][0] = '\0';
    vmstat_close(TAKE_PTR(w->vmstat));
    w->s.vm.valid = w->s.signals[SIGNAL_VMSTAT] = false;
}

static void close_psi(struct watch *w)
{
    w->detail[SIGNAL_PSI][0] = '\0';
    closep(&w->psi_fd);
    w->psi_fd = -1;
    w->s.signals[SIGNAL_PSI] = false;
}

void watch_configure(struct watch *w, const struct params *p)
{
    const struct params old = w->params;

    w->params = *p;
    if (p->vmstat != old.vmstat) {
        close_vmstat(w);
        open_vmstat(w);
    }
    if (p->taskstats != old.taskstats || p->task_size != old.task_size ||
        p->task_timeout != old.task_timeout || (!w->exits && p->vmstat != old.vmstat)) {
        close_exits(w);
        open_exits(w);
    }
    if (p->psi != old.psi) {
        close_psi(w);
        open_psi(w);
    }
}

const struct host_facts *watch_host(const struct watch *w)
{
    return &w->host;
}

int watch_exits_fd(const struct watch *w)
{
    return w->exits ? exits_fd(w->exits) : -1;
}

int watch_psi_fd(const struct watch *w)
{
    return w->psi_fd;
}

bool watch_exits(struct watch *w, nsec_t now)
{
    if (!w->exits)
        return false;
    int r = exits_process(w->exits, now);
    if (r >= 0)
        return r > 0;
    lacks(w, SIGNAL_TASKSTATS, LEVEL_WARNING, "exits are not announced any more: %s; %s",
          strerror(-r), instead_of_exits(w));
    w->exits_missing_told = true;
    w->s.signals[SIGNAL_TASKSTATS] = false;
    exits_close(TAKE_PTR(w->exits));
    return true;
}

nsec_t watch_deadline(const struct watch *w)
{
    return w->exits ? exits_deadline(w->exits) : NSEC_INFINITY;
}

void watch_seen(struct watch *w, const struct vm_counters *vm)
{
    if (w->s.signals[SIGNAL_VMSTAT] && vm->at > w->s.vm.at)
        w->s.vm = *vm;
}

void watch_look(struct watch *w)
{
    if (!w->vmstat)
        return;
    int r = vmstat_read(w->vmstat, &w->s.vm);
    if ((r >= 0) == w->s.signals[SIGNAL_VMSTAT])
        return;
    w->s.signals[SIGNAL_VMSTAT] = r >= 0;
    if (r < 0)
        lacks(w, SIGNAL_VMSTAT, LEVEL_WARNING, "/proc/vmstat cannot be read any more: %s; %s",
              strerror(-r),
              w->exits ? "false alarms go unnoticed until the last exit"
                       : "no storm is seen until it can");
    else
        is_back(w, SIGNAL_VMSTAT, "/proc/vmstat can be read again");
}

/* What cannot be read is no pressure: an old reading must not stand for ever. */
static int read_psi(struct watch *w, enum psi_resource which, struct psi_line *ret)
{
    int r = psi_read(which, &w->psi[which]);

    if (r < 0)
        w->psi[which] = (struct psi){.has_some = false};
    *ret = w->psi[which].some;
    return r;
}

static void read_pressure(struct watch *w)
{
    bool was = w->s.signals[SIGNAL_PSI];

    if (!w->params.psi)
        return;
    int r = read_psi(w, PSI_MEMORY, &w->s.psi_memory_some);
    (void)read_psi(w, PSI_CPU, &w->s.psi_cpu_some);
    w->s.signals[SIGNAL_PSI] = r >= 0;
    if (r < 0 && was)
        lacks(w, SIGNAL_PSI, LEVEL_NOTICE,
              "pressure information cannot be read any more: %s; everything else works",
              strerror(-r));
    else if (r >= 0 && !was)
        is_back(w, SIGNAL_PSI, "pressure information can be read again");
}

void watch_psi(struct watch *w, uint32_t events)
{
    if (events & EPOLLERR) {
        lacks(w, SIGNAL_PSI, LEVEL_NOTICE,
              "the trigger on memory pressure is void; everything else works");
        closep(&w->psi_fd);
        w->psi_fd = -1;
    }
    read_pressure(w);
}

/* Tried again at each tick until it succeeds. */
static void follow_cpus(struct watch *w)
{
    bool told = w->cpus_missed;
    int r = w->exits ? exits_hotplug(w->exits, &w->host) : 0;

    w->cpus_missed = r < 0;
    if (r < 0 && !told)
        lacks(w, SIGNAL_TASKSTATS, LEVEL_WARNING, "exits on new CPUs are not announced: %s",
              strerror(-r));
    else if (r >= 0 && told)
        is_back(w, SIGNAL_TASKSTATS, "exits on new CPUs are announced");
}

static void note_hotplug(struct watch *w)
{
    bool changed = hostfacts_update(&w->host);

    if (changed)
        say(w, EVENT_NOTICE, LEVEL_INFO, "the machine changed: %u of %u CPUs are online",
            w->host.cpus_online, w->host.cpus_possible);
    if (changed || w->cpus_missed)
        follow_cpus(w);
    if (changed && w->s.tasks == 0)
        watch_zoneinfo(w, clock_monotonic());
}

/* The text has no number, so that the report tells a row of them once. */
static void note_overruns(struct watch *w)
{
    uint64_t overruns = watch_exits_stats(w).overruns;

    if (overruns > w->overruns)
        say(w, EVENT_SIGNAL, LEVEL_NOTICE,
            "messages of exits were lost, there were more than could be read: a storm is tamed for "
            "those that were heard of");
    w->overruns = overruns;
}

bool watch_tick(struct watch *w)
{
    note_hotplug(w);
    note_overruns(w);
    read_pressure(w);
    if (w->exits || !w->params.taskstats)
        return false;
    open_exits(w);
    return w->exits != NULL;
}

void watch_forget(struct watch *w)
{
    if (w->exits)
        exits_forget(w->exits);
}

void watch_knobs(struct watch *w, const struct knob_values *v)
{
    /* An outcome names the knobs that it touched; what is known of the others stays. */
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (!v->has[k])
            continue;
        w->s.knobs.has[k] = true;
        w->s.knobs.value[k] = v->value[k];
    }
    w->s.knobs_known = true;
}

const struct snapshot *watch_snapshot(struct watch *w)
{
    if (w->exits) {
        exits_snapshot(w->exits, &w->s);
        w->s.message_at = exits_last_message(w->exits);
    } else {
        w->s.n_groups = w->s.tasks = 0;
        memset(w->s.node_tasks, 0, sizeof(w->s.node_tasks));
    }
    return &w->s;
}

const char *watch_detail(const struct watch *w, enum signal_id id)
{
    if (!w->s.signals[id] && w->detail[id][0] == '\0')
        return "switched off in the configuration";
    return w->detail[id];
}

const struct psi *watch_pressure(const struct watch *w, enum psi_resource r)
{
    return &w->psi[r];
}

struct exits_stats watch_exits_stats(const struct watch *w)
{
    return w->exits ? exits_get_stats(w->exits) : (struct exits_stats){0};
}

uint64_t watch_zoneinfo_reads(const struct watch *w)
{
    return w->zoneinfo ? zoneinfo_reads(w->zoneinfo) : 0;
}
