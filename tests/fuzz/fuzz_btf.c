/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <bpf/btf.h>

#include "hostfacts.h"
#include "take.h"

/* Types of a kernel that nobody has: structs in themselves, typedefs of typedefs, functions of what
 * is no function. libbpf builds them, so that it is our reading that is tested and not its own
 * (which happens in a child, see btf_probe()). */

#define OPS 64
#define ANONYMOUS 5 /* a struct of itself so often is looked into 5^8 times */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void add_member(struct btf *btf, struct take *in, int type, unsigned *anonymous)
{
    static const char *const names[] = {"", "high_min", "free_factor", "count"};
    unsigned name = take_below(in, 4);

    if (name == 0 && ++*anonymous > ANONYMOUS)
        return;
    btf__add_field(btf, names[name], type, 0, 0);
}

static void add_type(struct btf *btf, struct take *in, unsigned *anonymous)
{
    static const char *const structs[] = {"per_cpu_pages", "", "other"};
    static const char *const functions[] = {"free_frozen_page_commit", "free_unref_page_commit",
                                            "f"};
    int type = (int)take_below(in, 24);

    switch (take_below(in, 9)) {
    case 0:
        btf__add_int(btf, "_Bool", 1, BTF_INT_BOOL);
        break;
    case 1:
        btf__add_int(btf, "int", 4, BTF_INT_SIGNED);
        break;
    case 2:
        btf__add_typedef(btf, "bool", type);
        break;
    case 3:
        btf__add_struct(btf, structs[take_below(in, 3)], 64);
        break;
    case 4:
        btf__add_union(btf, structs[take_below(in, 3)], 64);
        break;
    case 5:
        btf__add_func_proto(btf, type);
        break;
    case 6:
        btf__add_func(btf, functions[take_below(in, 3)], BTF_FUNC_STATIC, type);
        break;
    default:
        add_member(btf, in, type, anonymous); /* refused where the last is no struct */
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct take in = {data, size};
    struct btf_facts facts = {.high_min = true};
    struct btf *btf = btf__new_empty();
    unsigned anonymous = 0;
    __u32 len;

    for (unsigned i = 0; btf && i < OPS && in.left > 0; i++)
        add_type(btf, &in, &anonymous);
    const void *raw = btf ? btf__raw_data(btf, &len) : NULL;
    if (raw) {
        int r = btf_parse(raw, len, &facts);
        require(r < 0 ? facts.high_min : facts.commit_known || !facts.commit_returns_bool);
    }
    btf__free(btf);
    return 0;
}
