"""A vector core's pipes over its steps and tiles: MTE2 loads, V computes, MTE3 stores.

UB holds the inputs of two steps and one tile of C. All cores do the same. Times
are core cycles.

What decides the time (docs/emulator.md, section 8; specification: kernels.md, "Vector kernels"):

- A step's two loads follow each other, one request at a time.
- They may start when V has finished the step before the previous one, and their data come a
  latency later: a short step is paid by its latency, shared with one other step.
- V takes the steps one by one. It finishes a tile when the tile before has left UB.

The recurrence of these rules is followed for a few steps and a few tiles; from then on each step
takes the longest of the cycles in it, each tile what the last ones took.
"""

from typing import NamedTuple

from hwmodel.jit import inline, jit

BUFFERS = 2.0
"""Steps whose inputs UB holds (kernels.md, "Vector kernels")."""

EXACT_STEPS = 4.0
"""Steps of a tile, from its first on, that are followed one by one; the last one is, too."""

EXACT_TILES = 6.0
"""Equal tiles that are followed one by one; the last two tell what a further one takes."""


class Step(NamedTuple):
    """The loads and the work of a step.

    Attributes:
        first_latency, second_latency: from the release of its place in UB to the data.
        first, second: time of the two loads' data; of the second one, without waiting for others.
        shared: time of the HBM for the second loads of all cores.
        work: time of V.
    """

    first_latency: float
    second_latency: float
    first: float
    second: float
    shared: float
    work: float


class VectorTile(NamedTuple):
    """A tile of a core.

    Attributes:
        steps: steps over K.
        step: a whole step.
        last_step: the last one, which may be shorter.
        bias: time to load the bias, with the first step.
        finish: time of V from the last step to the end of the tile.
        store: time of MTE3.
    """

    steps: float
    step: Step
    last_step: Step
    bias: float
    finish: float
    store: float


class Progress(NamedTuple):
    """How far a core is.

    Attributes:
        loaded: end of its last load.
        worked: when V is free.
        free: when the place in UB of the next step was released.
        next_free: when that of the step after it was.
        stored: end of its last store.
    """

    loaded: float
    worked: float
    free: float
    next_free: float
    stored: float


@inline
def start_core(launch: float) -> Progress:
    """A core at the launch."""
    return Progress(launch, launch, launch, launch, launch)


@inline
def take_step(at: Progress, step: Step, bias: float) -> Progress:
    """Load a step and work on it."""
    first = max(at.loaded, at.free + step.first_latency) + step.first
    second = max(step.second, step.shared) + bias
    loaded = max(first, at.free + step.second_latency) + second
    worked = max(at.worked, loaded) + step.work
    return Progress(loaded, worked, at.next_free, worked, at.stored)


@inline
def step_period(step: Step) -> float:
    """Time of a step among many: the longest cycle through loads, V and the release of UB.

    At first all cores load together, and each waits for the HBM to serve all. Where slabs cost
    different times the cores drift apart, and then the HBM holds up only all of them together.
    """
    loads = step.first + step.second
    latency = max(step.second_latency + step.second, step.first_latency + loads)
    return max(max(max(loads, step.shared), step.work), (latency + step.work) / BUFFERS)


@inline
def skip(at: Progress, cycles: float) -> Progress:
    """The same state, later; only the last store has been."""
    return Progress(
        at.loaded + cycles,
        at.worked + cycles,
        at.free + cycles,
        at.next_free + cycles,
        at.stored,
    )


@inline
def take_tile(at: Progress, tile: VectorTile) -> Progress:
    """All steps of a tile, its finish and its store."""
    bias = tile.bias
    left = tile.steps - 1.0
    followed = min(left, EXACT_STEPS)
    done = 0.0
    while done < followed:
        at = take_step(at, tile.step, bias)
        bias = 0.0
        done += 1.0
    at = skip(at, (left - followed) * step_period(tile.step))
    at = take_step(at, tile.last_step, bias)
    worked = max(at.worked, at.stored) + tile.finish
    return Progress(at.loaded, worked, at.free, at.next_free, worked + tile.store)


@jit
def take_tiles(at: Progress, tile: VectorTile, count: float) -> Progress:
    """Equal tiles one after the other."""
    followed = min(count, EXACT_TILES)
    before, done = at.stored, 0.0
    while done < followed:
        if done == followed - BUFFERS:
            before = at.stored
        at = take_tile(at, tile)
        done += 1.0
    further = (count - followed) * ((at.stored - before) / BUFFERS)
    at = skip(at, further)
    return Progress(at.loaded, at.worked, at.free, at.next_free, at.stored + further)


@inline
def tile_loads(tile: VectorTile) -> float:
    """Time of a tile's loads without waiting."""
    step, last = tile.step, tile.last_step
    whole = (tile.steps - 1.0) * (step.first + max(step.second, step.shared))
    return whole + last.first + max(last.second, last.shared) + tile.bias


@inline
def tile_work(tile: VectorTile) -> float:
    """Time of V for a tile without waiting."""
    return tile.steps * tile.step.work + tile.finish
