"""What keeps a browser in its place: no network, and no process that outlives its parent.

A filter of system calls (seccomp) forbids internet sockets to a process and to all that it starts, whatever
the browser is told by flags, and whatever a page finds to get around these. It needs Linux on x86_64 or
aarch64; elsewhere only the flags of the browser keep it off the network.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path
from socket import AF_INET, AF_INET6

# The architecture as the filter sees it, and the numbers of socket and io_uring_setup.
_SYSTEM_CALLS = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
_SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 36, 38, 22, 2
# Instructions of the filter, and its verdicts.
_LOAD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
# Where the filter finds the architecture, the number of the call and its first argument.
_ARCHITECTURE, _NUMBER, _ARGUMENT = 4, 0, 16
_PAGE = os.sysconf("SC_PAGESIZE")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))


def can_forbid_network() -> bool:
    """Return whether there is a filter for this system."""
    return sys.platform == "linux" and platform.machine() in _SYSTEM_CALLS


def forbid_network() -> bool:
    """Forbid internet sockets to this process and its children; tell whether that was done."""
    if not can_forbid_network():
        return False
    architecture, socket, io_uring = _SYSTEM_CALLS[platform.machine()]
    steps = (
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_JUMP_IF_EQUAL, 0, 7, architecture),  # another one is refused
        (_LOAD, 0, 0, _NUMBER),
        (_JUMP_IF_EQUAL, 5, 0, io_uring),
        (_JUMP_IF_EQUAL, 0, 3, socket),
        (_LOAD, 0, 0, _ARGUMENT),
        (_JUMP_IF_EQUAL, 2, 0, AF_INET),
        (_JUMP_IF_EQUAL, 1, 0, AF_INET6),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    )
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(code)
    program = _Program(len(steps), ctypes.addressof(buffer))
    control = ctypes.CDLL(None).prctl
    return not (
        control(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        or control(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)
    )


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends, so that `tree` finds them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def tree(root: int) -> set[int]:
    """Return a process and its descendants; only the process itself on systems without /proc."""
    found: set[int] = set()
    waiting = [root]
    while waiting:
        pid = waiting.pop()
        found.add(pid)
        with suppress(OSError, ValueError):
            for path in Path(f"/proc/{pid}/task").glob("*/children"):
                waiting += {*map(int, path.read_text().split())} - found
    return found


def kill_tree(root: int) -> None:
    """Kill the descendants of a process, but not the process itself."""
    while left := {pid for pid in tree(root) if pid != root and _is_running(pid)}:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)


def end_children() -> None:
    """Kill all descendants of this process, and wait for them: orphans too leave nothing behind."""
    kill_tree(os.getpid())
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _is_running(pid: int) -> bool:
    with suppress(OSError):
        status = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2]
        return status[:1] not in b"ZX"
    return False


def memory_of(pids: set[int]) -> int:
    """Return the bytes of memory that processes use, what they share counted once; 0 without /proc."""
    private, shared = 0, 0
    for pid in pids:
        with suppress(OSError, ValueError, IndexError):
            resident, common = map(int, Path(f"/proc/{pid}/statm").read_text().split()[1:3])
            private += resident - common
            shared = max(shared, common)
    return (private + shared) * _PAGE
