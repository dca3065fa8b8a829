/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* A process of 8 MB that ends: the message that its exit brings is what the shim makes a storm of.
 * With an argument it does not end before it is killed. With two it is one of 40 MB, of which as
 * many children as the second says end: each is told with those 40 MB, and frees nothing. */
static void bomb(long times)
{
    while (times-- > 0) {
        pid_t pid = vfork(); /* NOLINT: the memory must be ours, not a copy */
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
}

int main(int argc, char *argv[])
{
    size_t size = (size_t)(argc > 2 ? 40 : 8) << 20;
    void *p =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

    if (argc > 2)
        bomb(atol(argv[2]));
    else if (argc > 1)
        pause();
    return p == MAP_FAILED;
}
