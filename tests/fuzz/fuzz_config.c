/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <string.h>

/* What is accepted must survive being printed and read again; each error is one line of text. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition)
        abort();
}

static void check_errors(const struct config_result *r)
{
    require(r->n_errors <= CONFIG_ERRORS_MAX + 1);
    for (size_t i = 0; i < r->n_errors; i++)
        for (const char *c = r->errors[i]; *c; c++)
            require(*c >= ' ' && *c <= '~');
}

static void check_print(const struct config_result *r)
{
    char value[CONFIG_TEXT], again[CONFIG_TEXT], *buf = NULL;
    struct config_result back;
    size_t len = 0;
    FILE *f = open_memstream(&buf, &len);

    require(f != NULL);
    config_print(r, f);
    require(fclose(f) == 0);
    config_result_init(&back);
    require(config_parse("printed", buf, len, &back) == 0);
    require(back.n_errors == 0);
    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        require(strcmp(config_format(k, &r->params, value),
                       config_format(k, &back.params, again)) == 0);
    }
    config_result_done(&back);
    free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct config_result r;

    config_result_init(&r);
    require(config_parse("fuzz", (const char *)data, size, &r) == 0);
    require(config_check(&r) == 0);
    check_errors(&r);
    if (r.n_errors == 0)
        check_print(&r);
    config_result_done(&r);
    return 0;
}
