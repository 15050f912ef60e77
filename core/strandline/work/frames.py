"""Frames between a program and its worker: four bytes of length, then one msgpack record."""

from __future__ import annotations

import struct
from typing import BinaryIO, Literal

import msgspec

HEADER = struct.Struct(">I")

Kind = Literal["run", "slice", "done", "unfit", "environment", "damaged", "bug"]

_ENCODER = msgspec.msgpack.Encoder()


class Frame(msgspec.Struct, frozen=True, array_like=True):
    """One message.

    Attributes:
        kind: ``run`` asks for a job; ``slice`` and ``done`` answer; ``unfit`` ends a job whose next slice holds what
            a frame cannot; the others say whose fault a failure is.
        name: the job for ``run``, the message for a failure, else empty.
        payload: the record itself, encoded, so that only its reader needs to know its type.
    """

    kind: Kind
    name: str = ""
    payload: msgspec.Raw = msgspec.Raw(b"\xc0")


_DECODER = msgspec.msgpack.Decoder(Frame)


def encode_frame(kind: Kind, name: str = "", record: object = None) -> bytes:
    """Return the bytes of a frame."""
    body = _ENCODER.encode(Frame(kind, name, msgspec.Raw(_ENCODER.encode(record))))
    return HEADER.pack(len(body)) + body


def decode_frame(body: bytes) -> Frame:
    """Return the frame in ``body``, which comes without its length."""
    return _DECODER.decode(body)


def read_frame(stream: BinaryIO) -> Frame | None:
    """Read one frame; ``None`` when the other side is gone."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (length,) = HEADER.unpack(header)
    body = stream.read(length)
    return decode_frame(body) if len(body) == length else None
