"""The documentation as a site (mkdocs.yml): every page is in it, and it builds."""

import asyncio
import re
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from experiments.bench.browser import browsing, chromium

ROOT = Path(__file__).resolve().parents[1]
OUTSIDE: tuple[str, ...] = runpy.run_path(str(ROOT / "scripts" / "docs_site.py"))["OUTSIDE"]
"""Pages and pictures of the site that are not in docs/ (scripts/docs_site.py)."""


class _Loader(yaml.SafeLoader):
    """Passes over what only MkDocs may make of tags."""


_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for part in nav.values() if isinstance(nav, dict) else nav:
            yield from pages(part)


def test_every_page_is_in_the_site_once() -> None:
    found = sorted(pages(yaml.load((ROOT / "mkdocs.yml").read_text(), _Loader)["nav"]))
    written = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    outside = {page for page in found if page not in written}
    assert len(found) == len(set(found))
    assert written <= set(found)
    assert all((ROOT / page).is_file() for page in outside)


def build(folder: Path, site: Path) -> subprocess.CompletedProcess[str]:
    """As `make docs` does."""
    words = re.search(r"mkdocs (build .*)", (ROOT / "Makefile").read_text("utf-8"))
    assert words is not None
    command = [sys.executable, "-m", "mkdocs", *words[1].split(), "--site-dir", str(site)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


async def search_from_disk(page: Path) -> None:
    async with browsing() as browser:
        await browser.open(f"{page.as_uri()}?q=bottleneck")
        found = "[...document.querySelectorAll('.md-search-result__link')].map(link => link.href)"
        links = await browser.wait_for(f"(found => found.length && found)({found})")
        assert (page.parents[1] / "glossary.html").as_uri() in {link.split("?")[0] for link in links}
        assert browser.problems == []
        assert {address.split(":")[0] for address in browser.requests} <= {"file", "data", "about"}


def test_it_builds_and_is_read_and_searched_from_disk(tmp_path: Path) -> None:
    built = build(ROOT, tmp_path)
    assert built.returncode == 0, built.stderr
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text("utf-8"))
        assert loaded == [], page
    if chromium() is not None:
        asyncio.run(search_from_disk(tmp_path / "tutorial/1-tree.html"))


def test_a_link_to_nowhere_fails_it(tmp_path: Path) -> None:
    """`--strict` counts warnings, of which `--quiet` makes none."""
    for name in ("docs", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for name in ("mkdocs.yml", *OUTSIDE):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    with (tmp_path / "docs/glossary.md").open("a", encoding="utf-8") as page:
        page.write("[missing](nowhere.md) [missing](mtcp.md#nowhere)\n")
    built = build(tmp_path, tmp_path / "site")
    assert built.returncode == 1
    assert "'nowhere.md'" in built.stderr
    assert "'#nowhere'" in built.stderr
