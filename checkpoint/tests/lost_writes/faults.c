/* Preloaded into a program, this makes one of its operations on files below a folder fail. It
 * counts all writes, truncations, syncs, renames and closes from 1, and fails number
 * TCASM_FAULT_AT. Writes at an offset to a file that is open with O_DIRECT are of a kind of their
 * own.
 *
 *   TCASM_FAULT_DIR  only descriptors and names below this folder count
 *   TCASM_FAULT_AT   the number of the operation that fails; 0: none
 *   TCASM_FAULT_HOW  once: it fails with ENOSPC, or with EIO if it is a sync, rename or close
 *                    short: a write writes half, and the next one fails
 *                    full: this write and every write after it fail with ENOSPC
 *                    kill: the process is killed before it
 *                    refuse: it fails with EINVAL, as a write that the file system does not take
 *   TCASM_FAULT_LOG  a line for each operation is appended to this file: its number, kind, file
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum verdict { PASS, FAIL, HALF, REFUSE };

static atomic_long count;
static const char *folder, *how;
static long at;
static int log_fd = -1;

__attribute__((constructor)) static void begin(void)
{
    const char *number = getenv("TCASM_FAULT_AT"), *log = getenv("TCASM_FAULT_LOG");
    folder = getenv("TCASM_FAULT_DIR");
    how = getenv("TCASM_FAULT_HOW");
    at = number ? atol(number) : 0;
    if (!how)
        how = "once";
    if (log)
        log_fd = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                         0600);
}

static void note(long number, const char *kind, const char *path)
{
    char line[PATH_MAX + 64];
    if (log_fd < 0)
        return;
    int length = snprintf(line, sizeof line, "%ld %s %s\n", number, kind, path);
    syscall(SYS_write, log_fd, line, (size_t)length);
}

/* Decides what happens to an operation on `path`. */
static enum verdict judge(const char *kind, const char *path, int writes)
{
    if (!folder || strncmp(path, folder, strlen(folder)) != 0)
        return PASS;
    long number = ++count;
    note(number, kind, path);
    if (at == 0 || number < at)
        return PASS;
    if (!strcmp(how, "kill"))
        syscall(SYS_kill, getpid(), SIGKILL);
    if (!strcmp(how, "full"))
        return writes ? FAIL : PASS;
    if (!strcmp(how, "short") && writes)
        return number == at ? HALF : number == at + 1 ? FAIL : PASS;
    if (!strcmp(how, "refuse"))
        return number == at ? REFUSE : PASS;
    return number == at ? FAIL : PASS;
}

static enum verdict judge_fd(const char *kind, int fd, int writes)
{
    char link[64], path[PATH_MAX];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    errno = saved;
    if (length < 0)
        return PASS;
    path[length] = 0;
    return judge(kind, path, writes);
}

static int failed(int error)
{
    errno = error;
    return -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
    switch (judge_fd("write", fd, 1)) {
    case FAIL: return failed(ENOSPC);
    case HALF: size = (size + 1) / 2; /* fall through */
    default: return syscall(SYS_write, fd, bytes, size);
    }
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
    int direct = fcntl(fd, F_GETFL) & O_DIRECT;
    switch (judge_fd(direct ? "direct" : "pwrite", fd, 1)) {
    case FAIL: return failed(ENOSPC);
    case REFUSE: return failed(EINVAL);
    case HALF: size = (size + 1) / 2; /* fall through */
    default: return syscall(SYS_pwrite64, fd, bytes, size, offset);
    }
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t offset)
{
    return pwrite64(fd, bytes, size, offset);
}

ssize_t writev(int fd, const struct iovec *parts, int n)
{
    if (judge_fd("write", fd, 1) == FAIL)
        return failed(ENOSPC);
    return syscall(SYS_writev, fd, parts, n);
}

ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t offset)
{
    if (judge_fd("pwrite", fd, 1) == FAIL)
        return failed(ENOSPC);
    return syscall(SYS_pwritev, fd, parts, n, offset, 0L);
}

ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t offset)
{
    return pwritev64(fd, parts, n, offset);
}

int ftruncate64(int fd, off64_t length)
{
    if (judge_fd("truncate", fd, 1) == FAIL)
        return failed(ENOSPC);
    return syscall(SYS_ftruncate, fd, length);
}

int ftruncate(int fd, off_t length)
{
    return ftruncate64(fd, length);
}

int fsync(int fd)
{
    return judge_fd("sync", fd, 0) == FAIL ? failed(EIO) : syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return judge_fd("sync", fd, 0) == FAIL ? failed(EIO) : syscall(SYS_fdatasync, fd);
}

/* Closes the descriptor even if it reports an error, as the kernel does. */
int close(int fd)
{
    enum verdict verdict = judge_fd("close", fd, 0);
    int result = syscall(SYS_close, fd);
    return verdict == FAIL ? failed(EIO) : result;
}

static enum verdict judge_name(int dir, const char *name)
{
    char link[64], path[2 * PATH_MAX];
    if (name[0] == '/' || dir == AT_FDCWD)
        return judge("rename", name, 0);
    snprintf(link, sizeof link, "/proc/self/fd/%d", dir);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0)
        return PASS;
    snprintf(path + length, sizeof path - length, "/%s", name);
    return judge("rename", path, 0);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (judge_name(to_dir, to) == FAIL)
        return failed(EIO);
    return syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return renameat2(from_dir, from, to_dir, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}
