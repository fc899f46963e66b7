"""Look at a simulation while it runs: consistent versions of its memory as numpy arrays.

`Observer` attaches to a region, `Producer` publishes one, `open` reads checkpoints, and `regions`
lists what there is. `Owner` and `Peer` transfer bytes between two processes, and `HostBuffer` is
memory that all processes of a job share.
"""

from . import _fork as _fork
from ._buffers import Buffer
from ._checkpoints import Checkpoints, StoredVersion, open
from ._errors import (
    AttachError,
    CannotPickle,
    CheckpointError,
    Closed,
    CookieEnded,
    CreateError,
    DeclareError,
    DefineError,
    EndOfStream,
    Error,
    FieldLost,
    FieldNotFound,
    Forked,
    HostBufferError,
    NotReady,
    OwnerGone,
    OwnerSilent,
    ProducerLost,
    RegionNotFound,
    Revoked,
    Status,
    TooManyPins,
    TransferError,
    VersionGone,
)
from ._fields import Field, Mesh
from ._hostbuffer import HostBuffer
from ._observer import Observer, Version
from ._producer import Producer, Receipt
from ._regions import Region, regions
from ._transfer import Declared, Owner, Peer, SharedArray

__all__ = [
    "AttachError",
    "Buffer",
    "CannotPickle",
    "CheckpointError",
    "Checkpoints",
    "Closed",
    "CookieEnded",
    "CreateError",
    "DeclareError",
    "Declared",
    "DefineError",
    "EndOfStream",
    "Error",
    "Field",
    "FieldLost",
    "FieldNotFound",
    "Forked",
    "HostBuffer",
    "HostBufferError",
    "Mesh",
    "NotReady",
    "Observer",
    "Owner",
    "OwnerGone",
    "OwnerSilent",
    "Peer",
    "Producer",
    "ProducerLost",
    "Receipt",
    "Region",
    "RegionNotFound",
    "Revoked",
    "SharedArray",
    "Status",
    "StoredVersion",
    "TooManyPins",
    "TransferError",
    "Version",
    "VersionGone",
    "open",
    "regions",
]
