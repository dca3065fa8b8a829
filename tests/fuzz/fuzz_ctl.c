/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <fcntl.h>
#include <json.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <termios.h>
#include <unistd.h>

#include "api.h"
#include "fileio.h"
#include "journal.h"
#include "since.h"
#include "take.h"
#include "verbs.h"

/* pcptunectl against a pcptuned that answers anything: properties of other types and sizes, names
 * that it has never heard of, events that are no JSON. verify finds any journal beside that, top
 * draws on terminals of any size, and what status and verify print as JSON is JSON. */

#define TEXT 2048

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int listener;
static char address[64];
static sem_t served;        /* a connection is over */
static struct take answers; /* of the server's thread while a verb waits for it */
static unsigned pauses;     /* of verify, which looks again after each */
static char dir[] = "/tmp/pcptuned-fuzz-XXXXXX", config[64], boot_id[64];
static int state = -1, terminal = -1, keyboard = -1;

/* --- answers ---------------------------------------------------------------------------------- */

static const char *take_text(struct take *in, char buf[static TEXT])
{
    static const char *const words[] = {"apply",   "dry-run",  "off",    "yielded", "refused",
                                        "foreign", "pcptuned", "storms", "tuned",   ""};
    unsigned how = take_below(in, 14);
    size_t i = 0;

    if (how < 10)
        return words[how];
    size_t len = how == 13 ? take_bytes(in, 2) % (TEXT - 1) : take_bytes(in, 1);
    for (; i < len; i++) {
        uint8_t c = take_bytes(in, 1) & 0x7f;
        buf[i] = c ? (char)c : 'x';
    }
    buf[i] = '\0';
    return buf;
}

static void add_value(sd_bus_message *m, struct take *in, const char *type);

static void add_basic(sd_bus_message *m, struct take *in, char type)
{
    char buf[TEXT];
    uint64_t v;

    if (type == 's') {
        sd_bus_message_append_basic(m, 's', take_text(in, buf));
        return;
    }
    v = take_any(in);
    if (type == 'b')
        sd_bus_message_append_basic(m, 'b', &(int){(int)(v & 1)});
    else
        sd_bus_message_append_basic(m, type, &v);
}

static void add_members(sd_bus_message *m, struct take *in, const char *types)
{
    for (; *types; types++)
        add_basic(m, in, *types);
}

/* Arrays of a basic type, of a struct or of a dictionary of basic types: all that there are. */
static void add_array(sd_bus_message *m, struct take *in, const char *element)
{
    char inner[32];

    sd_bus_message_open_container(m, 'a', element);
    for (unsigned n = take_below(in, 40); n > 0 && in->left > 0; n--) {
        if (element[0] != '(' && element[0] != '{') {
            add_basic(m, in, element[0]);
            continue;
        }
        snprintf(inner, sizeof(inner), "%.*s", (int)strlen(element) - 2, element + 1);
        sd_bus_message_open_container(m, element[0] == '(' ? 'r' : 'e', inner);
        if (strcmp(inner, "sv") == 0)
            add_basic(m, in, 's'), add_value(m, in, "v");
        else
            add_members(m, in, inner);
        sd_bus_message_close_container(m);
    }
    sd_bus_message_close_container(m);
}

static void add_value(sd_bus_message *m, struct take *in, const char *type)
{
    static const char *const types[] = {"s", "u", "t", "i", "b", "d", "as", API_TYPE_KNOBS};

    if (type[0] == 'v') {
        const char *inner = types[take_below(in, 8)];
        sd_bus_message_open_container(m, 'v', inner);
        add_value(m, in, inner);
        sd_bus_message_close_container(m);
    } else if (type[0] == 'a') {
        add_array(m, in, type + 1);
    } else {
        add_basic(m, in, type[0]);
    }
}

static const struct {
    const char *name, *type;
} properties[] = {
    {"Version", "s"},
    {"Mode", "s"},
    {"ConfiguredMode", "s"},
    {"State", "s"},
    {"StateSince", "t"},
    {"Regime", "s"},
    {"Release", "s"},
    {"Cpus", "u"},
    {"MemoryPages", "t"},
    {"PageSize", "u"},
    {"TargetWaitNSec", "t"},
    {"Knobs", API_TYPE_KNOBS},
    {"Signals", API_TYPE_SIGNALS},
    {"TasksInFlight", "u"},
    {"LargestTasks", "u"},
    {"LargestPages", "t"},
    {"PagesToCome", "t"},
    {"PagesPerHold", "u"},
    {"WaitNSec", "t"},
    {"Pressure", API_TYPE_PRESSURE},
    {"Zones", API_TYPE_ZONES},
    {"LastStorm", API_TYPE_STORM},
    {"Counters", API_TYPE_COUNTERS},
    {"Other", "v"},
};
static const char *const storm_keys[] = {"id",     "cgroup", "tasks",         "pages",
                                         "reason", "tuned",  "reaction_nsec", "wait_before_nsec"};
static const char *const storm_types[] = {"t", "s", "u", "t", "s", "b", "t", "t"};

static void add_entry(sd_bus_message *m, struct take *in, const char *name, const char *type)
{
    bool other = take_below(in, 16) == 15;

    sd_bus_message_open_container(m, 'e', "sv");
    sd_bus_message_append_basic(m, 's', name);
    if (other || type[0] == 'v') {
        add_value(m, in, "v");
    } else {
        sd_bus_message_open_container(m, 'v', type);
        if (strcmp(type, API_TYPE_STORM) == 0) {
            sd_bus_message_open_container(m, 'a', "{sv}");
            for (unsigned n = take_below(in, 12), i; n > 0; n--)
                i = take_below(in, 8), add_entry(m, in, storm_keys[i], storm_types[i]);
            sd_bus_message_close_container(m);
        } else {
            add_value(m, in, type);
        }
        sd_bus_message_close_container(m);
    }
    sd_bus_message_close_container(m);
}

static void add_properties(sd_bus_message *m, struct take *in)
{
    sd_bus_message_open_container(m, 'a', "{sv}");
    for (unsigned i = 0; i < 64 && in->left > 0; i++) {
        unsigned p = take_below(in, sizeof(properties) / sizeof(properties[0]));
        add_entry(m, in, properties[p].name, properties[p].type);
    }
    sd_bus_message_close_container(m);
}

static void add_events(sd_bus_message *m, struct take *in)
{
    char buf[TEXT];

    sd_bus_message_open_container(m, 'a', "s");
    for (unsigned i = 0; i < 300 && in->left > 0; i++) {
        size_t len = take_bytes(in, 2) % TEXT;
        len = len < in->left ? len : in->left;
        len = len < TEXT - 1 ? len : TEXT - 1;
        memcpy(buf, in->data, len);
        buf[len] = '\0';
        in->data += len;
        in->left -= len;
        sd_bus_message_append_basic(m, 's', buf); /* refused where it is no UTF-8 */
    }
    sd_bus_message_close_container(m);
}

static int on_message(sd_bus_message *m, void *arg, sd_bus_error *error)
{
    static const char *const names[] = {API_ERROR_DENIED, API_ERROR_REFUSED, API_ERROR_BUSY,
                                        "org.freedesktop.DBus.Error.ServiceUnknown", "a.b"};
    struct take *in = &answers;
    sd_bus_message *reply = NULL;
    char buf[TEXT];
    (void)arg, (void)error;

    if (!sd_bus_message_is_method_call(m, NULL, NULL))
        return 0;
    if (take_below(in, 16) == 15)
        return sd_bus_reply_method_errorf(m, names[take_below(in, 5)], "%s", take_text(in, buf));
    if (sd_bus_message_new_method_return(m, &reply) < 0)
        return 0;
    bool swapped = take_below(in, 32) == 31;
    if (sd_bus_message_is_method_call(m, NULL, "GetAll") != swapped)
        add_properties(reply, in);
    else
        add_events(reply, in);
    (void)sd_bus_send(NULL, reply, NULL);
    sd_bus_message_unref(reply);
    return 1;
}

/* --- the server ------------------------------------------------------------------------------- */

static void serve(int fd)
{
    sd_bus *bus = NULL;
    sd_id128_t id = {.bytes = {1}};

    require(sd_bus_new(&bus) >= 0 && sd_bus_set_fd(bus, fd, fd) >= 0 &&
            sd_bus_set_server(bus, true, id) >= 0 && sd_bus_set_anonymous(bus, true) >= 0 &&
            sd_bus_add_filter(bus, NULL, on_message, NULL) >= 0 && sd_bus_start(bus) >= 0);
    for (int r = 0; r >= 0 && sd_bus_is_open(bus) > 0;) {
        r = sd_bus_process(bus, NULL);
        if (r == 0)
            r = sd_bus_wait(bus, UINT64_MAX);
    }
    sd_bus_flush_close_unref(bus);
}

static void *server(void *arg)
{
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fd < 0)
            continue;
        serve(fd);
        sem_post(&served);
    }
    return arg;
}

/* --- what else there is -------------------------------------------------------------------------
 */

int __wrap_nanosleep(const struct timespec *for_, struct timespec *left);

int __wrap_nanosleep(const struct timespec *for_, struct timespec *left)
{
    (void)for_, (void)left;
    pauses++;
    return 0;
}

static void *read_screen(void *arg)
{
    char buf[4096];

    while (read(keyboard, buf, sizeof(buf)) > 0)
        ;
    return arg;
}

static void open_terminal(void)
{
    pthread_t thread;

    keyboard = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    require(keyboard >= 0 && grantpt(keyboard) == 0 && unlockpt(keyboard) == 0);
    terminal = open(ptsname(keyboard), O_RDWR | O_NOCTTY | O_CLOEXEC);
    require(terminal >= 0 && setenv("TERM", "xterm", 1) == 0);
    require(pthread_create(&thread, NULL, read_screen, NULL) == 0);
}

static void remove_state(void)
{
    (void)journal_remove(state);
    (void)unlink(config);
    (void)rmdir(dir);
}

static void make_state(void)
{
    require(mkdtemp(dir) != NULL && setenv("RUNTIME_DIRECTORY", dir, 1) == 0);
    state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(config, sizeof(config), "%s/empty.conf", dir);
    int fd = open(config, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    require(state >= 0 && fd >= 0 && atexit(remove_state) == 0);
    close(fd);
    require(read_file("/proc/sys/kernel/random/boot_id", boot_id, sizeof(boot_id)) > 0);
    boot_id[strcspn(boot_id, "\n")] = '\0';
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct sockaddr_un sa = {.sun_family = AF_UNIX};
    pthread_t thread;
    (void)argc, (void)argv;

    int n = snprintf(sa.sun_path + 1, sizeof(sa.sun_path) - 1, "pcptuned-fuzz-%d", getpid());
    snprintf(address, sizeof(address), "unix:abstract=%s", sa.sun_path + 1);
    socklen_t len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(listener >= 0 && bind(listener, (const struct sockaddr *)&sa, len) == 0 &&
            listen(listener, 8) == 0 && sem_init(&served, 0, 0) == 0);
    require(pthread_create(&thread, NULL, server, NULL) == 0);
    open_terminal();
    make_state();
    return 0;
}

/* --- the verbs ----------------------------------------------------------------------------------
 */

static void leave_torn_journal(struct take *in)
{
    char buf[JOURNAL_TEXT_MAX];
    size_t len = 0;
    int fd = openat(state, "knobs.journal", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    for (size_t n = take_bytes(in, 2) % sizeof(buf); len < n; len++)
        buf[len] = (char)take_bytes(in, 1);
    require(fd >= 0 && write(fd, buf, len) == (ssize_t)len);
    close(fd);
}

static void leave_journal(struct take *in)
{
    struct journal j = {.boot_id = "0-1"};
    unsigned how = take_below(in, 4);

    (void)journal_remove(state);
    if (how == 0)
        return;
    if (how == 1) {
        leave_torn_journal(in);
        return;
    }
    if (how == 2)
        snprintf(j.boot_id, sizeof(j.boot_id), "%s", boot_id);
    for (unsigned k = 0; k < KNOB_MAX; k++)
        j.knob[k] = (struct journal_entry){take_bool(in), (int)take_any(in), (int)take_any(in),
                                           (int)take_any(in)};
    require(journal_save(state, &j) == 0);
}

/* Until the first key; it has learned to end by then, and draws once from there on. */
static void top(const struct call *c, struct take *in)
{
    static const int caught[] = {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH};
    const struct winsize size = {(unsigned short)(1 + take_below(in, 60)),
                                 (unsigned short)(1 + take_below(in, 200)), 0, 0};
    int was[2] = {dup(STDIN_FILENO), dup(STDOUT_FILENO)};
    struct sigaction old[5];

    for (unsigned i = 0; i < 5; i++)
        require(sigaction(caught[i], NULL, &old[i]) == 0);
    fflush(stdout);
    require(ioctl(terminal, TIOCSWINSZ, &size) == 0 && tcflush(terminal, TCIFLUSH) == 0 &&
            write(keyboard, "q\n", 2) == 2);
    require(dup2(terminal, STDIN_FILENO) >= 0 && dup2(terminal, STDOUT_FILENO) >= 0);
    answers = *in;
    int code = verb_top(c);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        require(dup2(was[i], i) >= 0);
        close(was[i]);
    }
    for (unsigned i = 0; i < 5; i++)
        require(sigaction(caught[i], &old[i], NULL) == 0);
    require(code >= 0 && code <= EXIT_REFUSED);
}

static void check_json(const char *text, size_t len)
{
    struct json_tokener *t = json_tokener_new();

    require(t != NULL && len > 0 && text[len - 1] == '\n' && !strchr(text, '\x1b'));
    json_tokener_set_flags(t, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
    struct json_object *o = json_tokener_parse_ex(t, text, (int)len);
    require(o && json_object_is_type(o, json_type_object));
    json_object_put(o);
    json_tokener_free(t);
}

/* A verb that has one thing to say. */
static void say(int (*verb)(const struct call *c), const struct call *c)
{
    FILE *old = stdout;
    char *text = NULL;
    size_t len;

    FILE *f = open_memstream(&text, &len);
    require(f != NULL);
    stdout = f;
    int code = verb(c);
    stdout = old;
    require(fclose(f) == 0);
    if (len > 0 && c->json)
        check_json(text, len);
    require(len > 0 || code != EXIT_SUCCESS);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct take in = {data, size};
    struct call call = {.address = address, .config = config};
    unsigned what = take_below(&in, 16);
    uint64_t usec;
    char text[TEXT];

    call.json = take_bool(&in);
    if (what < 2) {
        size_t len = in.left < TEXT ? in.left : TEXT - 1;
        memcpy(text, in.data, len);
        text[len] = '\0';
        if (since_parse(text, UINT64_C(1764526501000000), &usec) == 0)
            require(usec < (uint64_t)INT64_MAX);
        return 0;
    }
    pauses = 0;
    if (what == 8 || what == 9) {
        top(&call, &in);
    } else if (what == 10) {
        leave_journal(&in);
        answers = in;
        say(verb_verify, &call);
    } else {
        answers = in;
        if (what == 6 || what == 7)
            (void)verb_events(&call);
        else
            say(verb_status, &call);
    }
    for (unsigned i = 0; i <= pauses; i++)
        while (sem_wait(&served) < 0) /* it may still be reading the input */
            ;
    fflush(stdout);
    return 0;
}
