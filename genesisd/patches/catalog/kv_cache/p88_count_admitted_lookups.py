"""P88: a request that waits for blocks is looked up in the prefix cache again at every step, and counted each time.

The hit rate that operators watch is then that of whoever waits longest, just when the cache is full. What is counted
is what was used: a lookup whose request was admitted.
"""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Marker, Placement, Variant, replacing
from genesisd.patches.flags import Flag
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Patch, Study

MANAGER = "vllm/v1/core/kv_cache_manager.py"
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
EVERY_LOOKUP = """
                    new_computed_blocks, num_new_local_computed_tokens = (
                        self.kv_cache_manager.get_computed_blocks(request)
                    )
"""
RETURN = "        return self.create_kv_cache_blocks(computed_blocks), num_new_computed_tokens\n"
COUNTED = """\
        if self.log_stats:
            assert self.prefix_cache_stats is not None
            self.prefix_cache_stats.record(
                num_tokens=request.num_tokens,
                num_hits=num_new_computed_tokens,
                preempted=request.num_preemptions > 0,
            )

"""
COUNTED_PER_GROUP = """\
                        num_new_local_computed_tokens = max(per_group_hits)
                        if self.kv_cache_manager.log_stats:
                            assert self.kv_cache_manager.prefix_cache_stats is not None
                            self.kv_cache_manager.prefix_cache_stats.record(
                                num_tokens=request.num_tokens,
                                num_hits=num_new_local_computed_tokens,
                                preempted=request.num_preemptions > 0,
                            )
"""
ADMITTED = """\
                prefix_cache_stats = self.kv_cache_manager.prefix_cache_stats
                if (
                    prefix_cache_stats is not None
                    and request.num_computed_tokens == 0
                    and self.kv_cache_manager.enable_caching
                    and not request.skip_reading_prefix_cache
                ):
                    prefix_cache_stats.record(
                        num_tokens=request.num_tokens,
                        num_hits=num_new_local_computed_tokens,
                        preempted=request.num_preemptions > 0,
                    )

"""

PATCH = Patch(
    id="P88",
    title="Count a prefix cache lookup when its request is admitted",
    family="kv_cache",
    lifecycle=Lifecycle.STABLE,
    stable_kind=StableKind.BEHAVIOUR,
    origin=Origin.BACKPORT,
    flag=Flag("P88_PREFIX_CACHE_STATS_ONCE"),
    upstream=(45202,),
    credit="vLLM contributors",
    applied_upstream="0.28.0",
    versions=">=0.23.0",
    edits=(
        replacing(
            "not_at_lookup",
            MANAGER,
            "KVCacheManager.get_computed_blocks",
            COUNTED + RETURN,
            "        # The scheduler counts it, once the request is admitted.\n" + RETURN,
        ),
        AnchorEdit(
            "not_at_lookup_per_group",
            SCHEDULER,
            "Scheduler.schedule",
            (Variant(COUNTED_PER_GROUP, COUNTED_PER_GROUP.partition("\n")[0] + "\n"),),
            required=False,
            unless=Marker(SCHEDULER, EVERY_LOOKUP, "Scheduler.schedule"),
        ),
        AnchorEdit(
            "at_admission",
            SCHEDULER,
            "Scheduler.schedule",
            (
                Variant(
                    "                request = request_queue.pop_request()\n                if load_kv_async:\n",
                    ADMITTED,
                ),
            ),
            Placement.BEFORE,
        ),
    ),
    markers=(Marker(MANAGER, "def record_prefix_cache_stats("),),
    study=Study(
        upstream="counts at admission, in the same place, by a method of the cache manager",
        ours="the same, from the counters themselves",
        tests="a request that waits some steps for blocks, and then hits a prefix",
    ),
)
