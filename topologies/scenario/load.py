"""Read a scenario: YAML to a checked Scenario, or every mistake with its file, line and field."""

import difflib
import os.path
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from topologies.scenario import activity, network, session
from topologies.scenario.abilities import Purpose, check_ability
from topologies.scenario.checks import check_scenario
from topologies.scenario.document import Document, parse_document
from topologies.scenario.errors import FieldPath, Finding, Problem, ScenarioError
from topologies.scenario.scenario import Scenario

_KNOWN_FIELDS = sorted(
    {
        name
        for module in (activity, network, session)
        for model in vars(module).values()
        if isinstance(model, type) and issubclass(model, BaseModel)
        for name in model.model_fields
    }
    | set(Scenario.model_fields)
)
_MOST_SHOWN = 200
"""Characters of a wrong value."""


def load_scenario(path: Path, *, check_files: bool = False, purpose: Purpose | None = None) -> Scenario:
    """The scenario in `path`. ScenarioError lists everything that is wrong with it.

    With `check_files` the files to be sent must exist; a relative path starts at the scenario's folder. With a
    `purpose`, what cannot be run in that way is wrong too."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError([Problem(str(path), None, (), error.strerror or str(error))]) from None
    except UnicodeDecodeError as error:
        raise ScenarioError([Problem(str(path), None, (), f"not UTF-8 text (at byte {error.start})")]) from None
    scenario = parse_scenario(text, str(path))
    findings: list[Finding] = [
        (("sessions", index, "file"), f"{path.parent / one.file}: no such file")
        for index, one in enumerate(scenario.sessions)
        if check_files and one.file is not None and not os.path.isfile(path.parent / one.file)
    ]
    if purpose is not None:
        findings += check_ability(scenario, purpose)
    if findings:
        document = parse_document(text, str(path))
        raise ScenarioError([_at(document, field, message) for field, message in findings])
    return scenario


def parse_scenario(text: str, file: str = "scenario") -> Scenario:
    """The scenario in `text`; `file` is its name in messages. ScenarioError lists everything that is wrong with it."""
    document = parse_document(text, file)
    try:
        scenario = Scenario.model_validate(document.data)
    except ValidationError as error:
        raise ScenarioError([_problem(document, detail) for detail in error.errors(include_url=False)]) from None
    problems = [_at(document, path, message) for path, message in check_scenario(scenario)]
    if problems:
        raise ScenarioError(problems)
    return scenario


def _at(document: Document, path: FieldPath, message: str) -> Problem:
    line, found = document.locate(path)
    return Problem(document.file, line, found, message)


def _problem(document: Document, detail: Any) -> Problem:
    """A Problem for one of pydantic's errors, in the words of someone who writes YAML."""
    location: FieldPath = detail["loc"]
    line, found = document.locate(location)
    match detail["type"]:
        case "missing":
            message = f"`{location[-1]}` is missing"
        case "extra_forbidden":
            message = "unknown field" + _suggestion(str(location[-1]), _KNOWN_FIELDS)
        case "union_tag_not_found":
            message = "`kind` is missing"
        case "union_tag_invalid":
            message = f"kind `{detail['ctx']['tag']}` is none of {detail['ctx']['expected_tags']}".replace("'", "`")
        case "value_error":
            message = str(detail["ctx"]["error"])
        case "model_type" | "model_attributes_type" | "dict_type":
            message = "must be a mapping (`field: value`)"
        case "list_type":
            message = "must be a list"
        case "string_pattern_mismatch":
            message = f"`{_shown(detail['input'])}` does not match {detail['ctx']['pattern']}"
        case _:
            text: str = detail["msg"]
            message = f"{text[0].lower()}{text[1:]}, not `{_shown(detail['input'])}`"
    return Problem(document.file, line, found, message)


def _shown(value: object) -> str:
    """A field's value, cut to a length that a line has room for."""
    try:
        text = str(value)
    except ValueError:  # an integer of more digits than Python prints
        text = "a very large number"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _suggestion(word: str, known: list[str]) -> str:
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean `{close[0]}`?" if close else ""
