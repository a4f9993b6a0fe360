"""A child's life, the same wherever it was forked: serve requests until the line closes, then end.

The children of a server, forks of the caller (session/forks_here.py) and those of a stopped pytest
(pytest_plugin/stopping.py) differ only in how they get their line, and in the names that their statements see.
child.py carries out their requests.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

from .child import Child
from .messages import Exit, Hello, decode_request, encode_reply
from .protocol import Disconnected, receive_message, send_message

# Between what programs open one after another and the usual limit of 1,024, where Valgrind keeps its own.
LOWEST_DESCRIPTOR = 300
DESCRIPTORS = 400


def fork_with_threads() -> int:
    """Fork a process that may have threads.

    Python 3.12 warns about them; a child runs only this one, and ends itself.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def live_as_child(take_line: Callable[[], tuple[int, int]], names: dict[str, Any] | None = None) -> NoReturn:
    """Run the whole life of a child, whose statements see `names`; never return.

    `take_line` closes the parent's descriptors, and returns the child's channel and lifeline.
    """
    status = 1
    try:
        channel, lifeline = take_line()
        # A group of its own: what the user's code has started can then be killed with it.
        os.setpgid(0, 0)
        serve_requests(channel, lifeline, names)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            # The user's code may have closed or replaced it; the child must end all the same.
            with contextlib.suppress(BaseException):
                stream.flush()
        # Not sys.exit: neither the parent's exit handlers nor the interpreter's tidying belong to a child.
        os._exit(status)


def out_of_reach(descriptor: int) -> int:
    """Move a descriptor to a number that user code is unlikely to use, and close it for programs that it starts."""
    start = LOWEST_DESCRIPTOR + int.from_bytes(os.urandom(2), "big") % DESCRIPTORS
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, start)
    os.close(descriptor)
    return moved


def read_nothing_from(descriptor: int) -> None:
    """Replace the open file by an empty one."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, descriptor)
    os.close(nothing)


def serve_requests(channel: int, lifeline: int, names: dict[str, Any] | None = None) -> None:
    """Serve until the near side says `Exit` or goes away. Statements see `names` as globals."""
    die_with(lifeline)
    drain(channel)
    pid = os.getpid()
    send_message(channel, encode_reply(Hello(own_pid())))
    with contextlib.closing(Child(names or {})) as child:
        while True:
            try:
                request, number = decode_request(receive_message(channel))
            except Disconnected:
                return
            if isinstance(request, Exit):
                return
            reply = child.reply_to(request)
            if os.getpid() != pid:
                # A fork that the user's code has made of this child came back from it: the line is not its own.
                os._exit(0)
            send_message(channel, encode_reply(reply, number))


def own_pid() -> str:
    """Return the pid in a fixed number of digits: a longer message would be another state of Python's memory."""
    return f"{os.getpid():010d}"


def drain(channel: int) -> None:
    """Discard messages that a child left unread when it died: all children share one channel, one at a time."""
    os.set_blocking(channel, False)
    try:
        while os.read(channel, 1 << 16):
            pass
    except BlockingIOError:
        pass
    finally:
        os.set_blocking(channel, True)


def die_with(lifeline: int) -> None:
    """Have the kernel end this child when the near side goes away, even during user code.

    The lifeline is a pipe on which nothing is ever written. With O_ASYNC its closing raises SIGIO, whose default is to
    end the process. (The channel itself cannot be used: SIGIO for a request can arrive after the request was read.)
    """
    # Elsewhere (macOS, the BSDs) the default is to ignore it; a handler of Python's then runs when user code lets it.
    signal.signal(signal.SIGIO, signal.SIG_DFL if sys.platform == "linux" else lambda *_: os._exit(1))
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    # It may have gone before we asked.
    hung_up = select.poll()
    hung_up.register(lifeline, select.POLLHUP)
    if hung_up.poll(0):
        os._exit(1)
