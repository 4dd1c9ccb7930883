"""The declared state of one role, as a check reads it."""

from typing import Any, Dict, Iterator, Mapping, Set


class SpecView(Mapping[str, Any]):
    """The variables of a role; records which ones are read.

    Attributes:
        read_keys: the variables read so far, present or not; a contract test proves coverage with them.
    """

    def __init__(self, role: str, variables: Dict[str, Any]) -> None:
        self.role = role
        self.read_keys: Set[str] = set()
        self._variables = variables

    def __getitem__(self, key: str) -> Any:
        self.read_keys.add(key)
        if key not in self._variables:
            raise KeyError("the spec of {} has no {}".format(self.role, key))
        return self._variables[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)
