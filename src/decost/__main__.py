"""The command `decost`, and `python -m decost`."""

import _thread
import os
import sys
import time


def main() -> None:
    """Run the command line; Ctrl-C is heeded from the first import on."""
    sys.unraisablehook = _raise_again
    try:
        from decost.cli import main as run

        run()
    except (KeyboardInterrupt, Exception) as error:
        if not _comes_of_interrupt(error):
            raise
        sys.stderr.write("decost: interrupted\n")
        os._exit(130)


def _comes_of_interrupt(error: BaseException | None) -> bool:
    """Tell whether Ctrl-C is behind an error, as when a class of a library was being made."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Send Ctrl-C once more that came where nothing can be raised, as while a library is loaded."""
    if lost.exc_type is KeyboardInterrupt:
        _thread.start_new_thread(_interrupt_soon, ())  # here it would be lost as well
    else:
        sys.__unraisablehook__(lost)


def _interrupt_soon() -> None:
    time.sleep(0.01)
    _thread.interrupt_main()


if __name__ == "__main__":
    main()
