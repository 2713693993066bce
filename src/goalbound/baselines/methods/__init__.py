"""A room for each method: what it fills the slots of the loop with. Sources and guarantees: `..factories`."""

from goalbound.baselines.methods import bernstein, eb, hoeffding, psrl, uc, ulcvi
from goalbound.baselines.protocol import Room

ROOMS: dict[str, Room] = {
    "uc-ssp": uc.ROOM,
    "hoeffding-ssp": hoeffding.ROOM,
    "bernstein-ssp": bernstein.ROOM,
    "eb-ssp": eb.ROOM,
    "ulcvi": ulcvi.ROOM,
    "psrl-ssp": psrl.ROOM,
}
