"""One apply as its parts share it: what it builds on, and how its branch and commits are named."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from lakehouse.connectors import Connector
from lakehouse.plan.records import CutRow
from lakehouse.plan.remaking.rebuilding import Ground
from lakehouse.spark.batches.batch import Batch
from lakehouse.spark.bronze.table import OFFSETS_PROPERTY, RUN_ID_PROPERTY
from lakehouse.spark.metadata import CUT_PROPERTY
from lakehouse.spark.ordering.since import Since
from lakehouse.steps.context import StepContext
from lakehouse.steps.forwarding import STAGING


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """What an apply has that does not build on what is published.

    Attributes:
        branch: Of all its tables; it is there before the apply.
        grounds: Silver table → what its batch builds on. The others take no part.
    """

    branch: str
    grounds: Mapping[str, Ground]


@dataclass(frozen=True, slots=True)
class Applying:
    """What the parts of one apply share."""

    context: StepContext
    connector: Connector
    token: int
    check: Callable[[], None]
    cut: CutRow | None
    since: Since
    batch: Batch
    rebuilt: Rebuilt | None = None

    @property
    def cut_id(self) -> str:
        """Text whose order is the order of cuts."""
        return f"{self.token:08d}"

    @property
    def branch(self) -> str:
        """The staging branch: no other run or attempt has it."""
        return self.rebuilt.branch if self.rebuilt else staging_branch(self.context, self.token)


def staging_branch(context: StepContext, token: int) -> str:
    """Where a run stages its rows: no other run or attempt has it."""
    return f"{STAGING}{slug(context)}_{token}"


def commit_summary(context: StepContext, token: int, cut_id: str, offsets: str) -> dict[str, str]:
    """The properties of every commit of a batch, by which a later run finds how far it came."""
    return {
        RUN_ID_PROPERTY: context.run_id,
        CUT_PROPERTY: cut_id,
        "lakehouse.token": str(token),
        OFFSETS_PROPERTY: offsets,
    }


def slug(context: StepContext) -> str:
    """Text that names a run's attempt, as a part of a name in SQL."""
    run = re.sub(r"[^A-Za-z0-9]+", "_", context.run_id)
    return f"{run}_{context.attempt}"
