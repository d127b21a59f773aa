"""Kernels that are compiled in half the time and kept by content, by numba's internals.

Numba optimises and translates every function by itself, then once more within each function that
calls it, and makes wrappers for callers from Python and C. Here a kernel is two dispatchers: one
for callers from Python, and a `part` for kernels that call it, which is typed and lowered once and
is optimised only as a part of what Python calls.

Only for versions of numba that `decost.compiled` knows; it does without this for others.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu_options import FastMathOptions
from numba.core.fastmathpass import rewrite_module
from numba.core.registry import CPUDispatcher

from decost.compiling import compiled, standstill
from decost.kernel_cache import KernelCache

RARELY = (100_000, 50, 100)
"""Thresholds of Python's garbage collector while it compiles, which takes a tenth less then."""


class _Codegen:
    """A code generator for which environments are set later, where the code is."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: there is no code yet."""


class _Library(JITCodeLibrary):
    """The code of a function, of which the arithmetic may be loosened.

    Not by numba, which hands that on to whatever is compiled for it, such as a minimum that is
    then shared with kernels that count on infinities.
    """

    loosened: FastMathOptions

    def add_ir_module(self, ir_module: Any) -> None:
        """Add the code of the function itself."""
        if self.loosened:
            rewrite_module(ir_module, self.loosened)
        super().add_ir_module(ir_module)


class _Part(_Library):
    """The code of one function, without that of others, to become a part of a whole."""

    @property
    def codegen(self) -> _Codegen:
        """What makes machine code, but not of this."""
        return _Codegen(self._codegen)

    def finalize(self) -> None:
        """Get ready for linking, and no more."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name == "external":
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Give no pointer: there is no machine code."""
        self._ensure_finalized()
        return 0


class _Whole(_Library):
    """The code of a function and of all that it calls."""

    def finalize(self) -> None:
        """Link all parts, optimise, and make machine code."""
        # Callers come before what they call: the linker leaves out what nobody has called so far.
        self._linking_libraries = _in_order_of_calls(self)[1:]
        super().finalize()

    def _optimize_final_module(self) -> None:
        # Nobody else calls the parts of this module, which lets more of them be merged, and keeps
        # parts of one name in code of two processes apart. Those of numba's runtime are known by
        # name.
        for function in self._final_module.functions:
            if function.linkage.name == "linkonce_odr" and not function.name.startswith("NRT_"):
                function.linkage = "internal"
        super()._optimize_final_module()


def _in_order_of_calls(whole: JITCodeLibrary) -> list[JITCodeLibrary]:
    """List a library and all that it needs, each before those that it calls."""
    seen = {whole}
    called_first: list[JITCodeLibrary] = []

    def visit(library: JITCodeLibrary) -> None:
        if library is whole or isinstance(library, _Part):
            for other in library._linking_libraries:
                if other not in seen:
                    seen.add(other)
                    visit(other)
        called_first.append(library)

    visit(whole)
    return called_first[::-1]


class _Pipeline(Compiler):
    """Numba's own steps, with a library of another kind."""

    library: type[_Library]
    loosened: FastMathOptions

    def compile_extra(self, function: Callable[..., object]) -> Any:
        """Compile a function."""
        state = self.state
        state.library = self.library(state.targetctx.codegen(), function.__qualname__)
        state.library.loosened = self.loosened
        state.library.enable_object_caching()
        return super().compile_extra(function)


class _PartPipeline(_Pipeline):
    library = _Part


class _WholePipeline(_Pipeline):
    library = _Whole


class _PartDispatcher(CPUDispatcher):
    """A function for kernels to call: compiled once for all numbers, also for constants."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Compile the function for some types, if that has not been done."""
        args = tuple(types.unliteral(one) for one in args)
        kws = {name: types.unliteral(one) for name, one in kws.items()}
        return super().get_call_template(args, kws)

    def compile(self, sig: Any) -> Any:
        """Compile, and say so when it is for the first time."""
        first = not self.overloads
        entry = super().compile(sig)
        if first:
            compiled(self.py_func.__name__)
        return entry


class Kernel(CPUDispatcher):
    """A function that is compiled for callers from Python, and as a part of other kernels."""

    def __init__(self, function: Callable[..., object], **settings: Any) -> None:
        loosened = {"loosened": FastMathOptions(settings.pop("fastmath", False))}
        settings |= {"nopython": True, "boundscheck": None, "no_cfunc_wrapper": True}
        whole = type("_Loosened", (_WholePipeline,), loosened)
        super().__init__(function, targetoptions=settings, pipeline_class=whole)
        inner = settings | {"no_cpython_wrapper": True}
        part = type("_Loosened", (_PartPipeline,), loosened)
        self.part = _PartDispatcher(function, targetoptions=inner, pipeline_class=part)
        self._cache = KernelCache(function, self.missing)

    @property
    def _numba_type_(self) -> types.Dispatcher:
        """What a kernel sees that calls this one."""
        return types.Dispatcher(self.part)

    def compile(self, sig: Any) -> Any:
        """Compile or load, while the clock stands still."""
        with global_compiler_lock, standstill():
            usual = gc.get_threshold()
            gc.set_threshold(*RARELY)  # there is little garbage, and much to look through
            try:
                return super().compile(sig)
            finally:
                gc.set_threshold(*usual)

    def missing(self) -> int:
        """Count the kernels that are to be compiled before this one, and this one."""
        seen: set[Kernel] = set()
        rest = [self]
        while rest:
            kernel = rest.pop()
            seen.add(kernel)
            rest += [one for one in kernel.called() if one not in seen]
        return 1 + sum(not one.part.overloads for one in seen - {self})

    def called(self) -> Iterator[Kernel]:
        """List the kernels that this one may call."""
        for name in self.py_func.__code__.co_names:
            value = self.py_func.__globals__.get(name)
            if isinstance(value, Kernel):
                yield value

    def add_overload(self, code: Any) -> None:
        """Take compiled code, and set the environments of all functions that are parts of it."""
        for environment in code._find_referenced_environments():
            code.codegen.set_env(environment.env_name, environment)
        super().add_overload(code)
