/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "eventjson.h"

#include <time.h>

const char *event_text(struct json_object *o, const char *key)
{
    struct json_object *value;
    const char *text =
        json_object_object_get_ex(o, key, &value) ? json_object_get_string(value) : NULL;

    return text ? text : "";
}

char *event_time(struct json_object *o, char buf[static TERM_TIME])
{
    const char *utc = event_text(o, "time");
    struct tm tm = {0};

    if (strptime(utc, "%Y-%m-%dT%H:%M:%S", &tm))
        return term_time((uint64_t)timegm(&tm) * 1000000, buf);
    snprintf(buf, TERM_TIME, "%.19s", utc);
    return buf;
}
