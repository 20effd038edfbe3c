"""Many values that look alike, kept small: pickled, and compressed by what they share with the first of them."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping


class Packed[K, V](Mapping[K, V]):
    """A mapping whose values are made anew each time they are asked for.

    The plan of an episode takes 15 kB as objects, less than one packed; to unpack it takes a tenth of a millisecond.
    """

    __slots__ = ("_packed", "_shared")

    def __init__(self) -> None:
        self._shared = b""
        self._packed: dict[K, bytes] = {}

    def add(self, key: K, value: V) -> None:
        """Put a value, after the others."""
        pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._shared = self._shared or pickled
        packer = zlib.compressobj(zdict=self._shared)
        self._packed[key] = packer.compress(pickled) + packer.flush()

    def only(self, keys: Iterable[K]) -> Packed[K, V]:
        """Some of it, in this order."""
        some = Packed[K, V]()
        some._shared, some._packed = self._shared, {key: self._packed[key] for key in keys}
        return some

    def __getitem__(self, key: K) -> V:
        packed = self._packed[key]
        unpacker = zlib.decompressobj(zdict=self._shared)
        value: V = pickle.loads(unpacker.decompress(packed) + unpacker.flush())
        return value

    def __iter__(self) -> Iterator[K]:
        return iter(self._packed)

    def __len__(self) -> int:
        return len(self._packed)

    def __contains__(self, key: object) -> bool:
        return key in self._packed
