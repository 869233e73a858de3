"""Files outside the writable roots, protected names, secrets."""

from __future__ import annotations

from tests.kernel.probes.model import Probe, denied

FILES: tuple[Probe, ...] = (
    denied("write a file outside", 'open(f"{OUTSIDE}/file", "w").write("x")'),
    denied("append to a file outside", 'open(f"{OUTSIDE}/file", "a").write("x")'),
    denied("create a file outside", 'open(f"{OUTSIDE}/new", "x")'),
    denied("make a directory outside", 'os.mkdir(f"{OUTSIDE}/new")'),
    denied("remove a file outside", 'os.unlink(f"{OUTSIDE}/file")'),
    denied("chmod outside", 'os.chmod(f"{OUTSIDE}/file", 0o777)', unless="metadata"),
    denied(
        "chown outside", 'os.chown(f"{OUTSIDE}/file", os.getuid(), os.getgid())', unless="metadata"
    ),
    denied("utime outside", 'os.utime(f"{OUTSIDE}/file", (1, 1))', unless="metadata"),
    denied("setxattr outside", 'os.setxattr(f"{OUTSIDE}/file", "user.x", b"1")', unless="metadata"),
    denied("truncate outside", 'os.truncate(f"{OUTSIDE}/file", 0)', unless="truncate"),
    denied("rename out of the workspace", 'open("r", "w"); os.rename("r", f"{OUTSIDE}/r")'),
    denied("rename within outside", 'os.rename(f"{OUTSIDE}/file", f"{OUTSIDE}/other")'),
    denied(
        "hard link a file from outside and write it",
        'os.link(f"{OUTSIDE}/file", "linked"); open("linked", "a").write("x")',
    ),
    denied("hard link out of the workspace", 'open("h", "w"); os.link("h", f"{OUTSIDE}/h")'),
    denied(
        "write through a symbolic link",
        'os.symlink(f"{OUTSIDE}/file", "link"); open("link", "a").write("x")',
    ),
    denied(
        "write through a directory link",
        'os.symlink(OUTSIDE, "there"); open("there/new", "x")',
    ),
    denied(
        "write through /proc/self/root",
        'open(f"/proc/self/root{OUTSIDE}/file", "a").write("x")',
    ),
    denied(
        "write through the working directory's parents",
        'fd = os.open(".", os.O_PATH); os.open("../" * 30 + OUTSIDE[1:] + "/new", '
        "os.O_CREAT | os.O_WRONLY, dir_fd=fd)",
    ),
    denied("fallocate a file outside", 'fd = os.open(f"{OUTSIDE}/file", os.O_RDWR)'),
    denied(
        "race a symbolic link against a write",
        """
import threading
os.mkdir("d"); stop = False
def swap():
    while not stop:
        try:
            os.rename("d", "d2"); os.symlink(OUTSIDE, "d"); os.unlink("d"); os.rename("d2", "d")
        except OSError: pass
thread = threading.Thread(target=swap); thread.start()
until = time.time() + 0.3
while time.time() < until:
    try: open("d/raced", "w").write("x")
    except OSError: pass
stop = True; thread.join()
sys.exit(0 if os.path.exists(f"{OUTSIDE}/raced") else 1)
""",
    ),
    denied(
        "write a git hook",
        'open(".git/hooks/pre-commit", "w").write("x")',
        unless="protected-names",
    ),
    denied(
        "write git's config",
        'open(".git/config", "a").write("[core]\\n fsmonitor=x\\n")',
        unless="protected-names",
    ),
    denied(
        "replace git's config by rename",
        'open("c", "w").write("x"); os.rename("c", ".git/config")',
        unless="protected-names",
    ),
    denied("move .git away", 'os.rename(".git", "git-away")', unless="protected-names"),
    denied("move the hooks away", 'os.rename(".git/hooks", ".git/h")', unless="protected-names"),
    denied(
        "exchange the hooks",
        'os.mkdir("hooks"); check(libc.renameat2(-100, b"hooks", -100, b".git/hooks", 2))',
        unless="protected-names",
    ),
    denied(
        "link a hook",
        'open("e", "w"); os.link("e", ".git/hooks/pre-push")',
        unless="protected-names",
    ),
    denied(
        "chmod a hook", 'os.chmod(".git/hooks/pre-commit.sample", 0o777)', unless="protected-names"
    ),
    denied(
        "write git's attributes",
        'open(".git/info/attributes", "a").write("* filter=x")',
        unless="protected-names",
    ),
    denied(
        "write a protected name",
        """
os.makedirs(".fairlead"); open(".fairlead/x", "w")
for _ in range(40):
    if not os.path.exists(".fairlead"): sys.exit(1)
    time.sleep(0.1)
""",
        unless="protected-names",
    ),
    denied("read an ssh key", 'open(f"{HOME}/.ssh/id_test").read()', unless="deny-read"),
    denied("list the ssh directory", 'os.listdir(f"{HOME}/.ssh")', unless="hidden-names deny-read"),
    denied("read a secret file", 'open(f"{HOME}/.netrc").read()', unless="deny-read"),
    denied("chmod a hidden directory", 'os.chmod(f"{HOME}/.ssh", 0o700)', unless="metadata"),
    denied(
        "read a secret through a link",
        'os.symlink(f"{HOME}/.ssh/id_test", "k"); open("k").read()',
        unless="deny-read",
    ),
    denied(
        "link a secret into the workspace",
        'os.link(f"{HOME}/.netrc", "n"); open("n").read()',
        unless="deny-read",
    ),
    denied(
        "read a secret through another process's root",
        'open(f"/proc/{HOST_PID}/root{HOME}/.ssh/id_test").read()',
    ),
    denied(
        "unmount what hides a secret",
        'check(libc.umount2(f"{HOME}/.ssh".encode(), 2)); os.listdir(f"{HOME}/.ssh")',
    ),
    denied("read /etc/shadow", 'open("/etc/shadow").read()', unless="deny-read"),
    denied("an unnamed file outside", "os.open(OUTSIDE, os.O_TMPFILE | os.O_RDWR, 0o600)"),
    denied(
        "give an unnamed file a name outside",
        'fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600); '
        'os.link(f"/proc/self/fd/{fd}", f"{OUTSIDE}/new", follow_symlinks=True)',
    ),
    denied(
        "open a descriptor again, for writing",
        'fd = os.open(f"{OUTSIDE}/file", os.O_RDONLY); os.open(f"/proc/self/fd/{fd}", os.O_RDWR)',
    ),
    denied(
        "write through a shared mapping",
        'mmap.mmap(os.open(f"{OUTSIDE}/file", os.O_RDONLY), 4)[0:1] = b"x"',
    ),
    denied(
        "splice into a file outside",
        'r, w = os.pipe(); os.write(w, b"x"); '
        'os.splice(r, os.open(f"{OUTSIDE}/file", os.O_RDONLY), 1, offset_dst=0)',
    ),
    denied(
        "copy a range into a file outside",
        'open("from", "w").write("xyz"); os.copy_file_range(os.open("from", os.O_RDONLY), '
        'os.open(f"{OUTSIDE}/file", os.O_RDONLY), 3)',
    ),
    denied(
        "the flags of a file outside",
        'fcntl.ioctl(os.open(f"{OUTSIDE}/file", os.O_RDONLY), 0x40086602, struct.pack("l", 0x40))',
        unless="metadata",
    ),
    denied(
        "open a file by a handle",
        'call(304, 265, os.open("/", os.O_RDONLY), struct.pack("IiII", 8, 1, 2, 0), 0)',
    ),
    denied("move the workspace away", 'os.rename(os.getcwd(), os.getcwd() + "-away")'),
    denied("replace the workspace", "os.rmdir(os.getcwd()); os.symlink(OUTSIDE, os.getcwd())"),
    denied("open a device that lies outside", 'os.open(f"{OUTSIDE}/device", os.O_RDWR)'),
    denied(
        "exchange .git",
        'os.mkdir("git"); check(libc.renameat2(-100, b"git", -100, b".git", 2))',
        unless="protected-names",
    ),
    denied(
        "race a link against a git hook",
        """
import threading
os.mkdir("d"); stop = False
def swap():
    while not stop:
        try:
            os.rename("d", "d2"); os.symlink(".git/hooks", "d"); os.unlink("d"); os.rename("d2", "d")
        except OSError: pass
thread = threading.Thread(target=swap); thread.start()
until = time.time() + 0.3
while time.time() < until:
    try: open("d/pre-push", "w").write("x")
    except OSError: pass
stop = True; thread.join()
sys.exit(0 if os.path.exists(".git/hooks/pre-push") else 1)
""",
        unless="protected-names",
    ),
    denied(
        "read a secret by walking up from a descriptor",
        'fd = os.open(HOME, os.O_RDONLY); os.open(".ssh/../.netrc", os.O_RDONLY, dir_fd=fd)',
        unless="deny-read",
    ),
)
