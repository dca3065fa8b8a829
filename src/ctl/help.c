/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "help.h"

#include <string.h>

#include "text.h"

#define DAEMON (OPTION_JSON | OPTION_ADDRESS)
#define LOCAL (OPTION_JSON | OPTION_CONFIG | OPTION_NO_PAGER)
#define BOTH (OPTION_JSON | OPTION_ADDRESS | OPTION_CONFIG | OPTION_NO_PAGER)

static const struct verb verbs[] = {
    {"status", NULL, verb_status, BOTH, "is it working: mode, knobs, signals, storms",
     "Asks pcptuned; where none runs, says so and what can be said without: kernel regime,\n"
     "knobs, and what a killed one left behind. Exit code 3 where none runs.\n"},
    {"top", NULL, verb_top, OPTION_ADDRESS, "the same live, with the wait and the page lists",
     "Refreshes each second, from what pcptuned knows: it never reads /proc/zoneinfo, which\n"
     "holds the lock that pcptuned protects. Keys: q or ^C ends, space refreshes at once.\n"},
    {"events", NULL, verb_events, DAEMON | OPTION_SINCE | OPTION_FOLLOW | OPTION_NO_PAGER,
     "what it did and why, and whose container it was",
     "The last events that pcptuned remembers, oldest first; older ones are in the journal:\n"
     "journalctl -u pcptuned. With --json one object a line, with the keys of pcptuned(8).\n"},
    {"recommend", NULL, verb_recommend, BOTH, "what to set here and why, ready to paste",
     "Often it is to keep the defaults. Needs no pcptuned and changes nothing.\n"},
    {"explain", NULL, verb_explain, LOCAL, "each zone from its pages to the wait W, step by step",
     "This machine's numbers in the kernel's formulas. Needs no pcptuned.\n"},
    {"config", NULL, verb_config, LOCAL, "each setting: value, default, who set it over whom",
     "As pcptuned would load it now. What it runs with can differ until a reload.\n"},
    {"verify", NULL, verb_verify, BOTH, "does the machine stand as believed; for scripts",
     "Compares the sysctls with the undo journal and with pcptuned, where it runs.\n"
     "Exit codes: 0 as believed; 10 a knob is not what is believed; 11 left tuned by a killed\n"
     "pcptuned; 12 no journal to undo from; 1 cannot tell.\n"},
    {"mode", "apply|dry-run|off", verb_mode, DAEMON, "tune, only report, or do nothing",
     "At once, until the next mode, re-arm, restore, reload or restart: Mode= in the "
     "configuration\n"
     "stays. What is tuned goes back first.\n"},
    {"re-arm", NULL, verb_rearm, DAEMON, "take up knobs again that were left to others",
     "As when RearmAfter= is over. Also ends what mode or restore began.\n"},
    {"restore", NULL, verb_restore, DAEMON, "give the knobs' original values back now",
     "And leaves the knobs alone until re-arm, mode, reload or a restart: storms are reported\n"
     "meanwhile, as in dry-run. Where pcptuned was killed: pcptuned --restore.\n"},
    {"reload", NULL, verb_reload, DAEMON, "read the configuration again",
     "A bad one is refused whole, and the one before stays in force.\n"},
};

static const struct option_text {
    enum option_id id;
    const char *name, *text;
} option_texts[] = {
    {OPTION_JSON, "--json", "JSON on standard output; its keys are in pcptunectl(1)"},
    {OPTION_SINCE, "--since=TIME", "10min, 2h (ago), today, yesterday, 22:30, 2026-11-30[ 22:30]"},
    {OPTION_FOLLOW, "--follow", "then wait for what happens, until ^C"},
    {OPTION_CONFIG, "--config=FILE", "instead of /etc/pcptuned/pcptuned.conf (drop-ins apply)"},
    {OPTION_ADDRESS, "--address=ADDR", "pcptuned's bus: unix:path=/run/pcptuned/bus, or system"},
    {OPTION_NO_PAGER, "--no-pager", "not through $PAGER, as it is on a terminal"},
};

const struct verb *verb_find(const char *name, const char **ret_near)
{
    unsigned best = 3;

    *ret_near = NULL;
    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        unsigned d = text_distance(name, verbs[i].name);
        if (strcmp(name, verbs[i].name) == 0)
            return &verbs[i];
        if (d < best) {
            best = d;
            *ret_near = verbs[i].name;
        }
    }
    return NULL;
}

static void print_options(unsigned options)
{
    for (size_t i = 0; i < ARRAY_SIZE(option_texts); i++) {
        if (options & option_texts[i].id)
            printf("  %-16s %s\n", option_texts[i].name, option_texts[i].text);
    }
}

static void print_verbs(const char *from, const char *to)
{
    bool on = false;

    for (size_t i = 0; i < ARRAY_SIZE(verbs); i++) {
        on = on || strcmp(verbs[i].name, from) == 0;
        if (on)
            printf("  %-16s %s\n", strcmp(verbs[i].name, "mode") == 0 ? "mode MODE" : verbs[i].name,
                   verbs[i].summary);
        if (strcmp(verbs[i].name, to) == 0)
            return;
    }
}

void help_print(void)
{
    fputs("pcptunectl: is pcptuned working, what did it do, and what would it do here\n\n"
          "Usage: pcptunectl [OPTION...] VERB\n"
          "       pcptunectl VERB --help\n\n"
          "What pcptuned does (not without one, status aside)\n",
          stdout);
    print_verbs("status", "events");
    fputs("\nWhat is so here (needs neither pcptuned nor root, and changes nothing)\n", stdout);
    print_verbs("recommend", "verify");
    fputs("\nWhat pcptuned is to do (as root)\n", stdout);
    print_verbs("mode", "reload");
    fputs("\nOptions\n", stdout);
    print_options(~0U);
    fputs("  --help, --version\n\n"
          "Questions\n"
          "  Is it working?               pcptunectl status\n"
          "  What did it do last night?   pcptunectl events --since=yesterday\n"
          "  What would it do here?       pcptunectl recommend\n"
          "  How do I stop it?            pcptunectl mode off; systemctl disable --now pcptuned\n"
          "  How do I undo it?            pcptunectl restore; after a kill: pcptuned --restore\n\n"
          "Environment: NO_COLOR, PAGER. Exit codes: 0 done; 1 failed; 2 usage; 3 no pcptuned\n"
          "runs; 4 denied; 5 refused; 10 to 12 of verify. See pcptunectl(1) and pcptuned(8).\n",
          stdout);
}

void help_print_verb(const struct verb *v)
{
    printf("Usage: pcptunectl [OPTION...] %s%s%s\n\n%s: %s.\n\n%s\nOptions\n", v->name,
           v->argument ? " " : "", v->argument ? v->argument : "", v->name, v->summary, v->help);
    print_options(v->options);
    fputs("\nSee pcptunectl(1).\n", stdout);
}
