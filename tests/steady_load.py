"""Clients that send requests without a pause while a test changes the service."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from administering import eventually


@dataclass
class Load:
    """Requests for `/a`, each on a new connection or all on one; counts the answers and lists the failures."""

    address: tuple[str, int]
    keep_alive: bool = False
    stop: threading.Event = field(default_factory=threading.Event)
    answers: dict[bytes, int] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    @property
    def answered(self) -> int:
        """The number of answers."""
        return sum(self.answers.values())

    def run(self) -> None:
        """Sends requests until `stop` is set."""
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        while not self.stop.wait(0.005):
            try:
                connection.request("GET", "/a")
                answer = connection.getresponse()
                body = answer.read()
                assert (answer.status, body[-6:]) == (200, b"/a.txt"), (answer.status, body)
                self.answers[body] = self.answers.get(body, 0) + 1
            except (OSError, http.client.HTTPException, AssertionError) as error:
                self.failures.append(repr(error))
                connection.close()
            if not self.keep_alive:
                connection.close()
        connection.close()

    def wait_for_answers(self, count: int = 50) -> None:
        """Waits for more than `count` further answers, or a failure."""
        before = self.answered
        eventually(lambda: self.failures or self.answered > before + count)


@contextmanager
def under_load(address: tuple[str, int], clients: int = 4, *, keep_alive: bool = False) -> Iterator[Load]:
    """Runs clients that send requests while the block runs."""
    load = Load(address, keep_alive)
    threads = [threading.Thread(target=load.run, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    try:
        yield load
    finally:
        load.stop.set()
        for thread in threads:
            thread.join()
