"""The documentation as a site (mkdocs.yml): every page is in it, and it builds."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]


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


def test_it_builds_and_needs_no_network_to_be_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    for page in tmp_path.rglob("*.html"):
        loaded = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page.read_text("utf-8"))
        assert loaded == [], page
