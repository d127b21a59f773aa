"""A wheel that carries machine code is for one platform, one Python and one numba."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CarriedKernels(BuildHookInterface):
    """Says so in the wheel's name and needs, if `make wheel` has put machine code there."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Look for machine code; put the examples where the studio finds them."""
        if version == "standard":
            build_data["force_include"]["examples/data"] = "decost/studio/examples"
        numba = Path(self.root) / "src" / "decost" / "kernels" / "numba.txt"
        if version == "standard" and numba.is_file():
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
            build_data["dependencies"] = [f"numba=={numba.read_text().strip()}"]
