"""Whether silver follows the versions of a table: by mode, by statements, by what a person decided.

In: the versions of a batch, what `quality.schema_versions` has, the source's mode. Out: a judged
version for each. A table is held from the first version on that silver may not follow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from lakehouse.config import SchemaMode
from lakehouse.config.sections import SchemaChangesConfig
from lakehouse.plan.records import EVOLVE, HOLD, KEEP, POLICY, SchemaVersionRow
from lakehouse.plan.schemas.schema import EVOLVED, RENAMING, TOLERANT
from lakehouse.quality.schemas.changes import BY_STATEMENT, Changes, Shape, compare, first_of
from lakehouse.quality.schemas.statements import Told
from lakehouse.quality.schemas.versions import FOLLOWED, Judged, Version, newest_versions, shape_of

# What a mode does not do to silver, though it could.
_KEPT: Mapping[SchemaMode, Collection[str]] = {
    "lenient": ("drop_column", "rename_column"),
    "ignore": EVOLVED,
}


def judge_versions(
    versions: Sequence[Version],
    recorded: Sequence[SchemaVersionRow],
    config: SchemaChangesConfig,
    told: Told | None = None,
) -> tuple[Judged, ...]:
    """Judge the versions of one table, oldest first, up to the first one that is held.

    Args:
        versions: Those of the batch.
        recorded: What is recorded of the table from data events, oldest first.
        config: The mode and what needs approval.
        told: What the table's statements told.
    """
    told = told or Told()
    decided = newest_versions(recorded)
    followed = [row for row in recorded if decided[row.fingerprint].verdict in FOLLOWED]
    before = shape_of(followed[-1]) if followed else None
    at = followed[-1].position if followed else None
    judged: list[Judged] = []
    for version in versions:
        known = decided.get(str(version.fingerprint))
        has_other_key = known is not None and _has_other_key(version, shape_of(known))
        comes_back = known in followed[:-1] and "" < (at or "") < version.position
        is_again = comes_back or has_other_key
        if known is None or is_again or (known.verdict == HOLD and known.decision == POLICY):
            # The TOML file may say by now that silver follows.
            between = told.between(at, version.position)
            fitting = (comes_back and not has_other_key) or _is_among(judged, version)
            each = _decide(before, version, config, between, is_fitting=fitting)
            is_new = known is None or is_again or each.verdict != known.verdict
            each = replace(each, is_new=is_new)
        else:
            each = Judged(version, known.change_kinds, known.verdict, known.reason, is_new=False)
        judged.append(each)
        if each.verdict == HOLD:
            break
        before, at = (version.columns, version.key), version.position
    return tuple(judged)


def _is_among(judged: Iterable[Judged], version: Version) -> bool:
    """Whether the version came before in the batch."""
    found = {(each.version.fingerprint, each.version.key) for each in judged}
    return (version.fingerprint, version.key) in found


def _has_other_key(version: Version, known: Shape) -> bool:
    return bool(version.key and known[1]) and version.key != known[1]


def _decide(
    before: Shape | None,
    version: Version,
    config: SchemaChangesConfig,
    told: Told,
    *,
    is_fitting: bool,
) -> Judged:
    """Kinds of change, verdict, and the reason of any verdict but `evolve`.

    A version that silver has followed before fits it for good: columns go from it never, and
    their types become wider only.
    """
    if version.problem:
        return Judged(version, (), HOLD, version.problem, is_new=True)
    is_first = before is None and not version.identity.incarnation
    if before:
        changes = compare(before, (version.columns, version.key), told)
    else:
        changes = first_of(is_first=is_first, told=told)
    if is_fitting:
        changes = replace(changes, blocking=frozenset(), unfit=frozenset())
    verdict, reason = judge_kinds(changes, config, told.approved, is_first=is_first)
    if verdict == HOLD and config.mode in RENAMING:
        reason += "".join(f"; {may_be(pair)}" for pair in changes.pairs)
    return Judged(version, changes.kinds, verdict, reason, is_new=True, pairs=changes.pairs)


def may_be(pair: tuple[str, str]) -> str:
    """What a person may say of columns that went and came."""
    was, name = pair
    return f"column {was!r} may have become {name!r}: if so, add `--rename {was}={name}`"


def judge_kinds(
    changes: Changes, config: SchemaChangesConfig, approved: Collection[str], *, is_first: bool
) -> tuple[str, str]:
    """The verdict about a change, and the reason of any but `evolve`.

    Args:
        changes: What changed.
        config: The mode and what needs approval.
        approved: Kinds that a person has approved, where the change comes from.
        is_first: Whether there was no such table before.
    """
    if waiting := _waiting(changes, config, approved, is_first=is_first):
        return HOLD, waiting
    if hard := changes.unfit if config.mode in TOLERANT else changes.blocking:
        return HOLD, f"silver cannot follow: {changes.listed(hard)}"
    if kept := changes.blocking | set(changes.kinds) & set(_KEPT.get(config.mode, ())):
        return KEEP, f"mode {config.mode!r} keeps silver as it is: {changes.listed(kept)}"
    return EVOLVE, ""


def judge_statement(
    kinds: Iterable[str], config: SchemaChangesConfig, *, is_first: bool
) -> tuple[str, str]:
    """The verdict about a statement: whether silver can follow it, its data events say."""
    changes = Changes(dict.fromkeys(kinds, BY_STATEMENT))
    waiting = _waiting(changes, config, (), is_first=is_first)
    return (HOLD, waiting) if waiting else (EVOLVE, "")


def _waiting(
    changes: Changes, config: SchemaChangesConfig, approved: Collection[str], *, is_first: bool
) -> str:
    """What a person has to decide about; empty for nothing."""
    kinds = set(changes.kinds) - set(approved)
    if asked := kinds & set(config.require_approval):
        return f"needs approval: {changes.listed(asked)}"
    if config.mode == "fail" and kinds and not is_first:
        return f"mode 'fail' follows no change: {changes.listed(kinds)}"
    return ""
