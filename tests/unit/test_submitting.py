"""What a command says of a Spark application that did not end by itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lakehouse.cli import app
from lakehouse.cli._submitting import in_foreground
from lakehouse.config import Settings


def submit_by(script: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`spark-submit` is a script that ends as it may."""
    submit = folder / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    submit.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(submit.parent / "python"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(submit.parent), os.environ["PATH"])))


@pytest.mark.parametrize(
    ("script", "code", "said"),
    [
        ("kill -KILL $$", 137, "ended by SIGKILL"),
        ("exit 137", 137, "ended by SIGKILL"),
        ("kill -TERM $$", 143, "ended by SIGTERM"),
        ("exit 3", 3, ""),
        ("exit 0", 0, ""),
    ],
)
def test_the_end_by_a_signal_is_told_with_what_to_do(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    script: str,
    code: int,
    said: str,
) -> None:
    submit_by(script, tmp_path, monkeypatch)
    ended = in_foreground(
        Path("run.py"), (), Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path / "home")})
    )

    told = capsys.readouterr().err
    assert ended == code
    assert (said in told and "do the command again" in told) if said else not told


def test_a_person_who_ends_maintenance_ends_it_for_all_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, sources = tmp_path / "calls", tmp_path / "sources"
    submit_by(f"echo called >> {calls}; kill -INT $PPID; exec sleep 60", tmp_path, monkeypatch)
    sources.mkdir()
    for name in ("a", "b"):
        text = f'connector = "mysql"\ntopic_prefix = "{name}"\n'
        (sources / f"{name}.toml").write_text(text, encoding="utf-8")
    monkeypatch.setenv("LAKEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LAKEHOUSE_SOURCES", str(sources))

    # A shell's job in the background ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        ended = CliRunner().invoke(app, ["maintain"])
    finally:
        signal.signal(signal.SIGINT, before)

    assert ended.exit_code == 130, ended.output
    assert calls.read_text() == "called\n"
