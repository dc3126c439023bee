"""The product against the histories: silver equals the source, at every cut a state that it had.

Packs of generated lives go through land, check, apply and publish (`product.py`), cut as a plan
says: applied once, twice, by a run that died, topic partitions lagging. The laws are those that
judge the reference (`laws.py`), and conservation after each run (`conservation.py`).

`LAKEHOUSE_SOAK_FACTOR` scales how many packs are tried; `tests/soak` tries many.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from tests.property.cuts import Plan
from tests.property.dialects import DIALECTS
from tests.property.packs import LIVES, PACKS, Drawn, draw, judge, run
from tests.property.product import open_product
from tests.support.sampling import sample

FACTOR = float(os.environ.get("LAKEHOUSE_SOAK_FACTOR", "1"))


# What was found, as small as it can be.
FOUND = {
    "a_begin_that_comes_again_does_not_end_an_open_transaction": Drawn(
        "postgresql", (((0, [0]), (1381, [512, 576])),), 0, Plan(False, ((0, 30), (0, 48)))
    ),
    "a_truncate_may_come_before_any_row": Drawn(
        "postgresql", (((0, [7]), (0, [0])),), 0, Plan(False, ((0, 60),))
    ),
    "a_large_value_that_moves_to_a_key_is_not_what_the_key_had_before_a_truncate": Drawn(
        "postgresql",
        (((0, [1088]), (0, [7]), (0, [1536]), (0, [133])),),
        0,
        Plan(False, ()),
    ),
    "a_truncate_may_be_the_text_of_a_schema_change": Drawn(
        "ticdc", (((0, [0]), (0, [7])),), 0, Plan(False, ((0, 60),))
    ),
}


# Their positions are compared as another one's are; `test_reference.py` judges histories of all.
ALIKE = ("db2", "mariadb", "oracle", "sqlserver")


@pytest.mark.parametrize(
    "connector",
    [pytest.param(name, marks=[pytest.mark.further] if name in ALIKE else []) for name in DIALECTS],
)
@pytest.mark.parametrize("seed", range(max(1, int(PACKS * FACTOR))))
def test_silver_equals_the_source_and_each_cut_is_a_state_of_it(
    spark, settings, tmp_path, figure: Callable[[str], None], connector: str, seed: int
) -> None:
    drawn = draw(connector, seed)
    product = open_product(
        spark, settings, tmp_path, DIALECTS[connector], f"judged_{connector}_{seed}"
    )
    states = run(drawn.pack, drawn.plan, product)
    assert judge(drawn.pack, drawn.plan, states) == {}, f"draw({connector!r}, {seed})"
    figure(f"Spark, {connector}, seed {seed}: {LIVES} histories, {len(states)} cuts")


@pytest.mark.parametrize("case", sample(FOUND, lambda _: "found"))
def test_what_was_found_is_mended(spark, settings, tmp_path, case: str) -> None:
    drawn, number = FOUND[case], list(FOUND).index(case)
    product = open_product(spark, settings, tmp_path, DIALECTS[drawn.connector], f"found_{number}")
    assert judge(drawn.pack, drawn.plan, run(drawn.pack, drawn.plan, product)) == {}
