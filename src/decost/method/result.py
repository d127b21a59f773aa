"""What a method returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from decost.problem.instance import Instance
from decost.problem.plan import Solution, Ways
from decost.problem.versions import version_of

if TYPE_CHECKING:
    from decost.planner.explanation import Explanation

Status: TypeAlias = Literal["optimal", "feasible", "incomplete", "infeasible"]


def gap_of(profit: float, bound: float | None) -> float | None:
    """How far a profit may be below the optimum, as a share of the bound."""
    if bound is None:
        return None
    return max(0.0, bound - profit) / bound if bound > 0 else 0.0


@dataclass(frozen=True)
class Failure:
    """What takes the place of a result in a set if an instance cannot be solved.

    Attributes
    ----------
    instance
        The problem that was not solved.
    error
        What the method raised.
    runtime
        Seconds until then.
    method, seed
        What failed.
    """

    instance: Instance
    error: Exception
    runtime: float = 0.0
    method: str = ""
    seed: int = 0

    @property
    def status(self) -> Literal["failed"]:
        """Always "failed", which no result's status is."""
        return "failed"

    @property
    def message(self) -> str:
        """The error in one line; what is no complaint of ours comes with its kind."""
        words = " ".join(str(self.error).split())
        if isinstance(self.error, ValueError) and words:
            return words
        kind = type(self.error).__name__
        return f"{kind}: {words}" if words else kind

    def to_dict(self) -> dict[str, Any]:
        """Give the failure as it is written to JSON."""
        return {
            "method": self.method,
            "status": self.status,
            "error": self.message,
            "runtime": self.runtime,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Result:
    """A plan with what is known about it.

    Attributes
    ----------
    instance
        The problem that was solved.
    solution
        The plan.
    status
        "optimal" if all required stops are visited and no plan that does so earns more;
        "feasible" if all are visited; "incomplete" if some are not, and it is not proven that
        they must be left out; "infeasible" if it is proven that no plan visits all of them.
    bound
        Proven upper bound on the profit of every plan that visits at least as many required
        stops as this one, None if the method proves nothing.
    runtime
        Seconds.
    method, seed
        What made it.
    found_by
        Which part of the method found the plan, if it has several.
    details
        Figures of the method's own, such as the number of labels.
    required_visited
        How many required stops are visited.
    required_bound
        The most that any plan can visit, as far as is proven.
    reasons
        If it is "infeasible": which required stops cannot be visited, or which two not together,
        as far as that is quick to prove.
    """

    instance: Instance
    solution: Solution
    status: Status
    bound: float | None = None
    runtime: float = 0.0
    method: str = ""
    seed: int = 0
    found_by: str = ""
    details: Mapping[str, float] = field(default_factory=dict)
    required_visited: int = 0
    required_bound: int = 0
    reasons: tuple[str, ...] = ()

    @property
    def profit(self) -> float:
        """Profit of the plan."""
        return self.solution.profit

    @property
    def gap(self) -> float | None:
        """How far the profit may be below the optimum, as a share of the bound."""
        return gap_of(self.profit, self.bound)

    def sign(self, method: str, seed: int, runtime: float) -> None:
        """Say what made it, and how long that took, in a result that nobody has seen yet."""
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "seed", seed)
        object.__setattr__(self, "runtime", runtime)

    def signed(self, method: str, seed: int, runtime: float) -> Result:
        """Say what made it, and how long that took."""
        copy = object.__new__(Result)  # not `replace`, which takes as long as a small plan
        copy.__dict__.update(self.__dict__, method=method, seed=seed, runtime=runtime)
        return copy

    def explain(self, *, time_limit: float | None = None) -> Explanation:
        """Find out why stops are left out, and what one more unit of budget is worth.

        Parameters
        ----------
        time_limit
            Seconds for all of it; 2 by default.
        """
        from decost.planner.explanation import MOST, explain

        return explain(self, time_limit=MOST if time_limit is None else time_limit)

    def report(
        self,
        path: str | PathLike[str],
        *,
        explain_time: float | None = None,
        tiles: str | None = None,
        ways: Ways | None = None,
    ) -> None:
        """Write the plan as a page: map, schedule, timetables, what was left out and why.

        It is one HTML file that needs no network.

        Parameters
        ----------
        path
            Where to, as .html.
        explain_time
            Seconds to find out why stops are left out; 10 by default.
        tiles
            Address of a background map with {z}, {x} and {y}, which the page then asks for it; for
            places with latitude and longitude.
        ways
            Ways along streets, as `Streets.ways` gives them; straight lines without.
        """
        from decost.planner.explanation import MOST_FOR_A_PAGE, explain
        from decost.show.report import require_report, write_report

        require_report(self.instance, path, tiles)
        limit = MOST_FOR_A_PAGE if explain_time is None else explain_time
        explanation = explain(self, time_limit=limit).to_dict()
        write_report(self, path, explanation=explanation, tiles=tiles, ways=ways)

    def to_frame(self, library: Literal["pandas", "polars"] | None = None) -> Any:
        """Give the plan as a data frame: a row for every start, visit and end, times as numbers.

        Parameters
        ----------
        library
            Whose data frame; by default that of pandas if it is there, else of polars.
        """
        from decost.files.frames import to_frame

        return to_frame(self, library)

    def __repr__(self) -> str:
        bound = "none" if self.bound is None else f"{self.bound:.6g}"
        return (
            f"Result({self.method}: {self.status}, profit {self.profit:.6g}, bound {bound}, "
            f"{self.runtime:.3f} s)"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the result as it is written to JSON; stops go by their labels."""
        required: dict[str, Any] = {}
        if self.instance.required.any():
            required = {
                "required_visited": self.required_visited,
                "required_bound": self.required_bound,
                "reasons": list(self.reasons),
            }
        return {
            "method": self.method,
            "status": self.status,
            "profit": self.profit,
            "bound": self.bound,
            **required,
            "runtime": self.runtime,
            "seed": self.seed,
            "routes": self._routes(),
        }

    def _routes(self) -> list[Any]:
        """Give the routes as the version of the file format has them that the instance needs."""
        label = self.instance.label
        general = version_of(self.instance) == 2
        routes: list[Any] = []
        for k, route in enumerate(self.solution.routes):
            visits = [
                {"stop": label(visit.stop)}
                | ({"alternative": visit.alternative} if general else {})
                | {"start": visit.start, "stay": visit.stay, "profit": visit.profit}
                for visit in route.visits
            ]
            if not general:
                routes.append(visits)
                continue
            late = {"late": route.late} if route.late else {}
            times = {"depart": route.depart, "finish": route.finish} | late
            routes.append({"vehicle": self.instance.fleet[k].id} | times | {"visits": visits})
        return routes
