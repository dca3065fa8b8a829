/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "actuate.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "clock.h"
#include "fileio.h"
#include "journal.h"
#include "units.h"

struct actuator {
    struct journal journal; /* what we hold; in a dry run, what we would hold */
    bool dry_run;
    bool recovered; /* no journal of a predecessor can be overwritten any more */
    int lo[KNOB_MAX], hi[KNOB_MAX];
    int dir_fd, lock_fd; /* -1 in a dry run */
    uint64_t writes;
};

/* --- the state directory --- */

static int open_state_dir(const char *path)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return -errno;
    _cleanup_close_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;

    /* Whoever can write here can have any value written to the knobs. */
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)))
        return -EPERM;
    return TAKE_FD(fd);
}

/* The lock goes with the last descriptor, so a killed owner never leaves it behind. */
static int open_lock(int dir_fd)
{
    _cleanup_close_ int fd =
        openat(dir_fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    return TAKE_FD(fd);
}

static int open_state(struct actuator *a, const char *path)
{
    _cleanup_close_ int dir_fd = open_state_dir(path);
    if (dir_fd < 0)
        return dir_fd;
    int lock_fd = open_lock(dir_fd);
    if (lock_fd < 0)
        return lock_fd;
    a->dir_fd = TAKE_FD(dir_fd);
    a->lock_fd = lock_fd;
    return 0;
}

static void close_state(struct actuator *a)
{
    closep(&a->dir_fd);
    closep(&a->lock_fd);
    a->dir_fd = a->lock_fd = -1;
}

static bool holds_any(const struct actuator *a)
{
    for (enum knob_id id = 0; id < KNOB_MAX; id++)
        if (a->journal.knob[id].held)
            return true;
    return false;
}

static int save(const struct actuator *a)
{
    return a->dry_run ? 0 : journal_save(a->dir_fd, &a->journal);
}

int actuator_open(const struct actuator_config *c, struct actuator **ret)
{
    if (!journal_boot_id_valid(c->boot_id))
        return -EINVAL;
    struct actuator *a = calloc(1, sizeof(*a));
    if (!a)
        return -ENOMEM;
    a->dir_fd = a->lock_fd = -1;
    a->dry_run = a->recovered = true;
    memcpy(a->journal.boot_id, c->boot_id, strlen(c->boot_id) + 1);
    int r = actuator_configure(a, c);
    if (r < 0)
        actuator_close(a);
    else
        *ret = a;
    return r;
}

void actuator_close(struct actuator *a)
{
    if (!a)
        return;
    close_state(a);
    free(a);
}

static int change_mode(struct actuator *a, const struct actuator_config *c)
{
    if (c->dry_run == a->dry_run)
        return 0;
    if (!c->dry_run) {
        int r = open_state(a, c->state_dir);
        if (r < 0)
            return r;
    } else if (holds_any(a)) {
        return -EBUSY;
    } else {
        close_state(a);
    }
    memset(a->journal.knob, 0, sizeof(a->journal.knob)); /* simulated ones */
    a->dry_run = a->recovered = c->dry_run;
    return 0;
}

int actuator_configure(struct actuator *a, const struct actuator_config *c)
{
    int r = change_mode(a, c);
    if (r < 0)
        return r;
    memcpy(a->lo, c->lo, sizeof(a->lo));
    memcpy(a->hi, c->hi, sizeof(a->hi));
    return 0;
}

uint64_t actuator_writes(const struct actuator *a)
{
    return a->writes;
}

/* --- outcomes --- */

static enum outcome_kind classify(int error)
{
    switch (-error) {
    case EROFS:
    case EPERM:
    case EACCES:
    case EINVAL:
        return OUTCOME_REFUSED;
    case ENOENT:
        return OUTCOME_GONE;
    default:
        return OUTCOME_FAILED;
    }
}

/* Of several knobs, the one that the caller has most to do about. */
static bool graver(enum outcome_kind a, enum outcome_kind b)
{
    static const int weight[OUTCOME_MAX] = {
        [OUTCOME_UNCHANGED] = 0, [OUTCOME_DONE] = 1,    [OUTCOME_FOREIGN] = 2,
        [OUTCOME_GONE] = 3,      [OUTCOME_REFUSED] = 4, [OUTCOME_FAILED] = 5,
    };
    return weight[a] > weight[b];
}

static enum outcome_kind note(struct outcome *o, enum knob_id id, enum outcome_kind kind, int error)
{
    if (graver(kind, o->kind)) {
        o->kind = kind;
        o->knob = id;
        o->error = error;
    }
    return kind;
}

static void note_value(struct knob_values *v, enum knob_id id, int value)
{
    v->has[id] = true;
    v->value[id] = value;
}

static void begin(const struct actuator *a, enum plan_action action, struct outcome *o)
{
    *o = (struct outcome){.action = action,
                          .kind = OUTCOME_UNCHANGED,
                          .simulated = a->dry_run,
                          .started = clock_monotonic()};
}

static void end(const struct actuator *a, struct outcome *o)
{
    for (enum knob_id id = 0; id < KNOB_MAX; id++)
        if (a->journal.knob[id].held)
            note_value(&o->original, id, a->journal.knob[id].original);
    o->ended = clock_monotonic();
}

/* --- one knob --- */

/* In a dry run a knob that we would hold has the value that we would have written, as long as
 * nobody else writes to it. */
static int read_knob(const struct actuator *a, enum knob_id id, int *ret)
{
    const struct journal_entry *e = &a->journal.knob[id];
    char buf[32];
    ssize_t n = read_file(knob_table[id].path, buf, sizeof(buf));
    if (n < 0)
        return (int)n;
    if (n > 0 && buf[n - 1] == '\n')
        buf[n - 1] = '\0';

    uint64_t v;
    if (parse_u64(buf, &v) < 0 || v > INT_MAX)
        return -EBADMSG;
    *ret = a->dry_run && e->held && (int)v == e->original ? e->last : (int)v;
    return 0;
}

/* Without a retry: a second write(2) could undo what somebody wrote since we looked. O_TRUNC means
 * nothing to a sysctl, but lets a file stand for one. */
static int write_knob(struct actuator *a, enum knob_id id, int value, struct outcome *o)
{
    char text[16];
    int len = snprintf(text, sizeof(text), "%d\n", value);
    _cleanup_close_ int fd = open(knob_table[id].path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    ssize_t n = write(fd, text, (size_t)len);
    if (n < 0)
        return -errno;
    o->written = clock_monotonic();
    a->writes++;
    return 0;
}

/* Bounds are the kernel's and the policy's, but an original is given back whatever the policy
 * says. A value that could not be given back (a kernel with other bounds) is not taken. */
static bool may_change(const struct actuator *a, enum knob_id id, int now, int value)
{
    const struct journal_entry *e = &a->journal.knob[id];
    if (!knob_accepts(id, value))
        return false;
    if (e->held && value == e->original)
        return true;
    return knob_accepts(id, now) && value >= a->lo[id] && value <= a->hi[id];
}

/* Records the original and what is about to be written. On the way back that is the original,
 * which the journal has: no second record, so a full /run never keeps a knob from going back. */
static int record_intent(struct actuator *a, enum knob_id id, int now, int value)
{
    struct journal_entry *e = &a->journal.knob[id], old = *e;
    if (e->held && value == e->original)
        return 0;
    *e = (struct journal_entry){
        .held = true, .original = e->held ? e->original : now, .last = now, .next = value};
    int r = save(a);
    if (r < 0)
        *e = old;
    return r;
}

/* Nothing came of the intent. That the record of it may stay if it cannot be written now does no
 * harm: `last` is still what the knob is. */
static void withdraw_intent(struct actuator *a, enum knob_id id, const struct journal_entry *old)
{
    a->journal.knob[id] = *old;
    (void)save(a);
}

static enum outcome_kind verify(struct actuator *a, enum knob_id id, int before, int value,
                                const struct journal_entry *old, struct outcome *o)
{
    struct journal_entry *e = &a->journal.knob[id];
    int now;
    int r = read_knob(a, id, &now);
    if (r < 0)
        return note(o, id, classify(r), r); /* held, with both values ours */
    note_value(&o->after, id, now);
    if (now == value) {
        e->last = e->next = value;
        return note(o, id, OUTCOME_DONE, 0);
    }
    if (now != before)
        return note(o, id, OUTCOME_FOREIGN, 0);
    withdraw_intent(a, id, old);
    return note(o, id, OUTCOME_FAILED, -EIO);
}

/* The one place where knobs change: bounds, journal, write, read back, in this order. */
static enum outcome_kind change_knob(struct actuator *a, enum knob_id id, int now, int value,
                                     struct outcome *o)
{
    struct journal_entry old = a->journal.knob[id];
    if (!may_change(a, id, now, value))
        return note(o, id, OUTCOME_REFUSED, -ERANGE);
    int r = record_intent(a, id, now, value);
    if (r < 0)
        return note(o, id, OUTCOME_FAILED, r);
    if (a->dry_run) {
        a->journal.knob[id].last = value;
    } else {
        r = write_knob(a, id, value, o);
        if (r < 0) {
            withdraw_intent(a, id, &old);
            return note(o, id, classify(r), r);
        }
    }
    return verify(a, id, now, value, &old, o);
}

static bool as_believed(const struct actuator *a, enum knob_id id, const struct knob_values *from,
                        int now)
{
    const struct journal_entry *e = &a->journal.knob[id];
    return e->held ? journal_ours(e, now) : from->has[id] && from->value[id] == now;
}

static enum outcome_kind set_knob(struct actuator *a, enum knob_id id,
                                  const struct knob_values *from, int value, struct outcome *o)
{
    int now;
    int r = read_knob(a, id, &now);
    if (r < 0)
        return note(o, id, classify(r), r);
    note_value(&o->before, id, now);
    if (!as_believed(a, id, from, now))
        return note(o, id, OUTCOME_FOREIGN, 0);
    if (now != value)
        return change_knob(a, id, now, value, o);
    note_value(&o->after, id, now);
    return OUTCOME_UNCHANGED;
}

void actuator_set(struct actuator *a, const struct knob_values *from,
                  const struct knob_values *values, struct outcome *ret)
{
    begin(a, PLAN_SET, ret);
    if (!a->recovered)
        note(ret, 0, OUTCOME_FAILED, -EUCLEAN);
    for (enum knob_id id = 0; id < KNOB_MAX && !graver(ret->kind, OUTCOME_DONE); id++)
        if (values->has[id])
            set_knob(a, id, from, values->value[id], ret);
    end(a, ret);
}

static enum outcome_kind restore_knob(struct actuator *a, enum knob_id id, struct outcome *o)
{
    const struct journal_entry *e = &a->journal.knob[id];
    int now;
    int r = read_knob(a, id, &now);
    if (r < 0)
        return note(o, id, classify(r), r);
    note_value(&o->before, id, now);
    note_value(&o->after, id, now);
    if (now == e->original)
        return OUTCOME_UNCHANGED;
    if (!journal_ours(e, now))
        return note(o, id, OUTCOME_FOREIGN, 0);
    return change_knob(a, id, now, e->original, o);
}

/* A knob that could not be restored stays held, a vanished one too: a sandbox may have hidden the
 * file from us, and --restore outside of it still finds it. */
static void restore_held(struct actuator *a, struct outcome *o)
{
    for (enum knob_id id = 0; id < KNOB_MAX; id++) {
        if (!a->journal.knob[id].held)
            continue;
        if (!graver(restore_knob(a, id, o), OUTCOME_FOREIGN))
            a->journal.knob[id] = (struct journal_entry){0};
    }
    int r = save(a);
    if (r < 0)
        note(o, 0, OUTCOME_FAILED, r);
}

void actuator_restore(struct actuator *a, struct outcome *ret)
{
    begin(a, PLAN_RESTORE, ret);
    if (a->recovered)
        restore_held(a, ret);
    else
        note(ret, 0, OUTCOME_FAILED, -EUCLEAN);
    end(a, ret);
}

/* Returns 0, or why there is nothing to restore from; recovered unless the journal is unreadable or
 * in the way. */
static int adopt_journal(struct actuator *a)
{
    struct journal j;
    int r = journal_read(a->dir_fd, &j);
    if (r == 0 && strcmp(j.boot_id, a->journal.boot_id) != 0)
        r = -ESTALE;
    if (r == -ESTALE || r == -EBADMSG) {
        int removed = journal_remove(a->dir_fd);
        if (removed < 0)
            return removed;
    }
    a->recovered = r == 0 || r == -ENOENT || r == -ESTALE || r == -EBADMSG;
    if (r == 0)
        memcpy(a->journal.knob, j.knob, sizeof(j.knob));
    return r;
}

void actuator_recover(struct actuator *a, struct outcome *ret)
{
    begin(a, PLAN_RESTORE, ret);
    int r = a->recovered ? 0 : adopt_journal(a);
    if (!a->recovered)
        note(ret, 0, OUTCOME_FAILED, r);
    else if (r == 0)
        restore_held(a, ret);
    else if (r != -ENOENT)
        ret->error = r;
    end(a, ret);
}

void actuator_yield(struct actuator *a, enum knob_id knob)
{
    if (!a->journal.knob[knob].held)
        return;
    a->journal.knob[knob] = (struct journal_entry){0};
    (void)save(a);
}
