"""Clients that ask without a pause, while something happens to what they ask."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from administering import eventually


@dataclass
class Load:
    """Requests of `/a`, each on a connection of its own or one after another: the answers, and what went wrong."""

    address: tuple[str, int]
    keep_alive: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    answers: dict[bytes, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """How many were answered."""
        return sum(self.answers.values())

    def run(self) -> None:
        """Ask until told to stop."""
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        while not self.stop.wait(0.005):
            try:
                connection.request("GET", "/a")
                answer = connection.getresponse()
                body = answer.read()
                assert (answer.status, body[-6:]) == (200, b"/a.txt"), (answer.status, body)
                self.answers[body] = self.answers.get(body, 0) + 1
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.lost.append(repr(error))
                connection.close()
            if not self.keep_alive:
                connection.close()
        connection.close()

    def pass_on(self, more: int = 50) -> None:
        """Wait for some more answers."""
        before = self.answered
        eventually(lambda: self.lost or self.answered > before + more)


@contextmanager
def under_load(address: tuple[str, int], clients: int = 4, *, keep_alive: bool = False) -> Iterator[Load]:
    """Clients that ask while the block runs."""
    load = Load(address, keep_alive)
    threads = [threading.Thread(target=load.run) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        for thread in threads:
            thread.join()
