/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <json.h>
#include <time.h>

#include "container.h"
#include "macros.h"
#include "report.h"
#include "take.h"

/* What pcptuned tells of an event, whatever a container is called and whatever the numbers are: the
 * JSON is one line, and what reads back from it are the values that went in. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take_text(struct take *in, char *buf, size_t size)
{
    size_t len = MIN(take_bytes(in, 2) % size, in->left);

    memcpy(buf, in->data, len);
    buf[len] = '\0';
    in->data += len;
    in->left -= len;
}

static void take_knobs(struct take *in, struct knob_values *ret)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        ret->has[k] = take_bool(in);
        ret->value[k] = (int)take_any(in);
    }
}

static void take_plan(struct take *in, struct plan *ret)
{
    struct evidence_numbers *w = &ret->why;
    uint32_t *const small[] = {&w->tasks,     &w->tasks_total, &w->n_now,
                               &w->n_planned, &w->b_before,    &w->b_after,
                               &w->repeats,   &w->writes_left, &w->loss};
    uint64_t *const large[] = {&w->storm_id, &w->pages,     &w->announced, &w->freed,
                               &w->w_before, &w->w_after,   &w->target,    &w->page_cost,
                               &w->excess,   &w->held,      &w->may_hold,  &w->traffic,
                               &w->since,    &w->message_at};
    char path[512];

    ret->reason = (enum reason)take_below(in, REASON_MAX);
    w->starting = take_bool(in);
    for (size_t i = 0; i < ARRAY_SIZE(small); i++)
        *small[i] = (uint32_t)take_any(in);
    for (size_t i = 0; i < ARRAY_SIZE(large); i++)
        *large[i] = take_any(in);
    take_knobs(in, &ret->from);
    take_knobs(in, &ret->values);
    take_text(in, path, sizeof(path));
    container_name(path, w->group);
}

static void take_outcome(struct take *in, struct outcome *ret)
{
    ret->kind = (enum outcome_kind)take_below(in, OUTCOME_MAX);
    ret->error = -(int)take_below(in, 134);
    take_knobs(in, &ret->before);
    take_knobs(in, &ret->after);
    ret->started = take_any(in);
    ret->written = take_any(in);
}

static struct event take_event(struct take *in)
{
    struct event e = {.kind = (enum event_kind)take_below(in, EVENT_KINDS)};
    uint8_t flags = (uint8_t)take_bytes(in, 1);

    e.level = (enum event_level)(3 + take_below(in, 5));
    e.dry_run = flags & 1;
    e.has_plan = flags & 2;
    e.has_outcome = flags & 4;
    e.mono = take_any(in);
    e.real = take_any(in);
    e.repeats = (uint32_t)take_any(in);
    if (e.has_outcome)
        take_outcome(in, &e.outcome);
    if (e.has_plan)
        take_plan(in, &e.plan);
    else
        take_text(in, e.text, sizeof(e.text));
    return e;
}

/* --- what must read back -----------------------------------------------------------------------
 */

/* A bus takes no string that is not UTF-8. */
static struct json_object *parse(const char *text)
{
    struct json_tokener *t = json_tokener_new();

    require(t != NULL);
    json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *o = json_tokener_parse_ex(t, text, (int)strlen(text) + 1);
    require(o && json_object_is_type(o, json_type_object));
    json_tokener_free(t);
    return o;
}

static struct json_object *get(struct json_object *o, const char *key, json_type type)
{
    struct json_object *v = NULL;

    require(json_object_object_get_ex(o, key, &v) && json_object_is_type(v, type));
    return v;
}

static void expect_text(struct json_object *o, const char *key, const char *text)
{
    struct json_object *v = get(o, key, json_type_string);
    size_t len = (size_t)json_object_get_string_len(v);

    require(len == strlen(text) && memcmp(json_object_get_string(v), text, len) == 0);
}

static void expect_number(struct json_object *o, const char *key, uint64_t n)
{
    require(json_object_get_uint64(get(o, key, json_type_int)) == n);
}

static void expect_bool(struct json_object *o, const char *key, bool b)
{
    require(json_object_get_boolean(get(o, key, json_type_boolean)) == b);
}

static void expect_knobs(struct json_object *o, const char *key, const struct knob_values *v)
{
    struct json_object *knobs = get(o, key, json_type_object);

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (v->has[k])
            require(json_object_get_int64(get(knobs, knob_table[k].key, json_type_int)) ==
                    v->value[k]);
        else
            require(!json_object_object_get_ex(knobs, knob_table[k].key, NULL));
    }
}

static void expect_time(struct json_object *o, nsec_t real)
{
    struct tm tm = {0};
    unsigned usec = 0;
    const char *end = strptime(json_object_get_string(get(o, "time", json_type_string)),
                               "%Y-%m-%dT%H:%M:%S", &tm);

    require(end && sscanf(end, ".%6uZ", &usec) == 1 && strlen(end) == strlen(".123456Z"));
    require((uint64_t)timegm(&tm) == real / NSEC_PER_SEC);
    require(usec == real % NSEC_PER_SEC / NSEC_PER_USEC);
}

static void expect_plan(struct json_object *o, const struct plan *p)
{
    const struct evidence_numbers *w = &p->why;

    expect_text(o, "reason", reason_name(p->reason));
    expect_text(o, "group", w->group);
    expect_bool(o, "starting", w->starting);
    expect_number(o, "storm", w->storm_id);
    expect_number(o, "tasks", w->tasks);
    expect_number(o, "tasks_total", w->tasks_total);
    expect_number(o, "pages", w->pages);
    expect_number(o, "pages_announced", w->announced);
    expect_number(o, "pages_freed", w->freed);
    expect_number(o, "n", w->n_now);
    expect_number(o, "n_planned", w->n_planned);
    expect_number(o, "b_before", w->b_before);
    expect_number(o, "b_after", w->b_after);
    expect_number(o, "wait_before_ns", w->w_before);
    expect_number(o, "wait_after_ns", w->w_after);
    expect_number(o, "target_ns", w->target);
    expect_number(o, "excess_pages", w->excess);
    expect_number(o, "loss_basis_points", w->loss);
    expect_number(o, "lists_pages", w->held);
    expect_number(o, "lists_may_hold_pages", w->may_hold);
    expect_number(o, "traffic_pages_per_second", w->traffic);
    expect_number(o, "message_at_ns", w->message_at);
    expect_number(o, "since_ns", w->since);
    expect_number(o, "repeats", w->repeats);
    expect_number(o, "writes_left", w->writes_left);
}

static void expect_outcome(struct json_object *o, const struct outcome *out)
{
    expect_text(o, "outcome", outcome_name(out->kind));
    expect_knobs(o, "before", &out->before);
    expect_knobs(o, "after", &out->after);
    expect_number(o, "started_at_ns", out->started);
    expect_number(o, "written_at_ns", out->written);
    if (out->error)
        expect_text(o, "error", strerror(-out->error));
    else
        require(!json_object_object_get_ex(o, "error", NULL));
}

static void expect(struct json_object *o, const struct event *e)
{
    char sentence[EVENT_TEXT];

    expect_text(o, "event", event_name(e->kind));
    expect_time(o, e->real);
    expect_number(o, "monotonic_ns", e->mono);
    expect_number(o, "level", e->level);
    expect_bool(o, "dry_run", e->dry_run);
    expect_text(o, "message", event_describe(e, sentence, sizeof(sentence)));
    for (const char *c = sentence; *c; c++)
        require((unsigned char)*c >= ' ' && *c != 0x7f);
    if (e->has_plan)
        expect_plan(o, &e->plan);
    if (e->has_outcome)
        expect_outcome(o, &e->outcome);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct take in = {data, size};
    struct event e = take_event(&in);
    char *text = report_json(&e);

    require(text != NULL && !strchr(text, '\n'));
    struct json_object *o = parse(text);
    expect(o, &e);
    json_object_put(o);
    free(text);
    return 0;
}
