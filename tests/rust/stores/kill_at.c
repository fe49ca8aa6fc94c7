/*
 * Kills its process at a write to a store: preloaded into a test by kills.rs.
 *
 * AGENT_KILL_AT is the number of the write, from 1, and where in it: "7 before", "7 inside" or "7 after". Inside of a write, the
 * first half of its bytes is written; but a lease, which has the size of a disk's sector and lies within a page, is never written
 * in part. Counted are writes to the files under AGENT_KILL_IN; where that is "socket", those to sockets.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum place { NOWHERE, BEFORE, INSIDE, AFTER };

static _Atomic long writes;

/* Whether it is of the store; 2 for a lease. */
static int is_of_store(int fd)
{
    const char *folder = getenv("AGENT_KILL_IN");
    char link[64], path[4096];
    struct stat status;
    if (folder == NULL)
        return 0;
    if (strcmp(folder, "socket") == 0)
        return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path);
    if (length < (ssize_t)strlen(folder) || memcmp(path, folder, strlen(folder)) != 0)
        return 0;
    return length > 6 && memcmp(path + length - 6, ".lease", 6) == 0 ? 2 : 1;
}

/* Where the process is to be killed in this write. */
static enum place next(int fd)
{
    const char *at = getenv("AGENT_KILL_AT");
    char word[16] = "";
    long number = 0;
    int kind = at == NULL ? 0 : is_of_store(fd);
    if (kind == 0)
        return NOWHERE;
    if (sscanf(at, "%ld %15s", &number, word) != 2 || atomic_fetch_add(&writes, 1) + 1 != number)
        return NOWHERE;
    if (strcmp(word, "before") == 0)
        return BEFORE;
    return strcmp(word, "inside") == 0 && kind == 1 ? INSIDE : AFTER;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    pause();
}

/* A write of `count` bytes, by an expression that writes `part` of them. */
#define KILLED_WRITE(count, expression)                                                                                        \
    do {                                                                                                                       \
        enum place place = next(fd);                                                                                           \
        size_t part = place == INSIDE ? (count) / 2 : (count);                                                                 \
        if (place == BEFORE)                                                                                                   \
            die();                                                                                                             \
        ssize_t written = (expression);                                                                                        \
        if (place != NOWHERE)                                                                                                  \
            die();                                                                                                             \
        return written;                                                                                                        \
    } while (0)

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

ssize_t write(int fd, const void *bytes, size_t count)
{
    KILLED_WRITE(count, REAL(write)(fd, bytes, part));
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at)
{
    KILLED_WRITE(count, REAL(pwrite)(fd, bytes, part, at));
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at)
{
    KILLED_WRITE(count, REAL(pwrite64)(fd, bytes, part, at));
}

ssize_t send(int fd, const void *bytes, size_t count, int flags)
{
    KILLED_WRITE(count, REAL(send)(fd, bytes, part, flags));
}

ssize_t writev(int fd, const struct iovec *parts, int many)
{
    KILLED_WRITE(1, part == 0 ? REAL(write)(fd, parts->iov_base, parts->iov_len / 2) : REAL(writev)(fd, parts, many));
}
