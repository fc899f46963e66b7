"""Look at a simulation while it runs: consistent versions of its memory as numpy arrays.

`Observer` attaches to a region, `Producer` publishes one, `open` reads checkpoints, and `regions`
lists what there is. `GroupObserver` attaches to all ranks of a parallel program, and
`restore_or_begin` continues a run. `Owner` and `Peer` transfer bytes between two processes,
`Gathered` publishes arrays for them, and `HostBuffer` is memory that all processes of a job share.
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
from ._gathered import Gathered
from ._group import GroupEnds, GroupObserver, GroupVersion
from ._hostbuffer import Extent, HostBuffer
from ._observer import Observer, Version
from ._producer import Group, Producer, Receipt
from ._regions import Region, regions
from ._restart import Restored, restore_or_begin
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
    "Extent",
    "Field",
    "FieldLost",
    "FieldNotFound",
    "Forked",
    "Gathered",
    "Group",
    "GroupEnds",
    "GroupObserver",
    "GroupVersion",
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
    "Restored",
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
    "restore_or_begin",
]
