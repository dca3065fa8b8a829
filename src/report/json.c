/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <time.h>

#include "jsonadd.h"
#include "report.h"

static void add_time(struct json_object *o, nsec_t real)
{
    time_t secs = (time_t)(real / NSEC_PER_SEC);
    char day[32], stamp[48];
    struct tm tm;

    gmtime_r(&secs, &tm);
    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(stamp, sizeof(stamp), "%s.%06uZ", day,
             (unsigned)(real % NSEC_PER_SEC / NSEC_PER_USEC));
    json_add_str(o, "time", stamp);
}

static void add_plan(struct json_object *o, const struct plan *p)
{
    const struct evidence_numbers *w = &p->why;

    json_add_str(o, "reason", reason_name(p->reason));
    json_add_u64(o, "storm", w->storm_id);
    json_object_object_add(o, "starting", json_object_new_boolean(w->starting));
    json_add_str(o, "group", w->group);
    json_add_u64(o, "tasks", w->tasks);
    json_add_u64(o, "tasks_total", w->tasks_total);
    json_add_u64(o, "pages", w->pages);
    json_add_u64(o, "pages_announced", w->announced);
    json_add_u64(o, "pages_freed", w->freed);
    json_add_u64(o, "n", w->n_now);
    json_add_u64(o, "n_planned", w->n_planned);
    json_add_u64(o, "b_before", w->b_before);
    json_add_u64(o, "b_after", w->b_after);
    json_add_u64(o, "wait_before_ns", w->w_before);
    json_add_u64(o, "wait_after_ns", w->w_after);
    json_add_u64(o, "target_ns", w->target);
    json_add_u64(o, "excess_pages", w->excess);
    json_add_u64(o, "loss_basis_points", w->loss);
    json_add_u64(o, "lists_pages", w->held);
    json_add_u64(o, "lists_may_hold_pages", w->may_hold);
    json_add_u64(o, "traffic_pages_per_second", w->traffic);
    json_add_u64(o, "message_at_ns", w->message_at);
    json_add_u64(o, "since_ns", w->since);
    json_add_u64(o, "repeats", w->repeats);
    json_add_u64(o, "writes_left", w->writes_left);
}

static void add_outcome(struct json_object *o, const struct outcome *out)
{
    json_add_str(o, "outcome", outcome_name(out->kind));
    json_add_knobs(o, "before", &out->before);
    json_add_knobs(o, "after", &out->after);
    json_add_u64(o, "started_at_ns", out->started);
    json_add_u64(o, "written_at_ns", out->written);
    if (out->error)
        json_add_str(o, "error", strerror(-out->error));
}

char *report_json(const struct event *e)
{
    struct json_object *o = json_object_new_object();
    char sentence[1024];
    const char *text;

    if (!o)
        return NULL;
    json_add_str(o, "event", event_name(e->kind));
    add_time(o, e->real);
    json_add_u64(o, "monotonic_ns", e->mono);
    json_object_object_add(o, "level", json_object_new_int((int)e->level));
    json_object_object_add(o, "dry_run", json_object_new_boolean(e->dry_run));
    if (e->has_plan)
        add_plan(o, &e->plan);
    if (e->has_outcome)
        add_outcome(o, &e->outcome);
    json_add_str(o, "message", event_describe(e, sentence, sizeof(sentence)));
    text =
        json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
    char *copy = text ? strdup(text) : NULL;
    json_object_put(o);
    return copy;
}
