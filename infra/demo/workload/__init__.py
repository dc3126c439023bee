"""The demonstration's workload: for each source one SQL file per phase.

Statements that belong to one transaction stand together under a comment that says what they are;
a blank line ends the transaction. No clock and no random numbers: every demonstration does the
same.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files

PHASES = (1, 2, 3, 4)


@dataclass(frozen=True, slots=True)
class Transaction:
    """One transaction: what it shows and its statements."""

    title: str
    sql: str


def load_phase(source: str, phase: int) -> tuple[Transaction, ...]:
    """The transactions of one phase, in order.

    Raises:
        FileNotFoundError: The source has no such phase.
    """
    text = files(__name__).joinpath(f"{source}_{phase}.sql").read_text(encoding="utf-8")
    blocks = (block.strip() for block in text.split("\n\n"))
    return tuple(_transaction(block) for block in blocks if block)


def _transaction(block: str) -> Transaction:
    comment, _, sql = block.partition("\n")
    return Transaction(comment.removeprefix("-- "), sql)
