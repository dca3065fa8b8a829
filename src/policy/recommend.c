/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recommend.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "situation.h"

#define USEC UINT64_C(1000)
#define TARGET_MAX (UINT64_C(1000000) * USEC) /* the largest TargetWait= that is accepted */

/* Lists that may hold more than 1/32 of a machine with up to 8 GiB are worth a word: the
 * Chromebook that was reported had 165 MB of 4 GB in them, 1/25 (tests/measurements). */
#define HOARD_DIVISOR 32
#define HOARD_MEMORY (UINT64_C(8) << 30)
#define HOARD_FRACTION 100 /* what is advised instead: 1 % of the memory for each node's CPUs */

const char *confidence_name(enum confidence c)
{
    static const char *const names[CONFIDENCE_MAX] = {
        [CONFIDENCE_GUESS] = "guess",
        [CONFIDENCE_MODEL] = "model",
        [CONFIDENCE_MEASURED] = "measured",
    };
    return (unsigned)c < CONFIDENCE_MAX ? names[c] : "unknown";
}

/* --- text ---------------------------------------------------------------------------------- */

#define WAIT_TEXT 24
static const char *wait_text(uint64_t ns, char buf[static WAIT_TEXT])
{
    uint64_t tenths = (ns + USEC / 20) / (USEC / 10); /* of a microsecond */

    if (tenths < 10000 && tenths % 10 != 0)
        snprintf(buf, WAIT_TEXT, "%" PRIu64 ".%" PRIu64 "us", tenths / 10, tenths % 10);
    else if (tenths < 10000)
        snprintf(buf, WAIT_TEXT, "%" PRIu64 "us", tenths / 10);
    else
        snprintf(buf, WAIT_TEXT, "%" PRIu64 ".%02" PRIu64 "ms", tenths / 10000,
                 tenths % 10000 / 100);
    return buf;
}

static __attribute__((__format__(__printf__, 2, 3))) void say(struct recommendation *r,
                                                              const char *fmt, ...)
{
    size_t used = strlen(r->evidence);
    va_list ap;

    if (used > 0 && used + 2 < sizeof(r->evidence))
        r->evidence[used++] = ' ';
    va_start(ap, fmt);
    vsnprintf(r->evidence + used, sizeof(r->evidence) - used, fmt, ap);
    va_end(ap);
}

/* "W = 18 x 20ns x 6329 = 2.27ms" */
static const char *formula(const struct recommend_input *in, const struct situation *s, char *buf,
                           size_t size)
{
    char w[WAIT_TEXT];
    snprintf(buf, size, "W = %" PRIu32 " x %" PRIu64 "ns x %" PRIu32 " = %s", s->n,
             in->params->page_cost, s->b, wait_text(s->w, w));
    return buf;
}

static void say_situation(struct recommendation *r, const struct recommend_input *in,
                          const struct situation *s)
{
    bool met = s->w <= in->params->target_wait;
    char w[80], target[WAIT_TEXT];

    formula(in, s, w, sizeof(w));
    wait_text(in->params->target_wait, target);
    if (in->seen.storms > 0)
        say(r,
            "Of %" PRIu64 " storms seen here the largest had %" PRIu32
            " tasks freeing at once, and %" PRIu64 " pages: %s, %s TargetWait=%s.",
            in->seen.storms, in->seen.n_max, in->seen.pages_max, w, met ? "within" : "above",
            target);
    else
        say(r, "With %" PRIu32 " task%s freeing at once, one on each CPU%s, %s, %s TargetWait=%s.",
            s->n, s->n == 1 ? "" : "s", in->host->n_nodes > 1 ? " of a node" : "", w,
            met ? "within" : "above", target);
}

static void paste_knobs(struct recommendation *r)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        size_t used = strlen(r->sysctl);
        if (r->setting.has[k])
            snprintf(r->sysctl + used, sizeof(r->sysctl) - used, "%s = %d\n", knob_table[k].name,
                     r->setting.value[k]);
    }
}

/* --- numbers ------------------------------------------------------------------------------- */

static struct knob_values changes(const struct knob_values *from, const struct knob_values *to)
{
    struct knob_values c = {0};

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        c.has[k] = to->has[k] && to->value[k] != from->value[k];
        c.value[k] = c.has[k] ? to->value[k] : 0;
    }
    return c;
}

/* Releases of kernel.org only: vendors backport, so what rests on this is a guess. */
static bool release_between(const char *release, const unsigned from[static 3],
                            const unsigned to[static 3])
{
    unsigned v[3] = {0};
    const char *p = release;

    for (unsigned i = 0; i < 3; i++) {
        char *end;
        v[i] = (unsigned)strtoul(p, &end, 10);
        if (end == p || (*end != '.' && i < 1))
            return false;
        if (*end != '.')
            break;
        p = end + 1;
    }
    uint64_t at = ((uint64_t)v[0] << 40) + ((uint64_t)v[1] << 20) + v[2];
    return at >= ((uint64_t)from[0] << 40) + ((uint64_t)from[1] << 20) + from[2] &&
           at < ((uint64_t)to[0] << 40) + ((uint64_t)to[1] << 20) + to[2];
}

/* --- the list ------------------------------------------------------------------------------ */

static enum confidence confidence_of(const struct recommend_input *in)
{
    if (in->host->regime == REGIME_UNKNOWN || in->host->regime_by <= EVIDENCE_VERSION ||
        !in->knobs_known)
        return CONFIDENCE_GUESS;
    return in->seen.storms > 0 ? CONFIDENCE_MEASURED : CONFIDENCE_MODEL;
}

static struct recommendation *add(const struct recommend_input *in, struct recommendations *list,
                                  const char *id, const char *title, const struct situation *before,
                                  const struct situation *after)
{
    struct recommendation *r = &list->item[list->n++];

    *r = (struct recommendation){.id = id,
                                 .confidence = confidence_of(in),
                                 .n = before->n,
                                 .b_before = before->b,
                                 .b_after = after->b,
                                 .w_before = before->w,
                                 .w_after = after->w};
    snprintf(r->title, sizeof(r->title), "%s", title);
    return r;
}

static const char *why_keep(const struct recommend_input *in, const struct situation *now)
{
    if (in->host->regime == REGIME_UNKNOWN)
        return "Keep the defaults: nothing tells how this kernel sizes its lists";
    if (now->b == 0)
        return "Keep the defaults: no zone's lists are in use";
    if (in->host->regime == REGIME_R1)
        return "Keep the defaults: this kernel frees one batch a hold and has no knob for it";
    if (in->host->cpus_online == 1)
        return "Keep the defaults: with one CPU nobody waits for a lock that another holds";
    if (in->host->regime == REGIME_R5)
        return "Keep the defaults: this kernel drops the lock after each batch that it frees";
    if (now->w <= in->params->target_wait)
        return "Keep the defaults: no storm here exceeds the target";
    return "Keep the defaults: no knob value within bounds makes a hold shorter";
}

static void keep_defaults(const struct recommend_input *in, const struct situation *now,
                          struct recommendations *list)
{
    struct recommendation *r = add(in, list, "PCP-KEEP-DEFAULTS", why_keep(in, now), now, now);

    if (now->b == 0) {
        r->confidence = CONFIDENCE_GUESS;
        say(r, "W cannot be computed, so nothing should be set.");
        return;
    }
    if (in->host->cpus_online == 1) {
        char w[WAIT_TEXT];
        say(r, "A hold of %" PRIu32 " pages keeps interrupts off for %s.", now->b,
            wait_text(now->w, w));
        return;
    }
    say_situation(r, in, now);
    if (in->host->regime == REGIME_R1)
        say(r, "vm.percpu_pagelist_high_fraction came with Linux 5.14.");
    if (in->host->regime == REGIME_R5 && now->b_alloc > now->b) {
        char w[WAIT_TEXT];
        say(r,
            "Allocating still takes up to %" PRIu32 " pages a hold: %" PRIu32
            " tasks that fault memory in at once wait %s.",
            now->b_alloc, now->n,
            wait_text((uint64_t)now->n * in->params->page_cost * now->b_alloc, w));
    }
}

static const struct recommendation *storm_tune(const struct recommend_input *in,
                                               const struct situation *now,
                                               const struct situation *then,
                                               const struct knob_values *values,
                                               struct recommendations *list)
{
    struct recommendation *r =
        add(in, list, "PCP-STORM-TUNE",
            "Run pcptuned: shorter lists while a storm lasts, the originals otherwise", now, then);
    char w[80];

    r->cost = batch_cost(now->b, then->b);
    r->setting = changes(&in->knobs, values);
    say_situation(r, in, now);
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (r->setting.has[k])
            say(r, "In such a storm pcptuned sets %s = %d.", knob_table[k].name,
                r->setting.value[k]);
    }
    say(r, "A hold is %" PRIu32 " pages then: %s.", then->b, formula(in, then, w, sizeof(w)));
    /* In R2 and R3 idle CPUs keep what they have (choose.c). */
    uint64_t excess = r->setting.has[KNOB_FRACTION] && in->host->regime >= REGIME_R4
                          ? pcp_excess(in->host, in->zones, values->value[KNOB_FRACTION],
                                       pcp_scale(in->host, values), NULL)
                          : 0;
    if (excess > 0)
        say(r,
            "The CPUs' lists hold %" PRIu64
            " pages more than that allows now; pcptuned leaves a storm alone that is not worth "
            "draining them.",
            excess);
    snprintf(r->conf, sizeof(r->conf),
             "[Daemon]\nMode=apply\n\n[Policy]\nTargetWait=%" PRIu64 "us\n",
             (in->params->target_wait + USEC - 1) / USEC);
    return r;
}

static void constant(const struct recommend_input *in, const struct situation *now,
                     const struct situation *then, const struct recommendation *tuned,
                     struct recommendations *list)
{
    bool autotuned = in->host->regime >= REGIME_R4 && tuned->setting.has[KNOB_FRACTION];
    struct recommendation *r =
        add(in, list, "PCP-CONSTANT",
            "Without the daemon: the same values for good, and their price all day", now, then);

    r->setting = tuned->setting;
    r->cost = tuned->cost;
    r->cost_always = true;
    say(r,
        "Shorter holds take the lock more often: %" PRIu32 " pages instead of %" PRIu32
        " cost %u.%02u%% of page-fault throughput on a median machine of those published, "
        "%u.%02u%% on the worst.",
        then->b, now->b, r->cost.typical / 100, r->cost.typical % 100, r->cost.worst / 100,
        r->cost.worst % 100);
    if (autotuned) {
        r->cost.worst += AUTOTUNE_COST;
        say(r, "Any fraction also switches the kernel's auto-tuning off, which is worth 3.56%% of "
               "the kernel builds published with it.");
    }
    paste_knobs(r);
}

static void target_floor(const struct recommend_input *in, const struct situation *best,
                         struct recommendations *list)
{
    uint64_t us = (best->w + USEC - 1) / USEC;
    char w[80], target[WAIT_TEXT], title[96];

    if (best->w > TARGET_MAX)
        return;
    snprintf(title, sizeof(title), "Set a target that can be met here: TargetWait=%" PRIu64 "us",
             us);
    struct recommendation *r = add(in, list, "PCP-TARGET-FLOOR", title, best, best);
    say(r,
        "No knob value within bounds makes a hold shorter than %" PRIu32
        " pages here, so with %" PRIu32 " tasks freeing at once %s is the least: TargetWait=%s is "
        "out of reach.",
        best->b, best->n, formula(in, best, w, sizeof(w)),
        wait_text(in->params->target_wait, target));
    snprintf(r->conf, sizeof(r->conf), "[Policy]\nTargetWait=%" PRIu64 "us\n", us);
}

/* True where no zone's lists are longer, nor its holds shorter, than with the kernel's choice. */
static bool fraction_useless(const struct recommend_input *in)
{
    const struct host_facts *h = in->host;
    unsigned scale = pcp_scale(h, &in->knobs);
    int fraction = pcp_fraction(&in->knobs);

    if (fraction == 0)
        return false;
    for (uint32_t i = 0; i < in->zones->n_zones; i++) {
        struct pcp_zone z;
        if (!pcp_zone_counts(h, in->zones, i, &z))
            continue;
        struct pcp_limits set = pcp_limits(h->regime, &z, fraction, scale);
        struct pcp_limits own = pcp_limits(h->regime, &z, 0, scale);
        if (set.free_hold != own.free_hold || set.alloc_hold != own.alloc_hold ||
            set.high_max > own.high_max)
            return false;
    }
    return true;
}

static void useless(const struct recommend_input *in, const struct situation *now,
                    struct recommendations *list)
{
    struct recommendation *r =
        add(in, list, "PCP-FRACTION-USELESS",
            "Give the fraction back to the kernel: it shortens no hold here", now, now);

    r->setting.has[KNOB_FRACTION] = true;
    say_situation(r, in, now);
    say(r, "%s = %d leaves every hold as long as the kernel's own choice does%s.",
        knob_table[KNOB_FRACTION].name, in->knobs.value[KNOB_FRACTION],
        situation_in(in, REGIME_R2).b > now->b && in->host->regime != REGIME_R5
            ? ", since the cap of batch << scale is reached first"
            : "");
    if (in->host->regime >= REGIME_R4)
        say(r, "But it switches auto-tuning off, which is worth 3.56%% of the kernel builds "
               "published with it.");
    paste_knobs(r);
}

/* The knobs as if nobody had set them. */
static struct knob_values initial_of(const struct knob_values *v)
{
    struct knob_values initial = *v;

    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (v->has[k])
            initial.value[k] = knob_table[k].initial;
    }
    return initial;
}

/* What is gained where pcptuned may move the knob: a shorter wait in a storm, or the lists that the
 * kernel would choose at all other times. */
enum gain { GAIN_NONE, GAIN_WAIT, GAIN_CALM };

static enum gain handover_gain(const struct recommend_input *in, const struct situation *now,
                               const struct situation *untouched, const struct situation *tuned)
{
    if (untouched->w <= in->params->target_wait)
        return GAIN_NONE; /* then pcptuned does nothing here */
    if (now->w > in->params->target_wait && tuned->w < now->w)
        return GAIN_WAIT;
    bool as_short = tuned->w <= now->w || tuned->w <= in->params->target_wait;
    return as_short && now->b < untouched->b ? GAIN_CALM : GAIN_NONE;
}

static void say_pins(const struct recommend_input *in, const struct knob_values *initial,
                     struct recommendation *r)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (in->knobs.has[k] && in->knobs.value[k] != initial->value[k])
            say(r, "%s is %d and not the kernel's %d: somebody set it, and pcptuned respects that.",
                knob_table[k].name, in->knobs.value[k], initial->value[k]);
    }
}

static void pinned(const struct recommend_input *in, const struct situation *now,
                   struct recommendations *list)
{
    static const char *const titles[] = {
        [GAIN_NONE] = "Leave the knob to whoever set it",
        [GAIN_WAIT] = "Hand the knob over to pcptuned: shorter waits in a storm",
        [GAIN_CALM] = "Hand the knob over to pcptuned: its price is paid in storms alone",
    };
    struct knob_values initial = initial_of(&in->knobs), values;
    struct situation untouched = situation_now(in, &initial);

    situation_choose(in, &untouched, &initial, &values);
    struct situation tuned = situation_now(in, &values);
    enum gain gain = handover_gain(in, now, &untouched, &tuned);
    struct recommendation *r =
        add(in, list, "PCP-PINNED", titles[gain], now, gain == GAIN_NONE ? now : &tuned);
    say_pins(in, &initial, r);
    say_situation(r, in, now);
    if (gain == GAIN_NONE)
        return;
    char w[80];
    struct batch_cost paid = batch_cost(untouched.b, now->b);
    r->setting = changes(&in->knobs, &initial);
    r->cost = batch_cost(untouched.b, tuned.b);
    if (gain == GAIN_CALM)
        say(r, "That costs %u.%02u%% of page-fault throughput all day, %u.%02u%% at worst.",
            paid.typical / 100, paid.typical % 100, paid.worst / 100, paid.worst % 100);
    say(r,
        "Handed over, a storm is held to %s: take it out of sysctl.d and write the kernel's "
        "value%s.",
        formula(in, &tuned, w, sizeof(w)),
        gain == GAIN_WAIT ? ", or let pcptuned shorten the lists further and put this value back "
                            "after each storm (Pinned=tune)"
                          : "");
    paste_knobs(r);
    if (gain == GAIN_WAIT)
        snprintf(r->conf, sizeof(r->conf), "[Conflict]\nPinned=tune\n");
}

static bool is_pinned(const struct recommend_input *in)
{
    struct knob_values initial = initial_of(&in->knobs);
    return in->params->on_pinned == PINNED_RESPECT && !knob_values_equal(&initial, &in->knobs);
}

/* --- besides the verdict ------------------------------------------------------------------- */

/* What the lists may hold where high is fixed; what they do hold where the kernel tunes it, since
 * it takes pages back there (decay_pcp_high()). In pages. */
static uint64_t hoarded(const struct recommend_input *in, int fraction)
{
    unsigned scale = pcp_scale(in->host, &in->knobs);
    bool tuned = in->host->regime >= REGIME_R4;
    uint64_t sum = 0;

    for (uint32_t i = 0; i < in->zones->n_zones; i++) {
        const struct zone *zone = &in->zones->zones[i];
        struct pcp_zone z;
        if (!pcp_zone_of(in->host, in->zones, i, &z))
            continue;
        uint64_t high = pcp_limits(in->host->regime, &z, fraction, scale).high_max;
        for (uint32_t k = 0; k < zone->n_lists; k++) {
            uint64_t count = in->zones->lists[zone->first_list + k].count;
            sum += tuned && count < high ? count : high;
        }
    }
    return sum;
}

static bool has_item(const struct recommendations *list, const char *id)
{
    for (uint32_t i = 0; i < list->n; i++) {
        if (strcmp(list->item[i].id, id) == 0)
            return true;
    }
    return false;
}

static void hoard(const struct recommend_input *in, const struct situation *now,
                  struct recommendations *list)
{
    const struct host_facts *h = in->host;
    struct knob_values v = in->knobs;
    uint64_t managed = zone_table_managed(in->zones);

    v.value[KNOB_FRACTION] = (int)(HOARD_FRACTION * (h->n_nodes > 0 ? h->n_nodes : 1));
    uint64_t before = hoarded(in, pcp_fraction(&in->knobs));
    uint64_t after = hoarded(in, v.value[KNOB_FRACTION]);
    if (!v.has[KNOB_FRACTION] || managed * h->page_size > HOARD_MEMORY ||
        before < managed / HOARD_DIVISOR || after > before / 2)
        return;
    struct situation then = situation_now(in, &v);
    struct recommendation *r =
        add(in, list, "PCP-LISTS-HOARD", "Bound the memory that the lists keep", now, &then);
    r->setting.has[KNOB_FRACTION] = true;
    r->setting.value[KNOB_FRACTION] = v.value[KNOB_FRACTION];
    r->cost = batch_cost(now->b, then.b);
    r->cost_always = true;
    uint64_t kib = h->page_size / 1024;
    say(r,
        "The lists %s %" PRIu64 " MiB of %" PRIu64 " MiB, and MemFree counts none of it. With the "
        "fraction at %d it is %" PRIu64 " MiB.",
        h->regime >= REGIME_R4 ? "hold" : "may hold", before * kib / 1024, managed * kib / 1024,
        v.value[KNOB_FRACTION], after * kib / 1024);
    if (h->regime >= REGIME_R4 && in->params->max_hoard > 0)
        say(r, "While pcptuned runs it bounds them by itself (MaxHoard=).");
    if (h->regime == REGIME_R2 || h->regime == REGIME_R3)
        say(r, "They are sized by the low watermark: a lower vm.min_free_kbytes, which khugepaged "
               "raises, does the same.");
    if (has_item(list, "PCP-CONSTANT"))
        say(r, "Of this fraction and that of PCP-CONSTANT the larger serves both.");
    paste_knobs(r);
    if (then.w <= in->params->target_wait)
        return;
    say(r, "Besides pcptuned it needs Pinned=tune, which lets it shorten them further in a storm.");
    snprintf(r->conf, sizeof(r->conf), "[Conflict]\nPinned=tune\n");
}

static void stale_batch(const struct recommend_input *in, const struct situation *now,
                        struct recommendations *list)
{
    static const unsigned first[3] = {0}, doubled[3] = {4, 19, 0};
    const struct zone *worst = NULL;
    uint32_t is = 0, ought = 0;

    /* d8a759b57035 doubled the batch in 4.19: half of it is right before. */
    unsigned half = release_between(in->host->release, first, doubled) ? 2 : 1;
    for (uint32_t i = 0; i < in->zones->n_zones; i++) {
        const struct zone *zone = &in->zones->zones[i];
        struct pcp_zone z;
        if (!pcp_zone_counts(in->host, in->zones, i, &z))
            continue;
        uint32_t b = ((pcp_batchsize(z.managed, in->host->page_size) + 1) / half) - 1;
        if (z.batch < b && (!worst || zone->managed > worst->managed)) {
            worst = zone;
            is = z.batch;
            ought = b;
        }
    }
    if (!worst)
        return;
    struct recommendation *r =
        add(in, list, "PCP-STALE-BATCH", "Know that a zone's batch is stale; no sysctl changes it",
            now, now);
    say(r,
        "Zone %s of node %d has batch %" PRIu32 " where zone_batchsize() gives %" PRIu32
        " for %" PRIu64 " pages: it was computed when the zone had less memory.",
        worst->name, worst->node, is, ought, worst->managed);
    if (in->host->regime == REGIME_R1)
        say(r, "Lists of 6 such batches are shorter than meant and take zone->lock more often. "
               "Deferred initialisation at boot is the usual cause, fixed in 5.3.11 and 5.4.");
    else
        say(r, "Whatever counts in batches is smaller by that: the floor of the lists, and holds "
               "of batch << scale.");
}

/* "mm: page_alloc: speed up fallbacks in rmqueue_bulk()", https://lkml.kernel.org/r
 * /20250407180154.63348-1-hannes@cmpxchg.org: in 6.15, and in the stable releases of May 2025. */
static bool slow_fallback(const char *release)
{
    static const unsigned begins[2][3] = {{6, 10, 0}, {6, 13, 0}};
    static const unsigned fixed[2][3] = {{6, 12, 29}, {6, 14, 7}};

    return release_between(release, begins[0], fixed[0]) ||
           release_between(release, begins[1], fixed[1]);
}

static void alloc_fix(const struct recommend_input *in, const struct situation *now,
                      struct recommendations *list)
{
    if (!slow_fallback(in->host->release))
        return;
    struct recommendation *r =
        add(in, list, "PCP-KERNEL-ALLOC",
            "For information: 6.12.29, 6.14.7 and 6.15 refill lists faster", now, now);
    r->confidence = CONFIDENCE_GUESS;
    say(r,
        "By its release number, %s searches all free lists anew for each of up to %" PRIu32
        " pages of a refill where a migrate type has run out: holds of 90 ms were reported. "
        "Commit 90abee6d7895 mends it. Vendors may have it.",
        in->host->release, now->b_alloc);
}

/* Information, not advice: who can choose a kernel knows what else it brings. */
static void kernels(const struct recommend_input *in, const struct situation *now,
                    struct recommendations *list)
{
    static const unsigned tuned[3] = {6, 7, 0}, decays[3] = {6, 12, 67};
    const struct host_facts *h = in->host;
    char w[80];

    struct situation capped = situation_in(in, REGIME_R3);
    if (h->regime == REGIME_R2 && capped.b < now->b) {
        struct recommendation *r =
            add(in, list, "PCP-KERNEL-CAP", "For information: 6.1.104 and 6.6.45 cap the hold", now,
                &capped);
        say(r,
            "This kernel frees up to high - batch = %" PRIu32 " pages a hold. 6.1.104, 6.6.45 and "
            "all later kernels cap it at batch << %u: %s. No 5.15.y has that.",
            now->b, h->scale, formula(in, &capped, w, sizeof(w)));
    }
    struct situation batched = situation_in(in, REGIME_R5);
    if (h->regime >= REGIME_R2 && h->regime != REGIME_R5 && batched.b < now->b) {
        struct recommendation *r = add(
            in, list, "PCP-KERNEL-BATCH",
            "For information: 6.19 drops the lock after each batch that it frees", now, &batched);
        say(r,
            "From 6.19 on a hold frees one batch whatever the lists are: %s. Allocating still "
            "takes up to batch << scale pages there.",
            formula(in, &batched, w, sizeof(w)));
    }
    if (h->regime == REGIME_R4 && release_between(h->release, tuned, decays)) {
        struct recommendation *r =
            add(in, list, "PCP-KERNEL-DECAY",
                "For information: 6.12.67 drains idle lists batch by batch", now, now);
        r->confidence = CONFIDENCE_GUESS;
        say(r,
            "By its release number, %s lets each CPU's vmstat worker drain up to batch << scale "
            "pages in one hold; 6.12.67 takes a batch at a time. Vendors may have the fix.",
            h->release);
    }
    alloc_fix(in, now, list);
}

/* The knobs are the kernel's own, or ours to move. */
static void unpinned(const struct recommend_input *in, struct recommendations *list)
{
    const struct situation now = situation_now(in, &in->knobs);
    struct knob_values values;

    if (now.w <= in->params->target_wait) {
        keep_defaults(in, &now, list);
        return;
    }
    if (!situation_choose(in, &now, &in->knobs, &values)) {
        keep_defaults(in, &now, list);
        target_floor(in, &now, list);
        return;
    }
    struct situation then = situation_now(in, &values);
    const struct recommendation *tuned = storm_tune(in, &now, &then, &values, list);
    if (then.w > in->params->target_wait)
        target_floor(in, &then, list);
    constant(in, &now, &then, tuned, list);
}

static void verdict(const struct recommend_input *in, const struct situation *now,
                    struct recommendations *list)
{
    const struct host_facts *h = in->host;
    struct recommend_input rest = *in;

    if (h->regime < REGIME_R2 || !(in->knobs.has[KNOB_FRACTION] || in->knobs.has[KNOB_SCALE]) ||
        now->b == 0 || h->cpus_online == 1) {
        keep_defaults(in, now, list);
        return;
    }
    if (is_pinned(in) && fraction_useless(in)) {
        useless(in, now, list);
        rest.knobs.value[KNOB_FRACTION] = knob_table[KNOB_FRACTION].initial;
        if (now->w <= in->params->target_wait)
            return;
    }
    if (is_pinned(&rest))
        pinned(&rest, now, list);
    else
        unpinned(&rest, list);
}

void recommend(const struct recommend_input *in, struct recommendations *ret)
{
    struct recommend_input known = *in;

    ret->n = 0;
    if (!in->knobs_known) /* what a kernel has that nobody touched */
        known.knobs = (struct knob_values){
            .has[KNOB_FRACTION] = in->host->regime >= REGIME_R2,
            .value[KNOB_FRACTION] = knob_table[KNOB_FRACTION].initial,
        };
    struct situation now = {0};
    if (in->host->regime != REGIME_UNKNOWN)
        now = situation_now(&known, &known.knobs);
    verdict(&known, &now, ret);
    if (now.b == 0)
        return;
    hoard(&known, &now, ret);
    stale_batch(&known, &now, ret);
    if (now.w > in->params->target_wait && in->host->cpus_online > 1)
        kernels(&known, &now, ret);
}
