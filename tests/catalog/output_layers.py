"""Small models with an output layer, of a release's own layers, for the case about those: loaded, asked, loaded again.

Runs in the pin's Python, where ``server.py`` puts this folder on the path; a case imports it inside ``observe``.
"""

import contextlib
import sys

VOCABULARY, HIDDEN = 300, 64
READ = ("read_by_the_model", "read_by_another_name")


class Engine:
    """The release's layers, as on a card, and the kernel that the patch brings."""

    def __init__(self):
        import torch
        import vllm.config
        import vllm.envs
        from vllm.model_executor.layers import linear, logits_processor, vocab_parallel_embedding
        from vllm.model_executor.model_loader import utils
        from vllm.model_executor.model_loader.reload import layerwise

        self.config, self.envs, self.utils, self.layerwise = vllm.config, vllm.envs, utils, layerwise
        self.linear, self.logits, self.layers = linear, logits_processor, vocab_parallel_embedding
        self.tried, self.name, self.carried = set(), "", None
        plain = vocab_parallel_embedding.UnquantizedEmbeddingMethod
        for kind in (plain, linear.UnquantizedLinearMethod):
            kind.process_weights_after_loading = lambda self, layer: None  # a CPU would pack them
            kind.apply = lambda self, layer, x, bias=None: torch.nn.functional.linear(x, layer.weight, bias)
        with contextlib.suppress(ImportError):
            from vllm.genesis.carried import lm_head, lm_head_refusal, lm_head_trial

            self.carried, self.trial = lm_head, lm_head_trial
            lm_head.launching = self.launching
            lm_head_refusal.capability_of = self.capability_of

    def scene(self, name):
        self.name = name
        if self.carried:
            self.trial._TRIED.clear()
        return Scene(self, name)

    def capability_of(self, _weight):
        return {"on_an_older_card": (7, 5), "on_no_card": None}.get(self.name, (9, 0))

    def launching(self):
        if self.name == "without_the_kernel":
            raise ImportError("no triton")
        from stand_ins import Named
        from vllm.genesis.kernels.lm_head_fp8.plan import Shape

        return Named(
            None,
            shape_of=lambda x, weight: Shape(x.shape[0], x.shape[1], weight.shape[0], (9, 0), 4),
            lm_head_fp8=self.kernel,
        )

    def kernel(self, x, weight, scales, *, plan=None, out=None):
        import torch
        from vllm.genesis.kernels.lm_head_fp8.reference import reference

        if self.name == "a_kernel_that_fails":
            raise RuntimeError("no kernel image\nfor this device")
        if plan is not None:
            self.tried.add(x.shape[0])
            assert out.isnan().all()
        assert x.is_contiguous()
        assert weight.dtype == torch.float8_e4m3fn
        right = reference(x, weight, scales) * (1.1 if self.name == "a_kernel_that_is_wrong" else 1)
        return right.to(x.dtype) if out is None else out.copy_(right)


class Scene:
    """A model of an embedding and an output layer, loaded with random numbers."""

    def __init__(self, engine, name):
        import torch
        from stand_ins import Named

        torch.manual_seed(7)
        self.engine, self.name = engine, name
        self.hidden = 72 if name == "of_an_odd_size" else HIDDEN
        ranks = 2 if name == "a_shard" else 1
        for module in (engine.layers, engine.logits):
            module.get_tensor_model_parallel_rank = lambda: ranks - 1
            module.get_tensor_model_parallel_world_size = lambda: ranks
        processors = engine.logits
        processors.get_current_vllm_config = lambda: Named(None, model_config=Named(None, head_dtype=None))
        # One rank's logits alone are looked at.
        processors.tensor_model_parallel_gather = processors.tensor_model_parallel_all_gather = lambda logits, *_: (
            logits
        )
        self.processor = processors.LogitsProcessor(
            VOCABULARY, **({"scale": 0.5, "soft_cap": 30.0} if name == "capped_and_scaled" else {})
        )
        self.attribute = "markov_w2" if name == "read_by_another_name" else "lm_head"
        self.model = self.made()
        engine.layerwise.record_metadata_for_reloading(self.model)
        self.load(self.numbers())
        self.process()
        self.head = getattr(self.model, self.attribute, None)

    def made(self):
        import torch

        layers, name = self.engine.layers, self.name
        sizes = {"org_num_embeddings": VOCABULARY, "params_dtype": torch.bfloat16}

        class LM(torch.nn.Module):
            pass

        model = LM()
        model.embed_tokens = layers.VocabParallelEmbedding(VOCABULARY, self.hidden, **sizes)
        if name == "the_embedding_itself":
            return model
        LM.__module__ = "case_that_reads" if name in READ else "vllm.model_executor.models.llama"
        head = layers.ParallelLMHead(VOCABULARY, self.hidden, bias=name == "with_a_bias", **sizes)
        if name == "with_a_bias":
            head.bias.data.zero_()
        if name == "quantised_already":
            head.quant_method.__class__ = type("Other", (type(head.quant_method),), {})
        if name == "left_out_of_quantisation":
            head.quant_method = object.__new__(self.engine.linear.UnquantizedLinearMethod)
        if name == "tied":
            head = head.tie_weights(model.embed_tokens)
        if name == "tied_by_assignment":
            head.weight = model.embed_tokens.weight
        if name == "offloaded":
            head.weight._vllm_is_uva_offloaded = True
        setattr(model, self.attribute, head)
        if name == "in_the_targets_float32":
            model.logits_processor = torch.nn.Module()
            model.logits_processor.head_dtype = torch.float32
        return model

    def numbers(self):
        import torch

        return torch.randn(VOCABULARY, self.hidden, dtype=torch.bfloat16)

    def load(self, numbers):
        """By the layers' own loaders, each its shard, with rows of padding."""
        self.loaded = numbers
        for layer in dict.fromkeys(one for one in self.model.children() if hasattr(one, "weight")):
            layer.weight.weight_loader(layer.weight, numbers)

    def process(self):
        import torch
        from output_layer_ways import reading
        from stand_ins import Anything, Named

        name, engine = self.name, self.engine
        dtype = torch.float16 if name == "of_another_type" else torch.bfloat16
        config = Named(
            None,
            lora_config=object() if name == "with_lora" else None,
            speculative_config=Named(None, draft_lm_head_quantization="fp8") if name == "copied_for_drafts" else None,
        )
        model_config = Named(
            None,
            dtype=dtype,
            head_dtype=torch.float32 if name == "in_float32" else dtype,
            runner_type="pooling" if name == "for_pooling" else "generate",
            quantization=None,
            word_embeddings_untied_by_checkpoint=False,
        )
        engine.config.get_current_vllm_config_or_none = lambda: None if name == "in_an_unknown_engine" else config
        engine.envs.VLLM_BATCH_INVARIANT = name == "batch_invariant"
        if name in READ:
            sys.modules["case_that_reads"] = reading(self.attribute)
        self.config = Named(Anything(), **vars(model_config))
        engine.utils.process_weights_after_loading(self.model, model_config, torch.device("cpu"))

    def seen(self):
        import torch

        rows = {"many_rows": 200, "no_rows": 0}.get(self.name, 3)
        x = torch.randn(rows, self.hidden, dtype=torch.bfloat16)
        bias = torch.randn(self.head.weight.shape[0]) if self.name == "with_an_added_bias" else None
        logits = self.processor(self.head, x, bias)
        return {"weights": kind_of(self.head.weight), "logits": self.judged(logits, x, bias)}

    def shard(self):
        """The rows of the vocabulary that are this rank's, with zeros in the place of padding."""
        import torch

        indices = self.head.shard_indices
        mine = self.loaded[indices.org_vocab_start_index : indices.org_vocab_end_index].double()
        rows = self.head.num_embeddings_per_partition
        whole = torch.zeros(rows, self.hidden, dtype=torch.float64)
        whole[: len(mine)] = mine
        return whole[:VOCABULARY]

    def judged(self, logits, x, bias=None):
        """By which numbers these logits were computed: each kind is nearer to its own than a tenth of their distance."""
        right = {kind: self.after(x.double() @ weight.T, bias) for kind, weight in kinds(self.shard()).items()}
        if not logits.numel():
            return "fp8" if self.head.weight.dtype != x.dtype else "whole"
        off = {kind: float((logits.double() - one).norm() / one.norm()) for kind, one in right.items()}
        near = min(off, key=off.get)
        return near if off[near] < 6e-3 else off

    def after(self, logits, bias):
        logits = logits if bias is None else logits + bias.double()[: logits.shape[1]]
        return (logits / 30).tanh() * 30 * 0.5 if self.name == "capped_and_scaled" else logits

    def top_tokens(self):
        import torch

        x = torch.randn(64, self.hidden, dtype=torch.bfloat16)
        got = self.processor.get_top_tokens(self.head, x).tolist()
        best = {kind: (x.double() @ weight.T).to(x.dtype) for kind, weight in kinds(self.shard()).items()}
        right = {kind: sum(one[n, token] == one[n].max() for n, token in enumerate(got)) for kind, one in best.items()}
        return max(("whole", "fp8"), key=right.get) if max(right.values()) >= 62 else str(right)

    def shared(self):
        """A drafter that has the target's layer in the place of its own."""
        import torch

        drafter = torch.nn.Module()
        drafter.lm_head = self.head
        x = torch.randn(5, self.hidden, dtype=torch.bfloat16)
        return self.judged(self.processor(drafter.lm_head, x), x)

    def tied_later(self):
        """A layer that gets the embedding's weights after it was processed."""
        import torch

        self.head.weight = self.model.embed_tokens.weight
        x = torch.randn(5, self.hidden, dtype=torch.bfloat16)
        return "embedding" if self.judged(self.processor(self.head, x), x) == "whole" else "another"

    def loaded_again(self):
        """As the engine does it: all layers back to what they were made as, loaded, processed, put in the old places."""
        import torch

        before, layerwise = self.head.weight.data_ptr(), self.engine.layerwise
        layerwise.initialize_layerwise_reload(self.model)
        self.load(self.numbers())
        layerwise.finalize_layerwise_reload(self.model, self.config)
        x = torch.randn(5, self.hidden, dtype=torch.bfloat16)
        logits = self.judged(self.processor(self.head, x), x)
        same = self.head.weight.data_ptr() == before
        return {"weights": kind_of(self.head.weight), "logits": logits, "same_memory": same}

    def loaded_one_by_one(self):
        try:
            self.load(self.numbers())
        except RuntimeError as error:
            return "refused" if "PN77" in str(error) else repr(error)
        return "loaded"


def kinds(whole):
    """The weights as they were loaded, and as FP8 numbers with a scale a channel."""
    import torch

    scale = (whole.abs().amax(1, keepdim=True) / 448).clamp(min=1e-30)
    return {"whole": whole, "fp8": (whole / scale).to(torch.float8_e4m3fn).double() * scale}


def kind_of(weight):
    return str(weight.dtype).removeprefix("torch.")
