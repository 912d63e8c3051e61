"""Connections between processes of one machine: frames over TCP, one connection a pair.

A *frame* has a head of five words, little-endian, and as many bytes behind it as the last word
says::

    run   kind   place   number   bytes  |  body

*Run* counts the plans that the processes have carried: frames in flight from an earlier run are
ignored. *Place* and *number* are a receiver's (`operators.streamcloud.parts`), and *kind* is the
kind of the body:

==========  ========================================================================================
``ROW``     a row for the receiver, as `rows.pack` makes its bytes
``PAUSE``   side and sender: that sender sends no more to the receiver in this run
``CREDIT``  side, sender and a number: so many of that sender's rows have left the receiver's ring
``READY``   a process is ready to take rows
``REPORT``  the progress of a process, and its processor times
``LEFT``    the work of an instance, and the final state
``DONE``    a process has carried its part: processor time of the threads that read connections
==========  ========================================================================================

Both ends of a connection are made in one process, which hands one of them, or both, to others: no
address is published, and no third process can connect.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

Buffer = bytes | np.ndarray

HOST = "127.0.0.1"
ROW, PAUSE, CREDIT, READY, REPORT, LEFT, DONE = range(7)

_HEAD = struct.Struct("<5q")


class Frame(NamedTuple):
    """One message of a connection.

    Attributes
    ----------
    run, kind : int
    place, number : int
        Of a receiver; 0 in frames that have none.
    body : memoryview
        Writeable, and not shared.
    """

    run: int
    kind: int
    place: int
    number: int
    body: memoryview

    def words(self) -> tuple[int, ...]:
        """Return the body as words."""
        return struct.unpack(f"<{len(self.body) // 8}q", self.body)


def words(*given: int) -> bytes:
    """Return the body of a frame that consists of words."""
    return struct.pack(f"<{len(given)}q", *given)


def connected_pair() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a new connection."""
    with socket.create_server((HOST, 0)) as server:
        near = socket.create_connection(server.getsockname())
        far, address = server.accept()
        # Another process of this machine may have connected first.
        while address != near.getsockname():
            far.close()
            far, address = server.accept()
    return near, far


def _behind(pieces: list[memoryview], count: int) -> list[memoryview]:
    """Return the rest of pieces behind so many bytes."""
    for place, piece in enumerate(pieces):
        if count < len(piece):
            return [piece[count:], *pieces[place + 1 :]]
        count -= len(piece)
    return []


def never() -> bool:
    """Return False: never stop."""
    return False


class Link:
    """One end of a connection, for any number of senders and one reader.

    Parameters
    ----------
    end : socket
    look_seconds : float or None
        The interval at which a waiting thread checks for a stop; None in a process that is simply
        killed to stop it.

    Attributes
    ----------
    run : int
        The number in the frames that are sent.
    lost : bool
        Whether a sender has found that the other end is gone.
    """

    def __init__(self, end: socket.socket, look_seconds: float | None = None) -> None:
        end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        end.settimeout(look_seconds)
        self._end = end
        self._sending = threading.Lock()
        self.run = 0
        self.lost = False

    def send(
        self,
        kind: int,
        place: int = 0,
        number: int = 0,
        *body: Buffer,
        stopped: Callable[[], bool] = never,
    ) -> bool:
        """Send a frame; False when stopped, or the other end is gone.

        After either the connection cannot be used: a part of the frame may have been sent.

        Parameters
        ----------
        kind, place, number : int
        *body : bytes or array of bytes
            The pieces of the body, in order.
        stopped : callable
        """
        count = sum(map(len, body))
        left = [memoryview(_HEAD.pack(self.run, kind, place, number, count))]
        left += [memoryview(piece) for piece in body if len(piece)]
        with self._sending:
            while left:
                try:
                    sent = self._end.sendmsg(left)
                except TimeoutError:
                    if stopped():
                        return False
                except OSError:
                    self.lost = True
                    return False
                else:
                    left = _behind(left, sent)
        return True

    def receive(self, stopped: Callable[[], bool] = never) -> Frame | None:
        """Return the next frame; None when stopped, or the other end is gone."""
        head = self._read(_HEAD.size, stopped)
        if head is None:
            return None
        *address, count = _HEAD.unpack(head)
        body = self._read(count, stopped)
        return None if body is None else Frame(*address, body)

    def _read(self, count: int, stopped: Callable[[], bool]) -> memoryview | None:
        found = left = memoryview(np.empty(count, dtype=np.uint8))
        while left:
            try:
                read = self._end.recv_into(left)
            except TimeoutError:
                if stopped():
                    return None
                continue
            except OSError:
                return None
            if read == 0:
                return None
            left = left[read:]
        return found

    def close(self) -> None:
        """Close this end."""
        self._end.close()
