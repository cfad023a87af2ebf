"""KernelCosts: the result of every closed form of the pipeline model."""

from typing import NamedTuple


class KernelCosts(NamedTuple):
    """Parts of the time and what explains them; cycles of a core and bytes of the chip.

    `launch + prologue + rounds + epilogue` is the predicted time, `total`. The busy times are
    those of the busiest core; `balance_ratio` is the mean work of the cores over its work,
    `mte1_bytes` and `fixpipe_bytes` are those that all of them move into and out of L0.
    """

    launch: float
    prologue: float
    rounds: float
    epilogue: float
    cube_busy: float
    mte2_busy: float
    mte1_busy: float
    fixpipe_busy: float
    vector_busy: float
    hbm_read_bytes: float
    read_bytes: float
    write_bytes: float
    mte1_bytes: float
    fixpipe_bytes: float
    balance_ratio: float
    round_count: float
    total: float
