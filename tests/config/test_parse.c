/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define SEC NSEC_PER_SEC
#define BOM "\xef\xbb\xbf"
#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10

#define ASSIGNMENT " is no assignment; accepted are Key=Value, [Section] and # comments"
#define HEADER " is not a section header; accepted is [Section] on a line of its own"
#define COMMENT " ends in a comment; accepted is a comment on a line of its own"
#define BYTE "; accepted is UTF-8 without control characters"
#define UNITS ", as a number and ns, us, ms, s, min or h"

/* Text of known length: NUL bytes are part of it. */
#define TEXT(s) s, sizeof(s) - 1

/* Line by line, the messages as people get them. */
static const struct {
    const char *text;
    size_t len;
    const char *errors;
} bad[] = {
    /* sections */
    {TEXT("[Polcy]\nTargetWait=1us\nnonsense=1\n"),
     "t:1: [Polcy]: unknown section; did you mean [Policy]?"},
    {TEXT("[Match]\n"), "t:1: [Match]: unknown section; accepted are [Daemon], [Signals], [Storm], "
                        "[Policy], [Conflict], [Report]"},
    {TEXT("[policy]\n"), "t:1: [policy]: unknown section; did you mean [Policy]?"},
    {TEXT("[ Policy ]\n"), "t:1: [ Policy ]: unknown section; did you mean [Policy]?"},
    {TEXT("[]\n"), "t:1: []: unknown section; accepted are [Daemon], [Signals], [Storm], [Policy], "
                   "[Conflict], [Report]"},
    {TEXT("[Policy\nTargetWait=x\n"), "t:1: \"[Policy\"" HEADER},
    {TEXT("[Policy] # ours\n"), "t:1: \"[Policy] # ours\"" HEADER},
    {TEXT("[Policy]]\n"), "t:1: \"[Policy]]\"" HEADER},
    {TEXT("["), "t:1: \"[\"" HEADER},
    /* keys */
    {TEXT("TargetWait=1us\n"), "t:1: TargetWait=: not in a section; accepted is [Policy] above it"},
    {TEXT("Foo=1us\n"), "t:1: Foo=: not in a section; accepted is a key below its [Section]"},
    {TEXT("[Policy]\nTargetWiat=1us\n"),
     "t:2: [Policy] TargetWiat=: unknown key; did you mean TargetWait=?"},
    {TEXT("[Policy]\ntargetwait=1us\n"),
     "t:2: [Policy] targetwait=: unknown key; did you mean TargetWait=?"},
    {TEXT("[Storm]\nTargetWait=1us\n"),
     "t:2: [Storm] TargetWait=: unknown key; it belongs to [Policy]"},
    {TEXT("[Signals]\nNetlink=yes\n"),
     "t:2: [Signals] Netlink=: unknown key; accepted are Taskstats=, Psi=, Vmstat="},
    {TEXT("[Policy]\nLatency=1us\n"),
     "t:2: [Policy] Latency=: unknown key; accepted are TargetWait=, PageCost=, HighFractionMin=, "
     "HighFractionMax=, BatchScaleMin=, BatchScaleMax=, Dwell=, TunedMax=, "
     "WritesPerHour=, MaxLoss=, MaxHoard=, Churn="},
    {TEXT("[Daemon]\nM\xc3\xb6"
          "de=off\n"),
     "t:2: [Daemon] M??de=: unknown key; accepted are "
     "Mode=, Tick=, KnobTimeout="},
    {TEXT("[Daemon]\n" X100 "=1\n"), "t:2: [Daemon] " X10 X10 X10 X10 "...=: unknown key; accepted "
                                     "are Mode=, Tick=, KnobTimeout="},
    {TEXT("[Daemon]\nTick=1s\n\nTick=2s\n"),
     "t:4: [Daemon] Tick=: already set in line 2; accepted is once in a file"},
    {TEXT("[Daemon]\nTick=1s\n[Storm]\n[Daemon]\nTick=\n"),
     "t:5: [Daemon] Tick=: already set in line 2; accepted is once in a file"},
    /* values */
    {TEXT("[Policy]\nTargetWait=100\n"),
     "t:2: [Policy] TargetWait=: \"100\" is not a duration; accepted is 1us to 1s" UNITS},
    {TEXT("[Policy]\nTargetWait=100M\n"),
     "t:2: [Policy] TargetWait=: \"100M\" is not a duration; accepted is 1us to 1s" UNITS},
    {TEXT("[Policy]\nTargetWait=2s\n"),
     "t:2: [Policy] TargetWait=: 2s is out of range; accepted is 1us to 1s"},
    {TEXT("[Conflict]\nRearmAfter=200h\n"),
     "t:2: [Conflict] RearmAfter=: 200h is out of range; accepted is 1s to 168h, or infinity"},
    {TEXT("[Storm]\nTaskSize=32MB\n"), "t:2: [Storm] TaskSize=: \"32MB\" is not a size; accepted "
                                       "is 1M to 1T, as bytes or a number and K, M, G or T"},
    {TEXT("[Policy]\nWritesPerHour=many\n"),
     "t:2: [Policy] WritesPerHour=: \"many\" is not a whole number; accepted is 2 to 1000"},
    {TEXT("[Policy]\nMaxLoss=5\n"),
     "t:2: [Policy] MaxLoss=: \"5\" is not a percentage; accepted is "
     "1% to 100%, as a whole number and %"},
    {TEXT("[Report]\nMetricsFile=/tmp/a\n"),
     "t:2: [Report] MetricsFile=: \"/tmp/a\" is not such a file; accepted is an absolute path that "
     "ends in .prom, without spaces, quotes, # and ;"},
    {TEXT("[Signals]\nPsi=maybe\n"),
     "t:2: [Signals] Psi=: \"maybe\" is not a boolean; accepted is yes or no"},
    {TEXT("[Daemon]\nMode=\"apply\"\n"),
     "t:2: [Daemon] Mode=: \"\"apply\"\" is not known; accepted is apply, dry-run or off"},
    {TEXT("[Conflict]\nOnForeignWrite=fight\nPinned=1\n"),
     "t:2: [Conflict] OnForeignWrite=: \"fight\" is not known; accepted is yield, reassert or "
     "exit\n"
     "t:3: [Conflict] Pinned=: \"1\" is not known; accepted is respect or tune"},
    {TEXT("[Policy]\nTargetWait=10us#fast\n"),
     "t:2: [Policy] TargetWait=: \"10us#fast\" is not a duration; accepted is 1us to 1s" UNITS},
    {TEXT("[Policy]\nTargetWait=;\n"),
     "t:2: [Policy] TargetWait=: \";\" is not a duration; accepted is 1us to 1s" UNITS},
    /* lines */
    {TEXT("[Policy]\nTargetWait\n"), "t:2: \"TargetWait\"" ASSIGNMENT},
    {TEXT("[Policy]\nTargetWait: 1us\n"), "t:2: \"TargetWait: 1us\"" ASSIGNMENT},
    {TEXT("[Policy]\n=1us\n"), "t:2: \"=1us\"" ASSIGNMENT},
    {TEXT("[Policy]\nTargetWait=1us\n 2us\n"), "t:3: \"2us\"" ASSIGNMENT},
    {TEXT("[Policy]\nTargetWait=1us ; fast\n"), "t:2: \"TargetWait=1us ; fast\"" COMMENT},
    {TEXT("[Policy]\nTargetWait= ;fast\n"), "t:2: \"TargetWait= ;fast\"" COMMENT},
    {TEXT("[Policy]\nTargetWait=1us\t# fast\n"), "t:2: \"TargetWait=1us?# fast\"" COMMENT},
    {TEXT("[Policy]\nTargetWait=" X100 X100 "\nDwell=2s\nDwell=3s\n"),
     "t:2: line of 211 bytes; accepted are 190, and any length in # comments\n"
     "t:4: [Policy] Dwell=: already set in line 3; accepted is once in a file"},
    {TEXT("[" X100 X100 "]\n"),
     "t:1: line of 202 bytes; accepted are 190, and any length in # comments"},
    /* a bad header ends the section before it, too: its keys must not go there */
    {TEXT("[Daemon]\n[" X100 X100 "]\nTick=rubbish\n"),
     "t:2: line of 202 bytes; accepted are 190, and any length in # comments"},
    {TEXT("[Daemon]\n [Storm\1]\nTick=rubbish\n"), "t:2: byte 0x01 in column 8" BYTE},
    {TEXT("[Daemon]\n[Storm\nTick=rubbish\n"), "t:2: \"[Storm\"" HEADER},
    /* bytes */
    {TEXT("[Policy]\nTargetWait=1us\0\n"), "t:2: byte 0x00 in column 15" BYTE},
    {TEXT("# a comment\0\n"), "t:1: byte 0x00 in column 12" BYTE},
    {TEXT("\0"), "t:1: byte 0x00 in column 1" BYTE},
    {TEXT("# Latin 1: \xe4\n"), "t:1: byte 0xe4 in column 12" BYTE},
    {TEXT("# overlong \xc0\xaf\n"), "t:1: byte 0xc0 in column 12" BYTE},
    {TEXT("# overlong \xe0\x80\xaf\n"), "t:1: byte 0xe0 in column 12" BYTE},
    {TEXT("# surrogate \xed\xa0\x80\n"), "t:1: byte 0xed in column 13" BYTE},
    {TEXT("# beyond \xf4\x90\x80\x80\n"), "t:1: byte 0xf4 in column 10" BYTE},
    {TEXT("# cut \xe2\x82\n"), "t:1: byte 0xe2 in column 7" BYTE},
    {TEXT("# cut by the end \xe2\x82"), "t:1: byte 0xe2 in column 18" BYTE},
    {TEXT("  Tick=1s\x1b[2J\n"), "t:1: byte 0x1b in column 10" BYTE},
    {TEXT("[Daemon]\rTick=1s\r"), "t:1: byte 0x0d in column 9" BYTE},
    {TEXT("[Daemon]\n" BOM "Tick=1s\n"), "t:2: [Daemon] ???Tick=: unknown key; accepted are "
                                         "Mode=, Tick=, KnobTimeout="},
    {TEXT(BOM BOM "[Daemon]\n"), "t:1: \"???[Daemon]\"" ASSIGNMENT},
    /* several at once, and what only shows at the end */
    {TEXT("Mode=off\n[Storm]\nHold=1\nHodl=1s\nrubbish\n[Storn]\n"),
     "t:1: Mode=: not in a section; accepted is [Daemon] above it\n"
     "t:3: [Storm] Hold=: \"1\" is not a duration; accepted is 10ms to 1min" UNITS "\n"
     "t:4: [Storm] Hodl=: unknown key; did you mean Hold=?\n"
     "t:5: \"rubbish\"" ASSIGNMENT "\n"
     "t:6: [Storn]: unknown section; did you mean [Storm]?"},
    {TEXT("[Policy]\nHighFractionMax=512\nHighFractionMin=4096\n"),
     "t:3: [Policy] HighFractionMin=: 4096 is above HighFractionMax=512 (t:2); accepted is a "
     "minimum up to it"},
    {TEXT("[Policy]\nBatchScaleMin=5\nBatchScaleMax=4\nTick=1s\n"),
     "t:4: [Policy] Tick=: unknown key; it belongs to [Daemon]\n"
     "t:2: [Policy] BatchScaleMin=: 5 is above BatchScaleMax=4 (t:3); accepted is a minimum up to "
     "it"},
};

static char *join_errors(const struct config_result *r)
{
    static char buf[16384];
    size_t len = 0;

    *buf = '\0';
    for (size_t i = 0; i < r->n_errors; i++)
        len += (size_t)snprintf(buf + len, sizeof(buf) - len, "%s%s", i ? "\n" : "", r->errors[i]);
    assert_true(len < sizeof(buf));
    return buf;
}

static void parse(const char *text, size_t len, struct config_result *r)
{
    /* a copy of exactly that length, so that the sanitizer sees who reads on */
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, text, len);
    config_result_init(r);
    assert_int_equal(config_parse("t", copy, len, r), 0);
    assert_int_equal(config_check(r), 0);
    free(copy);
}

static void errors_say_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct config_result r;
        parse(bad[i].text, bad[i].len, &r);
        if (strcmp(join_errors(&r), bad[i].errors) != 0)
            fail_msg("%s\n  gave     %s\n  expected %s", bad[i].text, join_errors(&r),
                     bad[i].errors);
        config_result_done(&r);
    }
}

static const struct {
    const char *text;
    size_t len;
    uint64_t tick;
    unsigned line; /* of Tick=; 0: not set */
} good[] = {
    {TEXT(""), 10 * SEC, 0},
    {TEXT("\n\n# only comments\n ; and such\n"), 10 * SEC, 0},
    {TEXT("[Daemon]"), 10 * SEC, 0},
    {TEXT("[Daemon]\nTick=2s\n"), 2 * SEC, 2},
    {TEXT("[Daemon]\nTick=2s"), 2 * SEC, 2},
    {TEXT("  [Daemon]  \n\t Tick \t= \t2s\t\n"), 2 * SEC, 2},
    {TEXT("[Daemon]\r\n\r\nTick=2s\r\n"), 2 * SEC, 3},
    {TEXT(BOM "[Daemon]\nTick=2s\n"), 2 * SEC, 2},
    {TEXT(BOM), 10 * SEC, 0},
    {TEXT("[Daemon]\nTick=\n"), 10 * SEC, 2},
    {TEXT("[Daemon]\n[Storm]\n[Daemon]\nTick=2s\n"), 2 * SEC, 4},
    {TEXT("[Daemon]\nMode=off\n  Tick=2s\n"), 2 * SEC, 3}, /* indented is not continued */
    {TEXT("# \xe2\x82\xac \xf0\x9f\x90\xa7 \xc3\xb6\n[Daemon]\nTick=2s\n"), 2 * SEC, 3},
    {TEXT("[Daemon]\n#" X100 X100 X100 X100 X100 "\\\nTick=2s\n"), 2 * SEC, 3},
    {TEXT("[Daemon]\nTick=2s"
          "                                                        "
          "                                                                            "
          "                                                                            \n"),
     2 * SEC, 2}, /* space at the ends does not count */
};

static void good_files(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
        struct config_result r;
        parse(good[i].text, good[i].len, &r);
        if (r.n_errors || r.params.tick != good[i].tick || r.origins[1].line != good[i].line)
            fail_msg("%s: %s, tick %llu, line %u", good[i].text, join_errors(&r),
                     (unsigned long long)r.params.tick, r.origins[1].line);
        assert_true(!r.origins[1].file == !good[i].line);
        config_result_done(&r);
    }
}

/* inih's buffer has 200 bytes: a line just below our limit must arrive whole, one above be told. */
static void line_limit(void **state)
{
    (void)state;
    for (int len = 180; len < 230; len++) {
        char text[300], expected[200];
        struct config_result r;
        int n = snprintf(text, sizeof(text), "[Daemon]\nTick=%*s2s\n", len - 7, "");
        parse(text, (size_t)n, &r);
        if (len <= 190)
            *expected = '\0';
        else
            snprintf(expected, sizeof(expected),
                     "t:2: line of %d bytes; accepted are 190, and any length in # comments", len);
        assert_string_equal(join_errors(&r), expected);
        assert_int_equal(r.params.tick, len <= 190 ? 2 * SEC : 10 * SEC);
        config_result_done(&r);
    }
}

static void errors_are_bounded(void **state)
{
    char text[1000];
    struct config_result r;

    (void)state;
    memset(text, '\n', sizeof(text));
    for (size_t i = 0; i < sizeof(text); i += 2)
        text[i] = 'x';
    parse(text, sizeof(text), &r);
    assert_int_equal(r.n_errors, CONFIG_ERRORS_MAX + 1);
    assert_string_equal(r.errors[99], "t:100: \"x\"" ASSIGNMENT);
    assert_string_equal(r.errors[100], "further errors are not listed");
    config_result_done(&r);
}

static void print(const struct config_result *r, char *buf, size_t size)
{
    FILE *f = fmemopen(buf, size, "w");
    assert_non_null(f);
    config_print(r, f);
    assert_int_equal(fclose(f), 0);
}

static void printed_is_accepted(void **state)
{
    static const char text[] =
        "[Policy]\nTargetWait=80us\nDwell=\n[Conflict]\nRearmAfter=infinity\n";
    char buf[8192];
    struct config_result r, back;

    (void)state;
    parse(TEXT(text), &r);
    print(&r, buf, sizeof(buf));
    assert_non_null(strstr(buf, "# t\n\n[Daemon]\n"));
    assert_non_null(strstr(buf, "(1us to 1s)\n# from t:2\nTargetWait=80us\n"));
    assert_non_null(strstr(buf, "# from t:3\nDwell=1s\n"));
    assert_non_null(strstr(buf, "(apply, dry-run or off)\n#Mode=apply\n"));
    parse(buf, strlen(buf), &back);
    assert_string_equal(join_errors(&back), "");
    assert_int_equal(back.params.target_wait, 80000);
    assert_int_equal(back.params.rearm_after, NSEC_INFINITY);
    config_result_done(&r);
    config_result_done(&back);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_all),      cmocka_unit_test(good_files),
        cmocka_unit_test(line_limit),          cmocka_unit_test(errors_are_bounded),
        cmocka_unit_test(printed_is_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
