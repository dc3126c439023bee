"""Tables of the TOML file that were never seen."""

from __future__ import annotations

import pytest

from lakehouse.config import parse_source
from lakehouse.quality.schemas.unseen import unseen_tables
from tests.unit.test_quality_versions import ID, judge, recorded, version

SEEN = recorded(*judge(version(1, ID)))


SLIP = (
    "the TOML file names 'public.oders', of which no message has come yet: did you mean "
    "'public.orders'?"
)


@pytest.mark.parametrize(
    ("named", "expected"),
    [
        ("public.orders", []),
        ("public.oders", [SLIP]),
        ("hr.pay", ["the TOML file names 'hr.pay', of which no message has come yet"]),
    ],
)
def test_a_table_that_no_message_names_is_told_with_one_that_is_like_it(named, expected):
    text = f'connector = "postgresql"\ntopic_prefix = "s"\n[tables."{named}"]\n'
    source = parse_source(text, "s")

    assert list(unseen_tables(source, SEEN)) == expected
    assert unseen_tables(source, ()) == ()
