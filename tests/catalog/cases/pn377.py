"""The blocks chosen over a grid of sizes, against the conditions that the CUDA kernel checks before it runs.

``kernel_gets`` is the depth that reaches the kernel through the function that calls it. ``sum_of_128`` adds up what is
chosen for groups of 128, and ``legal_before`` has smaller groups: choices that the kernel took may not change.
"""

import itertools

ID = "PN377"
STUBS = "the CUDA kernel, which here only notes its arguments; the choice of the block and its caller are the real ones"
VERDICTS = dict.fromkeys(("0.23.0", "0.24.0", "0.30.0", "0.32.0", "0.33.0"), "applied")
RED = {
    "sixteen_groups": 512,
    "three_groups": 96,
    "kernel_gets": 512,
    "illegal": 123,
    "sum_of_128": 16785024,
    "legal_before": [128, 256, 256],
    "triton": 64,
    "groups_of_128": 512,
}
GREEN = RED | {"sixteen_groups": 256, "three_groups": 64, "kernel_gets": 256, "illegal": 0}
GROUPS = (1, 2, 4, 8)


def observe(version):
    from vllm.model_executor.layers.fused_moe import fused_moe

    def chosen(tokens, size_k, size_n, group, experts=64, cuda=True):
        block = fused_moe.get_moe_wna16_block_config(
            config={},
            use_moe_wna16_cuda=cuda,
            num_valid_tokens=tokens,
            size_k=size_k,
            size_n=size_n,
            num_experts=experts,
            group_size=group,
            real_top_k=8,
            block_size_m=16,
        )
        return block["BLOCK_SIZE_K"]

    grid = [
        (group, size_k, chosen(tokens, size_k, size_n, group, experts))
        for group, tokens, size_k, size_n, experts in itertools.product(
            (32, 64, 128), (8, 16, 64), (512, 1344, 1536, 2048, 2880, 4096), (512, 1408, 4096), (8, 64, 256)
        )
        if size_k % group == 0
    ]
    illegal = [one for one in grid if not is_legal(*one)]
    return {
        "sixteen_groups": chosen(8, 2048, 512, 32),
        "three_groups": chosen(8, 1344, 512, 32),
        "kernel_gets": kernel_gets(fused_moe),
        "illegal": len(illegal),
        "sum_of_128": sum(n * block for n, (group, _, block) in enumerate(grid) if group == 128),
        "legal_before": [chosen(8, 512, 512, 32, 8), chosen(8, 1536, 512, 64, 8), chosen(8, 2048, 1408, 32, 1)],
        "triton": chosen(8, 2048, 512, 32, cuda=False),
        "groups_of_128": chosen(8, 2048, 512, 128),
    }


def is_legal(group, size_k, block):
    return block % group == 0 and size_k % block == 0 and block // group in GROUPS


def kernel_gets(fused_moe):
    import torch

    seen = []
    fused_moe.ops.moe_wna16_gemm = lambda *given: seen.append(given)
    fused_moe.invoke_fused_moe_wna16_cuda_kernel(
        A=torch.zeros(1, 2048),
        B=torch.zeros(64, 512, 1024, dtype=torch.uint8),
        C=torch.zeros(1, 8, 512),
        B_scale=torch.zeros(64, 512, 64),
        B_zp=None,
        topk_weights=None,
        sorted_token_ids=None,
        expert_ids=torch.zeros(1),
        num_tokens_post_padded=torch.zeros(1),
        mul_routed_weight=False,
        top_k=8,
        config={"BLOCK_SIZE_M": 16},
        block_shape=[0, 32],
    )
    (given,) = seen
    return given[-2]
