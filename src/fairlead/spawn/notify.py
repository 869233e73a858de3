"""Answering the system call filter: it asks about a call, the call waits, somebody says no.

Nothing is ever allowed from here: what a pointer leads to can change between the look and the
call. The answer is an errno, and the look is for telling a person what was denied.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
from collections.abc import Callable
from struct import Struct

from fairlead.model.frozen import dataclass

# struct seccomp_notif: id, pid, flags, then struct seccomp_data: number, architecture,
# instruction pointer, six arguments. struct seccomp_notif_resp: id, value, error, flags.
_QUESTION = Struct("=QIIiIQ6Q")
_ANSWER = Struct("=QqiI")

_RECEIVE = 0xC050_2100  # SECCOMP_IOCTL_NOTIF_RECV
_SEND = 0xC018_2101  # SECCOMP_IOCTL_NOTIF_SEND

_LARGEST_ERRNO = 4095


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits. `pid` is the asking thread, as we number processes; 0 if we can't see
    it."""

    id: int
    pid: int
    number: int
    arguments: tuple[int, ...]
    architecture: int


# (pid, number, arguments, architecture) -> errno
Decide = Callable[[int, int, tuple[int, ...], int], int]


def decode(data: bytes) -> Question:
    """A question as the kernel writes it."""
    id_, pid, _, number, architecture, _, *arguments = _QUESTION.unpack(data)
    return Question(id_, pid, number, tuple(arguments), architecture)


def encode(question: Question, number: int) -> bytes:
    """The answer that the call fails with this errno. What is none is a refusal all the same."""
    number = number if 0 < number <= _LARGEST_ERRNO else errno.EPERM
    return _ANSWER.pack(question.id, 0, -number, 0)


class Answerer:
    """Owns a listener. Once it is readable, `answer_one`; once that says False, `close`.

    As long as it is open each question has to be answered: the asking thread waits. When it is
    closed the kernel answers, with ENOSYS.
    """

    def __init__(self, listener: int, decide: Decide) -> None:
        self._listener = listener
        self._decide = decide

    def fileno(self) -> int:
        """The listener, -1 once it is closed."""
        return self._listener

    def answer_one(self) -> bool:
        """Answer one question, if there is one. False if none can come any more. Never waits and
        never raises: the loop that calls this answers for others, too."""
        if self._listener < 0:
            return False
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        events = dict(poll.poll(0)).get(self._listener, 0)
        if events & select.POLLIN:
            self._answer()
            return True
        return not events  # nobody under the filter is left, or it is no listener

    def close(self) -> None:
        """Twice is once."""
        listener, self._listener = self._listener, -1
        if listener >= 0:
            os.close(listener)

    def _answer(self) -> None:
        try:
            # The kernel takes none that is not zero. If who asked has died since, it says ENOENT.
            question = decode(fcntl.ioctl(self._listener, _RECEIVE, bytes(_QUESTION.size)))
            fcntl.ioctl(self._listener, _SEND, encode(question, self._decided(question)))
        except OSError:
            pass  # died or was interrupted: nobody waits for this answer any more

    def _decided(self, question: Question) -> int:
        try:
            return self._decide(
                question.pid, question.number, question.arguments, question.architecture
            )
        except Exception:  # whatever went wrong, the call waits and must not be made
            return errno.EPERM
