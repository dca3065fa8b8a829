/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bus_impl.h"
#include "take.h"

/* A client of the private socket who says anything: rubbish, half an authentication, messages of
 * the right form with any path, member and arguments, and those with bytes changed. The real server
 * without its thread: one input, one connection. It never outlives its end, and no call stays. */

#define MESSAGE_MAX 4096

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bus bus;
static char dir[64];

static void say(void *arg, enum event_level level, const char *text)
{
    (void)arg, (void)level, (void)text;
}

static void stop(void)
{
    bus_unlisten(&bus);
    rmdir(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    snprintf(dir, sizeof(dir), "/tmp/pcptuned-fuzz-XXXXXX");
    require(mkdtemp(dir) != NULL && chmod(dir, 0755) == 0);
    bus.config = (struct bus_config){.dir = dir, .say = say};
    status_init(&bus.now);
    bus.now.n_zones = 2;
    bus.told = bus.now;
    require(board_new(&bus.board) == 0 && sd_event_new(&bus.event) == 0);
    bus_listen(&bus);
    require(bus.listen != NULL);
    atexit(stop);
    /* The fuzzer is who connects in a loop. */
    require(sd_event_source_set_ratelimit(bus.listen, 0, 0) >= 0);
    return 0;
}

/* --- what is sent ---------------------------------------------------------------------------- */

struct text {
    uint8_t buf[MESSAGE_MAX + 64];
    size_t n;
};

static void put(struct text *t, const void *data, size_t len)
{
    if (t->n + len > MESSAGE_MAX)
        return;
    memcpy(t->buf + t->n, data, len);
    t->n += len;
}

static void put_u32(struct text *t, uint32_t v)
{
    put(t, &v, sizeof(v));
}

static void pad(struct text *t, size_t to)
{
    while (t->n % to != 0)
        t->buf[t->n++] = 0;
}

/* One of the header's fields: code, its type, and a string of that type. */
static void put_field(struct text *t, uint8_t code, char type, const char *value)
{
    const char head[] = {(char)code, 1, type, '\0'};
    uint32_t len = (uint32_t)strlen(value);

    pad(t, 8);
    put(t, head, 4);
    if (type == 'g')
        put(t, &(uint8_t){(uint8_t)len}, 1);
    else
        put_u32(t, len);
    put(t, value, len + 1);
}

static const char *const members[] = {"SetMode",
                                      "Reload",
                                      "Rearm",
                                      "Restore",
                                      "Events",
                                      "Get",
                                      "GetAll",
                                      "Set",
                                      "Hello",
                                      "AddMatch",
                                      "Introspect",
                                      "Ping",
                                      "GetManagedObjects",
                                      "no such"};
static const char *const interfaces[] = {API_INTERFACE,
                                         "org.freedesktop.DBus.Properties",
                                         "org.freedesktop.DBus",
                                         "org.freedesktop.DBus.Peer",
                                         "org.freedesktop.DBus.Introspectable",
                                         ""};
static const char *const paths[] = {API_PATH, "/", "/org/freedesktop/DBus", "/org/pcptuned1/x"};
static const char *const signatures[] = {"", "s", "tu", "ss", "ssv", "a{sv}", "v", "h", "as"};

static void put_arguments(struct text *t, struct take *in, const char *signature)
{
    static const char *const words[] = {"apply", "dry-run", "off", API_INTERFACE,
                                        "Mode",  "Zones",   "",    "type='signal'"};

    for (const char *c = signature; *c; c++) {
        if (*c == 's' && take_bool(in)) {
            const char *word = words[take_below(in, 8)];
            pad(t, 4);
            put_u32(t, (uint32_t)strlen(word));
            put(t, word, strlen(word) + 1);
        } else {
            uint64_t v = take_any(in);
            pad(t, *c == 't' ? 8 : 4);
            put(t, &v, *c == 't' ? 8 : 4);
        }
    }
}

static size_t put_header(struct text *t, struct take *in, const char *signature)
{
    unsigned interface = take_below(in, 6);

    put(t, "l", 1);
    put(t, &(uint8_t[]){(uint8_t)(1 + take_below(in, 5) % 4), take_below(in, 4) == 3, 1}, 3);
    put_u32(t, 0); /* of the body, filled in by the caller */
    put_u32(t, 1 + take_below(in, 8));
    put_u32(t, 0);
    size_t fields = t->n;
    put_field(t, 1, 'o', paths[take_below(in, 8) % 4]);
    if (interfaces[interface][0])
        put_field(t, 2, 's', interfaces[interface]);
    put_field(t, 3, 's', members[take_below(in, 14)]);
    if (*signature)
        put_field(t, 8, 'g', signature);
    memcpy(t->buf + 12, &(uint32_t){(uint32_t)(t->n - fields)}, 4);
    pad(t, 8);
    return t->n;
}

/* A message; now and then with one byte changed, or cut. */
static void make_message(struct text *t, struct take *in)
{
    const char *signature = signatures[take_below(in, 9)];

    *t = (struct text){.n = 0};
    size_t body = put_header(t, in, signature);
    put_arguments(t, in, signature);
    memcpy(t->buf + 4, &(uint32_t){(uint32_t)(t->n - body)}, 4);
    if (take_below(in, 8) == 7)
        t->buf[take_bytes(in, 2) % t->n] ^= (uint8_t)take_bytes(in, 1);
    if (take_below(in, 16) == 15)
        t->n -= take_below(in, 32) % t->n;
}

/* --- the connection -------------------------------------------------------------------------- */

static void serve(void)
{
    struct bus_command c;

    for (unsigned i = 0; i < 64 && sd_event_run(bus.event, 0) > 0; i++)
        ;
    if (board_take_command(bus.board, &c)) {
        require(bus.call != NULL && c.verb <= BUS_RESTORE && c.mode < MODE_MAX);
        board_answer(bus.board, c.verb == BUS_RELOAD ? API_ERROR_REFUSED : NULL, "why");
        bus_collect(&bus);
    }
    require(bus.call == NULL);
}

static void tell(struct take *in)
{
    struct event e = {.kind = (enum event_kind)take_below(in, EVENT_KINDS), .level = LEVEL_INFO};

    e.real = take_any(in);
    snprintf(e.text, sizeof(e.text), "something");
    board_put_event(bus.board, &e);
    bus.now.knobs[KNOB_FRACTION].value = (int)take_any(in);
    board_put_status(bus.board, &bus.now, true);
    board_acknowledge(bus.board);
    bus_look(&bus);
    bus_emit(&bus);
}

static void send_some(int fd, const void *data, size_t len)
{
    char buf[65536];

    (void)send(fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);
    serve();
    while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        ;
}

static void send_raw(int fd, struct take *in)
{
    size_t len = take_bytes(in, 1);

    len = len < in->left ? len : in->left;
    send_some(fd, in->data, len);
    in->data += len;
    in->left -= len;
}

static void converse(int fd, struct take *in)
{
    static const char hello[] = "\0AUTH EXTERNAL\r\nDATA\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n";
    static struct text t;

    if (take_below(in, 8) > 0)
        send_some(fd, hello, sizeof(hello) - 1);
    for (unsigned i = 0; i < 12 && in->left > 0; i++) {
        unsigned what = take_below(in, 8);
        if (what == 0) {
            send_raw(fd, in);
        } else if (what == 1) {
            tell(in);
        } else {
            make_message(&t, in);
            send_some(fd, t.buf, t.n);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct take in = {data, size};
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(sa.sun_path, sizeof(sa.sun_path), "%.60s/" API_SOCKET_NAME, dir);
    require(fd >= 0 && connect(fd, (const struct sockaddr *)&sa, sizeof(sa)) == 0);
    serve();
    converse(fd, &in);
    close(fd);
    serve();
    for (unsigned i = 0; i < API_CLIENTS; i++)
        require(bus.clients[i].bus == NULL);
    return 0;
}
