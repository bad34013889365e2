"""The blocks of a page."""

from pathlib import Path

import yaml

from deploy.page import Block, blocks

ROOT = Path(__file__).parents[2]

TEXT = """# Title

    head --- s1

Words:

    # at the end on b
    rm x

    # on a b
    cat > x <<END
      indented
    END

    # example
    reboot
"""


def test_blocks_say_where_they_run(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(TEXT)
    assert blocks(page) == [
        Block(("a", "b"), "cat > x <<END\n  indented\nEND\n", False, 10),
        Block(("b",), "rm x\n", True, 7),
    ]


def test_the_page_of_this_repository() -> None:
    found = blocks(ROOT / "docs/deploy.md")
    assert {name for block in found for name in block.machines} == {"head", "s1", "s2", "v1", "v2"}
    assert [block.at_end for block in found] == sorted(block.at_end for block in found)


def test_prometheus_asks_where_the_page_has_metrics_served() -> None:
    page = (ROOT / "docs/deploy.md").read_text("utf-8")
    config = yaml.safe_load((ROOT / "deploy/examples/prometheus.yml").read_text("utf-8"))
    targets = [target for job in config["scrape_configs"] for at in job["static_configs"] for target in at["targets"]]
    assert len(targets) == 5
    for target in targets:
        address, _, port = target.partition(":")
        assert address in page
        assert f"--metrics 127.0.0.1:{port}" in page
