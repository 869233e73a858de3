/* Compiled and never run: sys.h must agree with the headers of the system, where it has them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/wait.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "sys.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is " #theirs)
#define SAME_CALL(name) SAME(NR_##name, SYS_##name)

SAME_CALL(chdir);
SAME_CALL(clone);
SAME_CALL(close);
SAME_CALL(close_range);
SAME_CALL(dup3);
SAME_CALL(execve);
SAME_CALL(execveat);
SAME_CALL(exit_group);
SAME_CALL(fchdir);
SAME_CALL(fcntl);
SAME_CALL(getdents64);
SAME_CALL(getpid);
SAME_CALL(getppid);
SAME_CALL(ioctl);
SAME_CALL(kill);
SAME_CALL(mmap);
SAME_CALL(mremap);
SAME_CALL(munmap);
SAME_CALL(openat);
SAME_CALL(ppoll);
SAME_CALL(prctl);
SAME_CALL(prlimit64);
SAME_CALL(read);
SAME_CALL(recvfrom);
SAME_CALL(recvmsg);
SAME_CALL(rt_sigaction);
SAME_CALL(rt_sigprocmask);
SAME_CALL(sendto);
SAME_CALL(setpgid);
SAME_CALL(setsid);
SAME_CALL(umask);
SAME_CALL(wait4);
SAME_CALL(write);
#ifdef __x86_64__
SAME_CALL(rt_sigreturn);
#endif

SAME(ERR_NOENT, ENOENT);
SAME(ERR_SRCH, ESRCH);
SAME(ERR_INTR, EINTR);
SAME(ERR_CHILD, ECHILD);
SAME(ERR_AGAIN, EAGAIN);
SAME(ERR_ACCES, EACCES);
SAME(ERR_NODEV, ENODEV);
SAME(ERR_NOTDIR, ENOTDIR);
SAME(ERR_INVAL, EINVAL);
SAME(ERR_NAMETOOLONG, ENAMETOOLONG);
SAME(ERR_NOSYS, ENOSYS);
SAME(ERR_TIMEDOUT, ETIMEDOUT);
SAME(ERR_STALE, ESTALE);

SAME(SIGNAL_KILL, SIGKILL);
SAME(SIGNAL_CHILD, SIGCHLD);
SAME(SIGNAL_STOP, SIGSTOP);
SAME(SIGNAL_SET_MASK, SIG_SETMASK);
SAME(SIGNAL_LAST + 1, _NSIG);
SAME(CLONE_SHARES_MEMORY, CLONE_VM);
SAME(CLONE_PARENT_WAITS, CLONE_VFORK);
SAME(WAIT_NO_HANG, WNOHANG);
SAME(WAIT_ALL_KINDS, __WALL);
SAME(PR_PARENT_DEATH_SIGNAL, PR_SET_PDEATHSIG);
SAME(PR_NAME, PR_SET_NAME);
SAME(PR_CHILD_SUBREAPER, PR_SET_CHILD_SUBREAPER);
SAME(FD_GET_FLAGS, F_GETFD);
SAME(FD_SET_FLAGS, F_SETFD);
SAME(FD_DUPLICATE_CLOEXEC, F_DUPFD_CLOEXEC);
SAME(FD_CLOEXEC_FLAG, FD_CLOEXEC);
SAME(OPEN_CLOEXEC, O_CLOEXEC);
SAME(AT_CURRENT_DIRECTORY, AT_FDCWD);
SAME(AT_EMPTY_NAME, AT_EMPTY_PATH);
SAME(IOCTL_SET_CONTROLLING_TTY, TIOCSCTTY);
SAME(POLL_READABLE, POLLIN);
SAME(MESSAGE_DONT_WAIT, MSG_DONTWAIT);
SAME(MESSAGE_CLOEXEC, MSG_CMSG_CLOEXEC);
SAME(SOCKET_LEVEL, SOL_SOCKET);
SAME(SOCKET_RIGHTS, SCM_RIGHTS);
SAME(MESSAGE_NO_SIGNAL, MSG_NOSIGNAL);
SAME(LIMIT_OPEN_FILES, RLIMIT_NOFILE);
SAME(MEMORY_READ_WRITE, PROT_READ | PROT_WRITE);
SAME(MEMORY_SHARED_ANONYMOUS, MAP_SHARED | MAP_ANONYMOUS);
SAME(MEMORY_PRIVATE_ANONYMOUS, MAP_PRIVATE | MAP_ANONYMOUS);
SAME(MEMORY_MAY_MOVE, MREMAP_MAYMOVE);

SAME(sizeof(struct kernel_limit), sizeof(struct rlimit));
SAME(sizeof(struct kernel_poll), sizeof(struct pollfd));
SAME(sizeof(struct kernel_message), sizeof(struct msghdr));
SAME(offsetof(struct kernel_message, control), offsetof(struct msghdr, msg_control));
SAME(sizeof(struct kernel_control), sizeof(struct cmsghdr));
SAME(sizeof(struct kernel_time), sizeof(struct timespec));
SAME(offsetof(struct kernel_dirent, size), offsetof(struct dirent, d_reclen));
SAME(offsetof(struct kernel_dirent, name), offsetof(struct dirent, d_name));
