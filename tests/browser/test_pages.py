"""Pages in a real browser: whatever names and values they show, they are text and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Dialog, Page

from tests.support.payloads import COMPUTED, PAYLOADS
from tests.support.quality_pages import HOSTILE, hostile, payloads_in_turn, write_every_page
from tests.support.quality_story import story

WIDTH = 1280
ELEMENTS = (
    "script, img, iframe, object, embed, form, link, base, audio, video, meta[http-equiv=refresh]"
)
HANDLERS = """() => [...document.querySelectorAll("*")].flatMap(one => [...one.attributes])
    .filter(one => one.name.startsWith("on")).length"""


@dataclass
class Seen:
    """What a page did while it was open."""

    requests: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    console: list[str] = field(default_factory=list)


def opened(browser: Browser, path: Path) -> tuple[Page, Seen]:
    """A page after all that it loads; every part that is folded is unfolded."""
    page, seen = browser.new_page(viewport={"width": WIDTH, "height": 900}), Seen()

    def dismiss(dialog: Dialog) -> None:
        seen.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("dialog", dismiss)
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    page.goto(path.as_uri(), wait_until="networkidle")
    page.evaluate("() => document.querySelectorAll('details').forEach(one => one.open = true)")
    return page, seen


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A page of each kind, with hostile text everywhere."""
    return write_every_page(tmp_path_factory.mktemp("home"), story("s", tables=3, say=hostile))


def assert_harmless(browser: Browser, path: Path) -> str:
    """Open a page that may do nothing; gives the text that it shows."""
    page, seen = opened(browser, path)
    assert seen == Seen(requests=[path.as_uri()]), path
    assert "ran" not in page.title().split(), path
    assert page.locator(ELEMENTS).count() == 0, path
    assert page.evaluate(HANDLERS) == 0, path
    text = page.locator("body").inner_text()
    assert not set(text) & set("\u202e\u200f"), path
    assert page.evaluate("() => document.documentElement.scrollWidth") <= WIDTH, path
    page.close()
    return text


def test_every_page_is_harmless(browser: Browser, pages: list[Path]) -> None:
    assert len(pages) >= 10
    for path in pages:
        assert_harmless(browser, path)


def test_no_payload_acts_in_any_page(
    browser: Browser, tmp_path: Path, figure: Callable[[str], None]
) -> None:
    told = story("s", tables=2, say=payloads_in_turn())
    pages = write_every_page(tmp_path, told)
    texts = {path: assert_harmless(browser, path) for path in pages}
    assert len(pages) >= 10
    for path, text in texts.items():
        assert COMPUTED not in text, path
        shown = [payload for payload in PAYLOADS if len(payload) > 6 and payload in text]
        assert "docs" in path.parts or shown, path
    figure(f"{len(PAYLOADS)} payloads in the texts of {len(pages)} pages in a browser: none acts")


def test_hostile_text_is_shown_as_it_is(browser: Browser, pages: list[Path]) -> None:
    # Great Expectations' pages show no text of a source.
    ours = [path for path in pages if "docs" not in path.parts]
    assert len(ours) >= 6
    for path in ours:
        page, _ = opened(browser, path)
        text = page.locator("body").inner_text()
        assert "<script>document.title='ran'</script>" in text, path
        assert "onerror=alert(2)" in text, path
        page.close()


def test_a_page_that_did_not_escape_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    text = f"<html><head><title>bad</title></head><body onload='alert(1)'><p>{HOSTILE}</p>"
    bad.write_text(text, encoding="utf-8", errors="replace")

    page, seen = opened(browser, bad)

    assert page.title() == "ran"
    assert seen.dialogs
    assert seen.requests == [bad.as_uri(), "https://evil.example/x"]
    assert page.locator(ELEMENTS).count() == 2
    assert page.evaluate(HANDLERS) == 2


def test_the_policy_alone_stops_what_would_not_be_escaped(
    browser: Browser, pages: list[Path], tmp_path: Path
) -> None:
    """The second line of defence: a script inside one of our pages does not run either."""
    page = next(path for path in pages if path.name == "reports.html")
    bad = tmp_path / "bad.html"
    text = page.read_text(encoding="utf-8").replace("<main>", f"<main><p>{HOSTILE}</p>")
    bad.write_text(text, encoding="utf-8", errors="replace")

    opened_page, seen = opened(browser, bad)

    assert opened_page.title() != "ran"
    assert seen.dialogs == []
    assert all("Content Security Policy" in line for line in seen.console)
    assert len(seen.console) >= 2
