/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "bus_impl.h"
#include "units.h"

/* Authentication is three short lines each way: a client that has not done with it by then is no
 * client. */
#define AUTH_PATIENCE (5 * NSEC_PER_SEC)

/* Connections accepted in one go, and such goes a second: whoever connects in a loop costs some CPU
 * of an ordinary thread, not all of it. */
#define ACCEPTS 16
#define ACCEPTS_PER_SEC 16

struct client *bus_client(struct bus *b, const sd_bus *bus)
{
    for (unsigned i = 0; i < API_CLIENTS; i++) {
        if (b->clients[i].bus && b->clients[i].bus == bus)
            return &b->clients[i];
    }
    return NULL;
}

static void close_client(struct client *c)
{
    c->patience = sd_event_source_disable_unref(c->patience);
    sd_bus_detach_event(c->bus);
    c->bus = sd_bus_close_unref(c->bus);
    c->doomed = c->called = false;
}

static int on_reap(sd_event_source *source, void *arg)
{
    struct bus *b = arg;
    (void)source;

    for (unsigned i = 0; i < API_CLIENTS; i++) {
        if (b->clients[i].bus && b->clients[i].doomed)
            close_client(&b->clients[i]);
    }
    return 0;
}

static void doom(struct bus *b, struct client *c)
{
    c->doomed = true;
    sd_event_source_set_enabled(b->reap, SD_EVENT_ONESHOT);
}

void bus_drop(struct bus *b, struct client *c)
{
    if (!c->doomed)
        b->dropped++;
    doom(b, c);
}

static int on_disconnected(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    struct bus *b = arg;
    struct client *c = bus_client(b, sd_bus_message_get_bus(m));
    (void)e;

    if (c && !c->called) /* it sent rubbish, or nothing */
        bus_drop(b, c);
    else if (c)
        doom(b, c);
    return 0;
}

static int on_patience(sd_event_source *source, uint64_t usec, void *arg)
{
    struct bus *b = arg;
    (void)usec;

    for (unsigned i = 0; i < API_CLIENTS; i++) {
        struct client *c = &b->clients[i];
        if (!c->bus || c->patience != source)
            continue;
        c->patience = sd_event_source_disable_unref(c->patience);
        if (sd_bus_is_ready(c->bus) <= 0)
            bus_drop(b, c);
        break;
    }
    return 0;
}

/* A place for this user, NULL: there are too many connections. */
static struct client *find_place(struct bus *b, uid_t uid)
{
    unsigned free = 0, of_user = 0;
    struct client *place = NULL;

    for (unsigned i = 0; i < API_CLIENTS; i++) {
        struct client *c = &b->clients[i];
        if (!c->bus) {
            free++;
            place = c;
        } else {
            of_user += c->uid == uid;
        }
    }
    if (uid != 0 && (of_user >= API_CLIENTS_PER_USER || free <= API_CLIENTS_FOR_ROOT))
        return NULL;
    return place;
}

/* Clients that take every connection for one to a bus daemon (busctl --address=) say Hello first,
 * and subscribe: what a daemon would answer. Signals come to everybody unasked. */
static int on_hello(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    (void)arg, (void)e;
    return sd_bus_reply_method_return(m, "s", ":1.1");
}

static int on_match(sd_bus_message *m, void *arg, sd_bus_error *e)
{
    (void)arg, (void)e;
    return sd_bus_reply_method_return(m, NULL);
}

static const sd_bus_vtable daemon_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD("Hello", NULL, "s", on_hello, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("AddMatch", "s", NULL, on_match, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD("RemoveMatch", "s", NULL, on_match, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

#define DAEMON_PATH "/org/freedesktop/DBus"

static int add_objects(struct bus *b, struct client *c)
{
    int r = bus_add_object(b, c->bus);
    if (r < 0) {
        c->bus = bus_discard(c->bus, API_PATH);
        return r;
    }
    r = sd_bus_add_object_vtable(c->bus, NULL, DAEMON_PATH, "org.freedesktop.DBus", daemon_vtable,
                                 b);
    if (r < 0)
        c->bus = bus_discard(c->bus, DAEMON_PATH);
    return r;
}

/* sd-bus asks for 8 MB a connection (SNDBUF_SIZE), which whoever does not read would fill. */
#define SEND_BUFFER (64 * 1024)

static int set_server(sd_bus *bus, int fd)
{
    const int size = SEND_BUFFER;
    sd_id128_t id;

    int r = sd_id128_randomize(&id);
    if (r >= 0)
        r = sd_bus_set_fd(bus, fd, fd);
    if (r >= 0)
        r = sd_bus_set_server(bus, true, id);
    if (r >= 0) /* SO_PEERCRED says who it is, whatever the client claims */
        r = sd_bus_set_anonymous(bus, true);
    if (r >= 0)
        r = sd_bus_start(bus);
    if (r >= 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) < 0)
        r = -errno;
    return r;
}

static int serve(struct bus *b, struct client *c, int fd)
{
    int r = sd_bus_new(&c->bus);
    if (r < 0) {
        close(fd);
        return r;
    }
    (void)sd_bus_set_description(c->bus, "private");
    r = set_server(c->bus, fd); /* the descriptor is the connection's now */
    if (r >= 0)
        r = add_objects(b, c);
    if (r >= 0)
        r = sd_bus_match_signal(c->bus, NULL, "org.freedesktop.DBus.Local",
                                "/org/freedesktop/DBus/Local", "org.freedesktop.DBus.Local",
                                "Disconnected", on_disconnected, b);
    if (r >= 0)
        r = sd_bus_attach_event(c->bus, b->event, SD_EVENT_PRIORITY_NORMAL);
    if (r >= 0)
        r = sd_event_add_time_relative(b->event, &c->patience, CLOCK_MONOTONIC,
                                       AUTH_PATIENCE / NSEC_PER_USEC, 0, on_patience, b);
    if (r < 0)
        close_client(c);
    return r;
}

static void accept_one(struct bus *b, int fd)
{
    struct ucred peer;
    socklen_t len = sizeof(peer);

    struct client *c = NULL;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0)
        c = find_place(b, peer.uid);
    if (!c) {
        b->refused++;
        close(fd);
        return;
    }
    c->uid = peer.uid;
    if (serve(b, c, fd) < 0)
        b->refused++;
    else
        b->accepted++;
}

static int on_connect(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct bus *b = arg;
    (void)source, (void)events;

    for (unsigned i = 0; i < ACCEPTS; i++) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0)
            break;
        accept_one(b, client);
    }
    return 0;
}

/* A socket that nobody listens on was left by a killed predecessor. */
static int remove_stale(const struct sockaddr_un *sa)
{
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) == 0 || errno == EAGAIN)
        return -EADDRINUSE;
    if (errno == ECONNREFUSED && unlink(sa->sun_path) < 0 && errno != ENOENT)
        return -errno;
    return 0;
}

/* Everybody may connect; what they may call is decided for each call. */
static int open_socket(const char *dir, struct sockaddr_un *sa)
{
    sa->sun_family = AF_UNIX;
    int n = snprintf(sa->sun_path, sizeof(sa->sun_path), "%s/" API_SOCKET_NAME, dir);
    if (n < 0 || (size_t)n >= sizeof(sa->sun_path))
        return -ENAMETOOLONG;
    if (mkdir(dir, 0755) < 0 && errno != EEXIST)
        return -errno;
    int r = remove_stale(sa);
    if (r < 0)
        return r;
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0)
        return -errno;
    if (chmod(sa->sun_path, 0666) < 0 || listen(fd, SOMAXCONN) < 0) {
        r = -errno;
        unlink(sa->sun_path);
        return r;
    }
    return TAKE_FD(fd);
}

static int add_listener(struct bus *b, int fd)
{
    int r = sd_event_add_defer(b->event, &b->reap, on_reap, b);

    if (r >= 0)
        r = sd_event_source_set_enabled(b->reap, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_io(b->event, &b->listen, fd, EPOLLIN, on_connect, b);
    if (r >= 0)
        r = sd_event_source_set_io_fd_own(b->listen, true);
#ifdef HAVE_RATELIMIT /* systemd 248; without it a flood of clients costs this thread more */
    if (r >= 0)
        r = sd_event_source_set_ratelimit(b->listen, 1000000, ACCEPTS_PER_SEC);
#endif
    return r;
}

void bus_listen(struct bus *b)
{
    struct sockaddr_un sa = {0};
    char text[320];

    int r = open_socket(b->config.dir, &sa);
    if (r >= 0) {
        memcpy(b->path, sa.sun_path, sizeof(b->path));
        r = add_listener(b, r);
    }
    if (r >= 0)
        return;
    snprintf(text, sizeof(text), "no private bus socket in %s: %s; pcptunectl needs the system bus",
             b->config.dir, r == -EADDRINUSE ? "another pcptuned listens there" : strerror(-r));
    b->config.say(b->config.arg, LEVEL_INFO, text);
}

void bus_unlisten(struct bus *b)
{
    for (unsigned i = 0; i < API_CLIENTS; i++) {
        if (b->clients[i].bus)
            close_client(&b->clients[i]);
    }
    b->listen = sd_event_source_disable_unref(b->listen);
    b->reap = sd_event_source_disable_unref(b->reap);
    if (b->path[0])
        unlink(b->path);
}
