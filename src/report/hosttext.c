/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hosttext.h"

#include "units.h"

void host_print(const struct host_facts *h, unsigned scale, FILE *f)
{
    char memory[UNITS_BUF];

    fprintf(f, "kernel    Linux %s, virtualisation %s%s%s\n", h->release, h->virt,
            h->container[0] ? ", container " : "", h->container);
    fprintf(f, "machine   %u of %u CPUs online, %u node%s, %s, pages of %u bytes\n", h->cpus_online,
            h->cpus_possible, h->n_nodes, h->n_nodes == 1 ? "" : "s",
            format_size(h->memory_bytes, memory), h->page_size);
    fprintf(f, "regime    %s, known by %s: %s\n", regime_name(h->regime),
            evidence_name(h->regime_by), regime_summary(h->regime));
    fprintf(f, "scale     %u, known by %s\n", scale, evidence_name(h->scale_by));
    if (h->assumed[0])
        fprintf(f, "assumed   %s\n", h->assumed);
}

void knobs_print(const struct knob_values *v, FILE *f)
{
    for (unsigned k = 0; k < KNOB_MAX; k++) {
        if (v && v->has[k])
            fprintf(f, "knob      %s = %d%s\n", knob_table[k].name, v->value[k],
                    v->value[k] == knob_table[k].initial ? " (the kernel's own choice)"
                                                         : " (set by somebody)");
        else
            fprintf(f, "knob      %s: %s\n", knob_table[k].name,
                    v ? "not in this kernel" : "not known");
    }
}
