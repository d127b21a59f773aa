"""Plan a day in Trento for two guides from different hotels, from a spreadsheet to a spreadsheet.

The same from the command line:
`decost solve examples/data/trento.csv --vehicles examples/data/trento_guides.csv --out plan.xlsx`
Places are roughly where they are; opening hours and what places are worth are made up.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import decost

data = Path(__file__).parent / "data"
instance = decost.read(data / "trento.csv", vehicles=data / "trento_guides.csv")
result = decost.solve(instance, time_limit=5.0)
print(f"{instance.name}: {len(result.solution.visits)} of {instance.stops} places")
with TemporaryDirectory() as folder:
    decost.write(result, Path(folder) / "plan.csv")
    table = (Path(folder) / "plan.csv").read_text(encoding="utf-8")
for line in table.splitlines():
    vehicle, _, stop, _, start, stay, leave, *_ = line.split(",")
    print(f"{vehicle:8}{stop:40}{start:>8}{stay:>8}{leave:>8}")

assert decost.check(instance, result.solution) == []
assert instance.stops == 30
assert result.required_visited == 1

# Each guide comes back to the hotel of the start, within the shift.
for guide, route in zip(instance.fleet, result.solution.routes, strict=True):
    assert guide.start == guide.end
    assert guide.begin <= route.depart
    assert route.finish <= guide.due + instance.tolerance

# Places that shut over noon are visited before or after, and nobody is locked in.
opens = {
    "Museo Diocesano": ((9.5, 12.5), (14, 17.5)),
    "Cattedrale di San Vigilio": ((7, 12), (14.5, 19)),
}
for visit in result.solution.visits:
    hours = opens.get(str(instance.label(visit.stop)))
    margin = instance.tolerance
    assert hours is None or any(
        60 * first - margin <= visit.start and visit.leave <= 60 * last + margin
        for first, last in hours
    )
