"""What this process does with signals, changed for a while.

The C library keeps a few signals for itself and lets nobody, Python included, change what they do.
Only the kernel's own call does that, so it is made directly.
"""

from __future__ import annotations

import ctypes
import platform
import signal
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager

RESERVED = frozenset(range(1, signal.NSIG)) - signal.valid_signals()

_SIGACTION = {"x86_64": 13, "aarch64": 134}[platform.machine()]
_WORDS = 4  # handler, flags, restorer, mask: more than any kernel of ours reads

_Action = ctypes.c_ulong * _WORDS
_pointer = ctypes.POINTER(_Action)
_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.argtypes = (ctypes.c_long, ctypes.c_long, _pointer, _pointer, ctypes.c_size_t)


@contextmanager
def ignored(numbers: Iterable[int]) -> Iterator[None]:
    """These signals are ignored."""
    with _set(numbers, signal.SIG_IGN):
        yield


@contextmanager
def default(numbers: Iterable[int]) -> Iterator[None]:
    """These signals do what they do in a new program."""
    with _set(numbers, signal.SIG_DFL):
        yield


@contextmanager
def blocked(numbers: Iterable[int]) -> Iterator[None]:
    """These signals wait, in this thread."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def in_mask(field: bytes) -> frozenset[int]:
    """The signals in a mask as /proc writes it."""
    mask = int(field, 16)
    return frozenset(number for number in range(1, signal.NSIG) if mask >> (number - 1) & 1)


@contextmanager
def _set(numbers: Iterable[int], handler: signal.Handlers) -> Iterator[None]:
    with ExitStack() as undo:
        for number in numbers:
            undo.callback(_act, number, _act(number, _Action(handler)))
        yield


def _act(number: int, action: ctypes.Array[ctypes.c_ulong]) -> ctypes.Array[ctypes.c_ulong]:
    """Set it, and return what it was."""
    before = _Action()
    if _syscall(_SIGACTION, number, action, before, ctypes.sizeof(ctypes.c_uint64)):
        raise OSError(ctypes.get_errno(), f"signal {number}")
    return before
