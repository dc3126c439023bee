"""Accounts: rows and change events as SQL that Spark and DuckDB read alike.

A row is a function of its key and its version, an event of its batch and its place in it, so that
every program, whatever its version, has the same data without a file. A batch has 1.5 events a key:
a fifth of its keys has the other third of the events; of the keys some 25 % are new and 5 % go.
"""

from __future__ import annotations

from dataclasses import dataclass

COLUMNS = {"aid": "bigint", "bid": "int", "abalance": "int", "filler": "string"}
# Coprime to every number of rows that is not a multiple of it: keys are scattered.
_STRIDE = 7_368_787
_BATCH = 100_000_000


def row(version: str = "v") -> tuple[str, ...]:
    """The columns of an account, of its key `aid` and a version."""
    return (
        "aid",
        "CAST(aid % 1000 AS INT) AS bid",
        f"CAST((aid * 7919 + {version} * 104729) % 2000001 - 1000000 AS INT) AS abalance",
        f"lpad(CAST(aid * 31 + {version} AS STRING), 84, ' ') AS filler",
    )


@dataclass(frozen=True)
class Batch:
    """A batch of change events.

    Attributes:
        number: From 1; 0 is the first load.
        changes: How many events.
        rows: How many rows the table had at first.
    """

    number: int
    changes: int
    rows: int

    def events(self, places: str) -> str:
        """`i, aid, op, v` of each event: its place in the batch, key, operation and version.

        Args:
            places: A relation with the column `i`, from 0 to the number of events; where it has a
                column `n`, the number of a table, the events have it too.
        """
        keys = self.changes * 2 // 3
        hot = max(keys // 5, 1)
        # Which key of the batch, and how many keys it has that change again.
        key = f"if(i < {keys}, i, (i * 13) % {hot})"
        old = f"(j * {_STRIDE} + {self.number} * 104729) % {self.rows}"
        # Beyond an int, which the product of two would overflow.
        begins = self.number * _BATCH
        new = f"{self.rows + begins} + j"
        return (
            f"SELECT *, CAST(if(j % 4 = 1, {new}, {old}) AS BIGINT) AS aid, "
            f"if(j % 4 = 1, if(i < {keys}, 'c', 'u'), "
            f"if(j >= {hot} AND j % 16 = 0, 'd', 'u')) AS op, "
            f"CAST({begins} + i AS BIGINT) AS v "
            f"FROM (SELECT *, {key} AS j FROM ({places}) AS places) AS keyed"
        )


def expected(batches: list[Batch], rows: int) -> str:
    """DuckDB: what the table has after the batches: rows, sums and the greatest filler."""
    parts = [f"SELECT range AS aid, 'r' AS op, CAST(0 AS BIGINT) AS v FROM range({rows})"]
    parts += [
        f"SELECT aid, op, v FROM ({batch.events(f'SELECT range AS i FROM range({batch.changes})')})"
        for batch in batches
    ]
    newest = (
        "SELECT aid, arg_max(op, v) AS op, max(v) AS v FROM "
        f"({' UNION ALL '.join(parts)}) GROUP BY aid"
    )
    return checksum(f"(SELECT {', '.join(row())} FROM ({newest}) WHERE op <> 'd')")


def checksum(relation: str) -> str:
    """What two tables of the same rows have in common, as SQL."""
    return (
        "SELECT count(*) AS rows, CAST(sum(aid) AS BIGINT) AS keys, "
        f"CAST(sum(abalance) AS BIGINT) AS balance, max(filler) AS filler FROM {relation} AS found"
    )
