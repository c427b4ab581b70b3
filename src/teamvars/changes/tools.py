"""What changes are made with, whatever they are about."""

import msgspec

from teamvars.domain.times import Clock
from teamvars.security.chain import Chain
from teamvars.security.sealing import Sealer


class Tools(msgspec.Struct, frozen=True):
    """The seals of values, the chain of the trail, and the time."""

    sealer: Sealer
    chain: Chain
    clock: Clock
