"""Races of two runs of one source, and what must be so after each."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from random import Random

from tests.support.campaign import PASSED, Campaign
from tests.support.racing import Racer

# A scheduled run against another one, a backfill, the same run once more (cleared while it works),
# somebody's compaction and expiry; backfills against each other.
PAIRS = (
    ("run", "run"),
    ("run", "backfill"),
    ("run", "clear"),
    ("run", "upkeep"),
    ("backfill", "backfill"),
    ("backfill", "upkeep"),
)
ZOMBIE = ("zombie", "run")
# Where a run that has lost its lease may stand when it goes on.
_STANDS = [where for where in PASSED if not where.startswith("maintain")]
_APART_S = 3.0


@dataclass
class Races:
    """Races over one bank.

    Attributes:
        kinds: Pair → how many.
        writers: How many runs of a race published rows → in how many races.
    """

    campaign: Campaign
    racers: list[Racer]
    random: Random
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    writers: Counter[int] = field(default_factory=Counter)

    def race(self, pair: tuple[str, str]) -> None:
        """One race; afterwards all that is new is published, by one of the two."""
        number, campaign = self.kinds.total(), self.campaign
        self.kinds[pair] += 1
        published = len(self._publishing())
        if pair == ZOMBIE:
            where = self.random.choice(_STANDS)
            campaign.overtake(where, self.random.randint(1, PASSED[where]))
        else:
            self._race(number, pair)
            campaign.look()
            self.writers[len(self._publishing()) - published] += 1

    def _race(self, number: int, pair: tuple[str, str]) -> None:
        campaign = self.campaign
        campaign.bank.transfer(2)
        archive = campaign.bank.source.archive(campaign.runs.folder / f"race_{number}")
        first, second = self.random.sample(self.racers, 2)
        run_id = f"race_{number}"
        first.start(pair[0], run_id, archive)
        time.sleep(self.random.uniform(0, _APART_S))
        is_same = pair[1] == "clear"
        second.start("run" if is_same else pair[1], run_id if is_same else run_id + "_b", archive)
        first.wait()
        second.wait()

    def _publishing(self) -> list[str]:
        """The runs that published a table which changed, oldest first."""
        rows = self.campaign.runs.ledger.runs(self.campaign.runs.source.name)
        return [
            row.run_id
            for row in rows
            if row.step == "publish" and json.loads(row.counts).get("tables_changed")
        ]
