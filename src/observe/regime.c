/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hostfacts.h"

#include <stdarg.h>
#include <string.h>

#define SCALE_DEFAULT 5 /* mm/Kconfig, "default 5", "range 0 6" */
#define SCALE_LIMIT 6

/* Each sign leaves an unbroken run of regimes, since kernels gained these features in order. */
struct range {
    enum regime lo, hi;
};
#define ONLY(r) ((struct range){(r), (r)})

static _printf_(2, 3) void assume(struct host_facts *ret, const char *fmt, ...)
{
    size_t used = strnlen(ret->assumed, sizeof(ret->assumed) - 1);
    if (used > 0 && used + 2 < sizeof(ret->assumed)) {
        memcpy(ret->assumed + used, "; ", 3);
        used += 2;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(ret->assumed + used, sizeof(ret->assumed) - used, fmt, args);
    va_end(args);
}

/* Narrows *range, and remembers the sign that did so last; a contradiction changes nothing. */
static void narrow(struct range *range, struct range sign, enum evidence e, enum evidence *by)
{
    enum regime lo = MAX(range->lo, sign.lo);
    enum regime hi = MIN(range->hi, sign.hi);
    if (lo > hi || (lo == range->lo && hi == range->hi))
        return;
    *range = (struct range){lo, hi};
    *by = e;
}

static struct range range_of_files(const struct regime_signs *s)
{
    if (!s->has_fraction)
        return ONLY(REGIME_R1);
    if (s->has_scale)
        return ONLY(REGIME_R6);
    return (struct range){REGIME_R2, REGIME_R5};
}

static struct range range_of_btf(const struct btf_facts *b)
{
    if (b->high_min && b->commit_known)
        return ONLY(b->commit_returns_bool ? REGIME_R5 : REGIME_R4);
    if (b->high_min)
        return (struct range){REGIME_R4, REGIME_R5};
    if (b->free_factor)
        return (struct range){REGIME_R2, REGIME_R3};
    return (struct range){REGIME_R2, REGIME_R5};
}

static struct range range_of_config(int config_scale)
{
    if (config_scale == CONFIG_SCALE_ABSENT)
        return ONLY(REGIME_R2);
    return (struct range){config_scale >= 0 ? REGIME_R3 : REGIME_R2, REGIME_R5};
}

static struct range range_of_zoneinfo(const struct regime_signs *s)
{
    if (s->zoneinfo_reserved_ha)
        return ONLY(REGIME_R5);
    if (s->zoneinfo_minmax || s->list_high_differs)
        return (struct range){REGIME_R4, REGIME_R5};
    /* 6.13 and later print high_min, so this is no 6.19. */
    return (struct range){REGIME_R2, REGIME_R4};
}

/* A number of at most four digits at *s, which is moved behind it. */
static bool take_number(const char **s, unsigned *ret)
{
    size_t digits = strspn(*s, "0123456789");
    if (digits < 1 || digits > 4)
        return false;
    *ret = 0;
    for (; digits > 0; digits--)
        *ret = *ret * 10 + (unsigned)(*(*s)++ - '0');
    return true;
}

/* The regimes of the mainline and stable releases; REGIME_UNKNOWN: no version. */
static enum regime regime_of_release(const char *release)
{
    unsigned major, minor, patch = 0;
    if (!release || !take_number(&release, &major) || *release++ != '.' ||
        !take_number(&release, &minor))
        return REGIME_UNKNOWN;
    if (*release++ == '.')
        (void)take_number(&release, &patch);
    unsigned v = major * 10000 + minor;

    if (v < 50014)
        return REGIME_R1;
    if (v < 60007) {
        bool capped = (v == 60001 && patch >= 104) || (v == 60006 && patch >= 45);
        return capped ? REGIME_R3 : REGIME_R2;
    }
    return v < 60019 ? REGIME_R4 : REGIME_R5;
}

static void decide_by_release(const struct regime_signs *s, struct range range,
                              struct host_facts *ret)
{
    enum regime guess = regime_of_release(s->release);
    bool nothing_known = range.lo == REGIME_R2 && range.hi == REGIME_R5;

    if (guess == REGIME_UNKNOWN) {
        /* The later regime is the one in which less is done. */
        ret->regime = nothing_known ? REGIME_UNKNOWN : range.hi;
        ret->regime_by = EVIDENCE_NONE;
        assume(ret, "%s: the release is no version and nothing else tells",
               regime_name(ret->regime));
        return;
    }
    ret->regime = CLAMP(guess, range.lo, range.hi);
    ret->regime_by = EVIDENCE_VERSION;
    assume(ret, "%s (of %s to %s) by release %.32s alone, vendors differ", regime_name(ret->regime),
           regime_name(range.lo), regime_name(range.hi), s->release);
}

static void decide_regime(const struct regime_signs *s, struct host_facts *ret)
{
    struct range range = {REGIME_R1, REGIME_R6};
    enum evidence by = EVIDENCE_NONE;

    narrow(&range, range_of_files(s), EVIDENCE_FILE, &by);
    if (s->btf_known)
        narrow(&range, range_of_btf(&s->btf), EVIDENCE_BTF, &by);
    narrow(&range, range_of_config(s->config_scale), EVIDENCE_CONFIG, &by);
    if (s->zoneinfo_known)
        narrow(&range, range_of_zoneinfo(s), EVIDENCE_ZONEINFO, &by);

    if (range.lo < range.hi) {
        decide_by_release(s, range, ret);
        return;
    }
    ret->regime = range.lo;
    ret->regime_by = by;
    if (ret->regime == REGIME_R1 && regime_of_release(s->release) > REGIME_R1)
        assume(ret, "the fraction's file is hidden or compiled out: release %.32s has it",
               s->release);
    if (ret->regime == REGIME_R6 && s->btf_known && !s->btf.high_min && s->btf.free_factor)
        assume(ret, "auto-tuning like R4, though BTF shows the older free_factor");
}

static void decide_scale(const struct regime_signs *s, struct host_facts *ret)
{
    const struct {
        int value;
        enum evidence by;
    } candidates[] = {
        {ret->regime == REGIME_R6 ? s->sysctl_scale : -1, EVIDENCE_FILE},
        /* Only kernels with that patch know the parameter, and nobody else would give it. */
        {s->cmdline_scale, EVIDENCE_CONFIG},
        {s->config_scale, EVIDENCE_CONFIG},
    };

    for (size_t i = 0; i < ARRAY_SIZE(candidates); i++) {
        if (candidates[i].value >= 0 && candidates[i].value <= SCALE_LIMIT) {
            ret->scale = (uint8_t)candidates[i].value;
            ret->scale_by = candidates[i].by;
            return;
        }
    }
    ret->scale = SCALE_DEFAULT;
    ret->scale_by = EVIDENCE_NONE;
    if (ret->regime >= REGIME_R3)
        assume(ret, "scale %d, the kernel's default: no configuration says it", SCALE_DEFAULT);
}

void regime_decide(const struct regime_signs *s, struct host_facts *ret)
{
    ret->assumed[0] = '\0';
    decide_regime(s, ret);
    decide_scale(s, ret);
}

int cmdline_scale_parse(const char *cmdline)
{
    static const char key[] = "pcp_batch_scale_max=";
    int found = -1;

    for (const char *word = cmdline; *word;) {
        size_t len = strcspn(word, " \n");
        if (len == 2 && strncmp(word, "--", 2) == 0)
            break; /* the rest is for init */
        if (len == sizeof(key) && strncmp(word, key, len - 1) == 0) {
            char digit = word[len - 1];
            if (digit >= '0' && digit <= '0' + SCALE_LIMIT)
                found = digit - '0';
        }
        word += len;
        word += strspn(word, " \n");
    }
    return found;
}
