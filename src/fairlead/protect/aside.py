"""Moves what may not be there out of the way, so that a person can look at it and put it back.

`STATE/aside/ID/` holds `content` and `record.json`. The record is written first, in `ID.part`:
whoever is killed half-way leaves enough for `recover` to finish or to undo.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from fairlead.model.errors import BadRequest, Rejected
from fairlead.model.frozen import dataclass, replace
from fairlead.protect import held

CONTENT, RECORD, UNFINISHED = "content", "record.json", ".part"
NEUTRAL = ".fairlead-aside-"  # the name of something that can't leave its file system at once
MOST_OF_ONE_PATH = 64  # a command may make the same name in a loop; older ones go
QUICK = 20  # times that a command may be quicker than we are with taking its name back
SURELY_WRITTEN = 60.0  # seconds after which a record is there, or never will be
_COPYING = "copying"  # becomes CONTENT when it is complete
_ELSEWHERE = (errno.EXDEV, errno.EACCES, errno.EPERM)
_HOW_TO_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True, kw_only=True)
class Aside:
    """One thing that was moved away."""

    id: str
    path: str  # where it was
    because: str
    when: float  # seconds since 1970
    device: int
    inode: int
    mode: int
    replaced: str | None = None  # SHA-256 of what stands in its place
    content: str = ""  # where it is


class Store:
    """The things set aside below one state directory."""

    def __init__(self, state_directory: str | os.PathLike[str]) -> None:
        self._top = os.path.join(os.fspath(state_directory), "aside")
        self._of_path: dict[str, list[str]] = {}

    def move(self, path: str, because: str) -> str | None:
        """Where it is now, or None if nothing was there. Raises `OSError` if it is still there."""
        with held.directory(os.path.dirname(path)) as parent:
            name = os.path.basename(path)
            for _ in range(QUICK):
                found = held.state_of(name, parent)
                if found is None:
                    return None
                try:
                    with self._new(path, because, found) as slot:
                        return slot.take(name, parent)
                except FileNotFoundError:
                    continue  # whoever made it was quicker, and may have made it again
                except OSError:
                    break
            # No place to keep it: a full disk, a directory of ours that is gone.
            return _set_in_place(path, name, parent)

    def replace(self, path: str, content: bytes, because: str) -> str | None:
        """Like `move`, with another file in its place at the same moment."""
        with held.directory(os.path.dirname(path)) as parent:
            name = os.path.basename(path)
            found = held.state_of(name, parent)
            if found is None:
                return None
            with self._new(path, because, found, replaced=_digest(content)) as slot:
                return slot.swap(name, parent, content, found)

    @contextmanager
    def _new(
        self, path: str, because: str, found: os.stat_result, replaced: str | None = None
    ) -> Iterator[_Slot]:
        os.makedirs(self._top, mode=0o700, exist_ok=True)
        aside = Aside(
            id=f"{time.strftime('%Y%m%d-%H%M%S')}-{os.urandom(4).hex()}",
            path=path,
            because=because,
            when=time.time(),
            device=found.st_dev,
            inode=found.st_ino,
            mode=stat.S_IMODE(found.st_mode),
            replaced=replaced,
        )
        with held.directory(os.path.realpath(self._top)) as top:
            slot = _Slot.make(self._top, top, aside)
            try:
                yield slot
            except BaseException:
                slot.drop_if_empty()
                raise
            finally:
                slot.close()
            self._bound(path, aside.id, top)

    def _bound(self, path: str, new: str, top: int) -> None:
        known = self._of_path.setdefault(path, [])
        known.append(new)
        while len(known) > MOST_OF_ONE_PATH:
            with suppress(OSError):
                held.remove(known.pop(0), top)


class _Slot:
    """One directory `ID.part`, locked while somebody works on it."""

    def __init__(self, top_path: str, top: int, fd: int, aside: Aside) -> None:
        self.aside = aside
        self._top_path = top_path
        self._top = top
        self._fd = fd

    @classmethod
    def make(cls, top_path: str, top: int, aside: Aside) -> _Slot:
        name = aside.id + UNFINISHED
        os.mkdir(name, 0o700, dir_fd=top)
        slot = cls(top_path, top, os.open(name, _HOW_TO_OPEN, dir_fd=top), aside)
        fcntl.flock(slot._fd, fcntl.LOCK_EX)
        held.write_new(RECORD, slot._fd, _as_json(aside), os.fstat(slot._fd))
        return slot

    @classmethod
    def find(cls, top_path: str, top: int, name: str) -> _Slot | None:
        """An unfinished one that nobody works on."""
        fd = os.open(name, _HOW_TO_OPEN, dir_fd=top)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            aside = _read_record(fd, name.removesuffix(UNFINISHED))
        except BlockingIOError:
            os.close(fd)
            return None
        except (OSError, ValueError):
            # Killed while writing it: nothing has been moved yet. Or about to write it.
            young = time.time() - os.fstat(fd).st_mtime < SURELY_WRITTEN
            os.close(fd)
            if not young:
                held.remove(name, top)
            return None
        return cls(top_path, top, fd, aside)

    def close(self) -> None:
        os.close(self._fd)

    @property
    def neutral(self) -> str:
        return NEUTRAL + self.aside.id

    def take(self, name: str, parent: int) -> str:
        """Move it in here. At once if the file system is the same; else it first loses its name."""
        try:
            os.rename(name, CONTENT, src_dir_fd=parent, dst_dir_fd=self._fd)
            return self.finish()
        except OSError as error:
            if error.errno not in _ELSEWHERE:
                raise
        os.rename(name, self.neutral, src_dir_fd=parent, dst_dir_fd=parent)
        return self.fetch(parent)

    def swap(self, name: str, parent: int, content: bytes, like: os.stat_result) -> str:
        held.write_new(self.neutral, parent, content, like)
        try:
            held.exchange(self.neutral, name, parent)
        except OSError:
            os.unlink(self.neutral, dir_fd=parent)
            raise
        return self.fetch(parent)

    def fetch(self, parent: int) -> str:
        """What has the neutral name. What is too much to copy stays there."""
        try:
            # A directory that its owner may not write can't be moved to another one.
            found = os.stat(self.neutral, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_IRWXU != stat.S_IRWXU:
                held.change_mode(self.neutral, parent, self.aside.mode | stat.S_IRWXU)
            os.rename(self.neutral, CONTENT, src_dir_fd=parent, dst_dir_fd=self._fd)
            return self.finish()
        except OSError as error:
            if error.errno not in _ELSEWHERE:
                raise
        try:
            held.remove(_COPYING, self._fd)
            held.Copier().copy(self.neutral, parent, _COPYING, self._fd)
            os.rename(_COPYING, CONTENT, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except (OSError, held.TooMuch):
            held.remove(_COPYING, self._fd)
            return self.finish(os.path.join(os.path.dirname(self.aside.path), self.neutral))
        held.remove(self.neutral, parent)
        return self.finish()

    def finish(self, where: str | None = None) -> str:
        """From now on it counts, and says where the thing is."""
        if where is not None:
            record = _as_json(replace(self.aside, content=where))
            held.write_new(RECORD + "-", self._fd, record, os.fstat(self._fd))
            os.rename(RECORD + "-", RECORD, src_dir_fd=self._fd, dst_dir_fd=self._fd)
        name = self.aside.id
        os.rename(name + UNFINISHED, name, src_dir_fd=self._top, dst_dir_fd=self._top)
        return where or os.path.join(self._top_path, name, CONTENT)

    def drop_if_empty(self) -> None:
        """Forget a move that did not happen."""
        if held.state_of(CONTENT, self._fd) is None:
            held.remove(self.aside.id + UNFINISHED, self._top)

    def resume(self) -> None:
        """Finish what somebody was killed at, or undo it."""
        if self.aside.content:
            self.finish()
            return
        try:
            with held.directory(os.path.dirname(self.aside.path)) as parent:
                self._resume_in(parent)
        except (FileNotFoundError, NotADirectoryError):
            if held.state_of(CONTENT, self._fd) is not None:
                self.finish()
            else:
                self.drop_if_empty()

    def _resume_in(self, parent: int) -> None:
        neutral = held.state_of(self.neutral, parent)
        if held.state_of(CONTENT, self._fd) is not None:
            held.remove(self.neutral, parent)
            self.finish()
        elif neutral is None:
            self.drop_if_empty()
        elif self.aside.replaced is None or neutral.st_ino == self.aside.inode:
            self.fetch(parent)
        else:
            os.unlink(self.neutral, dir_fd=parent)  # our own copy, never put in place
            self.drop_if_empty()


def recover(state_directory: str | os.PathLike[str]) -> None:
    """Finish or undo what somebody was killed at. Cheap if there is nothing of that."""
    top = os.path.join(os.fspath(state_directory), "aside")
    try:
        unfinished = [name for name in os.listdir(top) if name.endswith(UNFINISHED)]
    except OSError:
        return
    if not unfinished:
        return
    with held.directory(os.path.realpath(top)) as fd:
        for name in sorted(unfinished):
            try:
                slot = _Slot.find(top, fd, name)
            except OSError:
                continue  # somebody else has just finished it
            if slot is not None:
                with suppress(OSError):  # it stays for the next time
                    slot.resume()
                slot.close()


def list_aside(state_directory: str | os.PathLike[str]) -> tuple[Aside, ...]:
    """What can be put back, the oldest first."""
    top = os.path.join(os.fspath(state_directory), "aside")
    try:
        names = sorted(name for name in os.listdir(top) if not name.endswith(UNFINISHED))
    except OSError:
        return ()
    found = []
    for name in names:
        try:
            found.append(_look_up(top, name))
        except (OSError, ValueError):
            continue  # put back in the meantime, or not ours
    return tuple(found)


def find(state_directory: str | os.PathLike[str], untrusted_id: str) -> Aside:
    """One of them. Raises `BadRequest` for an unknown id."""
    return _known(os.path.join(os.fspath(state_directory), "aside"), untrusted_id)


def put_back(state_directory: str | os.PathLike[str], untrusted_id: str) -> str:
    """Where it is again. Raises `BadRequest` for an unknown id, `Rejected` if something is in the
    way."""
    top = os.path.join(os.fspath(state_directory), "aside")
    aside = _known(top, untrusted_id)
    directory, name = os.path.split(aside.path)
    try:
        with held.directory(directory) as parent:
            _bring(aside, parent)
            _give_its_name(aside, name, parent)
    except OSError as error:
        raise Rejected(f"{aside.path} can't be put back: {error.strerror or error}") from None
    except held.TooMuch:
        raise Rejected(
            f"{aside.path}: too much to be copied back; move it yourself from {aside.content}"
        ) from None
    with held.directory(os.path.realpath(top)) as fd:
        held.remove(aside.id, fd)
    return aside.path


def _known(top: str, untrusted_id: str) -> Aside:
    if not untrusted_id or "/" in untrusted_id or untrusted_id.startswith("."):
        raise BadRequest(f"{untrusted_id!r}: not an id of something moved aside")
    try:
        return _look_up(top, untrusted_id)
    except (OSError, ValueError):
        raise BadRequest(f"{untrusted_id}: nothing with this id was moved aside") from None


def _look_up(top: str, name: str) -> Aside:
    with held.directory(os.path.realpath(os.path.join(top, name))) as fd:
        aside = _read_record(fd, name)
    return aside if aside.content else replace(aside, content=os.path.join(top, name, CONTENT))


def _bring(aside: Aside, parent: int) -> None:
    """Into the directory it was in, under a neutral name. It may be there: kept there, or brought
    by somebody who was killed then. A file that has another name comes back as a copy, which only
    the name that a person looked at leads to."""
    neutral = NEUTRAL + aside.id
    if held.state_of(neutral, parent) is not None:
        return
    with held.directory(os.path.realpath(os.path.dirname(aside.content))) as source:
        kept = os.path.basename(aside.content)
        if not held.is_shared(kept, source):
            try:
                os.rename(kept, neutral, src_dir_fd=source, dst_dir_fd=parent)
                return
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
        try:
            held.Copier().copy(kept, source, neutral, parent)
        except BaseException:
            held.remove(neutral, parent)
            raise


def _give_its_name(aside: Aside, name: str, parent: int) -> None:
    neutral = NEUTRAL + aside.id
    found = held.state_of(neutral, parent)
    if found is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), neutral)
    try:
        if aside.replaced is not None and _stands_in(aside):
            os.rename(neutral, name, src_dir_fd=parent, dst_dir_fd=parent)
        else:
            held.rename_into_free(neutral, parent, name, parent)
    except FileExistsError:
        _take_away_again(aside, neutral, parent)
        raise Rejected(
            f"{aside.path}: something else is there now; compare it with {aside.content} and move "
            "it away first"
        ) from None
    if not stat.S_ISLNK(found.st_mode):
        held.change_mode(name, parent, aside.mode)


def _stands_in(aside: Aside) -> bool:
    """Whether what is there is still what we put there."""
    from fairlead.protect.gitdirs import read_regular

    now = read_regular(aside.path, 1 << 20)
    return now is not None and _digest(now) == aside.replaced


def _take_away_again(aside: Aside, neutral: str, parent: int) -> None:
    if os.path.lexists(aside.content):
        if os.path.basename(aside.content) != neutral:
            held.remove(neutral, parent)  # the copy
        return
    with held.directory(os.path.realpath(os.path.dirname(aside.content))) as source:
        os.rename(neutral, CONTENT, src_dir_fd=parent, dst_dir_fd=source)


def _set_in_place(path: str, name: str, parent: int) -> str:
    """The last resort: it at least loses its name."""
    neutral = NEUTRAL + os.urandom(8).hex()
    os.rename(name, neutral, src_dir_fd=parent, dst_dir_fd=parent)
    return os.path.join(os.path.dirname(path), neutral)


def _digest(content: bytes) -> str:
    import hashlib

    return hashlib.sha256(content).hexdigest()


def _as_json(aside: Aside) -> bytes:
    import json

    names = ("path", "because", "when", "device", "inode", "mode", "replaced", "content")
    return json.dumps({name: getattr(aside, name) for name in names}, indent=1).encode()


def _read_record(fd: int, name: str) -> Aside:
    """Raises `ValueError` for what is no record."""
    import json

    with open(os.open(RECORD, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=fd), "rb") as file:
        said = json.loads(file.read(1 << 16))
    try:
        return Aside(id=name, **said)
    except TypeError as error:
        raise ValueError(str(error)) from None
