import asyncio
from pathlib import Path

from controller.views import Views
from tests.controller import networks
from tests.controller.test_core import ANY_KEY, World


def test_a_groups_members_stand_in_the_order_in_which_people_count(tmp_path: Path) -> None:
    hosts = {f"r{number}": "s1" for number in range(1, 12)}
    world = World(networks.network([], hosts))
    ports = list(range(1, 12))
    world.unknown("s1", 1, ANY_KEY)
    world.changed("s1", ANY_KEY, 1, ports, ports)
    (group,) = asyncio.run(Views(world.core, {}, tmp_path).groups())
    assert group["members"] == list(hosts)
