/* Compiled and never run: sys.h must agree with the headers of the system, where it has them. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/seccomp.h>
#include <linux/wait.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "plan.h"
#include "sys_confine.h"

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours " is " #theirs)
#define SAME_CALL(name) SAME(NR_##name, SYS_##name)

SAME_CALL(capset);
SAME_CALL(chdir);
SAME_CALL(clone);
SAME_CALL(close);
SAME_CALL(close_range);
SAME_CALL(connect);
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
SAME_CALL(landlock_add_rule);
SAME_CALL(landlock_create_ruleset);
SAME_CALL(landlock_restrict_self);
SAME_CALL(mkdirat);
SAME_CALL(mknodat);
SAME_CALL(mmap);
SAME_CALL(mount);
SAME_CALL(mount_setattr);
SAME_CALL(move_mount);
SAME_CALL(mremap);
SAME_CALL(munmap);
SAME_CALL(newfstatat);
SAME_CALL(open_tree);
SAME_CALL(openat);
SAME_CALL(pidfd_open);
SAME_CALL(ppoll);
SAME_CALL(prctl);
SAME_CALL(prlimit64);
SAME_CALL(read);
SAME_CALL(recvfrom);
SAME_CALL(recvmsg);
SAME_CALL(rt_sigaction);
SAME_CALL(rt_sigprocmask);
SAME_CALL(seccomp);
SAME_CALL(sendmsg);
SAME_CALL(sendto);
SAME_CALL(setpgid);
SAME_CALL(setsid);
SAME_CALL(socket);
SAME_CALL(symlinkat);
SAME_CALL(umask);
SAME_CALL(unshare);
SAME_CALL(wait4);
SAME_CALL(write);
#ifdef __x86_64__
SAME_CALL(rt_sigreturn);
#endif

SAME(ERR_PERM, EPERM);
SAME(ERR_NOENT, ENOENT);
SAME(ERR_SRCH, ESRCH);
SAME(ERR_INTR, EINTR);
SAME(ERR_CHILD, ECHILD);
SAME(ERR_AGAIN, EAGAIN);
SAME(ERR_ACCES, EACCES);
SAME(ERR_NODEV, ENODEV);
SAME(ERR_NOTDIR, ENOTDIR);
SAME(ERR_INVAL, EINVAL);
SAME(ERR_PIPE, EPIPE);
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

SAME(NAMESPACE_PID, CLONE_NEWPID);
SAME(NAMESPACES, CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID |
                     CLONE_NEWNET);
SAME(CLONE_USER, CLONE_NEWUSER);
SAME(ATTRIBUTES, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
SAME(ATTRIBUTES, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC);
SAME(NODE_MODE, S_ISVTX | S_IRWXU | S_IRWXG | S_IRWXO);
SAME(NODE_REGULAR, S_IFREG);
SAME(OPEN_FOR_WRITING, O_WRONLY);
SAME(OPEN_PATH, O_PATH);
SAME(OPEN_DIRECTORY, O_DIRECTORY);
SAME(OPEN_NO_FOLLOW, O_NOFOLLOW);
SAME(TREE_CLONE, OPEN_TREE_CLONE);
SAME(TREE_CLOEXEC, OPEN_TREE_CLOEXEC);
SAME(AT_NO_FOLLOW, AT_SYMLINK_NOFOLLOW);
SAME(AT_ALL_BELOW, AT_RECURSIVE);
SAME(MOVE_FROM_FD, MOVE_MOUNT_F_EMPTY_PATH);
SAME(MOVE_ONTO_FD, MOVE_MOUNT_T_EMPTY_PATH);
SAME(MOUNT_ALL_BELOW, MS_REC);
SAME(MOUNT_MAKE_PRIVATE, MS_PRIVATE);
SAME(FILTER_SET, SECCOMP_SET_MODE_FILTER);
SAME(FILTER_LISTENER, SECCOMP_FILTER_FLAG_NEW_LISTENER);
#ifdef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* headers of Linux 5.19 */
SAME(FILTER_WAIT_KILLABLE, SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
#endif
SAME(FILTER_MOST, BPF_MAXINSNS);
SAME(FILTER_INSTRUCTION, sizeof(struct sock_filter));
SAME(PR_DUMPABLE, PR_SET_DUMPABLE);
SAME(PR_BOUNDING_DROP, PR_CAPBSET_DROP);
SAME(PR_NO_NEW_RIGHTS, PR_SET_NO_NEW_PRIVS);
SAME(PR_AMBIENT, PR_CAP_AMBIENT);
SAME(PR_AMBIENT_CLEAR, PR_CAP_AMBIENT_CLEAR_ALL);
SAME(CAPABILITIES_VERSION, _LINUX_CAPABILITY_VERSION_3);
SAME(SOCKET_LOCAL, AF_UNIX);
SAME(SOCKET_DATAGRAM, SOCK_DGRAM);
SAME(SOCKET_STREAM, SOCK_STREAM);
SAME(SOCKET_CLOEXEC, SOCK_CLOEXEC);
SAME(IOCTL_SET_INTERFACE, SIOCSIFFLAGS);
SAME(INTERFACE_UP, IFF_UP);
SAME(RULE_PATH, LANDLOCK_RULE_PATH_BENEATH);
#ifdef LANDLOCK_ACCESS_NET_BIND_TCP /* headers of Linux 6.7 */
SAME(RULE_PORT, LANDLOCK_RULE_NET_PORT);
SAME(sizeof(struct kernel_port_rule), sizeof(struct landlock_net_port_attr));
SAME(offsetof(struct kernel_port_rule, port), offsetof(struct landlock_net_port_attr, port));
SAME(offsetof(struct kernel_ruleset, network),
     offsetof(struct landlock_ruleset_attr, handled_access_net));
#endif
#ifdef LANDLOCK_SCOPE_SIGNAL /* headers of Linux 6.12 */
SAME(offsetof(struct kernel_ruleset, scopes), offsetof(struct landlock_ruleset_attr, scoped));
#endif

SAME(sizeof(struct kernel_limit), sizeof(struct rlimit));
SAME(sizeof(struct kernel_poll), sizeof(struct pollfd));
SAME(sizeof(struct kernel_message), sizeof(struct msghdr));
SAME(offsetof(struct kernel_message, control), offsetof(struct msghdr, msg_control));
SAME(sizeof(struct kernel_control), sizeof(struct cmsghdr));
SAME(sizeof(struct kernel_time), sizeof(struct timespec));
SAME(sizeof(struct kernel_local_address), sizeof(struct sockaddr_un));
SAME(offsetof(struct kernel_dirent, size), offsetof(struct dirent, d_reclen));
SAME(offsetof(struct kernel_dirent, name), offsetof(struct dirent, d_name));
SAME(sizeof(struct kernel_stat) >= sizeof(struct stat), 1);
SAME(offsetof(struct kernel_stat, device), offsetof(struct stat, st_dev));
SAME(offsetof(struct kernel_stat, inode), offsetof(struct stat, st_ino));
SAME(sizeof(struct kernel_mount_attributes), sizeof(struct mount_attr));
SAME(offsetof(struct kernel_mount_attributes, set), offsetof(struct mount_attr, attr_set));
SAME(sizeof(struct kernel_path_rule), sizeof(struct landlock_path_beneath_attr));
SAME(offsetof(struct kernel_path_rule, fd),
     offsetof(struct landlock_path_beneath_attr, parent_fd));
SAME(sizeof(struct kernel_filter), sizeof(struct sock_fprog));
SAME(offsetof(struct kernel_filter, instructions), offsetof(struct sock_fprog, filter));
SAME(sizeof(struct kernel_capability_header), sizeof(struct __user_cap_header_struct));
SAME(sizeof(struct kernel_capabilities), sizeof(struct __user_cap_data_struct));
SAME(offsetof(struct kernel_capabilities, inheritable),
     offsetof(struct __user_cap_data_struct, inheritable));
SAME(sizeof(struct kernel_interface), sizeof(struct ifreq));
SAME(offsetof(struct kernel_interface, flags), offsetof(struct ifreq, ifr_flags));
