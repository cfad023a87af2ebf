"""Where the engine keeps what: names of the columns of its integer arrays.

The compiled loops work on a few integer arrays instead of objects. Each group of names below
numbers the entries of one of them.
"""

# Vector `par`: problem, plan and constants, fixed during a run.
(
    CORES,
    ELEMENT_BYTES,
    C_ELEMENT_BYTES,
    BIAS_BYTES,
    LEN_M,
    LEN_N,
    LEN_K,
    BASE_M,
    BASE_N,
    BASE_K,
    K_L1,
    K_SLABS,
    C0,
    K_INNER_A,
    K_INNER_B,
    IS_NZ,
    WIDEN_A,
    WIDEN_B,
    L1_SLOTS,
    L0C_HALVES,
    UB_SLOTS,
    IS_WIDE_C,
    KEEP,
    RESIDENT,
    PRELOADS,
    FIRST_B,
    BYPASS_A,
    BYPASS_B,
    TRACKS_SIZES,
    CAPACITY,
    LAUNCH,
    L2_LATENCY,
    HBM_LATENCY,
    BUSY_LATENCY,
    PORT_Q,
    HBM_GRAINS,
    L2_GRAINS,
    FIXPIPE_Q,
    L0A_Q,
    L0B_Q,
    AIV_STORE_Q,
    WRITE_COST,
    WRITES_ALONE,
    WRITE_SPEED,
    WRITE_SLACK,
    LINE_WASTE,
    ROW_TICKS,
    STRADDLE_TICKS_A,
    STRADDLE_TICKS_B,
    PARTIAL_TICKS,
    FRACTAL_TICKS,
    TILE_TICKS,
    PAR_SIZE,
) = range(53)

# Values of par[KEEP]: what stays in L1.
KEEP_NOTHING, KEEP_A, KEEP_B, KEEP_A_PANEL, KEEP_B_PANEL = range(5)

# Array `items`, a row an item: its place and size, and its L2 objects.
(
    M_OFF,
    N_OFF,
    K_OFF,
    ROWS,
    COLS,
    DEPTH,
    K_SLAB,
    A_BLOCK,
    B_BLOCK,
    A_OWN,
    B_OWN,
    C_BLOCK,
    REUSES,
    ITEM_SIZE,
) = range(14)
NO_OBJECT = -1

# Array `core`, a row a core. First what cube and vector cores have in common, so that the same
# functions serve both. M3_: MTE3, the vector cores' way to memory. LD_: the next load.
(
    BUSY_MTE2,
    LAST_STORE,
    M3_TAKEN,
    M3_DONE,
    LD_STEP,
    LD_STEP_NO,
    COMMON_SIZE,
) = range(7)

# Then, on a cube core (`vector_setup.py` has those of a vector core): LD_: the next load. M1_:
# MTE1's next L0 step. CU_: the cube. H_: what is in the two L0 halves. FX_: the fixpipe.
MAX_SLOTS = 8
(
    LD_PRELOAD,
    LD_ITEM,
    LD_ITEMS_LEFT,
    LD_STEPS,
    LD_OPERAND,
    LD_LAST_OPERAND,
    LD_IS_STARTED,
    LD_FREE,
    LD_PORT_BYTES_A,
    LD_PORT_BYTES_B,
    LD_PORT_A,
    LD_PORT_B,
    M1_ITEM,
    M1_STEP,
    M1_STEPS,
    M1_STEP_NO,
    M1_LEFT,
    M1_ITEMS_LEFT,
    M1_FREE,
    M1_L0_NO,
    M1_PENDING,
    M1_TILE_ROWS,
    M1_TILE_COLS,
    M1_FULL_TICKS,
    M1_BLOCK_TICKS,
    M1_FULL_CUBE_TICKS,
    CU_FREE,
    CU_TILE,
    FX_TAKEN,
    FX_DONE,
    FX_SIZE,
    FX_TICKS,
    BUSY_MTE1,
    BUSY_CUBE,
    BUSY_FIX,
    LAST_WORKSPACE,
    H_FREE,
    _H_FREE_1,
    H_END,
    _H_END_1,
    H_TICKS,
    _H_TICKS_1,
    H_IS_FIRST,
    _H_IS_FIRST_1,
    H_LAST_OF,
    _H_LAST_OF_1,
    FX_START,
    _FX_START_1,
    FX_END,
    _FX_END_1,
    TILE_ITEM,
    _TILE_ITEM_1,
    TILE_START,
    _TILE_START_1,
    TILE_END,
    _TILE_END_1,
    UB_ITEM,
    _UB_ITEM_1,
    SLOT_FREE,
) = range(COMMON_SIZE, COMMON_SIZE + 59)
LOADED = SLOT_FREE + MAX_SLOTS
CORE_SIZE = LOADED + MAX_SLOTS

# Array `chan`, a row a channel: MTE2 of each core, then FIX of each, then MTE3 of each.
(
    STATE,
    NEED,
    EARLIEST,
    BEGIN,
    SLOT,
    WAITS_FOR,
    FOLLOWERS,
    KIND,
    HBM_BYTES,
    L2_BYTES,
    CHAN_SIZE,
) = range(11)
IDLE, ISSUED, IN_DATA = range(3)
HIT, FOLLOWER, LEADER, BYPASS = range(4)

# Vector `slots`: the row of `link` that holds an L2 object, 0 for an absent one. Array `link`:
# only objects that are not absent have a row; rows are used again. Sizes are in bytes.
O_STATE, O_PREV, O_NEXT, O_LEADER, O_DIRTY, O_SIZE, O_NUMBER, LINK_SIZE = range(8)
IN_FLIGHT, RESIDENT_OBJECT, EVICTED_IN_FLIGHT = range(1, 4)
NO_SLOT = 0
MAX_OBJECT_BYTES = (1 << 31) - 1

# Objects of a run: `slots` then takes 134 MB, what is left of 300 MB beside the interpreter.
MAX_OBJECTS = 1 << 25

# Vector `glob`: the state of the whole chip. The first entries come in pairs, HBM then L2.
HBM, L2 = 0, 1
(
    CLOCK,
    _CLOCK_1,
    SHARE_HEAD,
    _SHARE_HEAD_1,
    SHARE_TAIL,
    _SHARE_TAIL_1,
    NOW,
    PASS,
    CHANNEL,
    MIN_MTE2,
    MIN_OUT,
    WATCH_HEAD,
    WATCH_TAIL,
    WRITES_BACK,
    UNTIL,
    LIST_HEAD,
    LIST_TAIL,
    LIST_BYTES,
    LOADS,
    STORES,
    HITS,
    FOLLOWS,
    LOAD_BYTES,
    HBM_READ_BYTES,
    HBM_WRITE_BYTES,
    STORE_BYTES,
    LOG_ROWS,
    FREE_SLOT,
    USED_SLOTS,
    GLOB_SIZE,
) = range(30)

# Timer of a channel: time, pass and channel in one integer, so that the least one is the next.
CHANNEL_BITS = 10
PASS_BITS = 3
TIME_SHIFT = CHANNEL_BITS + PASS_BITS
CHANNEL_MASK = (1 << CHANNEL_BITS) - 1
PASS_MASK = (1 << PASS_BITS) - 1
NEVER = 1 << 62

# Array `share`: for HBM and L2 the targets of the active shares in ascending order between head
# and tail, and their channels.
TARGET, WHO = 0, 1
SHARE_ROOM = 4096

# Array `log`, a row a piece of a pipe's work: which core and pipe, from when to when, for which
# item, and a detail: of loads 8 * operand + kind (a load before the first item has item -1), of
# the vector unit whether it finishes a tile.
LOG_CORE, LOG_PIPE, LOG_START, LOG_END, LOG_ITEM, LOG_DETAIL, LOG_SIZE = range(7)
PIPE_MTE2, PIPE_MTE1, PIPE_CUBE, PIPE_FIX, PIPE_VECTOR, PIPE_MTE3 = range(6)
OPERAND_A, OPERAND_B = 0, 1
V_STEP_DONE, V_FINISH = 0, 1
LOG_OPERAND = 8
