/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

/* The API on the bus: the contract between pcptuned and its clients. One object, found
 *
 *   - on the system bus, as API_NAME (absent where there is no bus daemon), and
 *   - on a private peer-to-peer socket, $RUNTIME_DIRECTORY/bus, else API_SOCKET: no bus daemon is
 *     needed, and no name: messages have no destination (busctl --address=unix:path=...).
 *
 * Everybody may read. SetMode, Reload, Rearm and Restore want uid 0, else API_ERROR_DENIED.
 * Names, signatures and keys only ever grow: a client ignores keys that it does not know.
 *
 * Methods
 *   SetMode(s mode)      "apply", "dry-run" or "off", until the next SetMode, Rearm, Restore,
 * Reload or start. Replies when it is in force: what was tuned is restored before. API_ERROR_ARGS:
 * no such mode. API_ERROR_REFUSED: "apply" cannot be had (the sysctl cannot be written, or
 * --dry-run was given), and why. Reload()             as SIGHUP. Replies when it is in force;
 * API_ERROR_REFUSED with all errors (a line each) where the configuration is bad: the old one stays
 * in force. Rearm()              takes yielded and refused knobs up again, and ends what Restore or
 * SetMode began: Mode is ConfiguredMode again. Replies when it is. Restore()            puts the
 * originals back now and leaves the knobs alone, storm or no storm, until Rearm, SetMode, Reload or
 * a restart: Mode is "dry-run" meanwhile, so storms are still reported with what would be done.
 * Replies when all is back; a knob that somebody else wrote since is left to them.
 *                        API_ERROR_REFUSED: the kernel did not take an original back, and why.
 *   Events(t since_usec, u max) -> as
 *                        the newest max (0: all that are kept) events since then (CLOCK_REALTIME,
 *                        0: ever), the oldest first. Each is one JSON object with the keys of
 *                        --log-format=json. The last API_EVENTS are kept, of this process only.
 *   One of SetMode, Reload, Rearm, Restore at a time: API_ERROR_BUSY where one is under way, which
 *   lasts as long as a sysctl hangs.
 *
 * Properties (c: PropertiesChanged is emitted; the others are live, to be polled; k: constant)
 *   Version s k, Release s k (uname -r), PageSize u k
 *   Mode s c             in force
 *   ConfiguredMode s c   what the configuration and the command line ask for
 *   State s c            "calm", "watch", "tuned", "hold", "steady", "yielded", "refused":
 *                        engine_state_name()
 *   StateSince t c       usec of CLOCK_REALTIME
 *   Regime s c           "R4"; Cpus u c (online); Nodes u c; MemoryPages t k
 *   TargetWaitNSec t c
 *   Knobs a(sbiiis) c    sysctl name, exists, value (-1: not read yet), original (-1: we hold
 * none), wanted (-1: none), owner: "kernel-default", "administrator" (pinned before we came),
 * "pcptuned", "foreign" (written by somebody since) Signals a(sbs) c     name, available, detail
 * ("" or what is missing and why) TasksInFlight u, PagesToCome t (0 in calm) PagesPerHold u       b
 * as the knobs and lists are now; 0: not known WaitNSec t           W as it is now; 0 in calm
 *   Pressure a(sdd)      "memory" and "cpu": some avg10, full avg10, in percent, at the last slow
 *                        tick
 *   Zones a(ustutuuu)    node, zone, managed, lists (CPUs), pages in all lists, and of the longest
 *                        list high_min, high_max (equal where high does not float), batch: of the
 *                        daemon's own last reading, which is never made for a client
 *   ZonesRead t          when: usec of CLOCK_REALTIME; 0: never
 *   LastStorm a{sv}      empty before the first; else: id t, cgroup s, tasks u, pages t,
 *                        pages_freed t (0: not known), wait_before_nsec t, wait_after_nsec t,
 *                        reason s (reason_name()), tuned b, dry_run b, began_usec t
 *                        (CLOCK_REALTIME), duration_nsec t (0: it is on), reaction_nsec t (from the
 *                        first message to the write; 0: none)
 *   LargestTasks u       of all exit storms since the start: most tasks that freed at the same
 * moment LargestPages t       most pages that one freed Counters a{st}       status_counter_name():
 * since the start of the daemon
 *
 * Signals
 *   StormBegan(t id, s cgroup, u tasks, t pages, t wait_before_nsec, t wait_after_nsec)
 *                        wait_after equals wait_before where it is left alone
 *   StormEnded(t id, t duration_nsec, t pages_freed)
 *   KnobChanged(s knob, i old, i new, s reason)   never in a dry run
 *   Yielded(s knob, i value)                      somebody else wrote it: it is theirs now
 *   Event(s json)                                 as Events returns it
 *   A client that does not read is disconnected after API_QUEUE messages. */

#define API_NAME "org.pcptuned1"
#define API_PATH "/org/pcptuned1"
#define API_INTERFACE "org.pcptuned1.Manager"
#define API_SOCKET "/run/pcptuned/bus"
#define API_SOCKET_NAME "bus" /* in $RUNTIME_DIRECTORY */

#define API_ERROR_DENIED "org.freedesktop.DBus.Error.AccessDenied"
#define API_ERROR_ARGS "org.freedesktop.DBus.Error.InvalidArgs"
#define API_ERROR_BUSY "org.pcptuned1.Error.Busy"
#define API_ERROR_REFUSED "org.pcptuned1.Error.Refused"

#define API_EVENTS 256
#define API_QUEUE 32

/* On the private socket, beyond which connections are closed at once and counted. */
#define API_CLIENTS 32
#define API_CLIENTS_PER_USER 8 /* for each uid but 0 */
#define API_CLIENTS_FOR_ROOT 8 /* of API_CLIENTS, kept free for uid 0 */

/* Signatures of the properties with an array, for clients. */
#define API_TYPE_KNOBS "a(sbiiis)"
#define API_TYPE_SIGNALS "a(sbs)"
#define API_TYPE_PRESSURE "a(sdd)"
#define API_TYPE_ZONES "a(ustutuuu)"
#define API_TYPE_STORM "a{sv}"
#define API_TYPE_COUNTERS "a{st}"
