"""What a command says of a Spark application that did not end by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lakehouse.cli._submitting import in_foreground
from lakehouse.config import Settings


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
    """`spark-submit` is a script that ends as it may."""
    submit = tmp_path / "bin" / "spark-submit"
    submit.parent.mkdir()
    submit.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    submit.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(submit.parent / "python"))
    monkeypatch.setenv("PATH", os.pathsep.join((str(submit.parent), os.environ["PATH"])))

    ended = in_foreground(
        Path("run.py"), (), Settings.from_environment({"LAKEHOUSE_HOME": str(tmp_path / "home")})
    )

    told = capsys.readouterr().err
    assert ended == code
    assert (said in told and "do the command again" in told) if said else not told
