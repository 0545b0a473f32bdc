"""What a reader must know before a start, in sentences: pure, values in, faults out."""

from __future__ import annotations

from collections.abc import Sequence

from bench.errors import Fault, Field
from bench.machine.machines import LOCAL
from bench.plan import Plan
from bench.planning import queueing_levels
from bench.recipes.community import Community
from bench.running.roster import Engine
from engines.launches import launch_for


def of(plan: Plan, kept: Sequence[Engine], shared: Community | None = None) -> list[Fault]:
    """``kept`` are the engines that run on the plan's machine; ``shared`` the recipe it is of."""
    found = list(shared.notes) if shared else []
    if above := queueing_levels(plan.recipe, plan.workload):
        levels = ", ".join(map(str, above))
        found.append(_remark("community.queueing", slots=plan.recipe.slots, levels=levels))
    if plan.recipe.network == "host":
        found.append(_remark("remarks.host_network"))
    if plan.host != LOCAL:
        found.append(_remark("remarks.elsewhere", machine=plan.host))
    launch = launch_for(plan.recipe)
    for engine in kept:
        if launch.image is not None:
            same = engine.launch == launch
            found.append(_remark("remarks.warm" if same else "remarks.room", title=engine.title))
    return found


def _remark(code: str, **fields: Field) -> Fault:
    return Fault(code=code, fields=fields)
