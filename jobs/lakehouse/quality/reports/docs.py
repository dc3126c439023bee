"""Data Docs: Great Expectations' own pages of validations and suites, readable without a network.

In: judgements. Out: files below `docs/`. Great Expectations renders the content; the page around
it is ours, because its own loads styles and scripts from elsewhere and builds every page anew.
A content security policy in each page forbids scripts and every request.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lakehouse.quality.judgement import Judgement
from lakehouse.quality.reports.files import write_text
from lakehouse.quality.reports.text import without_steering

if TYPE_CHECKING:
    from great_expectations.render.components import RenderedDocumentContent
    from great_expectations.render.view.view import DefaultJinjaPageView

_TEMPLATES = str(Path(__file__).parent / "templates")


def write_docs(folder: Path, key: str, judgements: Iterable[Judgement]) -> tuple[Path, ...]:
    """Write the pages of one run's validations and of its suites; no other page is touched.

    Where nothing was validated none is: to import what renders them takes seconds of CPU.

    Args:
        folder: The root of the Data Docs.
        key: The folder of this run's validations.
        judgements: Those without a validation have no page.

    Returns:
        The pages of the validations.
    """
    judgements = tuple(judgements)
    if not any(judgement.validation for judgement in judgements):
        return ()
    from great_expectations.render.renderer.page_renderer import (  # noqa: PLC0415
        ExpectationSuitePageRenderer,
        ValidationResultsPageRenderer,
    )

    from expectations.building import build  # noqa: PLC0415

    pages: list[Path] = []
    for judgement in judgements:
        name = judgement.suite.name
        suite = ExpectationSuitePageRenderer().render(build(judgement.suite))  # type: ignore[no-untyped-call]
        text = _page(suite, f"Suite {name}", home="../index.html")
        write_text(folder / "expectations" / f"{name}.html", text)
        if judgement.validation is None:
            continue
        content = ValidationResultsPageRenderer(run_info_at_end=True).render(judgement.validation)
        text = _page(content, f"{name} · {key}", home="../../index.html")
        # The renderer links the suite as seen from its own, deeper place.
        text = text.replace("../../../../expectations/", "../../expectations/")
        page = folder / "validations" / key / f"{name}.html"
        write_text(page, text)
        pages.append(page)
    return tuple(pages)


def _page(content: RenderedDocumentContent, title: str, home: str) -> str:
    text: str = _view().render(content, template="data_docs_page.j2", title=title, home=home)  # type: ignore[no-untyped-call]
    # Great Expectations escapes names and lets them turn the text around.
    return without_steering(text)


@cache
def _view() -> DefaultJinjaPageView:
    """The one view of a process: each one compiles its templates anew."""
    from great_expectations.render.view.view import DefaultJinjaPageView  # noqa: PLC0415

    return DefaultJinjaPageView(
        custom_views_directory=_TEMPLATES, custom_styles_directory=_TEMPLATES
    )
