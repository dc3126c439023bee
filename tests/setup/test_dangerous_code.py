"""Code that runs what it reads cannot come in: ruff's rules are on, and no line turns them off."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
RUFF = Path(sys.executable).with_name("ruff")
PRODUCT = ("dags", "jobs", "expectations", "infra")
DANGEROUS = {
    "import pickle": "TID251",
    "from cloudpickle import loads": "TID251",
    "import marshal": "TID251",
    "import shelve": "TID251",
    "import pickle; pickle.loads(b'')": "S301",
    "eval(input())": "S307",
    "exec(input())": "S102",
    "import yaml; yaml.load(input())": "S506",
    "import yaml; yaml.load(input(), Loader=yaml.UnsafeLoader)": "S506",
    "import yaml; yaml.unsafe_load(input())": "TID251",
    "import subprocess; subprocess.run(input(), shell=True)": "S602",
    "import os; os.system(input())": "S605",
    "import os; os.popen(input())": "S605",
    "import jinja2; jinja2.Environment()": "S701",
    "import tempfile; tempfile.mktemp()": "S306",
    "import ssl; ssl._create_unverified_context()": "S323",
    "import httpx; httpx.get('https://x', verify=False)": "S501",
}
_OFF = re.compile(r"noqa: .*\b(S102|S30[1267]|S323|S50\d|S60[245]|S701|TID251)\b")


@pytest.mark.parametrize("code", DANGEROUS)
def test_ruff_refuses_it_in_every_folder_of_the_product(code: str) -> None:
    for folder in PRODUCT:
        place = f"--stdin-filename={folder}/added.py"
        found = subprocess.run(
            [str(RUFF), "check", "--quiet", "--output-format=concise", place, "-"],
            cwd=ROOT,
            input=code,
            capture_output=True,
            text=True,
            check=False,
        )
        assert f" {DANGEROUS[code]} " in found.stdout, (folder, found.stdout)


def test_no_line_of_the_product_turns_a_rule_off() -> None:
    files = [path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 300
    off = [
        f"{path}: {line}"
        for path in files
        for line in path.read_text(encoding="utf-8").splitlines()
        if _OFF.search(line)
    ]
    assert off == []


def test_a_line_that_turned_one_off_would_be_seen() -> None:
    assert _OFF.search("eval(x)  # noqa: S307")
    assert _OFF.search("import pickle  # noqa: TID251, S403")
    assert not _OFF.search("assert x  # noqa: S101")
