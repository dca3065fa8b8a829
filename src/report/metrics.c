/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics.h"

#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

#include "fileio.h"

/* Microseconds. A reaction is 0.1 to 1 ms at real-time priority, 9 ms without (measured on 6.18);
 * a storm of 100 ms is over before a longer one. */
static const uint32_t bucket_us[METRICS_BUCKETS] = {50,   100,  200,   500,   1000,
                                                    2000, 5000, 10000, 20000, 100000};

/* Of engine_state_name(): the policy is not ours to use, so a test holds the two together. */
static const char *const states[] = {"calm",   "watch",   "tuned",  "hold",
                                     "steady", "yielded", "refused"};

static bool changed(const struct outcome *o)
{
    for (unsigned k = 0; k < KNOB_MAX; k++)
        if (o->before.has[k] && o->after.has[k] && o->before.value[k] != o->after.value[k])
            return o->kind <= OUTCOME_UNCHANGED && !o->simulated;
    return false;
}

static void note_reaction(struct metrics *m, nsec_t took)
{
    unsigned b = 0;

    while (b < METRICS_BUCKETS && took > bucket_us[b] * NSEC_PER_USEC)
        b++;
    m->reactions[b]++;
    m->reaction_sum += took;
}

void metrics_note(struct metrics *m, const struct event *e)
{
    nsec_t message = e->plan.why.message_at;

    if (e->level <= LEVEL_WARNING && (unsigned)e->kind < EVENT_KINDS)
        m->errors[e->kind]++;
    if (!e->has_outcome || !changed(&e->outcome))
        return;
    m->changed = e->real;
    if (e->kind == EVENT_STORM && message != 0 && e->outcome.written > message)
        note_reaction(m, e->outcome.written - message);
}

/* --- the text format ------------------------------------------------------------------------ */

static void head(FILE *f, const char *name, const char *type, const char *help)
{
    fprintf(f, "# HELP pcptuned_%s %s\n# TYPE pcptuned_%s %s\n", name, help, name, type);
}

static void gauge(FILE *f, const char *name, const char *help, uint64_t value)
{
    head(f, name, "gauge", help);
    fprintf(f, "pcptuned_%s %" PRIu64 "\n", name, value);
}

static void print_seconds(FILE *f, nsec_t ns)
{
    fprintf(f, "%" PRIu64 ".%09" PRIu64 "\n", ns / NSEC_PER_SEC, ns % NSEC_PER_SEC);
}

static void seconds(FILE *f, const char *name, const char *type, const char *help, nsec_t ns)
{
    head(f, name, type, help);
    fprintf(f, "pcptuned_%s ", name);
    print_seconds(f, ns);
}

/* LABEL="VALUE"; what would end it is escaped. */
static void label(FILE *f, const char *name, const char *value)
{
    fprintf(f, "%s=\"", name);
    for (const char *c = value; *c; c++) {
        if (*c == '\n')
            fputs("\\n", f);
        else
            fprintf(f, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
    }
    fputc('"', f);
}

static void one_of(FILE *f, const char *name, const char *key, const char *value, bool is)
{
    fprintf(f, "pcptuned_%s{", name);
    label(f, key, value);
    fprintf(f, "} %d\n", is);
}

static void print_info(FILE *f, const struct status *s, uint64_t config)
{
    head(f, "build_info", "gauge", "1, with the version, the kernel and its regime as labels");
    fputs("pcptuned_build_info{", f);
    label(f, "version", s->version);
    fputc(',', f);
    label(f, "release", s->release);
    fputc(',', f);
    label(f, "regime", regime_name(s->regime));
    fputs("} 1\n", f);
    head(f, "config_info", "gauge", "1, with a hash of all settings in force as label");
    fprintf(f, "pcptuned_config_info{hash=\"%016" PRIx64 "\"} 1\n", config);
}

static void print_state(FILE *f, const struct status *s)
{
    head(f, "mode", "gauge", "1 for the mode in force, 0 for the others");
    for (unsigned m = 0; m < MODE_MAX; m++)
        one_of(f, "mode", "mode", mode_name((enum mode)m), s->mode == (enum mode)m);
    head(f, "state", "gauge", "1 for the present state, 0 for the others");
    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        one_of(f, "state", "state", states[i], strcmp(s->state, states[i]) == 0);
    seconds(f, "state_timestamp_seconds", "gauge", "When the present state began", s->state_since);
    head(f, "signal_available", "gauge", "1 where the signal works");
    for (unsigned i = 0; i < SIGNAL_MAX; i++)
        one_of(f, "signal_available", "signal", signal_name((enum signal_id)i),
               s->signals[i].available);
}

static void print_knob(FILE *f, const char *metric, const char *help, const struct status *s,
                       size_t field)
{
    head(f, metric, "gauge", help);
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        int value = *(const int *)((const char *)&s->knobs[k] + field);
        if (s->knobs[k].exists && value >= 0)
            fprintf(f, "pcptuned_%s{knob=\"%s\"} %d\n", metric, knob_table[k].name, value);
    }
}

static void print_knobs(FILE *f, const struct metrics *m, const struct status *s)
{
    print_knob(f, "knob_value", "Value of the sysctl", s, offsetof(struct status_knob, value));
    print_knob(f, "knob_original_value", "What will be restored, while pcptuned holds the sysctl",
               s, offsetof(struct status_knob, original));
    head(f, "knob_owner", "gauge", "1 for whoever set the sysctl, 0 for the others");
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        for (unsigned o = 0; o < OWNER_MAX && s->knobs[k].exists; o++)
            fprintf(f, "pcptuned_knob_owner{knob=\"%s\",owner=\"%s\"} %d\n", knob_table[k].name,
                    knob_owner_name((enum knob_owner)o), s->knobs[k].owner == (enum knob_owner)o);
    }
    seconds(f, "knob_changed_timestamp_seconds", "gauge",
            "When pcptuned last changed or restored a sysctl; 0: never", m->changed);
}

static void print_counters(FILE *f, const struct metrics *m, const struct status *s)
{
    for (unsigned c = 0; c < COUNT_MAX; c++) {
        char name[64];
        snprintf(name, sizeof(name), "%s_total", status_counter_name((enum status_counter)c));
        head(f, name, "counter", status_counter_help((enum status_counter)c));
        fprintf(f, "pcptuned_%s %" PRIu64 "\n", name, s->counters[c]);
    }
    head(f, "errors_total", "counter", "Events of level warning and error, by kind");
    for (unsigned k = 0; k < EVENT_KINDS; k++)
        fprintf(f, "pcptuned_errors_total{event=\"%s\"} %" PRIu64 "\n",
                event_name((enum event_kind)k), m->errors[k]);
}

static void print_reactions(FILE *f, const struct metrics *m)
{
    uint64_t sum = 0;

    head(f, "reaction_seconds", "histogram",
         "From a storm's first message to the write of the sysctl");
    for (unsigned b = 0; b < METRICS_BUCKETS; b++) {
        sum += m->reactions[b];
        fprintf(f, "pcptuned_reaction_seconds_bucket{le=\"%g\"} %" PRIu64 "\n", bucket_us[b] / 1e6,
                sum);
    }
    sum += m->reactions[METRICS_BUCKETS];
    fprintf(f, "pcptuned_reaction_seconds_bucket{le=\"+Inf\"} %" PRIu64 "\n", sum);
    fputs("pcptuned_reaction_seconds_sum ", f);
    print_seconds(f, m->reaction_sum);
    fprintf(f, "pcptuned_reaction_seconds_count %" PRIu64 "\n", sum);
}

static void print_storms(FILE *f, const struct status *s)
{
    gauge(f, "tasks_in_flight", "Large tasks that are exiting now", s->tasks);
    gauge(f, "pages_to_come", "Pages that they will free, as far as is known", s->pages);
    gauge(f, "hold_pages", "Pages that are freed in one hold of the zone lock (b); 0: not known",
          s->hold);
    seconds(f, "wait_seconds", "gauge", "Predicted wait for the zone lock now (W)", s->wait);
    seconds(f, "target_wait_seconds", "gauge", "TargetWait=", s->target_wait);
    gauge(f, "last_storm_tasks", "Tasks of the last storm", s->storm.tasks);
    seconds(f, "last_storm_wait_before_seconds", "gauge",
            "Predicted wait for the zone lock in the last storm, untuned", s->storm.wait_before);
    seconds(f, "last_storm_wait_after_seconds", "gauge",
            "Predicted wait for the zone lock in the last storm, as tuned", s->storm.wait_after);
}

char *metrics_format(const struct metrics *m, const struct status *s, nsec_t cpu, uint64_t config)
{
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return NULL;
    print_info(f, s, config);
    print_state(f, s);
    print_knobs(f, m, s);
    print_counters(f, m, s);
    print_reactions(f, m);
    print_storms(f, s);
    seconds(f, "cpu_seconds_total", "counter", "CPU time of pcptuned, all threads", cpu);
    bool bad = ferror(f);
    if (fclose(f) != 0 || bad) {
        free(text);
        return NULL;
    }
    return text;
}

int metrics_write(const char *path, const char *text)
{
    char dir[PARAMS_PATH], file[PARAMS_PATH];

    if (snprintf(dir, sizeof(dir), "%s", path) >= (int)sizeof(dir))
        return -ENAMETOOLONG;
    snprintf(file, sizeof(file), "%s", path);
    _cleanup_close_ int fd = open(dirname(dir), O_DIRECTORY | O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = write_file_atomic(fd, basename(file), text, strlen(text), 0644, false);
    if (r == 0 && fchmodat(fd, basename(file), 0644, 0) < 0) /* whatever our umask is */
        r = -errno;
    return r;
}
