/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "result.h"

#include <stdarg.h>
#include <string.h>

void config_result_init(struct config_result *r)
{
    *r = (struct config_result){.params = params_default()};
}

static void free_strings(char **strings, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(strings[i]);
    free(strings);
}

void config_result_done(struct config_result *r)
{
    free_strings(r->errors, r->n_errors);
    free_strings(r->files, r->n_files);
    free(r->assignments);
    *r = (struct config_result){0};
}

/* Takes s over, also where it fails; s may be NULL. */
static int strings_add(char ***strings, size_t *n, char *s)
{
    char **larger = s ? reallocarray(*strings, *n + 1, sizeof(**strings)) : NULL;
    if (!larger) {
        free(s);
        return -ENOMEM;
    }
    larger[(*n)++] = s;
    *strings = larger;
    return 0;
}

int result_add_error(struct config_result *r, const char *format, ...)
{
    if (r->n_errors > CONFIG_ERRORS_MAX)
        return 0;
    if (r->n_errors == CONFIG_ERRORS_MAX)
        format = "further errors are not listed";

    char *text = NULL;
    va_list ap;
    va_start(ap, format);
    if (vasprintf(&text, format, ap) < 0)
        text = NULL;
    va_end(ap);
    return strings_add(&r->errors, &r->n_errors, text);
}

int result_add_file(struct config_result *r, const char *name)
{
    return strings_add(&r->files, &r->n_files, strdup(name));
}

int result_add_assignment(struct config_result *r, const struct config_assignment *a)
{
    struct config_assignment *larger =
        reallocarray(r->assignments, r->n_assignments + 1, sizeof(*larger));

    if (!larger)
        return -ENOMEM;
    larger[r->n_assignments++] = *a;
    r->assignments = larger;
    return 0;
}
