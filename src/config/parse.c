/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ini.h>
#include <string.h>

#include "result.h"
#include "text.h"

/* inih cuts longer lines in two without a word (INI_MAX_LINE is 200 as distributions build it,
 * newline and NUL included). A key, its longest value and spaces take a quarter of that. Comments
 * may be of any length: inih never sees them. */
#define LINE_MAX_BYTES 190

enum section_state { SECTION_NONE, SECTION_KNOWN, SECTION_UNKNOWN };

/* One text. inih splits lines into sections, keys and values; what it would tolerate (joined and
 * cut lines, ':', comments behind values, rubbish behind a header) is refused by the reader, which
 * also counts the lines. */
struct source {
    struct config_result *r;
    const char *file;
    const char *pos, *end;
    unsigned line; /* that inih got last */
    enum section_state section;
    unsigned seen[CONFIG_KEYS]; /* line of each key in this file, 0: not yet */
    int error;                  /* -ENOMEM */
};

#define line_error(s, format, ...)                                                                 \
    do {                                                                                           \
        if (result_add_error((s)->r, "%s:%u: " format, (s)->file, (s)->line, __VA_ARGS__) < 0)     \
            (s)->error = -ENOMEM;                                                                  \
    } while (0)

static bool section_exists(const char *name)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++)
        if (strcmp(config_table[i].section, name) == 0)
            return true;
    return false;
}

/* The key of that name, in any section where section is NULL. */
static const struct config_key *find_key(const char *section, const char *name)
{
    for (size_t i = 0; i < CONFIG_KEYS; i++)
        if ((!section || strcmp(config_table[i].section, section) == 0) &&
            strcmp(config_table[i].name, name) == 0)
            return &config_table[i];
    return NULL;
}

#define HINT_MAX 512

/* The sections, or the keys of one section, in the order of the table. */
static size_t list_words(const char *section, const char *words[static CONFIG_KEYS])
{
    size_t n = 0;

    for (size_t i = 0; i < CONFIG_KEYS; i++) {
        const struct config_key *k = &config_table[i];
        if (section && strcmp(k->section, section) == 0)
            words[n++] = k->name;
        else if (!section && (n == 0 || strcmp(k->section, words[n - 1]) != 0))
            words[n++] = k->section;
    }
    return n;
}

/* Two slips at most, and one in three letters: else all words are alike. */
static char *hint(const char *name, const char *section, const char *before, const char *after,
                  char buf[HINT_MAX])
{
    const char *words[CONFIG_KEYS];
    size_t n = list_words(section, words), len = 0;
    unsigned best = 3;

    for (size_t i = 0; i < n; i++) {
        unsigned d = text_distance(name, words[i]);
        if (d < best && d <= strlen(words[i]) / 3) {
            best = d;
            snprintf(buf, HINT_MAX, "did you mean %s%s%s?", before, words[i], after);
        }
    }
    for (size_t i = 0; best == 3 && i < n && len < HINT_MAX; i++)
        len += (size_t)snprintf(buf + len, HINT_MAX - len, "%s%s%s%s", i ? ", " : "accepted are ",
                                before, words[i], after);
    return buf;
}

static bool check_header(struct source *s, const char *line, size_t len)
{
    char shown[TEXT_SHOWN], hints[HINT_MAX], name[LINE_MAX_BYTES + 1];

    if (memchr(line, ']', len) != line + len - 1) {
        line_error(s, "\"%s\" is not a section header; accepted is [Section] on a line of its own",
                   text_show(line, len, shown));
        return false;
    }
    snprintf(name, sizeof(name), "%.*s", (int)len - 2, line + 1);
    if (!section_exists(name)) {
        line_error(s, "[%s]: unknown section; %s", text_show(name, len - 2, shown),
                   hint(name, NULL, "[", "]", hints));
        return false;
    }
    s->section = SECTION_KNOWN;
    return true;
}

static bool check_assignment(struct source *s, const char *line, size_t len)
{
    char shown[TEXT_SHOWN];
    const char *eq = memchr(line, '=', len);

    if (!eq || eq == line || memchr(line, ':', (size_t)(eq - line))) {
        line_error(s, "\"%s\" is no assignment; accepted are Key=Value, [Section] and # comments",
                   text_show(line, len, shown));
        return false;
    }
    for (const char *p = line + 1; p < line + len; p++)
        if ((*p == '#' || *p == ';') && (p[-1] == ' ' || p[-1] == '\t')) {
            line_error(s, "\"%s\" ends in a comment; accepted is a comment on a line of its own",
                       text_show(line, len, shown));
            return false;
        }
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

/* Whether inih is to see the line, which has no space around it; indent is what was cut in front.
 */
static bool line_passes(struct source *s, const char *line, size_t len, size_t indent, size_t limit)
{
    size_t valid = text_valid(line, len);

    if (len > 0 && *line == '[')
        s->section = SECTION_UNKNOWN; /* whatever is wrong: the old section has ended */
    if (valid < len) {
        line_error(s, "byte 0x%02x in column %zu; accepted is UTF-8 without control characters",
                   (unsigned char)line[valid], indent + valid + 1);
        return false;
    }
    if (len == 0 || *line == '#' || *line == ';')
        return false;
    if (len > limit) {
        line_error(s, "line of %zu bytes; accepted are %zu, and any length in # comments", len,
                   limit);
        return false;
    }
    return *line == '[' ? check_header(s, line, len) : check_assignment(s, line, len);
}

/* fgets() for inih: the next line, an empty one where inih is not to see it. */
static char *read_line(char *buf, int size, void *stream)
{
    struct source *s = stream;
    if (s->pos == s->end || s->error < 0)
        return NULL;

    const char *raw = s->pos, *line = raw;
    const char *newline = memchr(raw, '\n', (size_t)(s->end - raw));
    const char *end = newline ? newline : s->end;
    s->pos = newline ? newline + 1 : s->end;
    s->line++;

    if (end > line && end[-1] == '\r')
        end--;
    while (line < end && is_space(*line))
        line++;
    while (end > line && is_space(end[-1]))
        end--;

    size_t len = (size_t)(end - line), limit = MIN((size_t)LINE_MAX_BYTES, (size_t)size - 2);
    if (!line_passes(s, line, len, (size_t)(line - raw), limit))
        len = 0;
    memcpy(buf, line, len);
    memcpy(buf + len, "\n", 2);
    return buf;
}

static void value_error(struct source *s, const struct config_key *k, const char *value, int error)
{
    static const struct {
        const char *what, *how;
    } types[] = {
        [CONFIG_BOOL] = {"a boolean", ""},
        [CONFIG_NUMBER] = {"a whole number", ""},
        [CONFIG_PERCENT] = {"a percentage", ", as a whole number and %"},
        [CONFIG_DURATION] = {"a duration", ", as a number and ns, us, ms, s, min or h"},
        [CONFIG_SIZE] = {"a size", ", as bytes or a number and K, M, G or T"},
        [CONFIG_PATH] = {"such a file", ", without spaces, quotes, # and ;"},
        [CONFIG_MODE] = {"known", ""},
        [CONFIG_ON_FOREIGN] = {"known", ""},
        [CONFIG_ON_PINNED] = {"known", ""},
    };
    char shown[TEXT_SHOWN], range[CONFIG_TEXT];

    text_show(value, strlen(value), shown);
    config_range(k, range);
    if (error == -ERANGE)
        line_error(s, "[%s] %s=: %s is out of range; accepted is %s", k->section, k->name, shown,
                   range);
    else
        line_error(s, "[%s] %s=: \"%s\" is not %s; accepted is %s%s", k->section, k->name, shown,
                   types[k->type].what, range, types[k->type].how);
}

static void assign(struct source *s, const struct config_key *k, const char *value)
{
    size_t index = (size_t)(k - config_table);

    if (s->seen[index]) {
        line_error(s, "[%s] %s=: already set in line %u; accepted is once in a file", k->section,
                   k->name, s->seen[index]);
        return;
    }
    s->seen[index] = s->line;
    int r = config_set(k, value, &s->r->params);
    if (r < 0) {
        value_error(s, k, value, r);
        return;
    }
    struct config_assignment a = {.key = index, .at = {.file = s->file, .line = s->line}};
    config_format(k, &s->r->params, a.value);
    s->r->origins[index] = a.at;
    if (result_add_assignment(s->r, &a) < 0)
        s->error = -ENOMEM;
}

static int handle(void *user, const char *section, const char *name, const char *value)
{
    struct source *s = user;
    char shown[TEXT_SHOWN], hints[HINT_MAX];
    const struct config_key *k = find_key(section, name), *elsewhere = find_key(NULL, name);

    if (s->section == SECTION_UNKNOWN)
        return 1; /* the header has been reported: nothing can be said of its keys */
    text_show(name, strlen(name), shown);
    if (s->section == SECTION_NONE)
        line_error(s, "%s=: not in a section; accepted is %s%s%s", shown, elsewhere ? "[" : "",
                   elsewhere ? elsewhere->section : "a key below its [Section]",
                   elsewhere ? "] above it" : "");
    else if (k)
        assign(s, k, value);
    else if (elsewhere)
        line_error(s, "[%s] %s=: unknown key; it belongs to [%s]", section, shown,
                   elsewhere->section);
    else
        line_error(s, "[%s] %s=: unknown key; %s", section, shown,
                   hint(name, section, "", "=", hints));
    return 1;
}

int config_parse(const char *name, const char *text, size_t len, struct config_result *r)
{
    static const char bom[] = {'\xef', '\xbb', '\xbf'}; /* systemd passes over it, too */

    if (result_add_file(r, name) < 0)
        return -ENOMEM;
    struct source s = {
        .r = r,
        .file = r->files[r->n_files - 1],
        .pos = text,
        .end = text + len,
    };
    if (len >= sizeof(bom) && memcmp(text, bom, sizeof(bom)) == 0)
        s.pos += sizeof(bom);
    if (ini_parse_stream(read_line, &s, handle, &s) < 0)
        return -ENOMEM;
    return s.error;
}
