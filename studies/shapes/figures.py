"""The figures of a model as its configuration gives them, and one device's share of them."""

import json
from collections.abc import Mapping
from pathlib import Path

CONFIGS_FILE = Path(__file__).with_name("llm_configs.json")
"""Configurations of public models, each with the file it was copied from under `_source`."""

EXPERT_COUNT_KEYS = ("n_routed_experts", "num_experts", "num_local_experts")
"""Names that model families give the number of routed experts."""


class SkippedError(Exception):
    """A layer cannot be derived from the figures; the message says why. Its generator notes it."""


class ModelFigures:
    """The integers of one model's configuration, as the layers of one device need them."""

    def __init__(self, name: str, config: Mapping[str, object], tp: int) -> None:
        """Take the configuration of the model called `name`, to be split over `tp` devices."""
        self.name = name
        self.tp = tp
        self._config = config

    @property
    def source(self) -> str:
        """Where the configuration was copied from."""
        return str(self._config.get("_source", "unknown"))

    @property
    def is_mla(self) -> bool:
        """Attention is of the latent kind: queries and keys go through low-rank projections."""
        return self._has("q_lora_rank") or self._has("kv_lora_rank")

    @property
    def is_moe(self) -> bool:
        """Some layers route each token to a few of many experts."""
        return any(self._has(key) for key in EXPERT_COUNT_KEYS)

    def need(self, key: str) -> int:
        """The figure `key`.

        Raises:
            SkippedError: the configuration lacks it.
        """
        value = self._config.get(key)
        if not isinstance(value, int):
            raise SkippedError(f"lacks {key}")
        return value

    def split(self, key: str) -> int:
        """One device's share of the figure `key`.

        Raises:
            SkippedError: the configuration lacks it or it does not divide by tp.
        """
        return self._divide(key, self.need(key))

    def heads(self) -> int:
        """Query heads on one device."""
        return self.split("num_attention_heads")

    def kv_heads(self) -> int:
        """Key and value heads on one device; replicated when there are fewer than devices.

        Raises:
            SkippedError: neither count divides the other.
        """
        total = self.need("num_key_value_heads")
        if total < self.tp and self.tp % total == 0:
            return 1
        return self._divide("num_key_value_heads", total)

    def head_dim(self) -> int:
        """Elements of a head: hidden size over heads unless given.

        Raises:
            SkippedError: it is not given and the hidden size does not divide by the heads.
        """
        if self._has("head_dim"):
            return self.need("head_dim")
        hidden, heads = self.need("hidden_size"), self.need("num_attention_heads")
        if hidden % heads:
            raise SkippedError(f"hidden_size {hidden} does not divide by {heads} heads")
        return hidden // heads

    def experts(self) -> int:
        """Routed experts of a layer, over all devices.

        Raises:
            SkippedError: the configuration lacks them.
        """
        for key in EXPERT_COUNT_KEYS:
            if self._has(key):
                return self.need(key)
        raise SkippedError("lacks a number of experts")

    def dense_layers(self) -> int:
        """Layers with a dense feed-forward part: all without experts, else the first few."""
        return self._get("first_k_dense_replace", 0) if self.is_moe else self.layers()

    def moe_layers(self) -> int:
        """Layers with experts.

        Raises:
            SkippedError: only every n-th layer has experts, which the lists do not cover.
        """
        if self._get("decoder_sparse_step", 1) != 1:
            raise SkippedError("has experts in every n-th layer only")
        return self.layers() - self.dense_layers() if self.is_moe else 0

    def layers(self) -> int:
        """Decoder layers."""
        return self.need("num_hidden_layers")

    def has_shared_experts(self) -> bool:
        """Every token also passes through experts that are always on."""
        return self.is_moe and self._get("n_shared_experts", 0) > 0

    def shared_intermediate(self) -> int:
        """One device's share of the intermediate size of all shared experts of a layer.

        Raises:
            SkippedError: a figure is missing or does not divide by tp.
        """
        total = self.need("n_shared_experts") * self.need("moe_intermediate_size")
        return self._divide("shared expert size", total)

    def _has(self, key: str) -> bool:
        return self._config.get(key) is not None

    def _get(self, key: str, default: int) -> int:
        return self.need(key) if self._has(key) else default

    def _divide(self, what: str, total: int) -> int:
        if total % self.tp:
            raise SkippedError(f"{what} {total} does not divide by tp {self.tp}")
        return total // self.tp


def load_configs(path: Path = CONFIGS_FILE) -> Mapping[str, Mapping[str, object]]:
    """Model name to configuration, of every model of the file."""
    configs = json.loads(path.read_text(encoding="utf-8"))
    return {name: config for name, config in configs.items() if not name.startswith("_")}
