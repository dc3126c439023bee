"""Races of two runs of one source, and what must be so after each."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random

from lakehouse.names import bronze_table
from lakehouse.plan.records import RunRow
from tests.support.campaign import PASSED, Campaign, unready
from tests.support.racing import Racer
from tests.support.standing import let_the_lease_end, standing

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
# Where a driver that is stopped until its lease is over may stand.
_STANDS = [where for where in PASSED if not where.startswith("maintain")]
_APART_S = 3.0
# A published cut, its run and that run's token.
_Written = tuple[str, str, int]


@dataclass
class Races:
    """Races over one bank.

    Attributes:
        kinds: Pair → how many.
        writers: How many runs of a race wrote → in how many races. Those of a cut are counted, and
            those that published rows; a zombie may have published what it had before it stopped.
        overlapped: In how many races both were at work at one moment.
    """

    campaign: Campaign
    racers: list[Racer]
    random: Random
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)
    writers: Counter[int] = field(default_factory=Counter)
    overlapped: int = 0

    def race(self, pair: tuple[str, str]) -> None:
        """One race; afterwards all that is new is published, by one of the two."""
        run_id = f"race_{self.kinds.total()}"
        self.kinds[pair] += 1
        before, rows = self._written(), len(self._rows())
        if pair == ZOMBIE:
            self._stop(run_id)
        else:
            self._race(run_id, pair)
        self.campaign.look()
        fresh, steps = self._written() - before, self._rows()[rows:]
        of_cuts = Counter(cut for cut, _, _ in fresh)
        publishing = [row for row in steps if _has_published(row)]
        self.writers[max([*of_cuts.values(), pair == ZOMBIE or len(publishing)])] += 1
        self.overlapped += pair == ZOMBIE or _overlap(steps)
        self._is_whole()

    def _stop(self, run_id: str) -> None:
        """A driver is stopped past its lease, another run publishes, and the driver goes on."""
        campaign, where = self.campaign, self.random.choice(_STANDS)
        campaign.bank.transfer(2)
        with standing(campaign, run_id, where, self.random.randint(1, PASSED[where])) as zombie:
            zombie.stop()
            let_the_lease_end(campaign, run_id)
            campaign.bank.transfer(1)
            assert unready(campaign.runs.run(campaign.bank.source)) == {}
            zombie.go_on()
        campaign.is_current()

    def _race(self, run_id: str, pair: tuple[str, str]) -> None:
        campaign = self.campaign
        campaign.bank.transfer(2)
        archive = campaign.bank.source.archive(campaign.runs.folder / run_id)
        first, second = self.random.sample(self.racers, 2)
        first.start(pair[0], run_id, archive)
        time.sleep(self.random.uniform(0, _APART_S))
        is_same = pair[1] == "clear"
        second.start("run" if is_same else pair[1], run_id if is_same else run_id + "_b", archive)
        first.wait()
        second.wait()

    def _is_whole(self) -> None:
        """No message is in bronze twice, and who published later had the higher token."""
        runs = self.campaign.runs
        bronze = runs.ledger.catalog.load_table(bronze_table(runs.source.name))
        landed = bronze.scan(selected_fields=("topic", "partition", "offset")).to_arrow()
        places = landed.group_by(landed.column_names).aggregate([])
        assert places.num_rows == landed.num_rows == len(self.campaign.bank.source.messages)
        tokens = [token for _, _, token in sorted(self._written())]
        assert all(earlier < later for earlier, later in pairwise(tokens)), tokens

    def _written(self) -> set[_Written]:
        cuts = self.campaign.runs.ledger.cuts(self.campaign.runs.source.name)
        return {(cut.cut_id, cut.run_id, cut.token) for cut in cuts if cut.state == "published"}

    def _rows(self) -> list[RunRow]:
        return list(self.campaign.runs.ledger.runs(self.campaign.runs.source.name))


def _has_published(row: RunRow) -> bool:
    return row.step == "publish" and bool(json.loads(row.counts).get("tables_changed"))


def _overlap(steps: list[RunRow]) -> bool:
    """Whether a step of one run, or of one try of it, began before a step of another ended."""
    begun = sorted(steps, key=lambda row: row.started_at)
    return any(a.ended_at > b.started_at for a, b in pairwise(begun))
