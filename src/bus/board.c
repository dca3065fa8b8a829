/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "board.h"

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>

enum order { ORDER_NONE, ORDER_GIVEN, ORDER_TAKEN, ORDER_ANSWERED };

struct board {
    pthread_mutex_t lock;
    int to_loop, to_thread; /* eventfds */
    struct status status;
    struct event ring[API_EVENTS];
    uint64_t events;
    bool stop;
    enum order order;
    struct bus_command command;
    const char *error;
    char text[BOARD_TEXT];
};

int board_new(struct board **ret)
{
    _cleanup_(board_freep) struct board *b = calloc(1, sizeof(*b));
    pthread_mutexattr_t attr;

    if (!b)
        return -ENOMEM;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&b->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    status_init(&b->status);
    b->to_loop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    b->to_thread = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (b->to_loop < 0 || b->to_thread < 0)
        return -errno;
    *ret = TAKE_PTR(b);
    return 0;
}

void board_free(struct board *b)
{
    if (!b)
        return;
    closep(&b->to_loop);
    closep(&b->to_thread);
    pthread_mutex_destroy(&b->lock);
    free(b);
}

static void ring_bell(int fd)
{
    (void)!write(fd, &(uint64_t){1}, sizeof(uint64_t));
}

static void hush(int fd)
{
    uint64_t count;

    (void)!read(fd, &count, sizeof(count));
}

void board_put_status(struct board *b, const struct status *s, bool changed)
{
    pthread_mutex_lock(&b->lock);
    b->status = *s;
    pthread_mutex_unlock(&b->lock);
    if (changed)
        ring_bell(b->to_thread);
}

void board_put_event(struct board *b, const struct event *e)
{
    pthread_mutex_lock(&b->lock);
    b->ring[b->events++ % API_EVENTS] = *e;
    pthread_mutex_unlock(&b->lock);
    ring_bell(b->to_thread);
}

int board_loop_fd(const struct board *b)
{
    return b->to_loop;
}

bool board_take_command(struct board *b, struct bus_command *ret)
{
    hush(b->to_loop);
    pthread_mutex_lock(&b->lock);
    bool given = b->order == ORDER_GIVEN;
    if (given) {
        b->order = ORDER_TAKEN;
        *ret = b->command;
    }
    pthread_mutex_unlock(&b->lock);
    return given;
}

void board_answer(struct board *b, const char *error, const char *text)
{
    pthread_mutex_lock(&b->lock);
    bool taken = b->order == ORDER_TAKEN;
    if (taken) {
        b->order = ORDER_ANSWERED;
        b->error = error;
        snprintf(b->text, sizeof(b->text), "%s", text ? text : "");
    }
    pthread_mutex_unlock(&b->lock);
    if (taken)
        ring_bell(b->to_thread);
}

void board_stop(struct board *b)
{
    pthread_mutex_lock(&b->lock);
    b->stop = true;
    pthread_mutex_unlock(&b->lock);
    ring_bell(b->to_thread);
}

int board_thread_fd(const struct board *b)
{
    return b->to_thread;
}

void board_acknowledge(struct board *b)
{
    hush(b->to_thread);
}

uint64_t board_look(struct board *b, struct status *ret)
{
    pthread_mutex_lock(&b->lock);
    *ret = b->status;
    uint64_t events = b->events;
    pthread_mutex_unlock(&b->lock);
    return events;
}

bool board_event(struct board *b, uint64_t number, struct event *ret)
{
    pthread_mutex_lock(&b->lock);
    bool there = number < b->events && b->events - number <= API_EVENTS;
    if (there)
        *ret = b->ring[number % API_EVENTS];
    pthread_mutex_unlock(&b->lock);
    return there;
}

bool board_stopped(struct board *b)
{
    pthread_mutex_lock(&b->lock);
    bool stop = b->stop;
    pthread_mutex_unlock(&b->lock);
    return stop;
}

int board_command(struct board *b, const struct bus_command *c)
{
    pthread_mutex_lock(&b->lock);
    bool busy = b->order != ORDER_NONE;
    if (!busy) {
        b->order = ORDER_GIVEN;
        b->command = *c;
    }
    pthread_mutex_unlock(&b->lock);
    if (busy)
        return -EBUSY;
    ring_bell(b->to_loop);
    return 0;
}

bool board_collect(struct board *b, const char **ret_error, char text[BOARD_TEXT])
{
    pthread_mutex_lock(&b->lock);
    bool answered = b->order == ORDER_ANSWERED;
    if (answered) {
        b->order = ORDER_NONE;
        *ret_error = b->error;
        memcpy(text, b->text, BOARD_TEXT);
    }
    pthread_mutex_unlock(&b->lock);
    return answered;
}
