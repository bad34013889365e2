"""The parameters of a session that a command line gives, and the options that stand for some of them."""

from typing import Any, Final

from hosts import protocols

POLICY: Final = {"least_rate": "least_rate_bps", "drop_after": "drop_after_s"}
"""What `--slow-receivers` may say, by scenarios' names (`slow_receivers`), and which parameters that is."""


def read_settings(settings: list[str] | None) -> dict[str, Any]:
    """The parameters that `--set` gives. ValueError: one is not NAME=VALUE."""
    parameters: dict[str, Any] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals:
            raise ValueError(f"--set: '{setting}' is not NAME=VALUE")
        parameters[name] = value
    return parameters


def read_policy(protocol: str, text: str | None) -> dict[str, Any]:
    """The parameters that `--slow-receivers` stands for. ValueError: it says something else, or has no effect."""
    found = {}
    for part in () if text is None else text.split(","):
        name, _, value = part.partition("=")
        parameter = POLICY.get(name.strip())
        if parameter is None or not value:
            raise ValueError(f"--slow-receivers: '{part}' is neither least_rate=BIT/S nor drop_after=SECONDS")
        if parameter not in protocols.get(protocol).option_names:
            raise ValueError(f"--slow-receivers: {protocol} has no {name.strip()}")
        found[parameter] = value.strip()
    return found


def check_options(protocol: str, rate_limit: float | None, receivers: int | None, wait: float | None) -> None:
    """ValueError when an option would have no effect with the protocol."""
    found = protocols.get(protocol)
    if rate_limit is not None and "rate_limit_bps" not in found.option_names:
        other = "; --set session_rate_bps=.. is its rate" if "session_rate_bps" in found.option_names else ""
        raise ValueError(f"--rate-limit: {protocol} has no such limit{other}")
    if not found.knows_receivers and (receivers is not None or wait is not None):
        given = "--receivers" if receivers is not None else "--wait"
        raise ValueError(f"{given}: a sender of {protocol} hears of no receivers and waits for none; leave it out")
