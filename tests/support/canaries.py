"""A search for secrets in all that a run leaves behind.

A secret counts as found as it is, in Base64 at whatever place, as an address or JSON spells it,
and inside what is compressed: gzip, Zstandard, blocks of Avro, pages of Parquet.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from urllib.parse import quote, quote_plus

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

_GZIP, _ZSTD, _AVRO, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"Obj\x01", b"PAR1"
_SYNC_BYTES = 16


def spellings(text: str) -> Iterator[bytes]:
    """A text as it is, as JSON and addresses have it, and the parts of its Base64.

    Of Base64 it is the part that is the same wherever the text begins.
    """
    yield from {
        each.encode() for each in (text, json.dumps(text)[1:-1], quote(text, ""), quote_plus(text))
    }
    for shift in range(3):
        encoded = base64.b64encode(b"\0" * shift + text.encode()).decode().rstrip("=")
        part = encoded[(shift * 8 + 5) // 6 : -1].encode()
        yield from {part, part.translate(bytes.maketrans(b"+/", b"-_"))}


@dataclass
class Search:
    """A search through named places.

    Attributes:
        canaries: Name → secret.
        places: How many were searched.
        size: Bytes of them, what was compressed counted as it reads.
        found: Name of a canary → the places that have it.
    """

    canaries: Mapping[str, str]
    places: int = 0
    size: int = 0
    found: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Spell each canary once."""
        self._spelled = {name: tuple(spellings(text)) for name, text in self.canaries.items()}

    def look(self, place: str, data: bytes) -> None:
        """Search bytes, and what they hold in compressed form."""
        self.places += 1
        for part in (data, *unpacked(data)):
            self.size += len(part)
            for name, words in self._spelled.items():
                if any(word in part for word in words):
                    self.found.setdefault(name, set()).add(place)

    def look_below(self, folder: Path, without: Iterable[str] = (), since_s: float = 0) -> None:
        """Search every file below a folder, but those whose paths in it are named.

        Args:
            folder: Where to look.
            without: Paths in the folder that are left out.
            since_s: Files last written before this time, in seconds since the epoch, are left out.
        """
        kept = set(without)
        for path in sorted(folder.rglob("*")):
            place = str(path.relative_to(folder))
            # What a server that runs removes meanwhile, or never gives, is not left behind.
            with suppress(FileNotFoundError):
                if place not in kept and path.is_file() and path.stat().st_mtime >= since_s:
                    self.look(place, path.read_bytes())

    def figure(self, known: str = "") -> str:
        """What was searched, and how often a canary was found, but for one that is no secret."""
        hits = sum(len(places) for name, places in self.found.items() if name != known)
        return (
            f"{len(self.canaries.keys() - {known})} canary secrets in {self.places:,} places "
            f"({self.size / 1e6:,.0f} MB): found {hits} times"
        )


def unpacked(data: bytes) -> Iterator[bytes]:
    """What compressed bytes hold; nothing for others."""
    if data[:2] == _GZIP:
        with suppress(OSError, EOFError, zlib.error):
            yield gzip.decompress(data)
    elif data[:4] == _ZSTD:
        with suppress(zstandard.ZstdError):
            yield zstandard.ZstdDecompressor().stream_reader(BytesIO(data)).read()
    elif data[:4] == _AVRO:
        yield from _avro_blocks(data)
    elif data[:4] == _PARQUET:
        # A file that another test tore has nothing to unpack.
        with suppress(pa.ArrowInvalid):
            yield repr(pq.read_table(BytesIO(data)).to_pylist()).encode()


def _avro_blocks(data: bytes) -> Iterator[bytes]:
    """The blocks of an Avro file of the codec `deflate`: count, size, data, the file's own mark."""
    for block in data.split(data[-_SYNC_BYTES:])[1:]:
        start = _behind_number(block, _behind_number(block, 0))
        with suppress(zlib.error):
            yield zlib.decompressobj(-zlib.MAX_WBITS).decompress(block[start:])


def _behind_number(block: bytes, start: int) -> int:
    while start < len(block) and block[start] & 0x80:
        start += 1
    return start + 1
