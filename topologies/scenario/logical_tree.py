"""Whether a logical tree that a session's scenario gives is one: each receiver with a parent, from the sender down."""

from collections.abc import Iterator, Mapping, Sequence

from topologies.scenario.errors import FieldPath, Finding


def check(
    path: FieldPath, tree: Mapping[str, Sequence[str]], sender: str, receivers: Sequence[str], fan_out: int
) -> Iterator[Finding]:
    """Every mistake in a tree: parents, and the children of each, of whom it may have `fan_out`."""
    parents: dict[str, str] = {}
    known = frozenset(receivers)
    for parent, children in tree.items():
        here = (*path, parent)
        if parent not in known and parent != sender:
            yield here, f"`{parent}` is neither the sender nor a receiver of this session"
        if len(children) > fan_out:
            yield here, f"has {len(children)} children, more than {fan_out} (`fan_out`)"
        for index, child in enumerate(children):
            if child == sender:
                yield (*here, index), f"`{child}` is the sender, which is the root of the tree"
            elif child not in known:
                yield (*here, index), f"`{child}` is not a receiver of this session"
            elif child in parents:
                yield (*here, index), f"`{child}` is also a child of `{parents[child]}`"
            parents.setdefault(child, parent)
    homeless = [receiver for receiver in receivers if receiver not in parents]
    if homeless:
        yield path, f"no parent is given for {', '.join(f'`{name}`' for name in homeless)}"
    yield from _cycles(path, tree, parents)


def _cycles(path: FieldPath, tree: Mapping[str, Sequence[str]], parents: Mapping[str, str]) -> Iterator[Finding]:
    """One finding for each cycle, at the first of its parents in the file."""
    settled: set[str] = set()
    for start in tree:
        way: list[str] = []
        at: str | None = start
        while at is not None and at not in settled and at not in way:
            way.append(at)
            at = parents.get(at)
        if at is not None and at in way:
            circle = way[way.index(at) :]
            names = " is below ".join(f"`{name}`" for name in [*circle, circle[0]])
            yield (*path, next(parent for parent in tree if parent in circle)), f"no tree: {names}"
        settled.update(way)
