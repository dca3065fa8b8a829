/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "options.h"

#include <getopt.h>
#include <string.h>

enum {
    OPT_CONFIG = 256,
    OPT_CHECK,
    OPT_PRINT,
    OPT_DRY_RUN,
    OPT_FACTS,
    OPT_RESTORE,
    OPT_LOG_FORMAT,
    OPT_LOG_LEVEL,
    OPT_VERSION,
};

static const struct option long_options[] = {
    {"config", required_argument, NULL, OPT_CONFIG},
    {"check-config", optional_argument, NULL, OPT_CHECK},
    {"print-config", no_argument, NULL, OPT_PRINT},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"facts", no_argument, NULL, OPT_FACTS},
    {"restore", no_argument, NULL, OPT_RESTORE},
    {"log-format", required_argument, NULL, OPT_LOG_FORMAT},
    {"log-level", required_argument, NULL, OPT_LOG_LEVEL},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, OPT_VERSION},
    {NULL, 0, NULL, 0},
};

static const char help[] =
    "pcptuned: sees container exit storms coming and bounds what they cost the neighbours\n"
    "\n"
    "Usage: pcptuned [OPTION...]\n"
    "\n"
    "Without a verb it runs in the foreground until SIGTERM or SIGINT; SIGHUP reloads.\n"
    "\n"
    "Verbs\n"
    "  --restore              give knobs that a killed pcptuned left back, and exit\n"
    "  --check-config[=FILE]  print all errors of the configuration, and exit 0 or 1\n"
    "  --print-config         print every setting, its origin, range and value, and exit\n"
    "  --facts                print host, regime and predicted wait W, and exit\n"
    "  --help, --version\n"
    "\n"
    "Options\n"
    "  --config=FILE          instead of /etc/pcptuned/pcptuned.conf (drop-ins still apply)\n"
    "  --dry-run              decide and report, never open a knob for writing\n"
    "  --log-format=FORMAT    auto, text, json (an object an event on stdout), journal\n"
    "  --log-level=LEVEL      error, warning, notice, info (default) or debug\n"
    "\n"
    "Exit codes: 0 done; 1 failed; 2 usage; 69 this kernel has no knob; 75 another pcptuned\n"
    "runs; 77 not permitted (not root); 78 bad configuration; 79 OnForeignWrite=exit.\n"
    "\n"
    "See pcptuned(8) and /etc/pcptuned/pcptuned.conf.\n";

static int choose(const char *what, const char *value, const char *const names[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (names[i] && strcmp(names[i], value) == 0)
            return (int)i;
    }
    fprintf(stderr, "pcptuned: --%s=%s is unknown; see pcptuned --help\n", what, value);
    return -1;
}

static int log_format(const char *value, struct options *ret)
{
    static const char *const names[] = {[REPORT_AUTO] = "auto",
                                        [REPORT_TEXT] = "text",
                                        [REPORT_JSON] = "json",
                                        [REPORT_JOURNAL] = "journal"};
    int i = choose("log-format", value, names, ARRAY_SIZE(names));
    if (i >= 0)
        ret->report.format = (enum report_format)i;
    return i;
}

static int log_level(const char *value, struct options *ret)
{
    static const char *const names[] = {[LEVEL_ERROR] = "error",
                                        [LEVEL_WARNING] = "warning",
                                        [LEVEL_NOTICE] = "notice",
                                        [LEVEL_INFO] = "info",
                                        [LEVEL_DEBUG] = "debug"};
    int i = choose("log-level", value, names, ARRAY_SIZE(names));
    if (i >= 0)
        ret->report.level = (enum event_level)i;
    return i;
}

/* Returns 0, or a negative value after a complaint. */
static int take(int c, struct options *ret)
{
    switch (c) {
    case OPT_CONFIG:
        ret->config = optarg;
        return 0;
    case OPT_CHECK:
        ret->verb = VERB_CHECK_CONFIG;
        ret->config = optarg ? optarg : ret->config;
        return 0;
    case OPT_PRINT:
        ret->verb = VERB_PRINT_CONFIG;
        return 0;
    case OPT_DRY_RUN:
        ret->dry_run = true;
        return 0;
    case OPT_FACTS:
        ret->verb = VERB_FACTS;
        return 0;
    case OPT_RESTORE:
        ret->verb = VERB_RESTORE;
        return 0;
    case OPT_LOG_FORMAT:
        return log_format(optarg, ret);
    case OPT_LOG_LEVEL:
        return log_level(optarg, ret);
    case 'h':
        fputs(help, stdout);
        ret->verb = VERB_EXIT;
        return 0;
    case OPT_VERSION:
        printf("pcptuned %s\n", PCPTUNED_VERSION);
        ret->verb = VERB_EXIT;
        return 0;
    default:
        fprintf(stderr, "See pcptuned --help.\n");
        return -1;
    }
}

const char *state_dir_why(int error)
{
    return error == -EPERM ? "its owner must be who runs pcptuned, and nobody else may write it"
                           : strerror(-error);
}

int options_parse(int argc, char *argv[], struct options *ret)
{
    const char *runtime = getenv("RUNTIME_DIRECTORY");
    int c;

    *ret = (struct options){.report = {.format = REPORT_AUTO, .level = LEVEL_INFO},
                            .state_dir = runtime ? runtime : "/run/pcptuned"};
    while ((c = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (take(c, ret) < 0)
            return EXIT_USAGE;
    }
    if (optind < argc && ret->verb == VERB_CHECK_CONFIG && optind + 1 == argc) {
        ret->config = argv[optind++];
    }
    if (optind < argc) {
        fprintf(stderr, "pcptuned: unexpected argument '%s'; see pcptuned --help\n", argv[optind]);
        return EXIT_USAGE;
    }
    return 0;
}
