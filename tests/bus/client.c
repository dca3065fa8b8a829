/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "api.h"

sd_bus *client_open(const char *dir)
{
    char address[160];
    sd_bus *bus;

    snprintf(address, sizeof(address), "unix:path=%s/" API_SOCKET_NAME, dir);
    if (sd_bus_new(&bus) < 0)
        return NULL;
    int r = sd_bus_set_address(bus, address);
    if (r >= 0)
        r = sd_bus_start(bus);
    while (r >= 0 && sd_bus_is_ready(bus) == 0) {
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, 10000000);
        if (sd_bus_is_open(bus) <= 0)
            r = -ENOTCONN;
    }
    return r < 0 ? sd_bus_close_unref(bus) : bus;
}

static void add(char *buf, size_t size, const char *text)
{
    size_t len = strlen(buf);

    snprintf(buf + len, size - len, "%s%s", len && !strchr("[(", buf[len - 1]) ? " " : "", text);
}

static void dump_basic(sd_bus_message *m, char type, char *buf, size_t size)
{
    union {
        uint8_t y;
        int b;
        int32_t i;
        uint32_t u;
        uint64_t t;
        double d;
        const char *s;
    } v;
    char text[4096];

    if (sd_bus_message_read_basic(m, type, &v) < 0)
        return;
    switch (type) {
    case 's':
        snprintf(text, sizeof(text), "s:%s", v.s);
        break;
    case 'b':
    case 'i':
        snprintf(text, sizeof(text), "%c:%d", type, v.i);
        break;
    case 'u':
        snprintf(text, sizeof(text), "u:%u", v.u);
        break;
    case 't':
        snprintf(text, sizeof(text), "t:%" PRIu64, v.t);
        break;
    case 'd':
        snprintf(text, sizeof(text), "d:%.2f", v.d);
        break;
    default:
        snprintf(text, sizeof(text), "?%c", type);
        break;
    }
    add(buf, size, text);
}

static void dump_rest(sd_bus_message *m, char *buf, size_t size)
{
    const char *contents;
    char type;

    while (sd_bus_message_peek_type(m, &type, &contents) > 0) {
        if (!strchr("avre", type)) {
            dump_basic(m, type, buf, size);
            continue;
        }
        if (sd_bus_message_enter_container(m, type, contents) < 0)
            return;
        if (type == 'a' || type == 'r')
            add(buf, size, type == 'a' ? "[" : "(");
        dump_rest(m, buf, size);
        sd_bus_message_exit_container(m);
        size_t len = strlen(buf);
        if (type == 'a' || type == 'r')
            snprintf(buf + len, size - len, "%s", type == 'a' ? "]" : ")");
    }
}

char *client_dump(sd_bus_message *m, char *buf, size_t size)
{
    buf[0] = '\0';
    dump_rest(m, buf, size);
    return buf;
}

char *client_get(sd_bus *bus, const char *property, char *buf, size_t size)
{
    sd_bus_error e = SD_BUS_ERROR_NULL;
    sd_bus_message *m = NULL;

    if (sd_bus_call_method(bus, NULL, API_PATH, "org.freedesktop.DBus.Properties", "Get", &e, &m,
                           "ss", API_INTERFACE, property) < 0)
        snprintf(buf, size, "error %s", e.name);
    else
        client_dump(m, buf, size);
    sd_bus_error_free(&e);
    sd_bus_message_unref(m);
    return buf;
}

int client_raw(const char *dir)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un sa = {.sun_family = AF_UNIX};

    snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/" API_SOCKET_NAME, dir);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) < 0)
        return -1;
    return TAKE_FD(fd);
}

void client_send(int fd, const void *data, size_t len)
{
    (void)send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void client_authenticate(int fd)
{
    static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nBEGIN\r\n";
    char buf[128];
    ssize_t n;

    client_send(fd, hello, sizeof(hello) - 1);
    do {
        n = recv(fd, buf, sizeof(buf), 0);
    } while (n > 0 && !memmem(buf, (size_t)n, "OK ", 3));
    usleep(50000); /* BEGIN has no answer */
}

bool client_is_closed(int fd, bool reading, int ms)
{
    struct pollfd p = {.fd = fd, .events = reading ? POLLIN : 0};
    char buf[4096];

    for (;;) {
        if (poll(&p, 1, ms) <= 0)
            return false;
        if (p.revents & (POLLHUP | POLLERR) && !reading)
            return true;
        if (read(fd, buf, sizeof(buf)) <= 0)
            return true;
    }
}
