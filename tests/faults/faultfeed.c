/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process of 8 MB, "faultfeed", that ends: the message that its exit brings is what the shim
 * makes a storm of. With an argument it does not end before it is killed; with two, as many of its
 * children as the second says end, each without memory of its own (no copy: vfork(2)). */
int main(int argc, char *argv[])
{
    size_t size = 8 << 20;

    if (argc > 2) {
        for (long n = atol(argv[2]); n > 0; n--) {
            pid_t pid = vfork();
            if (pid == 0)
                _exit(0);
            waitpid(pid, NULL, 0);
        }
        return 0;
    }
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (argc > 1)
        pause();
    return p == MAP_FAILED;
}
