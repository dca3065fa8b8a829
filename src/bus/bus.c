/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus.h"

#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "bus_impl.h"

/* sd-bus and json-c need some 20 kB of it; the default of 8 MB would count as locked memory. */
#define STACK_SIZE (512UL * 1024)

static int on_board(sd_event_source *source, int fd, uint32_t events, void *arg)
{
    struct bus *b = arg;
    (void)source, (void)fd, (void)events;

    board_acknowledge(b->board);
    bool stop = board_stopped(b->board); /* before the look, so that all is told */
    bus_look(b);
    bus_emit(b);
    bus_collect(b);
    return stop ? sd_event_exit(b->event, 0) : 0;
}

static void *bus_thread(void *arg)
{
    struct bus *b = arg;

    pthread_setname_np(pthread_self(), "pcptuned-bus");
    setpriority(PRIO_PROCESS, (id_t)gettid(), 0); /* where the loop has its priority by nice */
    bus_listen(b);
    bus_open_system(b);
    (void)sd_event_loop(b->event);
    bus_close_system(b);
    bus_unlisten(b);
    b->call = sd_bus_message_unref(b->call);
    return NULL;
}

static int start_thread(struct bus *b)
{
    pthread_attr_t attr;
    sigset_t all, old;

    sigfillset(&all);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int error = pthread_create(&b->thread, &attr, bus_thread, b);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attr);
    return -error;
}

static void done(struct bus *b)
{
    sd_event_unref(b->event);
    board_free(b->board);
    free(b);
}

int bus_new(const struct bus_config *c, struct bus **ret)
{
    struct bus *b = calloc(1, sizeof(*b));

    if (!b)
        return -ENOMEM;
    b->config = *c;
    status_init(&b->now);
    b->told = b->now;
    int r = board_new(&b->board);
    if (r >= 0)
        r = sd_event_new(&b->event);
    if (r >= 0)
        r = sd_event_add_io(b->event, NULL, board_thread_fd(b->board), EPOLLIN, on_board, b);
    if (r >= 0)
        r = start_thread(b);
    if (r < 0) {
        done(b);
        return r;
    }
    *ret = b;
    return 0;
}

bool bus_free(struct bus *b, nsec_t patience)
{
    struct timespec until;

    if (!b)
        return true;
    board_stop(b->board);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += (time_t)(patience / NSEC_PER_SEC);
    if (pthread_timedjoin_np(b->thread, NULL, &until) != 0)
        return false;
    done(b);
    return true;
}

void bus_status(struct bus *b, const struct status *s, bool changed)
{
    board_put_status(b->board, s, changed);
}

void bus_event(struct bus *b, const struct event *e)
{
    board_put_event(b->board, e);
}

int bus_command_fd(const struct bus *b)
{
    return board_loop_fd(b->board);
}

bool bus_command(struct bus *b, struct bus_command *ret)
{
    return board_take_command(b->board, ret);
}

void bus_answer(struct bus *b, const char *error, const char *text)
{
    board_answer(b->board, error, text);
}
