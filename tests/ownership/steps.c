/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "steps.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "../actuate/fake.h"
#include "actuate.h"

/* --- in the process: no assertion there, an unexpected word ends it --- */

static int talk_fd = -1; /* -1 outside of it: all calls pass */

static void say(const struct step_report *r)
{
    if (send(talk_fd, r, sizeof(*r), 0) != sizeof(*r))
        _exit(2);
}

static enum step_fault stop_before(const char *name)
{
    struct step_report r = {.error = 0};
    enum step_fault fault;

    if (talk_fd < 0)
        return STEP_GOES_WELL;
    (void)snprintf(r.name, sizeof(r.name), "%s", name);
    say(&r);
    if (recv(talk_fd, &fault, sizeof(fault), 0) != sizeof(fault))
        _exit(3);
    return fault;
}

static int fail_with(int error)
{
    errno = error;
    return -1;
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *name, int flags, ...);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __real_renameat(int dir, const char *name, int to, const char *new_name);
int __wrap_renameat(int dir, const char *name, int to, const char *new_name);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);

static mode_t mode_of(int flags, va_list ap)
{
    return flags & O_CREAT ? va_arg(ap, mode_t) : 0;
}

/* What a step does begins with its open(2) and ends before the next stop. */
int __wrap_open(const char *path, int flags, ...)
{
    enum step_fault fault = STEP_GOES_WELL;
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);

    if (strcmp(path, knob_table[KNOB_FRACTION].path) == 0)
        fault = stop_before((flags & O_ACCMODE) == O_RDONLY ? "read_knob" : "write_knob");
    if (fault == STEP_FAILS)
        return fail_with(EIO);
    return __real_open(fault == STEP_WITHOUT_EFFECT ? "/dev/null" : path, flags, mode);
}

int __wrap_openat(int dir, const char *name, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = mode_of(flags, ap);
    va_end(ap);

    if (strcmp(name, "knobs.journal") == 0 && stop_before("journal_read") != STEP_GOES_WELL)
        return fail_with(EIO);
    return __real_openat(dir, name, flags, mode);
}

int __wrap_renameat(int dir, const char *name, int to, const char *new_name)
{
    if (stop_before("journal_save") != STEP_GOES_WELL)
        return fail_with(ENOSPC);
    return __real_renameat(dir, name, to, new_name);
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
    if (strcmp(name, "knobs.journal") == 0 && stop_before("journal_save") != STEP_GOES_WELL)
        return fail_with(EIO);
    return __real_unlinkat(dir, name, flags);
}

static void carry_out(struct actuator *a, const struct step_order *order, struct outcome *o)
{
    struct knob_values from = {{true}, {order->from}}, v = {{true}, {order->value}};

    switch (order->call) {
    case CALL_SET:
        actuator_set(a, &from, &v, o);
        break;
    case CALL_RESTORE:
        actuator_restore(a, o);
        break;
    case CALL_RECOVER:
        actuator_recover(a, o);
        break;
    case CALL_YIELD:
        actuator_yield(a, KNOB_FRACTION);
        break;
    case CALL_END:
        break;
    }
}

static _Noreturn void live(const char *boot_id)
{
    const struct actuator_config c = {
        .state_dir = FAKE_STATE, .boot_id = boot_id, .lo = {8, 0}, .hi = {100000, 6}};
    struct step_report r = {.name = "actuator_open"};
    struct actuator *a = NULL;
    struct step_order order;

    r.error = actuator_open(&c, &a);
    say(&r);
    while (r.error == 0 && recv(talk_fd, &order, sizeof(order), 0) == sizeof(order) &&
           order.call != CALL_END) {
        struct outcome o = {.kind = OUTCOME_UNCHANGED};
        carry_out(a, &order, &o);
        r = (struct step_report){
            .name = "return", .kind = (int)o.kind, .held = o.original.has[KNOB_FRACTION]};
        say(&r);
    }
    actuator_close(a);
    _exit(0);
}

/* --- outside of it --- */

void stepper_start(struct stepper *s, const char *boot_id)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        close(pair[0]);
        talk_fd = pair[1];
        live(boot_id);
    }
    close(pair[1]);
    s->fd = pair[0];
}

void stepper_order(const struct stepper *s, const struct step_order *order)
{
    assert_int_equal(send(s->fd, order, sizeof(*order), MSG_NOSIGNAL), sizeof(*order));
}

void stepper_go(const struct stepper *s, enum step_fault fault)
{
    assert_int_equal(send(s->fd, &fault, sizeof(fault), MSG_NOSIGNAL), sizeof(fault));
}

void stepper_hear(const struct stepper *s, struct step_report *ret)
{
    assert_int_equal(recv(s->fd, ret, sizeof(*ret), 0), sizeof(*ret));
}

void stepper_end(struct stepper *s, int killed)
{
    int status;

    if (killed)
        kill(s->pid, SIGKILL);
    close(s->fd); /* which ends it, if it waits for an order */
    assert_int_equal(waitpid(s->pid, &status, 0), s->pid);
    assert_true(killed ? WIFSIGNALED(status) : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    s->pid = 0;
}
