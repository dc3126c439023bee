"""How the rows of a rebuilt table differ from those that it takes the place of, for a person."""

from __future__ import annotations

from dataclasses import dataclass

KEYS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Difference:
    """How the rows of a rebuilt table differ from those that it takes the place of.

    Attributes:
        table: Namespace and name of the Iceberg table.
        before: How many rows the running table has; `after` the rebuilt one.
        hashes: A hash over all rows of either, the same in any order.
        lost: How many keys (rows of a table without a key) only the running table has.
        found: How many only the rebuilt one has.
        changed: How many have other rows.
        keys: The first of these keys; none of a table without a key.
        is_unread: Whether the running table cannot be read, so that nothing is known of its rows.
    """

    table: str
    before: int = 0
    after: int = 0
    hashes: tuple[str, str] = ("0", "0")
    lost: int = 0
    found: int = 0
    changed: int = 0
    keys: tuple[str, ...] = ()
    is_unread: bool = False

    @property
    def count(self) -> int:
        """How many keys, or rows, differ; at least one where the running table is not read."""
        return self.lost + self.found + self.changed or int(self.is_unread)

    @property
    def sentence(self) -> str:
        """For a person."""
        return self.shown(KEYS_SHOWN)

    def shown(self, most: int) -> str:
        """For a person, with so many keys at most."""
        if not self.count:
            return f"{self.table}: equal, {self.after} rows"
        if self.is_unread:
            return f"{self.table}: the old rows cannot be read; {self.after} rows in their place"
        parts = ((self.found, "come back"), (self.changed, "change"), (self.lost, "go"))
        what = ", ".join(f"{count} {how}" for count, how in parts if count)
        named = self.keys[:most]
        rest = f" (first {len(named)})" if self.count > len(named) > 0 else ""
        keys = f": {', '.join(named)}{rest}" if named else ""
        rows = max(self.before, self.after)
        return f"{self.table}: {self.count} of {rows} rows differ, {what}{keys}"
