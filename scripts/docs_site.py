"""What mkdocs.yml asks for beyond MkDocs: the pages of docs/ lead to files outside it, as GitHub shows them.

Such a file becomes a page, or a picture, of the site at its own path; links to and from it are turned."""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
OUTSIDE = (
    "p4src/README.md",
    "experiments/results/NOTES.md",
    "experiments/results/compare.svg",
    "experiments/results/peers/fast.svg",
    "experiments/results/arbor-share.svg",
    "experiments/results/arbor-halved.svg",
)
_LINK = re.compile(r"\]\(([^)\s#]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"`[^`\n]+`")


def on_files(files, config):
    """Add what lies outside docs/."""
    for path in OUTSIDE:
        if path.endswith(".md"):
            files.append(File.generated(config, path, content=(ROOT / path).read_text(encoding="utf-8")))
        else:
            files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links by places in the repository become links by places in the site; `\\|` in a table's code is `|`."""
    here = page.file.src_uri
    there = here if here in OUTSIDE else f"docs/{here}"

    def turned(match):
        target, anchor = match[1], match[2] or ""
        if target.startswith(("http:", "https:", "mailto:")):
            return match[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(there), target))
        path = path.removeprefix("docs/")
        return f"]({posixpath.relpath(path, posixpath.dirname(here) or '.')}{anchor})"

    lines = _LINK.sub(turned, markdown).split("\n")
    return "\n".join(_CODE.sub(_without_backslash, line) if line.startswith("|") else line for line in lines)


def _without_backslash(code):
    return code[0].replace(r"\|", "|")
