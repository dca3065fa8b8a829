/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "virt.h"

static void test_virt(void **state)
{
    (void)state;
    static const struct {
        struct virt_signs signs;
        const char *name;
    } table[] = {
        {{.hypervisor_bit = false}, "none"},
        {{.hypervisor_bit = false, .dmi = {"m5.metal", "Amazon EC2"}}, "none"},
        {{.hypervisor_bit = true, .cpuid = "KVMKVMKVM"}, "kvm"}, /* Firecracker: no DMI at all */
        {{.hypervisor_bit = true, .cpuid = "KVMKVMKVM", .dmi = {"Standard PC", "QEMU"}}, "kvm"},
        {{.hypervisor_bit = true, .cpuid = "TCGTCGTCGTCG", .dmi = {"Standard PC", "QEMU"}}, "qemu"},
        {{.hypervisor_bit = true, .dmi = {"Standard PC", "QEMU"}}, "qemu"},
        {{.hypervisor_bit = true, .cpuid = "KVMKVMKVM", .dmi = {"m5.large", "Amazon EC2"}},
         "amazon"},
        {{.hypervisor_bit = true, .cpuid = "KVMKVMKVM", .dmi = {"Google Compute Engine", "Google"}},
         "google"},
        {{.hypervisor_bit = true, .cpuid = "VMwareVMware", .dmi = {"VMware7,1", "VMware, Inc."}},
         "vmware"},
        {{.hypervisor_bit = true, .cpuid = "Microsoft Hv", .dmi = {"Virtual Machine", "Microsoft"}},
         "microsoft"},
        {{.hypervisor_bit = true, .cpuid = "KVMKVMKVM", .dmi = {"VirtualBox", "innotek GmbH"}},
         "oracle"},
        {{.hypervisor_bit = false, .hypervisor = "xen"}, "xen"},
        {{.hypervisor_bit = true, .cpuid = "\n\"evil\"'\x1b[2J", .dmi = {"\"", "\n", "\xff"}},
#if defined(__x86_64__) || defined(__i386__)
         "vm-other"},
#else
         "none"},
#endif
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++)
        if (strcmp(virt_decide(&table[i].signs), table[i].name) != 0)
            fail_msg("row %zu: %s, expected %s", i, virt_decide(&table[i].signs), table[i].name);
}

static void test_container(void **state)
{
    (void)state;
    static const struct {
        struct container_signs signs;
        const char *name;
    } table[] = {
        {{0}, ""},
        {{.dockerenv = true}, ""}, /* a virtual machine made out of a container's image */
        {{.containerenv = true}, ""},
        {{.own_namespace = true}, "other"},
        {{.own_namespace = true, .dockerenv = true}, "docker"},
        {{.own_namespace = true, .containerenv = true, .dockerenv = true}, "podman"},
        {{.systemd = "lxc"}, "lxc"},
        {{.environment = "systemd-nspawn"}, "systemd-nspawn"},
        {{.environment = "podman", .systemd = "lxc"}, "podman"},
        {{.environment = "oci"}, "oci"},
        {{.environment = "oci", .dockerenv = true}, "docker"},
        {{.systemd = "oci", .containerenv = true}, "podman"},
        {{.environment = "a\nb"}, "other"},
        {{.environment = "\"'\x1b"}, "other"},
        {{.systemd = "UPPER"}, "other"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
        char name[VIRT_NAME_MAX];
        memset(name, 'X', sizeof(name));
        container_decide(&table[i].signs, name);
        if (strcmp(name, table[i].name) != 0)
            fail_msg("row %zu: '%s', expected '%s'", i, name, table[i].name);
    }
}

static void test_this_machine(void **state)
{
    (void)state;
    char name[VIRT_NAME_MAX];
    memset(name, 'X', sizeof(name));
    container_read(name);
    printf("virt %s, container '%s'\n", virt_read(), name);
    assert_true(strnlen(name, sizeof(name)) < sizeof(name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_virt),
        cmocka_unit_test(test_container),
        cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
