/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "macros.h"

/* On what we run. The names are those of systemd's ConditionVirtualization=, which has no public
 * function behind it. For people and for [Match]: no decision about memory rests on them. */

#define VIRT_DMI_STRINGS 3
#define VIRT_NAME_MAX 24

struct virt_signs {
    bool hypervisor_bit; /* CPUID says so; where the architecture has no such bit: true */
    char cpuid[13];      /* hypervisor's signature of CPUID leaf 0x40000000, "" if none */
    char dmi[VIRT_DMI_STRINGS][64];
    char hypervisor[16]; /* /sys/hypervisor/type */
};

/* "none", "kvm", "vmware", ...; "vm-other" where the bit alone is known. Static text. */
const char *virt_decide(const struct virt_signs *s);
const char *virt_read(void);

struct container_signs {
    bool own_namespace;              /* our PID or cgroup namespace is not the initial one */
    char systemd[VIRT_NAME_MAX];     /* /run/systemd/container, written by a systemd inside one */
    char environment[VIRT_NAME_MAX]; /* container= of PID 1 */
    bool containerenv, dockerenv;    /* /run/.containerenv, /.dockerenv */
};

/* "" when we run in no container, "docker", "lxc", ..., "other". A marker file alone proves
 * nothing, for images of virtual machines are made out of containers. */
void container_decide(const struct container_signs *s, char ret[static VIRT_NAME_MAX]);
void container_read(char ret[static VIRT_NAME_MAX]);
