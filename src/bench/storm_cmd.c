/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "clock.h"
#include "commands.h"
#include "storm_report.h"

/* Progress is for people who would wonder. */
#define SILENT_NS (2 * NSEC_PER_SEC)

struct session {
    struct storm_options o;
    struct storm *storm;
    struct storm_result *results; /* o.repeat of them */
    size_t done;
    nsec_t start;
    bool terminal;
    bool shown;
};

static void show_progress(size_t ready, size_t all, void *arg)
{
    struct session *s = arg;

    if (!s->terminal || clock_monotonic() - s->start <= SILENT_NS)
        return;
    s->shown = true;
    fprintf(stderr, "\r\033[Kstorm %zu of %" PRIu64 ": %zu of %zu tasks ready", s->done + 1,
            s->o.repeat, ready, all);
}

static void clear_progress(struct session *s)
{
    if (s->shown)
        fputs("\r\033[K", stderr);
    s->shown = false;
}

static int check_fit(const struct storm_options *o)
{
    char why[160];
    uint64_t total;
    uint64_t available;
    int r = proc_memory(&total, &available);

    if (r < 0) {
        fprintf(stderr, "pcpbench storm: /proc/meminfo: %s\n", strerror(-r));
        return BENCH_FAILED;
    }
    if (storm_fits(o, total, available, why, sizeof(why)) == 0)
        return BENCH_OK;
    fprintf(stderr, "pcpbench storm: does not fit: %s\n", why);
    return BENCH_TOO_LARGE;
}

static int run(struct session *s)
{
    int r = storm_new(&s->o, &s->storm);

    if (r == 0)
        storm_on_progress(s->storm, show_progress, s);
    while (r == 0 && s->done < s->o.repeat) {
        struct storm_result *result = &s->results[s->done];
        if (s->done > 0)
            r = storm_sleep(s->storm, s->o.pause);
        if (r == 0)
            r = storm_once(s->storm, result);
        if (r < 0)
            break;
        s->done++;
        clear_progress(s);
        if (!s->o.json) {
            storm_print(&s->o, result, s->done, stdout);
            if (fflush(stdout) != 0)
                break; /* main() says so */
        }
    }
    if (r == 0 && s->o.json)
        r = storm_print_json(&s->o, s->storm, s->results, s->done, stdout);
    return r;
}

/* Returns the signal that stopped us, 0 for none, or negative errno after a message. */
static int finish(struct session *s, int r)
{
    int signo = s->storm ? storm_signal(s->storm) : 0;

    clear_progress(s);
    if (r < 0 && !signo)
        fprintf(stderr, "pcpbench storm: %s\n", storm_error(s->storm));
    int left = storm_free(s->storm);
    if (left < 0)
        fprintf(stderr, "pcpbench storm: the control group \"%s\" could not be removed: %s\n",
                s->o.cgroup, strerror(-left));
    for (uint64_t i = 0; i < s->o.repeat; i++)
        free(s->results[i].task);
    free(s->results);
    return signo ? signo : r < 0 ? r : left;
}

int cmd_storm(int argc, char **argv)
{
    struct session s = {.start = clock_monotonic(), .terminal = isatty(STDERR_FILENO)};
    int r = storm_options_parse(argc, argv, &s.o);

    if (r != 0)
        return r < 0 ? BENCH_USAGE : BENCH_OK;
    r = check_fit(&s.o);
    if (r != BENCH_OK)
        return r;
    s.results = calloc((size_t)s.o.repeat, sizeof(*s.results));
    if (!s.results) {
        fprintf(stderr, "pcpbench storm: no memory for %" PRIu64 " results\n", s.o.repeat);
        return BENCH_TOO_LARGE;
    }
    /* A reader that goes away must not keep us from cleaning up, nor a parent that ignores
     * SIGCHLD from reaping. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGCHLD, SIG_DFL);
    r = finish(&s, run(&s));
    /* Die of what killed us, so that a shell's loop stops too. */
    if (r > 0)
        raise(r);
    return r == 0 ? BENCH_OK : BENCH_FAILED;
}
