"""Look at a simulation while it runs: consistent versions of its memory as numpy arrays.

`Observer` attaches to a region, `Producer` publishes one, `open` reads checkpoints, and `regions`
lists what there is.
"""

from . import _fork as _fork
from ._buffers import Buffer
from ._checkpoints import Checkpoints, StoredVersion, open
from ._errors import (
    AttachError,
    CannotPickle,
    CheckpointError,
    Closed,
    CreateError,
    DefineError,
    EndOfStream,
    Error,
    FieldNotFound,
    Forked,
    NotReady,
    ProducerLost,
    RegionNotFound,
    Revoked,
    Status,
    TooManyPins,
    VersionGone,
)
from ._fields import Field, Mesh
from ._observer import Observer, Version
from ._producer import Producer, Receipt
from ._regions import Region, regions

__all__ = [
    "AttachError",
    "Buffer",
    "CannotPickle",
    "CheckpointError",
    "Checkpoints",
    "Closed",
    "CreateError",
    "DefineError",
    "EndOfStream",
    "Error",
    "Field",
    "FieldNotFound",
    "Forked",
    "Mesh",
    "NotReady",
    "Observer",
    "Producer",
    "ProducerLost",
    "Receipt",
    "Region",
    "RegionNotFound",
    "Revoked",
    "Status",
    "StoredVersion",
    "TooManyPins",
    "Version",
    "VersionGone",
    "open",
    "regions",
]
