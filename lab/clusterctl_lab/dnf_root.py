"""What dnf would install on EL 9: libsolv, which is dnf's own solver, on repositories made of facts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clusterctl.model.errors import LabError
from clusterctl_lab.apt_root import Simulation
from clusterctl_lab.package_facts import upstream_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl_lab.package_facts import ModuleStreams, PackageFact

_RELATION = re.compile(r"(?P<name>\S+)(?: (?P<sign>=|<=|>=|<|>) (?P<evr>\S+))?")


class DnfRoot:
    """The dnf of a node that has nothing installed yet, with weak dependencies off, as the roles call it.

    Raises:
        LabError: Python's binding of libsolv is not installed.
    """

    def __init__(self, facts: Sequence[PackageFact], modules: Mapping[str, ModuleStreams]) -> None:
        try:
            import solv  # noqa: PLC0415 an optional dependency
        except ModuleNotFoundError as e:
            raise LabError(detail="the package solv is not installed", hint="pip install 'clusterctl[resolve]'") from e
        self._solv = solv
        self._modules = modules
        self._pool = solv.Pool()
        self._pool.setdisttype(solv.Pool.DISTTYPE_RPM)
        self._pool.setarch("x86_64")
        self._facts = {self._add(fact): fact for fact in facts}
        self._pool.createwhatprovides()

    def simulate(self, packages: Iterable[tuple[str, str]], enabled: str) -> Simulation:
        """What the installation would do.

        Args:
            packages: name and version (epoch:version-release) of each.
            enabled: enabled stream, as module:stream; the other modules have their default stream.
        """
        module, _, stream = enabled.partition(":")
        if enabled and stream not in getattr(self._modules.get(module), "branches", {}):
            return Simulation(reason=f"Unable to resolve argument {enabled}: no such stream")
        shown = [number for number, fact in self._facts.items() if self._is_shown(fact, module, stream)]
        self._pool.set_considered_list(shown)
        jobs = []
        for name, version in packages:
            found = [number for number in shown if (self._facts[number].name, self._facts[number].version) == (name, version)]
            if not found:
                return Simulation(reason=f"No match for argument: {name}-{version}{self._hint(name, version)}")
            jobs.append(self._pool.Job(self._solv.Job.SOLVER_SOLVABLE | self._solv.Job.SOLVER_INSTALL, found[0]))
        solver = self._pool.Solver()
        solver.set_flag(self._solv.Solver.SOLVER_FLAG_IGNORE_RECOMMENDED, 1)
        problems = solver.solve(jobs)
        if problems:
            return Simulation(reason="\n".join(map(str, problems)))
        return Simulation(installed={s.name: s.evr for s in solver.transaction().newsolvables()})

    def _add(self, fact: PackageFact) -> int:
        known = {repo.name: repo for repo in self._pool.repos}
        repo = known.get(fact.repository) or self._pool.add_repo(fact.repository)
        solvable = repo.add_solvable()
        solvable.name, solvable.evr, solvable.arch = fact.name, fact.version, "noarch"
        solvable.add_provides(self._dependency(f"{fact.name} = {fact.version}"))
        for field, add in (("depends", solvable.add_requires), ("provides", solvable.add_provides), ("conflicts", solvable.add_conflicts)):
            for relation in fact.relations.get(field, ()):
                add(self._dependency(relation))
        return int(solvable.id)

    def _dependency(self, relation: str) -> Any:
        found = _RELATION.fullmatch(relation)
        if not found:
            raise LabError(detail=f"not a relation of rpm: {relation}", hint="correct lab/clusterctl_lab/packages/el9")
        name = self._pool.Dep(found["name"])
        if not found["sign"]:
            return name
        signs = {"<": self._solv.REL_LT, "=": self._solv.REL_EQ, ">": self._solv.REL_GT}
        return name.Rel(sum(signs[sign] for sign in found["sign"]), self._pool.Dep(found["evr"]))

    def _is_shown(self, fact: PackageFact, module: str, stream: str) -> bool:
        if not fact.module:
            return True
        streams = self._modules[fact.module]
        branch = streams.branches[stream if fact.module == module else streams.default] or self._newest_branch(fact.module)
        return _branch(fact) == branch

    def _newest_branch(self, module: str) -> str:
        return max((_branch(fact) for fact in self._facts.values() if fact.module == module), key=int)

    def _hint(self, name: str, version: str) -> str:
        hidden = [f.module for f in self._facts.values() if (f.name, f.version) == (name, version)]
        return f" (hidden: its stream of the module {hidden[0]} is not enabled)" if hidden and hidden[0] else ""


def _branch(fact: PackageFact) -> str:
    return upstream_version(fact.version).partition(".")[0]
