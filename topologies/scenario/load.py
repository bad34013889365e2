"""Read a scenario: YAML to a checked Scenario, or every mistake with its file, line and field."""

import os.path
import re
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from topologies.scenario.checks import Purpose, check_ability, check_scenario, find_doubts
from topologies.scenario.errors import FieldPath, Finding, Problem, ScenarioError
from topologies.scenario.expand import Expansion, GeneratedNetwork, may_be_short
from topologies.scenario.fields import unknown_field
from topologies.scenario.scenario import Scenario
from topologies.scenario.text import read_bounded

_BOOLEAN_TAG = "tag:yaml.org,2002:bool"
_MERGE_TAG = "tag:yaml.org,2002:merge"
_RANGE_IN_BRACKETS = re.compile(r"[\[{,]\s*(?:[a-z_]+:\s*)?[a-z][a-z0-9_]*\[\d")
"""A range that YAML takes for a list, for it stands within brackets without quotes."""
_CLASSES, _CLASS = re.compile(r"\[(.+?)\]"), re.compile("a-z|0-9|_|-")
_CHARACTERS = {"a-z": "small letters", "0-9": "digits", "_": "`_`", "-": "`-`"}
"""Of a name's pattern."""
_MOST_SHOWN = 200
"""Characters of a wrong value."""
_REPR = reprlib.Repr()
_REPR.maxlevel = 2
"""Lists in lists by aliases may be of any size."""


def _with_words(base: Any) -> Any:
    """A safe loader with YAML 1.2's booleans: `on`, `off`, `yes` and `no` are words."""
    resolvers = {
        first: [resolver for resolver in kinds if resolver[0] != _BOOLEAN_TAG]
        for first, kinds in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    loader: Any = type("Loader", (base,), {"yaml_implicit_resolvers": resolvers})
    loader.add_implicit_resolver(_BOOLEAN_TAG, re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    return loader


_PythonLoader = _with_words(yaml.SafeLoader)
_FastLoader = _with_words(getattr(yaml, "CSafeLoader", yaml.SafeLoader))
"""libyaml's, where PyYAML was built with it: five times as fast, which a scenario of ten thousand hosts needs."""
_BRACKET = re.compile(r"[\[{\]}]")
_MAY_QUOTE = re.compile(r"[\"'#]")
_MAX_FAST_DEPTH = 500
"""libyaml's loader exhausts the stack of the process when a document is nested some ten thousand levels deep."""


def _loader(text: str) -> Any:
    """The fast loader, unless the text may be nested too deeply for it."""
    return (_FastLoader if _depth_bound(text) <= _MAX_FAST_DEPTH else _PythonLoader)(text)


def _depth_bound(text: str) -> int:
    """At least how deeply the text is nested. In a line with quotes or a comment, no bracket counts as closed."""
    depth = deepest = indented = 0
    for line in text.splitlines():
        indented = max(indented, len(line) - len(line.lstrip(" \t?-")))
        closes = not _MAY_QUOTE.search(line)
        for bracket in _BRACKET.findall(line):
            if bracket in "[{":
                depth += 1
                deepest = max(deepest, depth)
            elif closes:
                depth = max(depth - 1, 0)
    return deepest + indented


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed YAML file: plain data, and the nodes that it came from."""

    file: str
    data: Any
    root: yaml.Node
    places: Mapping[int, int | FieldPath] = field(default_factory=dict)
    """An element of a list that was expanded, by its node's id -> its number as it is written, or its field's path."""
    is_expanded: bool = False

    def locate(self, path: FieldPath) -> tuple[int, FieldPath]:
        """The line of the field at `path` or of its nearest ancestor in the document, and that one's path.

        Parts that the document does not have (the tag of a union in pydantic's locations) are passed over."""
        node, line = self.root, self.root.start_mark.line + 1
        found: list[str | int] = []
        for part in path:
            step = _step(node, part)
            if step is not None:
                line, node = step
                place = self.places.get(id(node), part)
                if isinstance(place, tuple):
                    found = [*place]
                else:
                    found.append(place)
        return line, tuple(found)


def parse_document(text: str, file: str, base: Path | None = None) -> Document:
    """The document in `text`; `file` is its name in messages. ScenarioError when it is not one YAML mapping.

    With a `base`, where the files that it names are, its ranges and generated networks are expanded."""
    try:
        loader = _loader(text)
        try:
            root = loader.get_single_node()
            if not isinstance(root, yaml.MappingNode):
                raise ScenarioError([Problem(file, 1, (), "a scenario is a YAML mapping (`name: ...`, `nodes: ...`)")])
            problems = list(_duplicate_keys(root, (), file, set()))
            if problems:
                raise ScenarioError(problems)
            written = Document(file, loader.construct_document(root), root)
            if base is None or not may_be_short(text, written.data):
                return written
            expansion = Expansion()
            at_length = expansion.expand(root, _generated_network(written), base)
            if expansion.mistakes:
                raise ScenarioError([Problem(file, *mistake) for mistake in expansion.mistakes])
            if not expansion.changed:
                return written
            return Document(file, loader.construct_document(at_length), at_length, expansion.places, True)
        finally:
            loader.dispose()
    except ScenarioError:
        raise
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark is not None else None
        hint = ""
        if line is not None and _RANGE_IN_BRACKETS.search((text.splitlines() or [""])[min(line, text.count("\n")) - 1]):
            hint = '; within brackets a range needs quotes, as in ["r[1-30]"]'
        raise ScenarioError([Problem(file, line, (), f"not YAML: {error.problem or error.context}{hint}")]) from None
    except RecursionError:
        raise ScenarioError([Problem(file, None, (), "not a scenario: nested too deeply")]) from None
    except (yaml.YAMLError, ValueError) as error:  # a control character; a date such as 2026-99-99
        raise ScenarioError([Problem(file, None, (), f"not YAML: {str(error).splitlines()[0]}")]) from None


def _generated_network(document: Document) -> GeneratedNetwork | None:
    """The field `network`. ScenarioError."""
    if "network" not in document.data:
        return None
    try:
        return GeneratedNetwork.model_validate(document.data["network"])
    except ValidationError as error:
        details = [{**detail, "loc": ("network", *detail["loc"])} for detail in error.errors(include_url=False)]
        raise ScenarioError([_problem(document, detail) for detail in details]) from None


def _step(node: yaml.Node, part: str | int) -> tuple[int, yaml.Node] | None:
    """The line of the child `part` (of its key, in a mapping) and the child."""
    if isinstance(node, yaml.SequenceNode):
        if isinstance(part, int) and 0 <= part < len(node.value):
            child: yaml.Node = node.value[part]
            return child.start_mark.line + 1, child
        return None
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == str(part):
                return key.start_mark.line + 1, value
        for key, value in node.value:  # a field that came with `<<: *anchor` stands at the anchor
            if key.tag == _MERGE_TAG:
                for merged in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    found = _step(merged, part)
                    if found is not None:
                        return found
    return None


def _duplicate_keys(node: yaml.Node, path: FieldPath, file: str, seen: set[int]) -> Iterator[Problem]:
    if id(node) in seen:  # an alias: reported where its anchor is
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for index, child in enumerate(node.value):
            yield from _duplicate_keys(child, (*path, index), file, seen)
    elif isinstance(node, yaml.MappingNode):
        lines: dict[str, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            name = str(key.value)
            if name in lines:
                yield Problem(file, line, (*path, name), f"given twice (first in line {lines[name]})")
            lines.setdefault(name, line)
            yield from _duplicate_keys(value, (*path, name), file, seen)


MAX_FILE = 16_000_000
"""Bytes of a scenario (ours): some 100,000 hosts."""


def load_scenario(
    path: Path, *, check_files: bool = False, purpose: Purpose | None = None, warn: Callable[[str], None] | None = None
) -> Scenario:
    """The scenario in `path`. ScenarioError lists everything that is wrong with it.

    With `check_files` the files to be sent must exist; a relative path starts at the scenario's folder. With a
    `purpose`, what cannot be run in that way is wrong too. `warn` is told what can be run but is hardly meant so."""
    try:
        text = read_bounded(path, MAX_FILE).decode()
    except OSError as error:
        raise ScenarioError([Problem(str(path), None, (), error.strerror or str(error))]) from None
    except UnicodeDecodeError as error:
        raise ScenarioError([Problem(str(path), None, (), f"not UTF-8 text (at byte {error.start})")]) from None
    scenario, document = _parse(text, str(path), path.parent)
    findings: list[Finding] = [
        (("sessions", index, "file"), f"{path.parent / one.file}: no such file")
        for index, one in enumerate(scenario.sessions)
        if check_files and one.file is not None and not os.path.isfile(path.parent / one.file)
    ]
    if purpose is not None:
        findings += check_ability(scenario, purpose)
    if findings:
        raise _error(document, [_at(document, field, message) for field, message in findings])
    if warn is not None:
        for field, message in find_doubts(scenario):
            warn(str(_at(document, field, f"warning: {message}")))
    return scenario


def parse_scenario(text: str, file: str = "scenario") -> Scenario:
    """The scenario in `text`; `file` is its name in messages. ScenarioError lists everything that is wrong with it."""
    return _parse(text, file, Path(file).parent)[0]


def _parse(text: str, file: str, base: Path) -> tuple[Scenario, Document]:
    document = parse_document(text, file, base)
    try:
        scenario = Scenario.model_validate(document.data)
    except ValidationError as error:
        problems = [_problem(document, detail) for detail in error.errors(include_url=False)]
        raise _error(document, problems) from None
    scenario.note_expansion(document.is_expanded)
    problems = [_at(document, path, message) for path, message in check_scenario(scenario)]
    if problems:
        raise _error(document, problems)
    return scenario, document


def _error(document: Document, problems: Sequence[Problem]) -> ScenarioError:
    """What is wrong with a scenario. Of what came of one line by expansion, the first mistake of a kind stands for all
    like it."""
    if not document.is_expanded:
        return ScenarioError(problems)
    kinds: dict[tuple[Any, ...], list[Problem]] = {}
    for problem in problems:
        place = problem.path[:1] + problem.path[2:] if problem.path[:1] == ("nodes",) else problem.path
        kinds.setdefault((problem.line, place), []).append(problem)
    return ScenarioError(
        [
            first if not others else replace(first, message=f"{first.message} (and {len(others)} more like it)")
            for first, *others in kinds.values()
        ]
    )


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
            message = unknown_field(GeneratedNetwork if location[0] == "network" else Scenario, location)
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
            message = f"`{_shown(detail['input'])}` is no name here: {_form(detail['ctx']['pattern'])}"
        case _:
            text: str = detail["msg"]
            message = f"{text[0].lower()}{text[1:]}, not `{_shown(detail['input'])}`"
    return Problem(document.file, line, found, message)


def _form(pattern: str) -> str:
    """What a text must be, in words. All our patterns are one class of characters, or one for the first and another."""
    first, *rest = ([_CHARACTERS[one] for one in _CLASS.findall(found)] for found in _CLASSES.findall(pattern))
    *others, last = rest[-1] if rest else first
    return f"only {', '.join(others)} and {last}" + (f", beginning with {' or '.join(first)}" if rest else "")


def _shown(value: object) -> str:
    """A field's value, cut to a length that a line has room for."""
    try:
        text = _REPR.repr(value) if isinstance(value, list | dict) else str(value)
    except ValueError:  # an integer of more digits than Python prints
        text = "a very large number"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."
