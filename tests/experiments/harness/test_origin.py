import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import ModuleType

import pytest

from experiments.harness.origin import CHANGES, Checkout, canopy_version, hosts_kind, made_now


def git(folder: Path, *arguments: str) -> str:
    person = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(["git", *person, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """One with a program and a result."""
    (tmp_path / "hosts").mkdir()
    (tmp_path / "hosts" / "sender.py").write_text("rate = 1\n")
    results = tmp_path / "experiments" / "results"
    results.mkdir(parents=True)
    (results / "a-row.json").write_text("{}\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "one")
    return tmp_path


def test_a_clean_checkout_is_its_commit(checkout: Path) -> None:
    commit = Checkout(checkout).commit()
    assert commit is not None
    assert len(commit) >= 12
    assert git(checkout, "rev-parse", "HEAD").startswith(commit)


@pytest.mark.parametrize("name", ["hosts/sender.py", "hosts/new.py", "pyproject.toml"])
def test_changed_and_new_files_are_told(checkout: Path, name: str) -> None:
    (checkout / name).write_text("rate = 2\n")
    assert str(Checkout(checkout).commit()).endswith(CHANGES)


@pytest.mark.parametrize("name", ["experiments/results/a-row.json", "experiments/results/new.svg", "docs/x.md"])
def test_results_and_what_no_run_reads_are_no_changes(checkout: Path, name: str) -> None:
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).write_text("other\n")
    assert not str(Checkout(checkout).commit()).endswith(CHANGES)


def test_a_change_while_runs_go_on_is_told_from_then_on(checkout: Path) -> None:
    ran = Checkout(checkout)
    first = ran.commit()
    (checkout / "hosts" / "sender.py").write_text("rate = 2\n")
    assert ran.commit() == f"{first}{CHANGES}"
    (checkout / "hosts" / "sender.py").write_text("rate = 1\n")
    assert ran.commit() == f"{first}{CHANGES}", "a run in between may have read it"


def test_a_commit_while_runs_go_on_counts_by_what_it_changes(checkout: Path) -> None:
    ran = Checkout(checkout)
    first = ran.commit()
    (checkout / "experiments" / "results" / "a-row.json").write_text("other\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "a result")
    assert ran.commit() == first
    (checkout / "hosts" / "sender.py").write_text("rate = 2\n")
    git(checkout, "commit", "--quiet", "--all", "--message", "code")
    assert ran.commit() == f"{first}{CHANGES}"


def test_there_is_no_commit_outside_a_checkout(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Checkout(checkout / "hosts").commit() is None, "installed below a checkout of something else"
    monkeypatch.setenv("PATH", "")
    assert Checkout(checkout).commit() is None, "without git"


def test_a_checkout_without_commits_has_none(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    assert Checkout(tmp_path).commit() is None


def test_a_result_that_is_written_says_all_of_it(checkout: Path) -> None:
    ran = Checkout(checkout)
    made = made_now(ran, ["sim", "emu", "sim"])
    assert made.world == "emu, sim"
    assert made.commit == ran.commit()
    assert made.canopy == canopy_version()
    assert made.date is not None
    assert len(made.date.split("-")) == 3


def test_a_compiled_module_of_the_hosts_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    assert hosts_kind() == "interpreted"
    module = ModuleType("hosts.of_the_test")
    module.__file__ = f"/anywhere/hosts/of_the_test{EXTENSION_SUFFIXES[0]}"
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert hosts_kind() == "compiled"
