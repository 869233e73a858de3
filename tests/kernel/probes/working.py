"""What has to go on working in a sandbox."""

from __future__ import annotations

from tests.kernel.probes.model import Probe, works

GIT = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"

WORKING: tuple[Probe, ...] = (
    works(
        "write in the workspace",
        'open("w", "w").write("x"); os.mkdir("wd"); os.rename("w", "wd/w")',
    ),
    works(
        "modes, times and links in the workspace",
        'open("w", "w"); os.chmod("w", 0o700); os.utime("w", (1, 1)); os.truncate("w", 9); os.link("w", "l"); os.symlink("w", "s")',
    ),
    works("temporary files", 'import tempfile; tempfile.TemporaryFile().write(b"x")'),
    works("read the system", 'open("/etc/passwd").read(); os.listdir("/usr")'),
    works("flock", 'fcntl.flock(open("lock", "w"), fcntl.LOCK_EX)'),
    works(
        "a shared mapping of a file",
        'f = open("map", "w+b"); f.truncate(4096); mmap.mmap(f.fileno(), 4096)[0:1] = b"x"',
    ),
    works("openpty", "import pty; m, s = pty.openpty(); os.ttyname(s); os.write(m, b'x\\n')"),
    works(
        "script on a terminal",
        "script -qec 'tty' /dev/null | grep -q /dev/pts",
        shell=True,
        needs="script",
    ),
    works("/dev/shm", 'open("/dev/shm/probe", "w").write("x"); os.unlink("/dev/shm/probe")'),
    works(
        "shared memory and semaphores",
        "from multiprocessing import shared_memory, Semaphore; m = shared_memory.SharedMemory(create=True, size=64); m.unlink(); Semaphore()",
    ),
    works(
        "multiprocessing",
        "import multiprocessing as m\nwith m.Pool(2) as p: assert p.map(abs, [-1, -2]) == [1, 2]",
    ),
    works(
        "multiprocessing with a manager",
        "import multiprocessing as m\nwith m.Manager() as g: assert list(g.list([1])) == [1]",
    ),
    works(
        "multiprocessing by forkserver",
        "import multiprocessing as m\nc = m.get_context('forkserver')\nwith c.Pool(1) as p: assert p.map(abs, [-1]) == [1]",
    ),
    works(
        "threads",
        "import threading; t = [threading.Thread(target=time.sleep, args=(0.01,)) for _ in range(20)]; [x.start() for x in t]; [x.join() for x in t]",
    ),
    works(
        "a loopback server and its client",
        """
s = socket.create_server(("127.0.0.1", 0)); c = socket.create_connection(s.getsockname()); a, _ = s.accept()
c.sendall(b"x"); assert a.recv(1) == b"x"
""",
        not_in="landlock",
    ),
    works(
        "an IPv6 loopback server",
        's = socket.create_server(("::1", 0), family=socket.AF_INET6); socket.create_connection(s.getsockname()[:2])',
        not_in="landlock",
    ),
    works(
        "localhost by name",
        's = socket.create_server(("127.0.0.1", 0)); socket.create_connection(("localhost", s.getsockname()[1]))',
        not_in="landlock",
    ),
    works(
        "UDP on loopback",
        's = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("127.0.0.1", 0)); s.sendto(b"x", s.getsockname()); s.recv(1)',
        not_in="landlock",
    ),
    works(
        "a socket in the workspace",
        """
s = socket.socket(socket.AF_UNIX); s.bind("own.sock"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("own.sock")
""",
    ),
    works("a socket pair", "a, b = socket.socketpair(); a.send(b'x'); b.recv(1)"),
    works("asyncio", "import asyncio; asyncio.run(asyncio.create_subprocess_exec('true'))"),
    works("ps", "ps aux | grep -q bash", shell=True, needs="ps"),
    works("who am I", 'id -un && [ "$(stat -c %U .)" = "$(id -un)" ]', shell=True),
    works(
        "sudo fails cleanly",
        "! timeout 5 sudo -n true 2>err && [ -s err ]",
        shell=True,
        needs="sudo",
    ),
    works(
        "job control", "set -m; sleep 5 & jobs %1 >/dev/null; kill %1; wait %1 || true", shell=True
    ),
    works(
        "job control on a terminal",
        "script -qec 'bash -ic \"sleep 9 & kill %1; wait\"' /dev/null </dev/null",
        shell=True,
        needs="script",
    ),
    works("process substitution", "diff <(echo a) <(echo a)", shell=True),
    works("a here-document", "cat <<E | grep -q x\nx\nE", shell=True),
    works("signals among one's own", "sleep 9 & kill -TERM $!; ! wait $!", shell=True),
    works("random numbers", "os.urandom(8); open('/dev/urandom', 'rb').read(8)"),
    works("/dev/null and /dev/tty", "echo x >/dev/null; head -c1 /dev/zero >/dev/null", shell=True),
    works(
        "/proc/self",
        "open('/proc/self/status').read(); os.readlink('/proc/self/exe'); os.listdir('/proc/self/fd')",
    ),
    works(
        "an executable in the workspace",
        "printf '#!/bin/sh\\nexit 0\\n' >run; chmod +x run; ./run",
        shell=True,
    ),
    works(
        "git add and commit",
        f"{GIT}echo x >f; git add f; git commit -qm one; git log -1 --oneline",
        shell=True,
        needs="git",
    ),
    works(
        "git branch, checkout, merge, stash",
        f"""{GIT}
git checkout -qb other; echo y >g; git add g; git commit -qm two; git checkout -q -; git merge -q other
echo z >>g; git stash -q; git stash pop -q; git tag t; git checkout -q -- g; git branch -qD other
""",
        shell=True,
        needs="git",
        unless="protected-names",
    ),
    works(
        "git rebase",
        f"{GIT}git checkout -qb r; echo r >r; git add r; git commit -qm r; git checkout -q -; echo m >m; git add m; git commit -qm m; git checkout -q r; git rebase -q -; ",
        shell=True,
        needs="git",
    ),
    works(
        "git worktree",
        f"{GIT}git worktree add -q ../work-tree-$$ 2>/dev/null || git worktree add -q wt; cd wt 2>/dev/null || cd ../work-tree-$$; echo q >q; git add q; git commit -qm q",
        shell=True,
        needs="git",
    ),
    works("git gc and fsck", "git gc -q; git fsck --no-progress", shell=True, needs="git"),
    works(
        "git init and clone",
        f"{GIT}git init -q fresh; git clone -q . cloned; cd cloned; echo c >c; git add c; git commit -qm c",
        shell=True,
        needs="git",
    ),
    works(
        "a compiler",
        "printf 'int main(){return 0;}' >a.c; cc a.c -o a; ./a",
        shell=True,
        needs="cc",
    ),
    works(
        "make",
        "printf 'all:\\n\\ttouch made\\n' >Makefile; make -s; [ -e made ]",
        shell=True,
        needs="make",
    ),
    works(
        "pip offline",
        """
import venv; venv.create("v", with_pip=False)
os.makedirs("pkg"); open("pkg/pyproject.toml", "w").write('[build-system]\\nrequires=[]\\nbuild-backend="b"\\nbackend-path=["."]\\n')
open("pkg/b.py", "w").write('''
import zipfile
def build_wheel(d, *a, **k):
    z = zipfile.ZipFile(f"{d}/p-1-py3-none-any.whl", "w")
    z.writestr("p.py", ""); z.writestr("p-1.dist-info/METADATA", "Metadata-Version: 2.1\\\\nName: p\\\\nVersion: 1\\\\n")
    z.writestr("p-1.dist-info/WHEEL", "Wheel-Version: 1.0\\\\nRoot-Is-Purelib: true\\\\nTag: py3-none-any\\\\n")
    z.writestr("p-1.dist-info/RECORD", ""); z.close(); return "p-1-py3-none-any.whl"
''')
subprocess.run([sys.executable, "-m", "pip", "-q", "--python", "v/bin/python", "install", "--no-index", "--no-cache-dir", "./pkg"], check=True)
subprocess.run(["v/bin/python", "-c", "import p"], check=True)
""",
        needs="pip",
    ),
    works(
        "pytest",
        """
open("test_it.py", "w").write("def test(tmp_path): (tmp_path / 'x').write_text('x')")
subprocess.run([sys.executable, "-m", "pytest", "-q", "--rootdir=."], check=True)
""",
    ),
    works(
        "npm offline",
        """
mkdir -p dep app; echo '{"name":"dep","version":"1.0.0"}' >dep/package.json; echo '{"name":"app","version":"1.0.0"}' >app/package.json
cd app; npm install --offline --no-audit --no-fund --cache "$PWD/.cache" ../dep >/dev/null; [ -e node_modules/dep ]
""",
        shell=True,
        needs="npm",
    ),
    works(
        "node",
        "node -e 'require(\"http\").createServer().listen(0, function () { this.close() })'",
        shell=True,
        needs="node",
        not_in="landlock",
    ),
    works(
        "sqlite",
        "import sqlite3; c = sqlite3.connect('db'); c.execute('pragma journal_mode=wal'); c.execute('create table t(x)')",
    ),
    works("a program ends with its own exit code", "bash -c 'exit 7' || [ $? = 7 ]", shell=True),
    works("nice and renice", "nice -n 5 true", shell=True),
    works("ulimit", "ulimit -n 64; ulimit -c 0", shell=True),
    works("the time", "date >/dev/null", shell=True),
    works("a fifo", "mkfifo p; echo x >p & read y <p; [ $y = x ]", shell=True),
    works("inotify", "check(libc.inotify_add_watch(libc.inotify_init(), b'.', 256))"),
    works("memfd", "os.write(os.memfd_create('x'), b'x')"),
    works(
        "eventfd, timerfd, signalfd", "check(libc.eventfd(0, 0)); check(libc.timerfd_create(0, 0))"
    ),
)
