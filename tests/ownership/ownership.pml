/* SPDX-License-Identifier: GPL-2.0-or-later */

/* Who owns a knob: src/actuate, for one knob. (The journal holds all knobs in one file, replaced at
 * once, and no rule looks at two of them.) Each atomic block below is what one system call makes
 * visible to others; between any two of them everybody else may act: somebody who writes the knob,
 * kill -9, a reboot, a second pcptuned. Temporary files of the journal are seen by nobody and are
 * left out. An inline has the name of the function that it stands for; the test `names` knows the
 * ones that stand for no code.
 *
 * `daemon` is pcptuned, started again whenever it has ended; `helper` is `pcptuned --restore`, which
 * ExecStopPost= or an administrator may run at any time. What goes wrong is bounded (KILLS, FOREIGN,
 * REBOOTS, FAULTS); lives and storms go on for ever.
 *
 * A journal that somebody with root's rights tears or forges is out of scope: he can write the knob.
 *
 * test_traces walks the real code through runs of this model: the lines with @ are for it. */

#ifndef KILLS
#define KILLS 2
#endif
#ifndef FOREIGN
#define FOREIGN 2
#endif
#ifndef REBOOTS
#define REBOOTS 1
#endif
#ifndef FAULTS
#define FAULTS 1
#endif
#ifndef STORMS
#define STORMS 1 /* in one life */
#endif

/* Values of the knob: 0 is the kernel's own, 1 and 2 are what the policy may want, 3 is nobody's
 * but theirs. They may write any of them. */
#define WANTED_MIN 1
#define WANTED_MAX 2
#define VALUE_MAX 3

/* enum outcome_kind, gravest last */
#define UNCHANGED 0
#define DONE 1
#define TAKEN 2 /* OUTCOME_FOREIGN */
#define FAILED 3

/* r: OK while a recovery restores, else why there is nothing to restore from. */
#define ENOENT 0
#define OK 1
#define ESTALE 2 /* or EBADMSG */

#define KERNEL 0 /* nobody wrote it in this boot */
#define WE 1
#define THEY 2

#define DAEMON 0
#define HELPER 1
#define FREE 2

/* --- the machine --- */

byte knob;
bit boot;
byte lock = FREE;
bool killed[2], alive[2];

/* knobs.journal: there is one exactly if it holds the knob. */
bool journal_held, journal_torn;
bit journal_boot;
byte journal_original, journal_last, journal_next;

byte foreign_left = FOREIGN, kills_left = KILLS, reboots_left = REBOOTS, faults_left = FAULTS;

#ifdef TRACES /* spread over the run */
byte weather;
#define may_write (foreign_left > 0 && weather < 3)
#else
#define may_write (foreign_left > 0)
#endif
#if defined(RECOVERIES) /* many are needed, and few succeed at once */
#define may_fault (faults_left > 0 && (weather == 0 || (r == OK && weather > 3)))
#define may_kill (kills_left > 0 && weather > 3 && ours)
#elif defined(TRACES)
#define may_fault (faults_left > 0 && weather == 0)
#define may_kill (kills_left > 0)
#else
#define may_fault (faults_left > 0)
#define may_kill (kills_left > 0)
#endif

/* --- what only the properties know --- */

byte writer = KERNEL; /* who wrote the knob last */
byte original_truly;  /* what the knob was when we last took it */

/* The holes that a sysctl leaves open, counted. raced: theirs came between our read(2) and our
 * write(2), and no sysctl offers compare-and-swap. alike: theirs is a value that the journal names
 * as ours (the one before our last write, or the one we were about to write), and a value is all
 * that there is to tell by. overwritten: any other value of theirs that we wrote over without
 * having it as the original. */
byte raced, alike, overwritten;

#define ours (writer == WE && knob != original_truly)
#define journal_good                                                                               \
    (journal_held && !journal_torn && journal_boot == boot &&                                      \
     journal_original == original_truly && (journal_last == knob || journal_next == knob))

/* An original is never lost, theirs is never written over but through a hole, and one write of
 * theirs is lost in a hole at most once. (There are assertions besides, and no invalid end.) */
ltl safety {
    [] ((ours -> journal_good) && overwritten == 0 && raced + alike <= FOREIGN - foreign_left)
}

/* Whatever was done to it, what is ours goes back, or is theirs (by weak fairness). */
ltl given_back { [] (ours -> <> !ours) }

/* These two do not hold, and have to be found wrong: the holes are real. With -DCAS, a sysctl that
 * compares and swaps, the first one holds. */
ltl no_race { [] (raced == 0) }
ltl no_alike { [] (alike == 0) }

/* --- src/actuate --- */

#define STATE knob, journal_held, journal_boot, journal_original, journal_last, journal_next
#define journal_ours(value) (held && (value == last || value == next))
#define entry_is_old_again                                                                         \
    held = old_held;                                                                               \
    original = old_original;                                                                       \
    last = old_last;                                                                               \
    next = old_next

inline forget()
{
    held = false; original = 0; last = 0; next = 0
}

/* kill -9 falls before a step or after it. */
inline alive_still()
{
    if
    :: killed[me] -> goto gone
    :: else
    fi
}

inline fault()
{
    may_fault; faults_left--; failed = true
}

inline read_knob()
{
    atomic {
        alive_still();
        if
        :: now = knob; failed = false
        :: fault()
        fi;
        printf("@ %d read_knob %d | %d %d %d %d %d %d\n", me, failed, STATE)
    }
}

inline note_original()
{
    if
    :: taking -> assert(!ours); original_truly = now
    :: else
    fi
}

inline journal_save()
{
#ifdef MUTANT_JOURNAL_IN_PLACE
    atomic {
        alive_still();
        if
        :: journal_held -> journal_torn = true
        :: else
        fi
    };
#endif
    atomic {
        alive_still();
        if
        ::
            journal_held = held;
            journal_boot = (held -> boot : 0);
            journal_original = original;
            journal_last = last;
            journal_next = next;
            note_original();
            journal_torn = false;
            failed = false
        :: fault()
        fi;
        printf("@ %d journal_save %d | %d %d %d %d %d %d\n", me, failed, STATE)
    }
}

/* Their value is not lost where the journal has it as the original. */
inline count_loss()
{
    if
    :: writer == WE
    :: writer != WE && journal_held && journal_boot == boot && journal_original == knob
    :: else ->
        if
        :: knob != now -> raced++
        :: knob == now && journal_ours(now) && journal_boot == boot -> alike++
        :: else -> overwritten++
        fi
    fi
}

inline write_knob(value)
{
    atomic {
        alive_still();
        if
#ifdef CAS
        :: knob != now -> failed = true
        :: knob == now ->
#else
        ::
#endif
            count_loss();
            note_original();
            knob = value; writer = WE; failed = false
        :: fault()
        :: may_fault -> faults_left--; failed = false; silent = true /* without effect */
        fi;
        printf("@ %d write_knob %d | %d %d %d %d %d %d\n", me, (silent -> 2 : failed), STATE);
        silent = false
    }
}

inline record_intent(value)
{
    if
    :: held && value == original -> failed = false
    :: else ->
        original = (held -> original : now);
        held = true;
        last = now;
        next = value;
        journal_save();
        if
        :: failed -> entry_is_old_again; taking = false
        :: else
        fi
    fi
}

inline withdraw_intent()
{
    taking = false;
    entry_is_old_again;
    journal_save()
}

inline verify(value)
{
    taking = false;
    before = now;
    read_knob();
    if
    :: failed -> kind = FAILED
    :: !failed && now == value -> last = value; next = value; kind = DONE
    :: !failed && now != value && now != before -> kind = TAKEN
    :: !failed && now != value && now == before -> withdraw_intent(); kind = FAILED
    fi
}

inline change_knob(value)
{
    old_held = held; old_original = original; old_last = last; old_next = next;
    taking = !held; /* for the properties */
#ifdef MUTANT_KNOB_BEFORE_JOURNAL
    write_knob(value);
    record_intent(value);
    if
    :: failed -> kind = FAILED
    :: else -> verify(value)
    fi
#else
    record_intent(value);
    if
    :: failed -> kind = FAILED
    :: else ->
        write_knob(value);
        if
        :: failed -> withdraw_intent(); kind = FAILED
        :: else -> verify(value)
        fi
    fi
#endif
}

/* Keeps what does not matter any more from making states differ. */
inline done_with_locals()
{
    before = 0; old_held = false; old_original = 0; old_last = 0; old_next = 0;
    failed = false; taking = false; r = ENOENT
}

inline set_knob(from, value)
{
    read_knob();
    if
    :: failed -> kind = FAILED
    :: !failed && ((held && !journal_ours(now)) || (!held && from != now)) -> kind = TAKEN
    :: else ->
        if
        :: now != value -> change_knob(value)
        :: else
        fi
    fi
}

inline actuator_set(from, value)
{
    atomic { printf("@ %d actuator_set %d %d\n", me, from, value); kind = UNCHANGED };
    if
    :: !recovered -> kind = FAILED
    :: else -> set_knob(from, value)
    fi;
    atomic {
        printf("@ %d return %d %d\n", me, kind, held);
        done_with_locals()
    }
}

inline restore_knob()
{
    read_knob();
    if
    :: failed -> kind = FAILED
    :: !failed && now == original
#ifdef MUTANT_RESTORE_BLINDLY
    :: !failed && now != original -> change_knob(original)
#else
    :: !failed && now != original && !journal_ours(now) -> kind = TAKEN
    :: !failed && now != original && journal_ours(now) -> change_knob(original)
#endif
    fi
}

inline restore_held()
{
#ifdef MUTANT_JOURNAL_GOES_FIRST
    atomic { journal_held = false; journal_original = 0; journal_last = 0; journal_next = 0 };
#endif
    if
    :: held ->
        restore_knob();
        if
        :: kind <= TAKEN -> forget()
        :: else
        fi
    :: else
    fi;
    journal_save();
    if
    :: failed -> kind = FAILED
    :: else
    fi
}

inline actuator_restore()
{
    atomic { printf("@ %d actuator_restore\n", me); kind = UNCHANGED };
    if
    :: recovered -> restore_held()
    :: else -> kind = FAILED
    fi;
    atomic {
        assert(kind > TAKEN || !ours);
        printf("@ %d return %d %d\n", me, kind, held);
        done_with_locals()
    }
}

#ifdef MUTANT_ANY_BOOT
#define OF_THIS_BOOT true
#else
#define OF_THIS_BOOT (journal_boot == boot)
#endif

inline journal_read()
{
    atomic {
        alive_still();
        if
        :: failed = false;
            if
            :: journal_held && !journal_torn && OF_THIS_BOOT ->
                r = OK;
                held = true;
                original = journal_original;
                last = journal_last;
#ifdef MUTANT_NEXT_UNKNOWN
                next = journal_last
#else
                next = journal_next
#endif
            :: journal_held && (journal_torn || !OF_THIS_BOOT) -> r = ESTALE
            :: !journal_held -> r = ENOENT
            fi
        :: fault(); r = ENOENT
        fi;
        printf("@ %d journal_read %d | %d %d %d %d %d %d\n", me, failed, STATE)
    }
}

inline journal_remove()
{
    journal_save() /* of one that holds nothing */
}

inline adopt_journal()
{
    journal_read();
    if
    :: r == ESTALE -> journal_remove()
    :: else
    fi;
    recovered = !failed
}

/* First, again with the journal still to be adopted, or again with it adopted. */
inline actuator_recover()
{
    atomic {
        printf("@ %d actuator_recover %d\n", me, (unrecovered -> 1 + recovered : 0));
        kind = UNCHANGED
    };
    if
#ifdef MUTANT_ADOPTED_AGAIN
    :: adopt_journal()
#else
    :: recovered -> r = OK
    :: else -> adopt_journal()
#endif
    fi;
    if
    :: !recovered -> kind = FAILED
    :: recovered && r == OK -> restore_held()
    :: recovered && r != OK
    fi;
    atomic {
        assert(kind > TAKEN || !ours);
        printf("@ %d return %d %d\n", me, kind, held);
        done_with_locals()
    }
}

inline actuator_yield()
{
    if
    :: held ->
        printf("@ %d actuator_yield\n", me);
        forget();
        journal_save();
        printf("@ %d return %d %d\n", me, UNCHANGED, held)
    :: else
    fi
}

inline actuator_open()
{
    atomic {
        alive[me] = true;
#ifdef MUTANT_NO_LOCK
        failed = false;
#else
        failed = lock != FREE;
#endif
        if
        :: !failed -> lock = me
        :: else
        fi;
        printf("@ %d actuator_open %d | %d %d %d %d %d %d\n", me, failed, STATE)
    }
}

/* The end of the process, however it comes: the kernel takes the lock back. */
inline end_of_life()
{
    atomic {
        if
        :: lock == me -> lock = FREE
        :: else
        fi;
        alive[me] = false;
        killed[me] = false;
        forget();
        done_with_locals();
        recovered = false; unrecovered = false; owed = false; kind = 0; now = 0;
        believed = 0; value = 0; storms = 0;
        printf("@ %d gone | %d %d %d %d %d %d\n", me, STATE)
    }
}

/* --- src/service --- */

/* Theirs now: OnForeignWrite=yield and reassert differ in when the next storm comes. */
inline foreign()
{
    believed = now;
    actuator_yield()
}

/* Of a set or a restore. The engine owes what it knows to be held. */
inline outcome()
{
    if
    :: kind == TAKEN -> foreign()
    :: else
    fi;
    owed = held;
    now = 0; kind = 0
}

/* A recovery. */
inline collected()
{
#ifndef MUTANT_RECOVERED_ONCE
    unrecovered = kind == FAILED;
#endif
    now = 0; kind = 0
}

inline daemon_on_tick()
{
    if
    :: unrecovered -> actuator_recover(); collected()
    :: else
    fi
}

/* Calm has its changes too: a tick may fall between the set and the restore. */
inline storm()
{
    believed = knob; /* JOB_READ, or an outcome: old by the time of the write */
    select(value : WANTED_MIN .. WANTED_MAX);
    actuator_set(believed, value);
    outcome();
    if
    :: value = WANTED_MIN + WANTED_MAX - value; actuator_set(believed, value); outcome()
    :: daemon_on_tick()
    :: true
    fi;
    value = 0;
    actuator_restore();
    outcome();
    believed = 0
}

/* The engine knows only of what it did itself: what a recovery could not give back waits for a tick,
 * a storm or the end of the process (ExecStopPost=). */
inline daemon_run()
{
    actuator_recover();
    collected();
    do
    :: storms < STORMS -> storms++; storm()
    :: owed -> actuator_restore(); outcome()
    :: !owed && unrecovered -> daemon_on_tick()
#ifdef TRACES /* longer lives */
    :: storms == STORMS -> break
#else
    :: !owed && !unrecovered -> killed[me] -> goto gone /* does nothing for ever */
    :: break
#endif
    od
}

/* --restore */
inline restore()
{
    actuator_recover()
}

proctype pcptuned(byte me)
{
    bool held, old_held, recovered, failed, silent, taking, owed, unrecovered;
    byte original, last, next, old_original, old_last, old_next;
    byte now, before, kind, r, believed, value, storms;

end:
    do
    ::
#ifdef TRACES /* fewer starts that only find the lock taken */
        (lock == FREE && (me == DAEMON || weather < 2));
#endif
        actuator_open();
        if
        :: failed
        :: !failed && me == DAEMON -> daemon_run()
        :: !failed && me == HELPER -> restore()
        fi;
gone:
        end_of_life()
    od
}

/* --- everybody else --- */

inline foreign_write()
{
    atomic {
        may_write;
        foreign_left--;
        select(theirs : 0 .. VALUE_MAX);
        if
        :: theirs != knob -> knob = theirs; writer = THEY
        :: else /* nobody can see that */
        fi;
        printf("@ 2 foreign_write %d | %d %d %d %d %d %d\n", theirs, STATE);
        theirs = 0
    }
}

inline kill(whom)
{
    atomic {
        may_kill && alive[whom] && !killed[whom];
        kills_left--;
        killed[whom] = true;
        printf("@ 2 kill %d | %d %d %d %d %d %d\n", whom, STATE)
    }
}

/* /run is empty then; a state directory elsewhere is not. */
inline reboot()
{
    atomic {
        reboots_left > 0;
        reboots_left--;
        boot = 1 - boot;
        knob = 0;
        writer = KERNEL;
        original_truly = 0;
        killed[DAEMON] = alive[DAEMON];
        killed[HELPER] = alive[HELPER];
        if
        :: journal_held = false; journal_boot = 0; journal_original = 0; journal_last = 0;
            journal_next = 0; journal_torn = false
        :: true
        fi;
        printf("@ 2 reboot 0 | %d %d %d %d %d %d\n", STATE)
    }
}

proctype others()
{
    byte theirs;

    do
    :: foreign_write()
    :: kill(DAEMON)
    :: kill(HELPER)
    :: reboot()
#ifdef TRACES /* spread over the run */
    :: weather = (weather + 1) % 6
    :: true :: true :: true :: true :: true :: true
#else
    :: break
#endif
    od
}

init
{
    atomic {
        run pcptuned(DAEMON);
        run pcptuned(HELPER);
        run others()
    }
}
