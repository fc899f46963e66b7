"""The exceptions of this package, and the statuses that they stand for."""

from enum import IntEnum
from typing import ClassVar


class Status(IntEnum):
    """The state of a stream of versions, or of a field (`LOST`). Negative ones are errors."""

    OK = 0
    NOT_READY = 1
    END_OF_STREAM = 2
    OTHER_ERROR = -1
    PRODUCER_LOST = -2
    REVOKED = -3
    LOST = -16


class Error(Exception):
    """Any error of TCASM. ``status`` is the status that it stands for."""

    status: ClassVar[Status] = Status.OTHER_ERROR


class NotReady(Error, TimeoutError):
    """There is no (newer) version yet."""

    status = Status.NOT_READY


class EndOfStream(Error):
    """The producer has closed the region."""

    status = Status.END_OF_STREAM


class ProducerLost(Error):
    """The producer died. Its last version can still be read."""

    status = Status.PRODUCER_LOST


class Revoked(Error):
    """The producer has revoked the lease of this observer."""

    status = Status.REVOKED


class VersionGone(Error, LookupError):
    """The version does not exist any more, or not yet."""


class TooManyPins(Error):
    """The observer holds as many versions as it can."""


class Forked(Error):
    """The object belongs to the parent of this process."""


class Closed(Error, ValueError):
    """The object was closed or released."""


class AttachError(Error):
    """This process cannot attach to the region."""


class RegionNotFound(AttachError, LookupError):
    """There is no such region, or its producer is dead."""


class FieldNotFound(Error, KeyError):
    """There is no field or mesh of this name."""

    __str__ = Exception.__str__  # that of KeyError would quote the text


class FieldLost(Error):
    """The version has no values of the field: its memory in the producer was unmapped, moved or
    replaced."""

    status = Status.LOST


class CreateError(Error):
    """The region cannot be created."""


class DefineError(Error, ValueError):
    """A field or a mesh cannot be added or changed."""


class CheckpointError(Error):
    """A checkpoint cannot be read."""


class DeclareError(Error, ValueError):
    """Memory cannot be declared."""


class TransferError(Error):
    """Bytes could not be transferred."""


class CookieEnded(TransferError, LookupError):
    """The cookie was used or revoked, or is none of this owner."""


class OwnerGone(TransferError):
    """The owner has ended, or nobody answers at the address."""


class OwnerSilent(TransferError, TimeoutError):
    """The owner does not answer."""


class HostBufferError(Error):
    """This process did not get a host buffer, or could not seal a section."""


class CannotPickle(Error, TypeError):
    """The object cannot be sent to another process."""
