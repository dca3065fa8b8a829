/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "virt.h"

#include "fileio.h"

#include <string.h>
#include <sys/stat.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

/* include/linux/proc_ns.h: fixed inode numbers of the initial namespaces. */
#define CGROUP_INIT_INO 0xEFFFFFFBU
#define PID_INIT_INO 0xEFFFFFFCU

struct name_row {
    const char *text;
    const char *name;
};

static const struct name_row cpuid_table[] = {
    {"KVMKVMKVM", "kvm"},       {"Linux KVM Hv", "kvm"},  {"TCGTCGTCGTCG", "qemu"},
    {"VMwareVMware", "vmware"}, {"XenVMMXenVMM", "xen"},  {"Microsoft Hv", "microsoft"},
    {"bhyve bhyve ", "bhyve"},  {"ACRNACRNACRN", "acrn"}, {"QNXQVMBSQG", "qnx"},
    {"SRESRESRESRE", "sre"},
};

static const struct name_row dmi_table[] = {
    {"KVM", "kvm"},
    {"OpenStack", "kvm"},
    {"KubeVirt", "kvm"},
    {"Amazon EC2", "amazon"},
    {"Google Compute Engine", "google"},
    {"QEMU", "qemu"},
    {"VMware", "vmware"},
    {"innotek GmbH", "oracle"},
    {"VirtualBox", "oracle"},
    {"Xen", "xen"},
    {"Bochs", "bochs"},
    {"Parallels", "parallels"},
    {"BHYVE", "bhyve"},
    {"Hyper-V", "microsoft"},
    {"Apple Virtualization", "apple"},
};

static const char *look_up(const struct name_row *table, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strncmp(text, table[i].text, strlen(table[i].text)) == 0)
            return table[i].name;
    return NULL;
}

const char *virt_decide(const struct virt_signs *s)
{
    if (strcmp(s->hypervisor, "xen") == 0)
        return "xen";
    if (!s->hypervisor_bit)
        return "none"; /* Amazon's bare metal has the DMI names of its virtual machines */

    const char *dmi = NULL;
    for (size_t i = 0; i < VIRT_DMI_STRINGS && !dmi; i++)
        dmi = look_up(dmi_table, ARRAY_SIZE(dmi_table), s->dmi[i]);
    const char *cpuid = look_up(cpuid_table, ARRAY_SIZE(cpuid_table), s->cpuid);

    /* QEMU's DMI names say nothing of what runs the code, the cloud's names say more than KVM. */
    if (dmi && !(cpuid && strcmp(dmi, "qemu") == 0))
        return dmi;
    if (cpuid)
        return cpuid;
#if defined(__x86_64__) || defined(__i386__)
    return "vm-other";
#else
    return "none";
#endif
}

static bool read_word(const char *path, char *ret, size_t size)
{
    char buf[128];
    ssize_t n = read_file(path, buf, sizeof(buf));
    if (n < 0)
        return false;
    buf[strcspn(buf, "\n")] = '\0';
    snprintf(ret, size, "%.*s", (int)size - 1, buf);
    return true;
}

const char *virt_read(void)
{
    static const char *const dmi_paths[VIRT_DMI_STRINGS] = {
        "/sys/class/dmi/id/product_name",
        "/sys/class/dmi/id/sys_vendor",
        "/sys/class/dmi/id/board_vendor",
    };
    struct virt_signs s = {.hypervisor_bit = true};

#if defined(__x86_64__) || defined(__i386__)
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    s.hypervisor_bit = __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & (1U << 31));
    if (s.hypervisor_bit) {
        __cpuid(0x40000000, eax, ebx, ecx, edx);
        memcpy(s.cpuid, (unsigned[]){ebx, ecx, edx}, 12);
    }
#endif
    for (size_t i = 0; i < VIRT_DMI_STRINGS; i++)
        read_word(dmi_paths[i], s.dmi[i], sizeof(s.dmi[i]));
    read_word("/sys/hypervisor/type", s.hypervisor, sizeof(s.hypervisor));
    return virt_decide(&s);
}

static void set_name(char ret[static VIRT_NAME_MAX], const char *name)
{
    bool plain = *name && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0';
    snprintf(ret, VIRT_NAME_MAX, "%s", plain ? name : "other");
}

void container_decide(const struct container_signs *s, char ret[static VIRT_NAME_MAX])
{
    const char *told = s->environment[0] ? s->environment : s->systemd;

    /* "oci" is what generic run-times say: the files know better. */
    if (told[0] && strcmp(told, "oci") != 0)
        set_name(ret, told);
    else if (!told[0] && !s->own_namespace)
        ret[0] = '\0';
    else if (s->containerenv)
        set_name(ret, "podman");
    else if (s->dockerenv)
        set_name(ret, "docker");
    else
        set_name(ret, told[0] ? told : "other");
}

static bool is_namespace(const char *path, ino_t initial)
{
    struct stat st;
    return stat(path, &st) < 0 || st.st_ino == initial;
}

/* container= out of the NUL-separated /proc/1/environ; often not readable (ptrace rules). */
static void read_environment(char ret[static VIRT_NAME_MAX])
{
    static const char key[] = "container=";
    char buf[8192];
    ssize_t n = read_file("/proc/1/environ", buf, sizeof(buf));

    for (const char *p = buf; n > 0 && p < buf + n; p += strlen(p) + 1)
        if (strncmp(p, key, sizeof(key) - 1) == 0)
            snprintf(ret, VIRT_NAME_MAX, "%.*s", VIRT_NAME_MAX - 1, p + sizeof(key) - 1);
}

void container_read(char ret[static VIRT_NAME_MAX])
{
    struct container_signs s = {
        .own_namespace = !is_namespace("/proc/self/ns/pid", PID_INIT_INO) ||
                         !is_namespace("/proc/self/ns/cgroup", CGROUP_INIT_INO),
        .containerenv = access("/run/.containerenv", F_OK) == 0,
        .dockerenv = access("/.dockerenv", F_OK) == 0,
    };
    read_word("/run/systemd/container", s.systemd, sizeof(s.systemd));
    read_environment(s.environment);
    container_decide(&s, ret);
}
