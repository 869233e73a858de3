"""Other processes, the kernel, devices, and what may be used up."""

from __future__ import annotations

from tests.kernel.probes.model import Probe, denied

LOOK_INTO = """
for name in ("root/etc", "cwd/.", "fd", "environ", "maps", "map_files"):
    path = f"/proc/{{{}}}/{{name}}"
    try:
        if os.path.isdir(path): [os.stat(f"{{path}}/{{one}}") for one in os.listdir(path)]
        else: open(path).read()
    except OSError: continue
    sys.exit(0)
sys.exit(1)
"""

PROCESSES: tuple[Probe, ...] = (
    denied("signal a host process", "os.kill(HOST_PID, 0)", unless="signals"),
    denied(
        "signal every process",
        """
pid = os.fork()
if pid == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try: os.kill(-1, signal.SIGCONT)
    except OSError: os._exit(1)
    os._exit(0)
os.waitpid(pid, 0)
os.kill(HOST_PID, signal.SIGTERM)
""",
    ),
    denied("ptrace a host process", "check(libc.ptrace(16, HOST_PID, 0, 0))"),
    denied("be traced", "check(libc.ptrace(0, 0, 0, 0))"),
    denied("read a host process's environment", 'open(f"/proc/{HOST_PID}/environ").read()'),
    denied(
        "list a host process's descriptors",
        'os.listdir(f"/proc/{HOST_PID}/fd")',
        unless="pid-namespace",
    ),
    denied("read a host process's memory", 'open(f"/proc/{HOST_PID}/mem", "rb")'),
    denied("enter a host process's root", 'os.listdir(f"/proc/{HOST_PID}/root/etc")'),
    denied(
        "process_vm_readv",
        """
pid = os.fork()
if pid == 0: time.sleep(1); os._exit(0)
buf = ctypes.create_string_buffer(8)
local = (ctypes.c_void_p * 2)(ctypes.addressof(buf), 8)
try: check(libc.process_vm_readv(pid, local, 1, local, 1, 0))
finally: os.kill(pid, 9); os.waitpid(pid, 0)
""",
    ),
    denied("pidfd_getfd", "fd = os.pidfd_open(os.getpid()); call(438, 438, fd, 0, 0)"),
    denied("open a pidfd of a host process", "os.pidfd_open(HOST_PID)", unless="pid-namespace"),
    denied("a new user namespace", "check(libc.unshare(0x10000000))"),
    denied("a new mount namespace", "check(libc.unshare(0x20000))"),
    denied("a user namespace by clone", "call(56, 220, 0x10000000 | 17, 0, 0, 0, 0)"),
    denied("clone3", "call(435, 435, (ctypes.c_char * 88)(), 88)"),
    denied("setns", 'check(libc.setns(os.open("/proc/self/ns/net", os.O_RDONLY), 0))'),
    denied("setns by a pidfd", "check(libc.setns(os.pidfd_open(os.getppid() or 1), 0x20000))"),
    denied("mount a tmpfs", 'os.mkdir("m"); check(libc.mount(b"x", b"m", b"tmpfs", 0, None))'),
    denied("remount / writable", 'check(libc.mount(None, b"/", None, 32 | 4096, None))'),
    denied("the new mount calls", 'call(430, 430, b"tmpfs", 0)'),
    denied("open_tree", 'call(428, 428, -100, b"/", 1)'),
    denied("pivot_root", 'call(155, 41, b".", b".")'),
    denied("chroot", 'os.chroot(".")'),
    denied("io_uring", "call(425, 425, 4, (ctypes.c_char * 120)())"),
    denied("bpf", "call(321, 280, 0, (ctypes.c_char * 72)(), 72)"),
    denied("perf events", "call(298, 241, (ctypes.c_char * 128)(), 0, -1, -1, 0)"),
    denied("userfaultfd", "call(323, 282, 0)"),
    denied("the kernel's keys", 'call(248, 217, b"user", b"x", b"y", 1, -3)'),
    denied("keyctl", "call(250, 219, 0, -3, 0)"),
    denied("load a module", 'call(175, 105, b"", 0, b"")'),
    denied("kexec", "call(246, 104, 0, 0, None, 0)"),
    denied("reboot", "call(169, 142, 0xfee1dead, 672274793, 0, 0)"),
    denied("swapon", 'call(167, 224, b"/swap", 0)'),
    denied("set the clock", "time.clock_settime(time.CLOCK_REALTIME, time.time())"),
    denied("set the host name", 'socket.sethostname("probed")'),
    denied(
        "type into the terminal (TIOCSTI)",
        """
import pty
master, slave = pty.openpty()
os.setsid() if os.getpid() != os.getsid(0) else None
try: fcntl.ioctl(slave, 0x540E, 0)
except OSError: pass
fcntl.ioctl(slave, 0x5412, b"x")
""",
    ),
    denied("TIOCLINUX", 'import pty; fcntl.ioctl(pty.openpty()[1], 0x541C, b"\\x02" * 16)'),
    denied(
        "TIOCSTI with high bits set",
        "import pty; s = pty.openpty()[1]; "
        'call(16, 29, s, ctypes.c_ulong(0xffffffff00005412), b"x")',
    ),
    denied("write a sysctl", 'open("/proc/sys/kernel/domainname", "w").write("x")'),
    denied("write core_pattern", 'open("/proc/sys/kernel/core_pattern", "w").write("|/tmp/x")'),
    denied("sysrq", 'open("/proc/sysrq-trigger", "w").write("h")'),
    denied("read kernel memory", 'open("/proc/kcore", "rb").read(16)'),
    denied(
        "write oom scores of the host", 'open(f"/proc/{HOST_PID}/oom_score_adj", "w").write("5")'
    ),
    denied("write to cgroups", 'os.mkdir("/sys/fs/cgroup/probed")'),
    denied("write to /sys", 'open("/sys/kernel/mm/ksm/run", "w").write("0")'),
    denied("become root by a set-uid program", "su root -c true </dev/null", shell=True),
    denied("make a set-user-ID program", 'open("s", "w"); os.chmod("s", 0o4755)'),
    denied(
        "make a set-user-ID program at once",
        """
made = os.open("s", os.O_CREAT | os.O_RDWR, 0o4755)
os.ftruncate(made, 4096); mmap.mmap(made, 4096)[0:1] = b"x"
sys.exit(0 if os.stat("s").st_mode & 0o4000 else 1)
""",
    ),
    denied(
        "make a set-user-ID program by a copy",
        """
open("from", "w").write("x"); made = os.open("s", os.O_CREAT | os.O_RDWR, 0o4755)
os.copy_file_range(os.open("from", os.O_RDONLY), made, 1)
sys.exit(0 if os.fstat(made).st_mode & 0o4000 else 1)
""",
    ),
    denied("setuid", "os.setgroups([]); os.setuid(12345)"),
    denied(
        "take capabilities back",
        'call(126, 91, struct.pack("Ii", 0x20080522, 0), '
        'struct.pack("IIIIII", *([0xffffffff] * 6)))',
    ),
    denied(
        "open a disk",
        'open(next((f"/dev/{n}" for n in os.listdir("/sys/class/block")), "/dev/sda"), "rb").read(1)',
    ),
    denied(
        "make a device", 'os.mknod("disk", 0o60600, os.makedev(7, 0)); open("disk", "rb").read(1)'
    ),
    denied("a loop device", 'open("/dev/loop-control")'),
    denied("the host's terminals", 'open(os.environ["HOST_TTY"], "w")', unless="terminals"),
    denied("kernel messages", 'open("/dev/kmsg").read(1)'),
    denied("syslog", "call(103, 116, 3, (ctypes.c_char * 64)(), 64)"),
    denied(
        "kill our own guard",
        """
os.kill(os.getppid(), 9) if os.getppid() > 0 else sys.exit(1)
""",
    ),
    denied("kill init", "os.kill(1, 9); sys.exit(1)  # it lives on: we do, too"),
    denied("look into the first process", LOOK_INTO.format("1"), own_in="bubblewrap"),
    denied("look into our guard", LOOK_INTO.format("os.getppid()"), own_in="bubblewrap"),
    denied(
        "write our guard's memory", 'open(f"/proc/{os.getppid()}/mem", "r+b")', own_in="bubblewrap"
    ),
    denied("limit our guard", "resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (64, 64))"),
    denied("limit a host process", "resource.prlimit(HOST_PID, resource.RLIMIT_CORE, (0, 0))"),
    denied(
        "a host process's priority",
        "os.setpriority(os.PRIO_PROCESS, HOST_PID, 5)",
        unless="pid-namespace",
    ),
    denied(
        "a signal by owning a pipe",
        """
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, HOST_PID); fcntl.fcntl(r, 10, signal.SIGUSR1)
fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC); os.write(w, b"x"); time.sleep(0.1)
sys.exit(0 if " Z " in open(f"/proc/{HOST_PID}/stat").read() else 1)
""",
        unless="signals",
    ),
    denied("calls of x32", "call(0x40000000 | 39, 100000)"),
    denied(
        "calls of i386",
        """
if not X86: sys.exit(1)
code = mmap.mmap(-1, 4096, prot=7); code.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")  # getpid
run = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
pid = os.fork()
if pid == 0: os._exit(0 if run() > 0 else 1)
sys.exit(1 if os.waitpid(pid, 0)[1] else 0)
""",
    ),
    denied(
        "answer the filter's questions oneself",
        """
import threading
steps = ((0x20, 0, 0, 0), (0x15, 0, 1, 165 if X86 else 40), (6, 0, 0, 0x7fc00000), (6, 0, 0, 0x7fff0000))
code = b"".join(struct.pack("HBBI", *one) for one in steps)
held = ctypes.create_string_buffer(code, len(code))
program = struct.pack("HxxxxxxQ", len(steps), ctypes.addressof(held))
fd = call(317, 277, 1, 8, program)
def answer():
    question = bytearray(80); fcntl.ioctl(fd, 0xC0502100, question)
    fcntl.ioctl(fd, 0xC0182101, question[:8] + struct.pack("=qiI", 0, 0, 1))
threading.Thread(target=answer, daemon=True).start()
os.mkdir("m"); check(libc.mount(b"x", b"m", b"tmpfs", 0, None))
""",
    ),
    denied(
        "a file in the host's shared memory",
        'open(os.environ["HOST_SHARED"]).read()',
        unless="shared-memory",
    ),
    denied(
        "System V shared memory of the host",
        'check(libc.shmctl(int(os.environ["HOST_SEGMENT"]), 2, (ctypes.c_char * 256)()))',
        unless="shared-memory",
    ),
    denied(
        "an inherited descriptor",
        "sys.exit(0 if [fd for fd in range(3, 1024) if os.path.exists(f'/proc/self/fd/{fd}')] else 1)",
    ),
    denied("a time namespace", "check(libc.unshare(0x80))"),
    denied("a cgroup namespace", "check(libc.unshare(0x2000000))"),
    denied(
        "a cgroup's release agent",
        "import glob; open([*glob.glob('/sys/fs/cgroup/**/release_agent', recursive=True), '/sys/fs/cgroup/release_agent'][0], 'w')",
    ),
    denied(
        "leave the cgroup",
        "import glob; open([*glob.glob('/sys/fs/cgroup/**/cgroup.procs', recursive=True), '/sys/fs/cgroup/cgroup.procs'][0], 'w').write('0')",
    ),
    denied("the kernel's helper for new devices", 'open("/sys/kernel/uevent_helper", "w")'),
    denied("a new binary format", 'open("/proc/sys/fs/binfmt_misc/register", "w")'),
    denied("switch on a tracer", 'open("/sys/kernel/tracing/tracing_on", "w")'),
    denied("write the host's memory by /dev/mem", 'open("/dev/mem", "r+b")'),
)

USED_UP: tuple[Probe, ...] = (
    denied(
        "fork without end",
        """
pids = []
try:
    for _ in range(400):
        pid = os.fork()
        if pid == 0: time.sleep(5); os._exit(0)
        pids.append(pid)
finally:
    for pid in pids: os.kill(pid, 9)
""",
        unless="shared-limits",
    ),
    denied(
        "use up memory",
        "block = bytearray(1 << 30)\nfor at in range(0, 1 << 30, 4096): block[at] = 1",
    ),
    denied(
        "use up memory in many processes",
        """
told, tell = os.pipe()
pids = []
for _ in range(6):
    pid = os.fork()
    if pid == 0: block = b"x" * (100 << 20); os.write(tell, b"x"); signal.pause()
    pids.append(pid)
done, ended = 0, []
while done < 6 and not ended:
    if select.select([told], [], [], 0.1)[0]: done += len(os.read(told, 6))
    ended = [pid for pid in pids if os.waitpid(pid, os.WNOHANG)[0]]
for pid in {*pids} - {*ended}: os.kill(pid, 9)
sys.exit(1 if ended else 0)
""",
        unless="shared-limits",
    ),
    denied(
        "use up memory as files",
        "for n in range(6): open(f'/dev/shm/big{n}', 'wb').write(b'x' * (60 << 20))",
        unless="shared-limits shared-memory",
    ),
    denied(
        "a file without end",
        'f = open("big", "wb"); [f.write(b"x" * (1 << 20)) for _ in range(200)]',
    ),
    denied("use up descriptors", '[os.open("/dev/null", 0) for _ in range(5000)]'),
    denied(
        "run without end",
        "until = time.process_time() + 20\nwhile time.process_time() < until: pass",
    ),
)
