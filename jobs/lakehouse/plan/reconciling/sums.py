"""Counts and hashes of buckets of rows: equal for equal rows in any order, equal ones counted.

In: digests of rows. Out: for each bucket a count and a sum, which are added up from parts, and the
buckets in which two sides differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

# A bucket has about so many rows, so that a difference is looked for among few.
ROWS_PER_BUCKET = 512
# So many buckets fit in memory on each side; those of larger tables have more rows.
MOST_BUCKETS = 1 << 16
_BITS = 128
_PART_BITS = 32
_PART = (1 << _PART_BITS) - 1
PARTS = _BITS // _PART_BITS


def bucket_count(rows: int) -> int:
    """How many buckets a table of so many rows has: a power of two, at most `MOST_BUCKETS`."""
    wanted = max(1, rows // ROWS_PER_BUCKET)
    return min(MOST_BUCKETS, 1 << (wanted - 1).bit_length())


def bucket_of(key_digest: bytes, buckets: int) -> int:
    """The bucket of a key."""
    return int.from_bytes(key_digest[:4]) % buckets


@dataclass(slots=True)
class Sums:
    """Count and sum of each bucket that has rows."""

    found: dict[int, tuple[int, int]] = field(default_factory=dict)

    def add(self, bucket: int, row_digest: bytes) -> None:
        """Count one row."""
        count, total = self.found.get(bucket, (0, 0))
        self.found[bucket] = (count + 1, (total + int.from_bytes(row_digest)) % (1 << _BITS))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return sum(count for count, _ in self.found.values())

    def parts(self) -> Iterator[tuple[int, ...]]:
        """Bucket, count and the sum in numbers of 32 bits, which engines can add up."""
        for bucket, (count, total) in self.found.items():
            shifts = (total >> (_PART_BITS * index) for index in range(PARTS))
            yield (bucket, count, *(part & _PART for part in shifts))

    @staticmethod
    def of_parts(rows: Iterable[tuple[int, ...]]) -> Sums:
        """The sums from parts that were added up."""
        return Sums(
            {
                bucket: (
                    count,
                    sum(part << (_PART_BITS * index) for index, part in enumerate(parts))
                    % (1 << _BITS),
                )
                for bucket, count, *parts in rows
            }
        )


def differing(source: Sums, silver: Sums) -> tuple[int, ...]:
    """The buckets that are not the same on both sides, in order."""
    places = source.found.keys() | silver.found.keys()
    return tuple(sorted(b for b in places if source.found.get(b) != silver.found.get(b)))


Side = Mapping[int, tuple[int, int]]


def rows_of(buckets: Iterable[int], sides: Sequence[Side]) -> int:
    """How many rows buckets have, each on the side that has more of them.

    Args:
        buckets: Some buckets.
        sides: Bucket → its count and sum, of each side.
    """
    return sum(max(side.get(bucket, (0, 0))[0] for side in sides) for bucket in buckets)


def that_fit(buckets: Sequence[int], sides: Sequence[Side], most: int) -> tuple[int, ...]:
    """The first of these buckets that have at most so many rows together.

    Args:
        buckets: In order.
        sides: Bucket → its count and sum, of each side.
        most: Rows; the first bucket is taken however large it is.
    """
    taken: list[int] = []
    rows = 0
    for bucket in buckets:
        rows += rows_of((bucket,), sides)
        if taken and rows > most:
            break
        taken.append(bucket)
    return tuple(taken)
