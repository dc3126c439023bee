"""Secrets that commands are given are found nowhere afterwards, however the commands end.

Each secret is random. Commands run with them, well and badly; then everything that they printed,
wrote and were started with is searched. What a person gives wrong is not repeated either.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from urllib.parse import quote

import pytest

from infra.clients import run_sql
from infra.sources import ADMIN, Database, Engine
from lakehouse.config import Settings
from tests.stack.conftest import Stack
from tests.support.arguments import watched_arguments
from tests.support.canaries import Search
from tests.support.commands import ended_command
from tests.support.event_logs import told_everything
from tests.support.sampling import EVERY_CASE

SOURCE = r"""connector = "postgresql"
topic_prefix = "inventory"
[kafka]
topics = ['inventory\.public\.(customers|orders)']
[tables."public.customers".columns]
email = { mask = "hash" }
"""
NOBODY = "127.0.0.1:1"
# Characters that addresses, JSON, shells and templates spell in other ways. A search is for what
# stands before them, since what an error cuts off counts too.
ODD = "/@:\"$'{{%"
# Of what a person may get wrong, `make test` tries every third.
STEP = 1 if EVERY_CASE else 5
KINDS = ("kafka", "database", "catalog", "mask key", "connect", "wrong")


@dataclass
class Tempted:
    """A home whose commands are given canaries.

    Attributes:
        good: Variables with which everything works.
        printed: Command → what it printed.
    """

    settings: Settings
    canaries: dict[str, str]
    good: dict[str, str]
    stack: Stack
    printed: dict[str, str]

    def run(self, *arguments: str, **variables: str) -> int:
        """Run a command with these variables in the place of good ones."""
        ended = ended_command(self.settings, *arguments, **self.good | variables)
        told = ended.stdout + ended.stderr
        self.printed[f"{len(self.printed)} {' '.join(arguments)}"] = told
        return ended.returncode

    def database(self, **changes: object) -> str:
        """The login of the source's database with changes."""
        return json.dumps({**json.loads(self.good["LAKEHOUSE_DATABASE"]), **changes})

    def kafka(self, **changes: str) -> str:
        """The properties of the broker with changes; `_` stands for a dot."""
        named = {name.replace("_", "."): value for name, value in changes.items()}
        return json.dumps({**json.loads(self.good["LAKEHOUSE_KAFKA"]), **named})

    def catalog(self, password: str, port: int | None = None) -> str:
        """The address of the catalog."""
        at = port or self.stack.state.ports["postgresql"]
        return f"postgresql://catalog:{password}@127.0.0.1:{at}/catalog"

    def search(self, arguments: set[bytes]) -> Search:
        """Search everything that the commands left."""
        found = Search(self.canaries)
        for command, text in self.printed.items():
            found.look(f"output of {command}", text.encode())
        for line in arguments:
            found.look(f"arguments {line[:80]!r}", line)
        found.look_below(self.settings.home)
        return found


@pytest.fixture(scope="module")
def tempted(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tempted]:
    """A home with a catalog in PostgreSQL and a source that reads the stack's topics."""
    stack.barrier("inventory")
    home = tmp_path_factory.mktemp("tempted")
    (home.parent / "tempting").mkdir()
    (home.parent / "tempting" / "canary.toml").write_text(SOURCE)
    settings = Settings.from_environment(
        {"LAKEHOUSE_HOME": str(home), "LAKEHOUSE_SOURCES": str(home.parent / "tempting")}
    )
    canaries = {kind: secrets.token_hex(8) for kind in KINDS}
    login = stack.database("inventory")
    canaries["database"] = login.password
    kafka = {"bootstrap.servers": stack.state.kafka, "sasl.password": canaries["kafka"] + ODD}
    found = Tempted(settings, canaries, {}, stack, {})
    found.good = {
        "LAKEHOUSE_KAFKA": json.dumps({**kafka, "sasl.username": "lake"}),
        "LAKEHOUSE_DATABASE": json.dumps(asdict(login)),
        "LAKEHOUSE_CONNECT": str(stack.state.connect),
        "LAKEHOUSE_MASK_KEY": canaries["mask key"] + ODD,
        "LAKEHOUSE_CATALOG_URI": found.catalog(quote(canaries["catalog"] + ODD, "")),
    }
    admin = stack.home.passwords()["admin"]
    server = Database(Engine.POSTGRESQL, login.port, ADMIN, admin, "postgres")
    text = (canaries["catalog"] + ODD).replace("'", "''")
    run_sql(
        server,
        f"CREATE ROLE catalog LOGIN PASSWORD '{text}'",
        "CREATE DATABASE catalog OWNER catalog",
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("SPARK_CONF_DIR", raising=False)
        patched.setenv("SPARK_CONF_DIR", told_everything(home)["SPARK_CONF_DIR"])
        yield found
    run_sql(server, "DROP DATABASE catalog WITH (FORCE)", "DROP ROLE catalog")


def wrong_logins(tempted: Tempted) -> dict[str, int]:
    """What a person may get wrong, without Spark: command → exit code."""
    wrong = tempted.canaries["wrong"] + ODD
    doctor, tables = ("doctor", "--source", "canary"), ("tables", "--source", "canary")
    pause = ("signal", "--source", "canary", "pause", "--no-follow")
    catalogs = {
        "catalog password": tempted.catalog(quote(wrong, "")),
        "catalog not spelled": tempted.catalog(wrong),
        "catalog nowhere": tempted.catalog(quote(wrong, ""), port=1),
        "catalog in brackets": f"postgresql://catalog:{quote(wrong, '')}[@127.0.0.1/catalog",
        "catalog over HTTP": f"http://lake:{quote(wrong, '')}@{NOBODY}/",
        "catalog of no kind": f"mongodb://lake:{quote(wrong, '')}@{NOBODY}/",
    }
    codes = {
        name: tempted.run("--debug", *tables, LAKEHOUSE_CATALOG_URI=uri)
        for name, uri in [*catalogs.items()][::STEP]
    }
    databases = {
        "database password": tempted.database(password=wrong),
        "database nowhere": tempted.database(password=wrong, port=1),
        "database no JSON": f'{{"password": "{wrong}"',
        "database no number": tempted.database(password=wrong, port=wrong),
    }
    for name, login in [*databases.items()][::STEP]:
        codes[name] = tempted.run(*pause, LAKEHOUSE_DATABASE=login)
        tempted.run("--debug", *doctor, LAKEHOUSE_DATABASE=login)
    servers = {
        "kafka nowhere": tempted.kafka(
            bootstrap_servers=NOBODY, security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN"
        ),
        "kafka no JSON": f'{{"sasl.password": "{wrong}"',
        "kafka a Java property": tempted.kafka(sasl_jaas_config=f'x required password="{wrong}";'),
        "kafka a property of no name": tempted.kafka(sasl_pasword=wrong),
    }
    for name, properties in [*servers.items()][::STEP]:
        to = str(tempted.settings.home / name)
        command = ("archive", to, "--source", "canary", "--from", "kafka")
        codes[name] = tempted.run("--debug", *command, LAKEHOUSE_KAFKA=properties)
    urls = (f"http://lake:{quote(wrong, '')}@{NOBODY}", f"http://lake:{wrong}@{NOBODY}")
    for url in urls[::STEP]:
        codes[f"connect {len(codes)}"] = tempted.run(*pause, LAKEHOUSE_CONNECT=url)
    return codes


def test_no_command_without_spark_shows_a_secret_that_it_refuses(
    tempted: Tempted, figure: Callable[[str], None]
) -> None:
    with watched_arguments() as arguments:
        codes = wrong_logins(tempted)
    assert {name: code for name, code in codes.items() if code == 0} == {}
    found = tempted.search(arguments)
    figure(f"commands that refuse {len(codes)} wrong secrets: {found.figure()}")
    assert found.found == {}


def test_a_run_leaves_no_secret_in_its_tables_logs_and_pages(
    tempted: Tempted, figure: Callable[[str], None]
) -> None:
    with watched_arguments() as arguments:
        code = tempted.run("run", "--source", "canary")
        assert code == 0, [*tempted.printed.values()][-1][-20_000:]
        for command in ("tables", "report", "doctor"):
            tempted.run(command, "--source", "canary")
        to = str(tempted.settings.home / "archive")
        tempted.run("archive", to, "--source", "canary", "--from", "bronze")
    assert any(b"spark-submit" in line or b"SparkSubmit" in line for line in arguments)
    assert list((tempted.settings.home / "events").iterdir())
    found = tempted.search(arguments)
    figure(f"a run and what shows it: {found.figure()}")
    assert found.found == {}
    assert found.places > 200


@pytest.mark.further
def test_a_run_that_fails_tells_no_secret(tempted: Tempted, figure: Callable[[str], None]) -> None:
    wrong = tempted.canaries["wrong"] + ODD
    nowhere = tempted.kafka(
        bootstrap_servers=NOBODY, security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN"
    )
    failing = [
        {"LAKEHOUSE_KAFKA": nowhere},
        {"LAKEHOUSE_CATALOG_URI": tempted.catalog(quote(wrong, ""))},
        {"LAKEHOUSE_MASK_KEY": tempted.canaries["wrong"][:15]},
    ]
    with watched_arguments() as arguments:
        codes = [tempted.run("run", "--source", "canary", **each) for each in failing]
        logins = (tempted.database(password=wrong), tempted.database(password=wrong, port=1))
        reconcile = ("reconcile", "--source", "canary")
        codes += [tempted.run(*reconcile, LAKEHOUSE_DATABASE=login) for login in logins]
    assert 0 not in codes
    found = tempted.search(arguments)
    figure(f"{len(codes)} runs that fail: {found.figure()}")
    assert found.found == {}
