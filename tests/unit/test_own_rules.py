"""A table's own rules and its data contract: read with the TOML file, refused with file and key."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakehouse.config import Settings, SourceConfig, load_sources, parse_source
from lakehouse.config.rules import OwnRule, read_columns
from lakehouse.errors import ConfigError
from lakehouse.quality.judgement import Measurement
from lakehouse.quality.measuring.own_suites import judge_own

HEAD = 'connector = "postgresql"\ntopic_prefix = "inventory"\n[tables."public.orders"]\n'
CONTRACT = """
apiVersion: v3.0.2
kind: DataContract
id: orders
version: 1.0.0
status: active
schema:
  - name: customers
  - name: Orders
    physicalName: orders
    properties:
      - name: id
        primaryKey: true
        unique: true
        logicalType: integer
      - name: status
        required: true
        logicalType: string
        logicalTypeOptions: {maxLength: 5, pattern: "^[a-z]+$", format: uri, language: en}
        quality:
          - {metric: invalidValues, arguments: {validValues: [new, "it's"]}, mustBe: 0}
          - {rule: duplicateCount, mustBe: 0}
      - name: total
        logicalTypeOptions: {minimum: 0}
        quality:
          - type: sql
            name: rounded
            description: Totals are whole numbers
            query: SELECT COUNT(*) FROM {object} WHERE {property} <> round({property})
            mustBeLessThan: 4
            severity: error
    quality:
      - {type: text, description: Orders are nice}
      - {metric: rowCount, mustBeGreaterThan: 10}
      - {type: custom, engine: soda, name: soda}
slaProperties:
  - {property: latency, value: 4, unit: d}
"""
# Name → (violated, at most, severity)
EXPECTED = {
    "id_not_null": ("`id` IS NULL", 0, "warning"),
    "id_type": (
        "NOT typeof(`id`) RLIKE '^(tinyint|smallint|int|bigint|decimal\\\\([0-9]+,0\\\\))$'",
        0,
        "warning",
    ),
    "status_not_null": ("`status` IS NULL", 0, "warning"),
    "status_type": ("NOT typeof(`status`) RLIKE '^(string)$'", 0, "warning"),
    "status_maxlength": ("length(`status`) > 5", 0, "warning"),
    "status_pattern": ("NOT `status` RLIKE '^[a-z]+$'", 0, "warning"),
    "id_unique": (("id",), 0, "warning"),
    "status_format": ("NOT `status` RLIKE '^([A-Za-z][A-Za-z0-9+.-]*:\\\\S+)\\\\z'", 0, "warning"),
    "status_duplicatecount": (("status",), 0, "warning"),
    "primary_key": (("id",), 0, "warning"),
    "rowcount": ((), None, "warning"),
    "status_invalidvalues": ("`status` NOT IN ('new', 'it\\'s')", 0, "warning"),
    "total_minimum": ("`total` < 0", 0, "warning"),
    "total_rounded": ("`total` <> round(`total`)", 3, "critical"),
}


@pytest.fixture
def read(tmp_path: Path):
    def read(more: str, **files: str) -> SourceConfig:
        for name, text in files.items():
            (tmp_path / name.replace("_", ".")).write_text(text, encoding="utf-8")
        return parse_source(HEAD + more, "inventory", origin=str(tmp_path / "inventory.toml"))

    return read


def rules_of(source: SourceConfig) -> dict[str, tuple[str, int, str]]:
    rules = source.tables["public.orders"].rules
    return {rule.name: (rule.violated or rule.unique, rule.most, rule.severity) for rule in rules}


def test_a_rules_file_that_lies_beside_its_source_is_no_source(tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text(HEAD + 'expectations = "orders.rules.toml"\n')
    rule = '[[rules]]\nname = "a"\ndescription = "No id is negative."\nviolated = "id < 0"\n'
    (tmp_path / "orders.rules.toml").write_text(rule)
    (tmp_path / "broken.toml").write_text("[[rules]]\nname = \n")
    settings = Settings.from_environment({"LAKEHOUSE_SOURCES": str(tmp_path)})

    with pytest.raises(ConfigError, match=r"broken\.toml: expected valid TOML"):
        load_sources(settings)
    (tmp_path / "broken.toml").unlink()
    [source] = load_sources(settings)
    assert rules_of(source).keys() == {"a"}


def test_a_contract_becomes_rules_and_says_what_is_not_judged(read) -> None:
    source = read('contract = "orders.yaml"\n', orders_yaml=CONTRACT)

    assert rules_of(source) == EXPECTED
    assert source.tables["public.orders"].not_judged == (
        "status: language 'en': silver cannot show it",
        "schema[1].quality[2]: soda: a rule for the engine 'soda'",
        "slaProperties[0]: latency: says nothing of rows",
    )
    described = {rule.name: rule.description for rule in source.tables["public.orders"].rules}
    assert described["total_rounded"] == "Totals are whole numbers."
    assert described["primary_key"] == "No two rows have the same id."


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("own_toml", '[[rules]]\nname = "a"\ndescription = "A."\nviolated = "total < 0"\n'),
        ("own_yaml", "rules:\n  - {name: a, description: A., violated: total < 0}\n"),
    ],
)
def test_own_rules_stand_in_a_file_beside_the_toml_file_or_in_it(read, file, text) -> None:
    inline = '[[tables."public.orders".rules]]\nname = "b"\ndescription = "B."\nviolated = "id < 0"'

    source = read(f'expectations = "{file.replace("_", ".")}"\n{inline}', **{file: text})

    expected = {"b": ("id < 0", 0, "warning"), "a": ("total < 0", 0, "warning")}
    assert rules_of(source) == expected


def test_rules_travel_in_the_configuration_that_jobs_are_given(read) -> None:
    source = read('contract = "orders.yaml"\n', orders_yaml=CONTRACT)

    again = SourceConfig.model_validate_json(source.model_dump_json())

    assert rules_of(again) == EXPECTED


RULE = "rules:\n  - {name: a, description: A., violated: "
WRONG = {
    "no YAML": ("a: [", "expected valid YAML"),
    "no contract": ("kind: Other", "kind 'Other', apiVersion '': expected 'DataContract'"),
    "another version": (CONTRACT.replace("v3.0.2", "v2.1.0"), "apiVersion 'v2.1.0': expected"),
    "another table": (
        CONTRACT.replace("name: Orders", "name: O").replace("physicalName: orders", "x: y"),
        "schema: no table 'public.orders': expected one whose name or physicalName is",
    ),
    "no flag": (
        CONTRACT.replace("required: true", "required: maybe"),
        "schema[1].properties[1].required: 'maybe': expected true or false",
    ),
    "no type": (
        CONTRACT.replace("logicalType: integer", "logicalType: whole"),
        "schema[1].properties[0].logicalType: 'whole': expected one of string, integer",
    ),
    "no properties": (
        CONTRACT.replace("properties:\n", "properties: 7\n    x:\n"),
        "schema[1].properties: 7: expected a list",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_contract_is_refused_with_file_and_key(read, case: str, tmp_path: Path) -> None:
    text, said = WRONG[case]

    with pytest.raises(ConfigError) as refused:
        read('contract = "orders.yaml"\n', orders_yaml=text)

    assert str(refused.value).startswith(str(tmp_path / "orders.yaml"))
    assert said in str(refused.value)


@pytest.mark.parametrize("key", ["contract", "expectations"])
@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("orders.yaml", "expected a readable UTF-8 file beside it"),
        ("../orders.yaml", "expected the name of a file in"),
        ("/etc/passwd", "expected the name of a file in"),
    ],
)
def test_a_file_that_cannot_be_read_is_told_with_the_key_that_names_it(
    read, key: str, file: str, said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read(f'{key} = "{file}"\n')

    where, _, rest = str(refused.value).partition(": ")
    assert where.endswith(".toml")
    assert rest.startswith(f'tables."public.orders".{key}: {file!r}: {said}')


WRONG_RULES = {
    "violated: '(SELECT 1) = 1'": RULE + '"(SELECT 1) = 1"}',
    "violated: 'total <'": RULE + '"total <"}',
    'severity: \'bad\': expected "critical" or "warning"': RULE + "id < 0, severity: bad}",
    "a: expected one of violated, unique and rows = true": RULE + "id < 0, unique: [id]}",
    "a: at_most: 1: expected at_least or more": RULE + "id < 0, at_least: 2, at_most: 1}",
    "a: at_most_percent: expected no other limit beside it": RULE
    + "id < 0, at_most_percent: 2, at_most: 1}",
    "at_most: -1: expected a whole number from 0 on": RULE + "id < 0, at_most: -1}",
    "when: 1: expected one of name, description": RULE + "id < 0, when: 1}",
}


@pytest.mark.parametrize("said", WRONG_RULES)
def test_a_wrong_rule_is_refused_with_file_key_and_value(read, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        read('expectations = "own.yaml"\n', own_yaml=WRONG_RULES[said])

    assert str(refused.value).startswith(f"{tmp_path / 'own.yaml'}: rules[0].{said}")


def test_a_contract_s_query_calls_nothing_but_functions_of_a_row(read, tmp_path: Path) -> None:
    calls_java = CONTRACT.replace("<> round({property})", "<> reflect('java.lang.Math', 'random')")
    with pytest.raises(
        ConfigError, match="reflect: it runs code that its text names; compare"
    ) as refused:
        read('contract = "orders.yaml"\n', orders_yaml=calls_java)
    assert str(refused.value).startswith(
        f"{tmp_path / 'orders.yaml'}: rule 'total_rounded'.violated: "
    )


def test_a_contract_s_pattern_cannot_take_for_ever(read) -> None:
    slow = CONTRACT.replace("^[a-z]+$", "^([a-z]+)+$")
    with pytest.raises(ConfigError, match="repeats what repeats by itself"):
        read('contract = "orders.yaml"\n', orders_yaml=slow)


def test_a_name_stands_once_and_nobody_writes_what_the_loader_sets(read) -> None:
    twice = RULE + "id < 0}\n  - {name: a, description: B., violated: id < 1}"
    with pytest.raises(ConfigError, match="rules: 'a': expected each name once"):
        read('expectations = "own.yaml"\n', own_yaml=twice)
    with pytest.raises(ConfigError, match="not_judged: expected no such key"):
        read('not_judged = ["x"]\n')


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("total < 0", ("total",)),
        ("`a b` IS NULL OR length(c) > 3", ("a b", "c")),
        ("_cdc.op = 'd'", ("_cdc",)),
    ],
)
def test_a_condition_says_which_columns_it_reads(condition: str, columns: tuple[str]) -> None:
    assert read_columns(condition) == columns


@pytest.mark.parametrize(
    "condition",
    ["count(*) > 1", "sum(x) OVER () > 1", "a < 1; DROP TABLE x", "SELECT 1", "EXISTS (SELECT 1)"],
)
def test_what_is_no_condition_over_one_row_is_refused(condition: str) -> None:
    with pytest.raises(ValueError, match="expected one condition over the columns of a row"):
        read_columns(condition)


def test_own_rules_are_judged_by_their_limit_and_severity() -> None:
    rules = (
        OwnRule(name="few", description="Few.", violated="a < 0", at_most=2),
        OwnRule(name="none", description="None.", violated="a < 0", severity="critical"),
    )
    good = Measurement("silver_s.t", {"rule_few": 2, "rule_none": 0}, {})
    bad = Measurement("silver_s.t", {"rule_few": 3, "rule_none": 1}, {})

    def failed(measured: Measurement) -> list[tuple[str, str]]:
        (judgement,) = judge_own({"silver_s.t": rules}, [measured])
        findings = [finding for finding in judgement.findings if not finding.success]
        return [(finding.rule.name, finding.verdict.value) for finding in findings]

    assert failed(good) == []
    assert failed(bad) == [("few", "warning"), ("none", "failed")]
    assert judge_own({}, [bad]) == ()
