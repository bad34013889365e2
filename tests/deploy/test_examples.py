"""deploy/examples/ beside docs/deploy.md, which says what they are for."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_prometheus_asks_where_the_page_has_metrics_served() -> None:
    page = (ROOT / "docs/deploy.md").read_text("utf-8")
    config = yaml.safe_load((ROOT / "deploy/examples/prometheus.yml").read_text("utf-8"))
    targets = [target for job in config["scrape_configs"] for at in job["static_configs"] for target in at["targets"]]
    assert len(targets) == 5
    for target in targets:
        address, _, port = target.partition(":")
        assert address in page
        assert f"--metrics 127.0.0.1:{port}" in page
