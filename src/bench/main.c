/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "commands.h"
#include "macros.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *what;
} commands[] = {
    {"storm", cmd_storm, "end large processes together, and time page faults meanwhile"},
};

static void usage(FILE *f)
{
    fputs("Usage: pcpbench COMMAND [OPTION...]\n\n"
          "Puts the load on a machine that pcptuned is about, and measures.\n\n",
          f);
    for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
        fprintf(f, "  %-10s %s\n", commands[i].name, commands[i].what);
    fputs("\n  --help     this text; pcpbench COMMAND --help for that of a command\n"
          "  --version\n",
          f);
}

static int dispatch(int argc, char **argv)
{
    static char name[32];

    for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        /* getopt() names the program by what stands here. */
        snprintf(name, sizeof(name), "pcpbench %s", argv[1]);
        argv[1] = name;
        return commands[i].run(argc - 1, argv + 1);
    }
    fprintf(stderr, "pcpbench: no command \"%s\"\n", argv[1]);
    return BENCH_USAGE;
}

int main(int argc, char **argv)
{
    int status = BENCH_OK;

    if (argc < 2) {
        usage(stderr);
        return BENCH_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0)
        usage(stdout);
    else if (strcmp(argv[1], "--version") == 0)
        puts("pcpbench " PCPTUNED_VERSION);
    else
        status = dispatch(argc, argv);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        perror("pcpbench: standard output");
        return status == BENCH_OK ? BENCH_FAILED : status;
    }
    return status;
}
