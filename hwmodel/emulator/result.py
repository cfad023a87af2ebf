"""EmulationResult: what a run of the emulator says."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CoreActivity:
    """One core's pipes in ticks: how long each worked.

    Attributes:
        mte2_ticks: time with a load in its data phase.
        mte1_ticks: time spent moving L1 to L0.
        cube_ticks: time spent multiplying (the durations; waiting for the fixpipe is not work).
        fixpipe_ticks: time with a store under way (on a vector core that of MTE3).
        end_ticks: completion of the core's last store.
        vector_ticks: time spent computing on a vector core.
    """

    mte2_ticks: int
    mte1_ticks: int
    cube_ticks: int
    fixpipe_ticks: int
    end_ticks: int
    vector_ticks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulationResult:
    """One emulated kernel; ticks are 1/256 cycle, bytes are of the whole chip.

    Attributes:
        makespan_ticks: from the launch to the end of the kernel.
        events: loads and stores completed.
        loads: loads completed.
        hits: loads that found their object resident.
        follows: loads that waited for another core's load of the same object.
        load_bytes: bytes moved into L1.
        hbm_read_bytes: bytes read from HBM, with the lines' waste that is paid.
        hbm_write_bytes: dirty bytes written back.
        store_bytes: bytes stored (C and workspace).
        cores: per core, what its pipes did.
        emulated_events: events of the runs from which the result was extrapolated
            (docs/emulator.md, section 9); None when every event was emulated.
    """

    makespan_ticks: int
    events: int
    loads: int
    hits: int
    follows: int
    load_bytes: int
    hbm_read_bytes: int
    hbm_write_bytes: int
    store_bytes: int
    cores: tuple[CoreActivity, ...]
    emulated_events: int | None = None

    @property
    def is_extrapolated(self) -> bool:
        """Whether the result was extrapolated from smaller kernels."""
        return self.emulated_events is not None
