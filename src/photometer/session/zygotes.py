"""Zygotes: the zygotes of one session. In: a Launch. Out: a server that is a fork of the right zygote.

Zygotes start when first needed, end with the session, or stay warm (warm.py) for the next command. A zygote with
imports of its own is a fork of one that has imported torch, so sides that differ only in their revision share that one.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable

from photometer.errors import WorkerStartError
from photometer.session.fork_server import ForkServer, FreshServer
from photometer.session.remarks import remark
from photometer.session.warm import WarmFolder, open_warm_folder
from photometer.session.zygote import Launch, Place, Zygote

STAYS_WARM = (
    "servers stay warm for {minutes:.3g} minutes, so that the next command starts at once "
    "(`photometer warm` lists them; --no-keep turns this off)"
)


# Of one session, besides the first ones: those with imports of their own. Servers that were forked from one go on.
MOST_BRANCHES = 12


class FirstZygotes:
    """The first zygotes that sessions of this process share, so that torch is imported once.

    A zygote ends when no session uses it any more. Kept ones are not here: all commands share them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._held: dict[Launch, tuple[Zygote, set[int]]] = {}

    def take(self, user: object, launch: Launch) -> Zygote:
        with self._lock:
            if self._pid != os.getpid():
                # In a fork of this process they are the parent's.
                self._pid, self._held = os.getpid(), {}
            zygote, users = self._held.get(launch, (None, set()))
            if zygote is None or zygote.exit_status is not None:
                zygote, users = Zygote.first(launch, Place.private()), set()
            users.add(id(user))
            self._held[launch] = zygote, users
            return zygote

    def release(self, user: object, zygote: Zygote) -> bool:
        """Return whether nobody else uses it: the caller then ends it."""
        with self._lock:
            for launch, (held, users) in list(self._held.items()):
                if held is zygote:
                    users.discard(id(user))
                    if users:
                        return False
                    del self._held[launch]
            return True


_first_zygotes = FirstZygotes()


class Zygotes:
    """`start` may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._zygotes: dict[Launch, Zygote] = {}
        self._warm: WarmFolder | None = None
        self._looked_for_warm = False

    def start(self, launch: Launch, connect: Callable[[Zygote], ForkServer] | None = None) -> ForkServer:
        """Start a server without waiting for it; `connect` makes one of another class."""
        if launch.fresh:
            return FreshServer(launch)
        connect = connect or (lambda zygote: ForkServer(launch, zygote))
        with self._lock:
            try:
                return connect(self._zygote(launch.as_zygote))
            except WorkerStartError:
                if not self._replace(launch.as_zygote):
                    raise
            # A kept one had ended since it was last used.
            return connect(self._zygote(launch.as_zygote))

    def replace(self, server: object) -> bool:
        """End the zygote of a server that did not start.

        Return whether it was a kept one: then a new one may work.
        """
        zygote = server.zygote if isinstance(server, ForkServer) else None
        if zygote is None:
            return False
        with self._lock:
            for launch in [launch for launch, held in self._zygotes.items() if held is zygote]:
                self._replace(launch)
        return zygote.place.is_kept

    def _replace(self, launch: Launch) -> bool:
        """End the zygote of a launch, and its parent, which may be the one that is stuck.

        Return whether one of them was kept.
        """
        any_kept = False
        for each in dict.fromkeys((launch, launch.first)):
            zygote = self._zygotes.get(each)
            if zygote is None:
                continue
            is_kept = zygote.place.is_kept
            if not is_kept and (not each.is_first or _first_zygotes.release(self, zygote)):
                zygote.kill()
            self._forget(each)
            if self._warm is not None and is_kept:
                self._warm.replace(zygote)
                any_kept = True
        return any_kept

    def drop(self, launch: Launch) -> None:
        """End the zygote of this launch, unless it is kept."""
        with self._lock:
            self._forget(launch.as_zygote)

    def drop_imports(self) -> None:
        """End all zygotes that have imported more than torch, because the files behind their imports have changed."""
        with self._lock:
            for launch in [launch for launch in self._zygotes if not launch.is_first]:
                self._forget(launch)

    def kill(self) -> None:
        with self._lock:
            for launch, zygote in self._zygotes.items():
                if not zygote.place.is_kept and (not launch.is_first or _first_zygotes.release(self, zygote)):
                    zygote.kill()

    def close(self) -> None:
        with self._lock:
            # The first ones last: the others are forks of them.
            for launch in sorted(self._zygotes, key=lambda each: each.is_first):
                self._forget(launch)

    def _zygote(self, launch: Launch) -> Zygote:
        zygote = self._zygotes.pop(launch, None) or self._open(launch)
        # The one that was used last is last.
        self._zygotes[launch] = zygote
        branches = [each for each in self._zygotes if not each.is_first]
        for each in branches[:-MOST_BRANCHES]:
            self._forget(each)
        return zygote

    def _open(self, launch: Launch) -> Zygote:
        parent = None if launch.is_first else self._zygote(launch.first)
        # Further lanes start while the first is measured: they need not be warm.
        warm = self._warm_folder() if launch.may_be_kept and not launch.layout_seed else None
        if warm is not None and (parent is None or parent.place.is_kept):
            # A full disk, or a folder that is gone: work without.
            with contextlib.suppress(OSError):
                zygote, was_started = warm.open(launch, parent)
                if was_started:
                    remark(STAYS_WARM.format(minutes=warm.seconds / 60))
                return zygote
        return _first_zygotes.take(self, launch) if parent is None else self._branch(parent, launch)

    def _branch(self, parent: Zygote, launch: Launch) -> Zygote:
        try:
            return parent.branch(launch, Place.private())
        except OSError as error:
            raise parent.gone() from error

    def _forget(self, launch: Launch) -> None:
        """Close the zygote of a launch, if there is one that nobody else uses."""
        zygote = self._zygotes.pop(launch, None)
        if zygote is None:
            return
        if zygote.place.is_kept or not launch.is_first or _first_zygotes.release(self, zygote):
            zygote.close()

    def _warm_folder(self) -> WarmFolder | None:
        if not self._looked_for_warm:
            self._looked_for_warm = True
            self._warm = open_warm_folder()
        return self._warm
