"""Rules of a data contract in the form of the Open Data Contract Standard, version 3.

In: the document and the table it is for. Out: rules as a TOML file would write them, and what of
the contract is not judged.
https://bitol-io.github.io/open-data-contract-standard/latest/
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lakehouse.config.contract_options import TYPES, bad_value, wrong_type
from lakehouse.config.contract_quality import quality_rule
from lakehouse.config.contract_values import Document, flag, list_of, mapping, rule
from lakehouse.errors import ConfigError
from lakehouse.names import quote_ident


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
    contract = mapping(document, origin)
    version = str(contract.get("apiVersion", ""))
    if contract.get("kind") != "DataContract" or not version.startswith("v3"):
        raise ConfigError(
            f"{origin}: kind {contract.get('kind')!r}, apiVersion {version!r}: expected "
            "'DataContract' of a version 3, such as 'v3.0.2'"
        )
    path, found = _object_of(contract, table, origin)
    reading = _Reading(f"{origin}: ")
    properties = [
        (f"{origin}: {path}.properties[{index}]", mapping(one, f"{origin}: {path}.properties"))
        for index, one in enumerate(list_of(found, "properties", f"{origin}: {path}"))
    ]
    columns = {str(one.get("name")): _column(one, place) for place, one in properties}
    for place, one in properties:
        _of_property(one, place, columns, reading)
    keys = [_column(one, place) for place, one in properties if flag(one, "primaryKey", place)]
    if keys:
        sentence = f"No two rows have the same {', '.join(keys)}"
        reading.rules.append(rule("primary key", sentence, unique=keys))
    _of_quality(found, "", f"{origin}: {path}", columns, reading)
    for index, agreed in enumerate(list_of(contract, "slaProperties", origin)):
        name = mapping(agreed, f"{origin}: slaProperties[{index}]").get("property")
        reading.left.append(f"slaProperties[{index}]: {name}: says nothing of rows")
    return Contract(tuple(_named(reading.rules)), tuple(reading.left))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What is read so far."""

    origin: str
    rules: list[Document] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def _object_of(contract: Document, table: str, origin: str) -> tuple[str, Document]:
    names = (table, table.rpartition(".")[2].strip('"'))
    objects = [
        (f"schema[{index}]", mapping(each, f"{origin}: schema[{index}]"))
        for index, each in enumerate(list_of(contract, "schema", origin))
    ]
    for path, each in objects:
        if {each.get("physicalName"), each.get("name")} & set(names):
            return path, each
    known = ", ".join(str(each.get("name")) for _, each in objects) or "none"
    raise ConfigError(
        f"{origin}: schema: no table {table!r}: expected one whose name or physicalName is "
        f"{' or '.join(map(repr, names))}; it has {known}"
    )


def _column(each: Document, place: str) -> str:
    name = each.get("physicalName") or each.get("name")
    if not isinstance(name, str):
        raise ConfigError(f"{place}.name: {name!r}: expected the name of a column")
    return name


def _of_property(each: Document, place: str, columns: Mapping[str, str], reading: _Reading) -> None:
    name = _column(each, place)
    column, rules = quote_ident(name), reading.rules
    if flag(each, "required", place) or flag(each, "primaryKey", place):
        rules.append(
            rule(f"{name} not null", f"{name} is never NULL", violated=f"{column} IS NULL")
        )
    if flag(each, "unique", place):
        rules.append(rule(f"{name} unique", f"No two rows have the same {name}", unique=[name]))
    kind = each.get("logicalType")
    if kind and kind not in TYPES:
        raise ConfigError(f"{place}.logicalType: {kind!r}: expected one of {', '.join(TYPES)}")
    if kind:
        sentence = f"{name} holds values of type {kind}"
        rules.append(rule(f"{name} type", sentence, violated=wrong_type(str(kind), column)))
    options = mapping(each.get("logicalTypeOptions") or {}, f"{place}.logicalTypeOptions")
    for option, value in options.items():
        test = bad_value(option, value, kind, column)
        if test is None:
            reading.left.append(f"{name}: {option} {value!r:.40}: silver cannot show it")
        else:
            sentence = f"{name} keeps to {option} {value}"
            rules.append(rule(f"{name} {option}", sentence, violated=test))
    for member in ("items", "properties", "relationships"):
        if each.get(member):
            reading.left.append(f"{name}: {member}: only columns themselves are judged")
    _of_quality(each, name, place, columns, reading)


def _of_quality(
    holder: Document, column: str, place: str, columns: Mapping[str, str], reading: _Reading
) -> None:
    for index, each in enumerate(list_of(holder, "quality", place)):
        at = f"{place}.quality[{index}]"
        given = mapping(each, at)
        found = quality_rule(given, column, columns)
        if isinstance(found, str):
            said = given.get("name") or given.get("metric") or given.get("rule") or "rule"
            reading.left.append(f"{at.removeprefix(reading.origin)}: {said}: {found}")
        elif found is not None:
            reading.rules.append(found)


def _named(rules: Sequence[Document]) -> Iterator[Document]:
    """Each rule with a name of its own that starts with a letter."""
    taken: set[str] = set()
    for each in rules:
        base = re.sub(r"^(?=[^a-z])", "rule_", str(each["name"]))[:90]
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        yield {**each, "name": name}
