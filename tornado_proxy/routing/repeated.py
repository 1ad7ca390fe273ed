"""Decisions about addresses that are requested again and again, such as a page's style sheet or a popular file."""

from __future__ import annotations

from collections import OrderedDict

from msgspec.structs import replace

from tornado_proxy.routing.decide import Decision
from tornado_proxy.semantics.request import READING
from tornado_proxy.templates.template import PlainTemplate

_MOST = 512  # addresses; the decision about one takes about 1 KiB
_LONGEST = 512  # characters of one


Address = tuple[str, str, str]
"""The method of a request, its authority as the client or a proxy wrote it, and the target as it was sent."""


class RepeatedDecisions:
    """The last decisions of one generation that are the same for every request of their address.

    They are about reads for which nobody signs in, and whose key no template of Jinja or Go rewrites: such a template
    sees headers, clocks and random numbers.
    """

    def __init__(self) -> None:
        self._decisions: OrderedDict[Address, Decision] = OrderedDict()

    def find(self, address: Address) -> Decision | None:
        """Returns the decision about an address, with the request of no client in it; None if there is none."""
        if (decision := self._decisions.get(address)) is not None:
            self._decisions.move_to_end(address)
        return decision

    def keep(self, address: Address, decision: Decision) -> None:
        """Keeps a complete decision if every request of its address gets the same."""
        rewritten, (method, authority, target) = decision.rewritten, address
        if rewritten is None or decision.user is not None or method not in READING:
            return
        is_plain = rewritten.rewrite is None or isinstance(rewritten.rewrite.template, PlainTemplate)
        # An absolute address has an authority of its own, which counts instead of the Host header.
        is_path = target.startswith("/") and "?" not in target
        if is_plain and is_path and len(authority) + len(target) <= _LONGEST:
            # Headers may hold secrets, as queries may, and nobody expects them to stay in memory.
            bare = replace(decision.request, headers=(), remote_address="", certificate=None)
            self._decisions[address] = decision.again(bare)
            if len(self._decisions) > _MOST:
                self._decisions.popitem(last=False)
