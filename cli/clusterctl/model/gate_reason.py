"""Why a gate did not pass on a node, as a code. People read `GateResult.detail`; programs read this."""

from __future__ import annotations

from enum import StrEnum


class GateReason(StrEnum):
    """Why a result is not a pass.

    The first group is also the error code of a raw record: the command gave no exit status.
    """

    NODE_UNREACHABLE = "node_unreachable"
    NO_RECORD = "no_record"
    NODE_BUSY = "node_busy"
    IN_USE = "in_use"
    NOT_INSTALLED = "not_installed"
    PEER_SILENT = "peer_silent"
    PEER_AHEAD = "peer_ahead"
    PORT_TAKEN = "port_taken"
    TIMED_OUT = "timed_out"
    KILLED = "killed"
    INTERRUPTED = "interrupted"
    AGENT_FAILED = "agent_failed"
    REBOOTED = "rebooted"

    # The gate could not be planned on the node.
    NO_PARTNER = "no_partner"
    NO_DEVICE = "no_device"
    LEFT_OUT = "left_out"

    # The output is not evidence.
    NO_EVIDENCE = "no_evidence"
    EXIT_STATUS = "exit_status"
    UNPARSABLE = "unparsable"
    # The gate's own code raised an exception.
    GATE_RAISED = "gate_raised"
    INCOMPLETE = "incomplete"
    SERVER_SILENT = "server_silent"
    PEER_ENDED = "peer_ended"
    GPU_MEMORY_UNREGISTERED = "gpu_memory_unregistered"
    # A program does not find libcuda or libnvidia-ml on the host, or one that is older than its CUDA.
    DRIVER_LIBRARY = "driver_library"
    # The tool does not connect to the kind of address that the nodes have.
    ADDRESS_UNUSABLE = "address_unusable"
    # Another node of the group is at fault, and named.
    GROUP_SPOILED = "group_spoiled"
    NVLINK_UNUSABLE = "nvlink_unusable"
    NVLS_UNUSABLE = "nvls_unusable"
    FABRIC_NOT_READY = "fabric_not_ready"
    TOOL_FAILED = "tool_failed"
    # A declared file system is not mounted, so nothing was written.
    NOT_MOUNTED = "not_mounted"
    # Of a file system, or of memory.
    NO_SPACE = "no_space"
    WRONG_RUN = "wrong_run"

    # What the output shows.
    BELOW_FLOOR = "below_floor"
    # At its floor, and far below equal devices.
    BELOW_PEERS = "below_peers"
    # The same of figures that are better the lower they are.
    ABOVE_LIMIT = "above_limit"
    ABOVE_PEERS = "above_peers"
    # Far below what the device itself read in earlier runs.
    BELOW_HISTORY = "below_history"
    # Of a class as a whole, not of a node: its median is below what its baseline expects.
    CLASS_SLOW = "class_slow"
    ABOVE_CEILING = "above_ceiling"
    NO_BASELINE = "no_baseline"
    NOT_COVERED = "not_covered"
    # Low between two ends that are proven.
    COLLISION = "collision"
    # Low behind a switch or uplinks that others are low behind, too, or below a floor as most nodes of the class are.
    SHARED_FAULT = "shared_fault"
    WRONG_RESULTS = "wrong_results"
    # A file, or memory, is read with another content than was written.
    WRONG_CONTENT = "wrong_content"
    # Of a shared file system, not of a node.
    IO_ERROR = "io_error"
    CONTENT_DIFFERS = "content_differs"
    LOCK_HELD_TWICE = "lock_held_twice"
    LOCK_NOT_GRANTED = "lock_not_granted"
    WRITE_NOT_SEEN = "write_not_seen"
    # Of ranks that train together, not of a node.
    LOSS_NOT_FINITE = "loss_not_finite"
    LOSS_NOT_FALLING = "loss_not_falling"
    RANKS_DIFFER = "ranks_differ"
    RANK_SLOW = "rank_slow"
    RESUME_DIFFERS = "resume_differs"
    UNCHECKED_RESULTS = "unchecked_results"
    WRONG_TRANSPORT = "wrong_transport"
    # NCCL uses another network plug-in there than on the other nodes.
    NETWORK_DIFFERS = "network_differs"
    UNKNOWN_TRANSPORT = "unknown_transport"
    TEST_FAILED = "test_failed"
    TEST_NOT_PASSED = "test_not_passed"
    NOT_ALLOCATED = "not_allocated"
    PERSISTENCE_OFF = "persistence_off"
    ROW_REMAP = "row_remap"
    RAISED_BY_LOAD = "raised_by_load"
    DEVICE_LOST = "device_lost"
    LINK_DOWNTRAINED = "link_downtrained"
    # The hardware throttled its own clock under load.
    SLOWED_DOWN = "slowed_down"
    # It may take less power than equal devices.
    POWER_LIMIT_LOW = "power_limit_low"
    # A tool of the driver took many times as long as it should.
    QUERY_SLOW = "query_slow"


# There is nothing to judge: the next action is about the measurement, not about what it found.
NOT_MEASURED = frozenset(
    {
        GateReason.NODE_UNREACHABLE,
        GateReason.NO_RECORD,
        GateReason.NODE_BUSY,
        GateReason.IN_USE,
        GateReason.NOT_INSTALLED,
        GateReason.PEER_SILENT,
        GateReason.PEER_AHEAD,
        GateReason.PORT_TAKEN,
        GateReason.TIMED_OUT,
        GateReason.KILLED,
        GateReason.INTERRUPTED,
        GateReason.AGENT_FAILED,
        GateReason.NO_EVIDENCE,
        GateReason.EXIT_STATUS,
        GateReason.UNPARSABLE,
        GateReason.GATE_RAISED,
        GateReason.INCOMPLETE,
        GateReason.SERVER_SILENT,
        GateReason.PEER_ENDED,
        GateReason.GPU_MEMORY_UNREGISTERED,
        GateReason.DRIVER_LIBRARY,
        GateReason.ADDRESS_UNUSABLE,
        GateReason.GROUP_SPOILED,
        GateReason.NVLINK_UNUSABLE,
        GateReason.NVLS_UNUSABLE,
        GateReason.FABRIC_NOT_READY,
        GateReason.TOOL_FAILED,
        GateReason.NOT_MOUNTED,
        GateReason.NO_SPACE,
        GateReason.WRONG_RUN,
    }
)
# The peer's fault, as one end of a pair reports it: the other end's own record is more to the point.
ABOUT_THE_PEER = frozenset({GateReason.PEER_SILENT, GateReason.PEER_AHEAD, GateReason.SERVER_SILENT, GateReason.PEER_ENDED})
