"""Values of which a build pickles very many."""

from __future__ import annotations

from typing import Any, Self


class Brief:
    """A frozen dataclass that pickles as its fields' values: dataclasses' own way asks for the fields each time."""

    __slots__ = ()
    __match_args__: tuple[str, ...]

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)
