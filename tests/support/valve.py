"""A valve in front of a server: it lets through what comes, and stops when it has let enough."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from infra.ports import LOOPBACK

_AT_ONCE = 65_536


@dataclass
class Valve:
    """Forwards connections to a port.

    Attributes:
        listener: Where it is reached.
        left: How many bytes of answers it still lets through; None means all of them.
    """

    listener: socket.socket
    left: int | None = None
    _open: threading.Event = field(default_factory=threading.Event)
    _target: int = 0
    _ends: list[socket.socket] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def open(self) -> None:
        """Let all through, from now on."""
        self.left = None
        self._open.set()

    def close_after(self, count: int) -> None:
        """Let so many bytes of answers through, and no more."""
        self._open.clear()
        self.left = count

    def cut(self) -> None:
        """Break the connections that there are, whatever is on its way in them."""
        for each in self._ends:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    @property
    def is_closed(self) -> bool:
        """Whether it has let through all that it should."""
        return self.left is not None and self.left <= 0

    def serve(self, target: int) -> None:
        """Forward to a port, until the listener is closed."""
        self._target = target
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                try:
                    server = socket.create_connection((LOOPBACK, self._target))
                except OSError:
                    client.close()
                    continue
                self._ends += [client, server]
                for source, sink in ((client, server), (server, client)):
                    ends = (source, sink, server)
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, server: socket.socket) -> None:
        with suppress(OSError), source, sink:
            while data := source.recv(_AT_ONCE):
                if source is server and self.left is not None:
                    self.left -= len(data)
                    if self.is_closed:
                        self._open.wait()
                sink.sendall(data)
            sink.shutdown(socket.SHUT_RDWR)


@contextmanager
def valve() -> Iterator[Valve]:
    """A valve with a free port, that nothing stands behind yet."""
    with socket.create_server((LOOPBACK, 0)) as listener:
        made = Valve(listener)
        try:
            yield made
        finally:
            made.open()
            with suppress(OSError):  # Else a thread would wait in `accept` for good.
                listener.shutdown(socket.SHUT_RDWR)
