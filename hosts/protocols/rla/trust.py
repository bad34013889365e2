"""Whether what switches say of RLA's receivers is believed (docs/security.md; ours).

Each receiver whose acknowledgments may be merged has some that pass as they are: in a sealed session a witness compares
them with what switches say. A switch that says what a receiver did not, or keeps back what they say, is passed by: data
ask for no more help, upon which receivers let nobody merge what they say, and what each has is what it has said itself.
All that somebody has not said itself to have is kept until then.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from hosts.endpoint import Address, Effect, PeerMisquoted
from hosts.parts.witness import Said, Witness
from hosts.protocols.rla.advertised import Advertised
from hosts.protocols.rla.branch import Branch
from hosts.protocols.rla.inflight import InFlight
from hosts.protocols.rla.options import RlaOptions
from hosts.protocols.rla.packets import CHILD_BITS
from hosts.protocols.rla.repairs import Repairs
from hosts.protocols.rla.window import Window

UNHEARD: Final = 4
"""Of the acknowledgments that a receiver has pass once in so long, and of those that it sends if nothing comes: none of
so many is no accident (of 1 % of loss: 10^-8)."""


class Trust:
    """A sender's. Times are seconds on its clock."""

    def __init__(
        self,
        options: RlaOptions,
        inflight: InFlight,
        window: Window,
        repairs: Repairs,
        advertised: Advertised,
        branches: Mapping[Address, Branch],
    ) -> None:
        self._inflight = inflight
        self._window = window
        self._repairs = repairs
        self._advertised = advertised
        self._branches = branches
        is_watchful = options.watch_switches and options.assist == "switch"
        unheard_s = UNHEARD * max(options.sample_s, options.heartbeat_s)
        self._witness = Witness(unheard_s) if is_watchful else None
        self.misquoted: list[Address] = []
        """Of whom a switch has said what they did not. Empty: none has, and switches are believed."""

    def joined(self, branch: Branch, now: float) -> None:
        """A receiver, whose acknowledgments may be merged if its number is small enough."""
        if self._witness is not None and branch.number < CHILD_BITS:
            self._witness.joined(branch.address, branch.first, now)
            self._inflight.unsure_from = self._witness.kept

    def left(self, branch: Branch) -> None:
        """It is gone."""
        if self._witness is not None:
            self._witness.forget(branch.address)
            self._inflight.unsure_from = self._witness.kept

    def sampled(self, branch: Branch, cumulative: int, sack: int, window: int, now: float) -> list[Effect]:
        """A receiver has said so itself. What is to be done when a switch is found to have lied of it."""
        witness = self._witness
        if witness is None or witness.has_itself(branch.address) is None:
            return []
        found = witness.sampled(branch.address, self._said(cumulative, sack, window), now)
        self._inflight.unsure_from = witness.kept
        return self._pass_by(witness, now) if found else []

    def claimed(self, members: Sequence[Branch], cumulative: int, sack: int, window: int, now: float) -> list[Effect]:
        """A switch has said so of all of them. What is to be done when it is found to lie."""
        witness = self._witness
        if witness is None:
            return []
        addresses = [branch.address for branch in members]
        found = witness.claimed(addresses, self._said(cumulative, sack, window), now)
        return self._pass_by(witness, now) if found else []

    def told_of_unsent(self, members: Sequence[Branch], now: float) -> list[Effect]:
        """A switch has said that they have what was never sent. What is to be done when it is found to lie."""
        witness = self._witness
        found = witness is not None and witness.impossible([branch.address for branch in members], now)
        return self._pass_by(witness, now) if witness is not None and found else []

    def _said(self, cumulative: int, sack: int, window: int) -> Said:
        inflight = self._inflight
        is_known = cumulative >= inflight.held_from
        return Said(cumulative, sack, inflight.offset(cumulative) + window if is_known else None)

    def _pass_by(self, witness: Witness, now: float) -> list[Effect]:
        """From now on all speak for themselves, and have what they have said so far."""
        self.misquoted = witness.misquoted
        self._window.is_helped = False
        inflight = self._inflight
        for branch in self._branches.values():
            first = witness.has_itself(branch.address)
            if first is None:
                continue
            self._repairs.forget(branch)
            board = inflight.board(branch)
            board.remove_child(branch.number, inflight.end)
            board.add_child(branch.number, first)
            branch.begins_again(first, inflight.offset(first), now)
        self._window.goes_back()
        self._advertised.forget()
        self._witness = inflight.unsure_from = None
        return [PeerMisquoted(peer) for peer in self.misquoted]
