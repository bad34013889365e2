"""Fields that a scenario does not have."""

import difflib
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from topologies.scenario.errors import FieldPath


def unknown_field(root: type[BaseModel], path: FieldPath) -> str:
    """What to say of a field that is none where it stands: which one of that place it is like, or which there are."""
    known = sorted({name for model in _models_at(root, path[:-1]) for name in model.model_fields})
    near = difflib.get_close_matches(str(path[-1]), known, n=1)
    if near:
        return f"unknown field; did you mean `{near[0]}`?"
    return "unknown field" + (f"; there are {', '.join(known)}" if known else "")


def _models_at(root: type[BaseModel], path: FieldPath) -> list[type[BaseModel]]:
    """What may stand at a place; `path` is pydantic's, in which a part may be the `kind` of what stands there."""
    models = [root]
    for part in path:
        fields = [model.model_fields[part] for model in models if part in model.model_fields]
        if fields:
            models = [model for field in fields for model in _models_of(field.annotation)]
        else:  # a place in a list, a key of a mapping, or a kind
            models = [model for model in models if part in _kinds_of(model)] or models
    return models


def _models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_of(part)


def _kinds_of(model: type[BaseModel]) -> tuple[Any, ...]:
    kind = model.model_fields.get("kind")
    return get_args(kind.annotation) if kind is not None else ()
