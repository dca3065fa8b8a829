/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pcp.h"
#include "world.h"

/* What holds whatever happens: random machines, storms, clocks, foreign writers, outcomes and
 * reloads. A failure prints the seed of its episode: PCPTUNED_SEED=N runs that one first. */

#define STEPS_WANTED 1000000
#define STEPS_EPISODE 2000
#define MOVES ((size_t)ENGINE_STATES * ENGINE_STATES)
#define TWICE_EVERY 50 /* so many episodes are run again: the same seed, the same plans */

#define HOUR (3600 * SECOND)
#define RETRY_LONGEST (64 * SECOND)
#define STEADY_LONGEST (2 * HOUR)  /* lists that hoard are seen, and bounded for up to one */
#define RETRIES_ALL (128 * SECOND) /* 1 + 2 + 4 ... + 64 */

struct run {
    uint64_t seed, steps, hash;
    struct engine *engine;
    struct plan plan, sent;
    bool found, pinned[KNOB_MAX], held_at_submit[KNOB_MAX];
    /* the last change that worked */
    uint64_t changed_at, changed_in;
    bool lengthened;
    bool by_calm;       /* it was none of a storm's */
    bool repeated;      /* the last action failed and comes again */
    uint32_t old_limit; /* of writes, until the hour in which it was in force is over */
    uint64_t old_limit_until;
    uint64_t owned_at, owned_bound; /* 0: nothing is owned */
    uint64_t empty_at, worked_for, late;
    unsigned immediate;
    enum engine_state state;
    uint64_t sets, restores, reasons[REASON_MAX], moves[MOVES];
};

static struct world w;
static struct run r;

static void broken(const char *what)
{
    char text[640] = "";

    plan_describe(&r.plan, text, sizeof(text));
    print_error("%" PRIu64 "ns, mode %s, taskstats %d, vmstat %d, %u tasks, %s by us, wake %" PRId64
                "ns, job %d, hold %" PRIu64 ", dwell %" PRIu64 ", tuned %" PRIu64 ", late %" PRIu64
                " working %d\n",
                w.now, mode_name(w.params.mode), w.s.signals[SIGNAL_TASKSTATS],
                w.s.signals[SIGNAL_VMSTAT], w.s.tasks, world_owns(&w) ? "tuned" : "not tuned",
                (int64_t)(r.plan.wake_at - w.now), w.job.busy, w.params.hold, w.params.dwell,
                w.params.tuned_max, r.late, w.working);
    fail_msg("PCPTUNED_SEED=%" PRIu64 " step %" PRIu64
             ", %s: %s (action %d, reason %s, storm %" PRIu64 ": %s)",
             r.seed, r.steps, engine_state_name(engine_get_state(r.engine)), what, r.plan.action,
             reason_name(r.plan.reason), r.plan.why.storm_id, text);
}

static void require(bool holds, const char *what)
{
    if (!holds)
        broken(what);
}

/* --- of a plan ----------------------------------------------------------------------------- */

static uint32_t hold_at(const struct knob_values *v)
{
    return pcp_hold(&w.host, &w.table, -1, PCP_FREE,
                    v->has[KNOB_FRACTION] ? v->value[KNOB_FRACTION] : 0,
                    v->has[KNOB_SCALE] ? (unsigned)v->value[KNOB_SCALE] : w.host.scale);
}

/* The knobs as they would be without us, and with the plan carried out. */
static struct knob_values without_us(void)
{
    struct knob_values v = w.s.knobs;

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (w.journal[k].held)
            v.value[k] = w.journal[k].original;
    }
    return v;
}

static struct knob_values with_plan(const struct plan *p)
{
    struct knob_values v = without_us();

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (p->values.has[k])
            v.value[k] = p->values.value[k];
    }
    return v;
}

static void check_value(unsigned k)
{
    int value = r.plan.values.value[k];
    bool back = w.journal[k].held && value == w.journal[k].original;

    if (!r.plan.values.has[k] || value == r.plan.from.value[k])
        return;
    require(knob_accepts(k, value), "a value that the kernel does not accept");
    require(back || (value >= w.params.knob_lo[k] && value <= w.params.knob_hi[k]),
            "a value out of bounds");
    require(back || !r.pinned[k] || w.params.on_pinned == PINNED_TUNE, "a pinned knob is moved");
    require(w.s.knobs.has[k], "a knob that is not there is moved");
}

static void check_steady(void)
{
    const struct evidence_numbers *why = &r.plan.why;

    require(engine_get_state(r.engine) == ENGINE_CALM ||
                engine_get_state(r.engine) == ENGINE_STEADY,
            "no calm");
    if (r.plan.reason == REASON_CHURN) {
        require(w.host.regime == REGIME_R2 || w.host.regime == REGIME_R3,
                "churn where high floats");
        require(w.params.churn && why->traffic > 0, "churn without traffic");
    } else {
        require(w.host.regime >= REGIME_R4 && w.params.max_hoard > 0, "nothing hoards");
        require(why->held > why->may_hold, "no gain");
    }
    require(why->writes_left >= 2, "no room for the restore");
}

static void check_storm(void)
{
    const struct evidence_numbers *why = &r.plan.why;
    struct knob_values base = without_us(), planned = with_plan(&r.plan);

    require(hold_at(&planned) <= hold_at(&base), "longer lists than without us");
    require(why->b_after < why->b_before && why->w_before > why->target, "no gain");
    require(why->n_now <= why->n_planned && why->n_planned <= w.host.cpus_online, "n");
    require(why->n_now <= why->tasks && why->tasks <= why->tasks_total, "tasks");
    require(why->loss <= 100 * w.params.max_loss + 1, "more throughput than may be given away");
    require(why->writes_left >= 2, "no room for the restore");
    require(r.changed_in != why->storm_id || !r.lengthened ||
                r.plan.reason == REASON_STORM_SHRANK || w.now - r.changed_at >= w.params.dwell,
            "shorter again within the dwell time");
}

static bool is_steady(enum reason reason)
{
    return reason == REASON_HOARD || reason == REASON_PRESSURE || reason == REASON_CHURN;
}

static void check_set(void)
{
    enum engine_state state = engine_get_state(r.engine);

    require(r.plan.reason == REASON_STORM || r.plan.reason == REASON_STORM_GREW ||
                r.plan.reason == REASON_STORM_SHRANK || is_steady(r.plan.reason),
            "a change without its reason");
    require(w.params.mode != MODE_OFF, "a change in mode off");
    require(w.s.knobs_known, "a change of what is not known");
    require(state != ENGINE_YIELDED && state != ENGINE_REFUSED, "a change while yielded");
    require(w.host.regime != REGIME_R1 && w.host.regime != REGIME_UNKNOWN, "a change in R1");
    for (unsigned k = 0; k < KNOB_MAX; k++)
        check_value(k);
    if (is_steady(r.plan.reason))
        check_steady();
    else
        check_storm();
}

static void check_restore(void)
{
    static const bool allowed[REASON_MAX] = {
        [REASON_CALM] = true,       [REASON_FALSE_ALARM] = true, [REASON_OFF] = true,
        [REASON_UNWRITABLE] = true, [REASON_YIELDED] = true,     [REASON_STORM_SHRANK] = true,
        [REASON_TOO_LONG] = true,   [REASON_EASED] = true,       [REASON_NO_HELP] = true,
        [REASON_STORM] = true,
    };

    require(allowed[r.plan.reason], "a restore without its reason");
    require(world_owns(&w), "a restore of what is not ours");
    require((r.plan.reason != REASON_EASED && r.plan.reason != REASON_NO_HELP) || r.repeated ||
                w.now - r.changed_at >= w.params.dwell,
            "given back within the dwell time");
    require(r.plan.reason != REASON_CALM || r.plan.why.starting || r.repeated ||
                w.s.signals[SIGNAL_TASKSTATS] == false || w.s.tasks == 0,
            "calm with tasks in flight");
}

static void check_numbers(void)
{
    const struct evidence_numbers *why = &r.plan.why;
    char text[640];

    require(why->w_before <= (uint64_t)why->n_now * why->page_cost * why->b_before, "W");
    require(why->w_before < 1000 * SECOND && why->w_after < 1000 * SECOND, "an endless W");
    require(why->since < 1000000 * HOUR && why->announced < UINT64_C(1) << 50, "numbers");
    plan_describe(&r.plan, text, sizeof(text));
    require(text[0] != '\0' && strchr(text, '\n') == NULL && strlen(text) < 500, "no line");
}

/* The opposite of the last decision in the same storm waits for the dwell time. */
static void check_lengthening(void)
{
    bool bound = r.plan.reason == REASON_STORM_SHRANK || r.plan.reason == REASON_TOO_LONG;

    require(!bound || r.repeated || r.changed_in != r.plan.why.storm_id || r.lengthened ||
                w.now - r.changed_at >= w.params.dwell,
            "longer again within the dwell time");
}

static void mix(uint64_t v)
{
    r.hash = (r.hash ^ v) * UINT64_C(0x100000001b3);
}

static void check_plan(void)
{
    const struct plan *p = &r.plan;

    mix((uint64_t)p->action << 8 | (uint64_t)p->reason);
    mix(p->wake_at);
    mix((uint64_t)p->values.value[0] << 8 ^ (uint64_t)p->values.value[1] ^ p->why.w_before);
    require(p->reason < REASON_MAX, "no reason");
    require(p->action == PLAN_NONE || !w.job.busy, "an action while one is pending");
    if (p->reason != REASON_NONE)
        check_numbers();
    if (p->action == PLAN_SET)
        check_set();
    else if (p->action == PLAN_RESTORE)
        check_restore();
    if (p->action != PLAN_NONE)
        check_lengthening();
    r.reasons[p->reason]++;
}

/* --- of time ------------------------------------------------------------------------------- */

/* A caller who steps at wake_at with fresh counters is not asked to do so again and again. */
static void check_wake(void)
{
    bool fresh = !w.s.signals[SIGNAL_VMSTAT] || w.s.vm.at == w.now;

    if (!fresh)
        return;
    r.immediate = r.plan.action == PLAN_NONE && r.plan.wake_at <= w.now ? r.immediate + 1 : 0;
    require(r.immediate <= 3, "a busy loop");
}

static void check_budget(void)
{
    uint64_t since = w.now > HOUR ? w.now - HOUR : 0;
    uint32_t limit = w.params.writes_per_hour;

    if (w.now < r.old_limit_until && r.old_limit > limit)
        limit = r.old_limit;
    require(world_writes_since(&w, since) <= limit, "more writes in an hour than allowed");
}

/* The state says whose the knobs are. */
static void check_state(void)
{
    enum engine_state state = engine_get_state(r.engine);

    if (w.job.busy || !w.working || r.plan.action != PLAN_NONE)
        return;
    require((state != ENGINE_TUNED && state != ENGINE_HOLD && state != ENGINE_STEADY) ||
                world_owns(&w),
            "tuned, with nothing");
    require(state != ENGINE_CALM || !world_owns(&w), "calm, but tuned");
    require(state != ENGINE_WATCH || !world_owns(&w) || r.by_calm, "watched, but tuned");
}

static void note_move(void)
{
    enum engine_state state = engine_get_state(r.engine);

    r.moves[r.state * ENGINE_STATES + state]++;
    r.state = state;
}

/* Never ours for longer than TunedMax=, and what a decision and its outcome may add. */
static void check_ownership(void)
{
    if (!world_owns(&w) || !w.working || r.by_calm) {
        r.owned_at = 0;
        return;
    }
    uint64_t bound = w.params.tuned_max + 2 * w.params.dwell + w.params.hold + SECOND;
    if (r.owned_at == 0) {
        r.owned_at = w.now;
        r.owned_bound = r.late = 0;
        r.worked_for = w.job.busy && w.job.ready > w.now ? w.job.ready - w.now : 0;
    }
    if (bound > r.owned_bound)
        r.owned_bound = bound;
    require(w.now - r.owned_at <= r.owned_bound + r.worked_for + r.late, "tuned for ever");
}

/* --- a step -------------------------------------------------------------------------------- */

static void find(void)
{
    if (r.found || !w.s.knobs_known)
        return;
    r.found = true;
    w.s.knobs = w.sysctl;
    engine_found(r.engine, &w.s.knobs);
    for (unsigned k = 0; k < KNOB_MAX; k++)
        r.pinned[k] = w.s.knobs.has[k] && w.s.knobs.value[k] != knob_table[k].initial;
}

static void collect(void)
{
    struct outcome o;

    if (!world_collect(&w, &o))
        return;
    engine_outcome(r.engine, &w.params, &o, w.now);
    r.repeated = o.kind > OUTCOME_FOREIGN;
    if (o.kind == OUTCOME_FOREIGN && o.action == PLAN_SET && !r.held_at_submit[o.knob])
        r.pinned[o.knob] = o.before.value[o.knob] != knob_table[o.knob].initial;
    if (o.kind != OUTCOME_DONE && o.kind != OUTCOME_UNCHANGED)
        return;
    r.sets += o.action == PLAN_SET;
    r.restores += o.action == PLAN_RESTORE;
    r.changed_at = w.now;
    r.changed_in = r.sent.why.storm_id;
    r.by_calm = is_steady(r.sent.reason) && o.action == PLAN_SET;
    r.lengthened = o.action == PLAN_RESTORE || r.sent.reason == REASON_STORM_SHRANK;
}

static void submit(void)
{
    for (unsigned k = 0; k < KNOB_MAX; k++)
        r.held_at_submit[k] = w.journal[k].held;
    r.sent = r.plan;
    world_submit(&w, &r.plan);
    r.worked_for += w.job.ready - w.now;
    check_budget();
}

static void step(bool look)
{
    if (look)
        world_look(&w);
    collect();
    find();
    engine_step(r.engine, &w.params, &w.s, w.now, &r.plan);
    r.steps++;
    check_plan();
    check_wake();
    check_state();
    note_move();
    check_ownership();
    if (r.plan.action != PLAN_NONE)
        submit();
    if (engine_get_state(r.engine) == ENGINE_CALM)
        world_forget(&w);
}

static uint64_t appointment(void)
{
    uint64_t at = r.plan.wake_at;

    if (w.job.busy && w.job.ready < at)
        at = w.job.ready;
    return at;
}

static uint64_t first_of(uint64_t at)
{
    for (uint32_t i = 0; i < w.n_flights; i++) {
        if (w.flights[i].end < at)
            at = w.flights[i].end;
    }
    return w.story == STORY_TRICKLE && w.trickle_at > w.now && w.trickle_at < at ? w.trickle_at
                                                                                 : at;
}

/* When the loop comes round next: mostly in time, sometimes for another event, rarely late. */
static uint64_t next_time(void)
{
    uint64_t at = first_of(appointment()), chance = world_random(&w, 1000), delay;

    if (chance < 550 && at != NEVER)
        return at > w.now ? at : w.now + US;
    if (chance < 800)
        delay = 1 + world_random(&w, MS);
    else if (chance < 960)
        delay = world_random(&w, SECOND);
    else if (chance < 998)
        delay = world_random(&w, 100 * SECOND);
    else
        delay = world_random(&w, 5 * HOUR);
    return w.now + delay;
}

static void reload(void)
{
    uint32_t before = w.params.writes_per_hour;

    if (w.now >= r.old_limit_until || before > r.old_limit)
        r.old_limit = before;
    r.old_limit_until = w.now + HOUR;
    w.params = world_params(&w);
    engine_rearm(r.engine); /* a reload takes up again what was refused */
}

static void random_step(void)
{
    uint64_t at = appointment(), to = next_time();

    if (at < to)
        r.late += to - (at > w.now ? at : w.now);
    world_advance(&w, to);
    world_event(&w);
    if (world_random(&w, 400) == 0)
        reload();
    if (world_random(&w, 2000) == 0)
        engine_rearm(r.engine);
    step(w.now >= at || world_chance(&w, 10));
}

/* --- an episode ---------------------------------------------------------------------------- */

static uint64_t last_end(void)
{
    uint64_t last = w.now;

    for (uint32_t i = 0; i < w.n_flights; i++) {
        struct flight *f = &w.flights[i];
        if (f->end > w.now + 2 * SECOND)
            f->end = w.now + 2 * SECOND;
        if (f->end > last)
            last = f->end;
    }
    return last;
}

/* Nothing new happens, and what is written works: all is as found after the hold time. */
static void settle(void)
{
    uint64_t last = last_end(), steps = r.steps;
    uint64_t end = last + w.params.hold + RETRIES_ALL + STEADY_LONGEST + w.params.dwell;
    bool by_calm = false;
    uint64_t released = world_owns(&w) || w.job.busy ? 0 : w.now;

    world_quiet(&w);
    r.worked_for = w.job.busy && w.job.ready > w.now ? w.job.ready - w.now : 0;
    end += r.worked_for;
    while (w.now < end) {
        uint64_t at = appointment(), to = first_of(at < end ? at : end);
        world_advance(&w, to > w.now ? to : w.now + US);
        step(w.now >= at);
        by_calm |= r.by_calm;
        if (!world_owns(&w) && !w.job.busy && released == 0)
            released = w.now;
        else if (world_owns(&w))
            released = 0;
    }
    r.steps = steps; /* waiting is no test */
    enum engine_state state = engine_get_state(r.engine);
    require(released != 0, "the originals are not back");
    require(released <= last + w.params.hold + RETRY_LONGEST + SECOND + r.worked_for || by_calm,
            "the originals were late");
    require(state == ENGINE_CALM || state == ENGINE_YIELDED || state == ENGINE_REFUSED, "no calm");
    require(state != ENGINE_CALM || r.plan.wake_at == NEVER ||
                (!w.s.signals[SIGNAL_TASKSTATS] && r.plan.wake_at >= w.now + 20 * MS),
            "awake in calm");
}

static void episode(uint64_t seed)
{
    r = (struct run){.seed = seed, .hash = UINT64_C(0xcbf29ce484222325)};
    world_start(&w, seed);
    assert_int_equal(engine_new(&r.engine), 0);
    r.plan.wake_at = NEVER;
    while (r.steps < STEPS_EPISODE)
        random_step();
    settle();
    engine_free(r.engine);
}

static uint64_t first_seed(void)
{
    const char *text = getenv("PCPTUNED_SEED");
    return text ? strtoull(text, NULL, 10) : 1;
}

static void add(uint64_t *sum, const uint64_t *part, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum[i] += part[i];
}

static void print_moves(const uint64_t *moves)
{
    for (unsigned i = 0; i < MOVES; i++) {
        if (i % ENGINE_STATES == 0)
            print_message("\n  %-8s", engine_state_name((enum engine_state)(i / ENGINE_STATES)));
        print_message("%9" PRIu64, moves[i]);
    }
    print_message("\n");
}

/* A property that nothing puts to the test holds for nothing. */
static void check_coverage(const uint64_t *reasons, const uint64_t *moves)
{
    static const char possible[ENGINE_STATES][ENGINE_STATES + 1] = {
        /* to calm, watch, tuned, hold, steady, yielded, refused; '-': never */
        [ENGINE_CALM] = "yy--y??",    [ENGINE_WATCH] = "yyyyy?y",  [ENGINE_TUNED] = "?yyy-yy",
        [ENGINE_HOLD] = "y?yy-yy",    [ENGINE_STEADY] = "yy??yyy", [ENGINE_YIELDED] = "yy--?y?",
        [ENGINE_REFUSED] = "yy????y",
    };

    print_moves(moves);
    for (unsigned i = 1; i < REASON_MAX; i++) {
        print_message("  %-14s%9" PRIu64 "\n", reason_name((enum reason)i), reasons[i]);
        assert_int_not_equal(reasons[i], 0);
    }
    for (unsigned i = 0; i < MOVES; i++) {
        char p = possible[i / ENGINE_STATES][i % ENGINE_STATES];
        if ((p == 'y' && moves[i] == 0) || (p == '-' && moves[i] != 0))
            fail_msg("%s to %s: %" PRIu64 " times",
                     engine_state_name((enum engine_state)(i / ENGINE_STATES)),
                     engine_state_name((enum engine_state)(i % ENGINE_STATES)), moves[i]);
    }
}

static void test_a_million_steps(void **state)
{
    (void)state;
    uint64_t steps = 0, sets = 0;
    uint64_t reasons[REASON_MAX] = {0}, moves[MOVES] = {0};

    for (uint64_t seed = first_seed(), n = 0; steps < STEPS_WANTED; seed++, n++) {
        episode(seed);
        steps += r.steps;
        sets += r.sets;
        add(reasons, r.reasons, REASON_MAX);
        add(moves, r.moves, MOVES);
        if (n % TWICE_EVERY == 0) {
            uint64_t hash = r.hash;
            episode(seed);
            assert_int_equal(r.hash, hash);
            steps += r.steps;
        }
    }
    print_message("%" PRIu64 " steps, %" PRIu64 " changes", steps, sets);
    if (!getenv("PCPTUNED_SEED"))
        check_coverage(reasons, moves);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_a_million_steps)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
