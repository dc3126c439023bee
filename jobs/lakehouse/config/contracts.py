"""Rules of a data contract in the form of the Open Data Contract Standard, version 3.

In: the document and the table it is for. Out: rules as a TOML file would write them, and what of
the contract is not judged. A rule is judged over the rows of a batch, so that what needs all rows
(uniqueness beside the key, row counts, percentages) is named and left out.
https://bitol-io.github.io/open-data-contract-standard/latest/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lakehouse.errors import ConfigError
from lakehouse.names import quote_ident

Document: TypeAlias = Mapping[str, object]
# Logical type → how Spark names the types that hold it.
_TYPES = {
    "string": "string",
    "integer": "tinyint|smallint|int|bigint|decimal\\([0-9]+,0\\)",
    "number": "tinyint|smallint|int|bigint|float|double|decimal.*",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp|timestamp_ntz",
    "array": "array.*",
    "object": "struct.*|map.*",
}
# Option of a logical type → the condition that is true for a bad value.
_OPTIONS = {
    "minimum": "{column} < {value}",
    "maximum": "{column} > {value}",
    "exclusiveMinimum": "{column} <= {value}",
    "exclusiveMaximum": "{column} >= {value}",
    "minLength": "length({column}) < {value}",
    "maxLength": "length({column}) > {value}",
    "pattern": "NOT {column} RLIKE {value}",
}
_COUNT = re.compile(
    r"(?is)\s*select\s+count\s*\(\s*(?:\*|1)\s*\)\s+from\s+\S+\s+where\s+(.+?);?\s*"
)


@dataclass(frozen=True, slots=True)
class Contract:
    """What a contract says of one table.

    Attributes:
        rules: As a TOML file writes them.
        not_judged: What of it is not judged, for a person.
    """

    rules: tuple[Document, ...]
    not_judged: tuple[str, ...]


def read_contract(document: object, table: str, origin: str) -> Contract:
    """The rules of a contract for one table.

    Args:
        document: The parsed YAML.
        table: The table as the TOML file names it.
        origin: What errors call the file.

    Raises:
        ConfigError: It is no contract of version 3, or has not the table.
    """
    contract = _mapping(document, origin)
    version = str(contract.get("apiVersion", ""))
    if contract.get("kind") != "DataContract" or not version.startswith("v3"):
        raise ConfigError(
            f"{origin}: kind {contract.get('kind')!r}, apiVersion {version!r}: expected "
            "'DataContract' of a version 3, such as 'v3.0.2'"
        )
    path, found = _object_of(contract, table, origin)
    rules: list[Document] = []
    left: list[str] = []
    for index, each in enumerate(_list(found, "properties", f"{origin}: {path}")):
        place = f"{origin}: {path}.properties[{index}]"
        _of_property(_mapping(each, place), place, rules, left)
    _of_quality(found, "", f"{origin}: {path}", rules, left)
    return Contract(tuple(_named(rules)), tuple(left))


def _object_of(contract: Document, table: str, origin: str) -> tuple[str, Document]:
    names = (table, table.rpartition(".")[2].strip('"'))
    objects = [
        (f"schema[{index}]", _mapping(each, f"{origin}: schema[{index}]"))
        for index, each in enumerate(_list(contract, "schema", origin))
    ]
    for path, each in objects:
        if {each.get("physicalName"), each.get("name")} & set(names):
            return path, each
    known = ", ".join(str(each.get("name")) for _, each in objects) or "none"
    raise ConfigError(
        f"{origin}: schema: no table {table!r}: expected one whose name or physicalName is "
        f"{' or '.join(map(repr, names))}; it has {known}"
    )


def _of_property(each: Document, place: str, rules: list[Document], left: list[str]) -> None:
    name = each.get("physicalName") or each.get("name")
    if not isinstance(name, str):
        raise ConfigError(f"{place}.name: {name!r}: expected the name of a column")
    column = quote_ident(name)
    if _flag(each, "required", place) or _flag(each, "primaryKey", place):
        rules.append(_rule(f"{name} not null", f"{name} is never NULL.", f"{column} IS NULL"))
    if _flag(each, "unique", place):
        left.append(f"{name}: unique: only the key is looked at in every run")
    if kind := each.get("logicalType"):
        if kind not in _TYPES:
            raise ConfigError(f"{place}.logicalType: {kind!r}: expected one of {', '.join(_TYPES)}")
        test = f"NOT typeof({column}) RLIKE {_literal(f'^({_TYPES[str(kind)]})$')}"
        rules.append(_rule(f"{name} type", f"{name} holds values of type {kind}.", test))
    options = each.get("logicalTypeOptions") or {}
    for option, value in _mapping(options, f"{place}.logicalTypeOptions").items():
        if option not in _OPTIONS:
            left.append(f"{name}: {option}: not known")
            continue
        test = _OPTIONS[option].format(column=column, value=_literal(value))
        rules.append(_rule(f"{name} {option}", f"{name} keeps to {option} {value}.", test))
    _of_quality(each, name, place, rules, left)


def _of_quality(
    holder: Document, column: str, place: str, rules: list[Document], left: list[str]
) -> None:
    for index, each in enumerate(_list(holder, "quality", place)):
        at = f"{place}.quality[{index}]"
        rule = _mapping(each, at)
        test, limit = _test(rule, column), _limit(rule)
        said = str(rule.get("name") or rule.get("rule") or rule.get("metric") or "rule")
        if rule.get("type", "library") == "text":
            continue
        if test is None or limit is None:
            left.append(f"{at.partition(': ')[2]}: {said}: no count of bad rows of one table")
            continue
        is_error = rule.get("severity") in ("error", "critical")
        rules.append(
            _rule(
                f"{column} {said}",
                str(rule.get("description") or f"{column} {said}").strip(),
                test,
                at_most=limit,
                severity="critical" if is_error else "warning",
            )
        )


def _test(rule: Document, column: str) -> str | None:
    """The condition that is true for a bad row; None where there is none for a row alone."""
    if rule.get("type", "library") == "sql":
        found = _COUNT.fullmatch(str(rule.get("query", "")))
        return found[1].replace("{property}", quote_ident(column)) if found else None
    return _library_test(rule, quote_ident(column)) if column else None


def _library_test(rule: Document, column: str) -> str | None:
    given = rule.get("arguments")
    arguments: Document = given if isinstance(given, Mapping) else rule
    name = rule.get("metric") or rule.get("rule")
    if name in ("nullValues", "nullCheck"):
        return f"{column} IS NULL"
    if name == "missingValues" and (values := arguments.get("missingValues")):
        return f"{column} IS NULL OR {column} IN ({_literals(values)})"
    if name in ("invalidValues", "validValues"):
        if values := arguments.get("validValues"):
            return f"{column} NOT IN ({_literals(values)})"
        if pattern := arguments.get("pattern"):
            return f"NOT {column} RLIKE {_literal(pattern)}"
    return None


def _limit(rule: Document) -> int | None:
    """How many rows may be bad; None where another number is asked for."""
    if rule.get("unit", "rows") != "rows":
        return None
    for operator, less in (("mustBe", 0), ("mustBeLessOrEqualTo", 0), ("mustBeLessThan", 1)):
        value = rule.get(operator)
        if isinstance(value, int) and value >= less:
            return value - less if operator != "mustBe" or value == 0 else None
    return None


def _rule(name: str, description: str, violated: str, **more: object) -> Document:
    short = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    sentence = description if description.endswith(".") else f"{description}."
    return {"name": short, "description": sentence, "violated": violated, **more}


def _named(rules: Sequence[Document]) -> Iterator[Document]:
    """Each rule with a name of its own that starts with a letter."""
    taken: set[str] = set()
    for rule in rules:
        base = re.sub(r"^(?=[^a-z])", "rule_", str(rule["name"]))[:90]
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        yield {**rule, "name": name}


def _literals(values: object) -> str:
    listed = values if isinstance(values, list) else [values]
    return ", ".join(_literal(value) for value in listed)


def _literal(value: object) -> str:
    """A value of the YAML as a literal of Spark's SQL."""
    if isinstance(value, bool) or value is None:
        return str(value).upper() if value is not None else "NULL"
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _flag(holder: Document, key: str, place: str) -> bool:
    value = holder.get(key, False)
    if not isinstance(value, bool):
        raise ConfigError(f"{place}.{key}: {value!r}: expected true or false")
    return value


def _mapping(value: object, place: str) -> Document:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{place}: {value!r:.80}: expected a table of keys")
    return value


def _list(holder: Document, key: str, place: str) -> Sequence[object]:
    value = holder.get(key) or []
    if not isinstance(value, list):
        raise ConfigError(f"{place}.{key}: {value!r:.80}: expected a list")
    return value
