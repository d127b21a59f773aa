"""`decost studio`: plan in the browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from decost.cli.shared import InputError


def run(
    port: Annotated[
        int, typer.Option(help="Port; 0 for any that is free.", min=0, max=65535)
    ] = 8377,
    host: Annotated[
        str, typer.Option(help="Address; any but this computer's own needs tokens.")
    ] = "127.0.0.1",
    browser: Annotated[bool, typer.Option(help="Open the page.")] = True,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="Another name of it, such as a reverse proxy's.", metavar="NAME"),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(help="File with a line a client: NAME TOKEN. Or one token in DECOST_TOKEN."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="Folder of plans, instead of DECOST_DATA or the user's.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Plans to make at a time (one a core).", min=1, max=256)
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Most seconds of a plan.", min=0.1)] = 600.0,
    memory: Annotated[float, typer.Option(help="Most gigabytes of a worker.", min=0.5)] = 3.0,
    keep_days: Annotated[float, typer.Option(help="Days that plans are kept.", min=0)] = 30.0,
    keep_gigabytes: Annotated[
        float, typer.Option(help="Gigabytes that plans may take.", min=0)
    ] = 2.0,
) -> None:
    """Plan in the browser: a page on this computer, and a service for other programs.

    Needs the extra studio: pip install 'decost[studio]'.
    """
    from decost.studio.settings import Settings, SettingsError, data_folder

    settings = Settings(
        host=host,
        port=port,
        hosts=tuple(allow_host or ()),
        tokens=_tokens(tokens),
        data=data or data_folder(),
        workers=workers or os.cpu_count() or 1,
        time_limit=time_limit,
        memory=memory,
        days=keep_days,
        gigabytes=keep_gigabytes,
    )
    try:
        settings.require_safe()
    except SettingsError as error:
        raise InputError(str(error)) from None
    try:
        from decost.studio.serving import serve
    except ModuleNotFoundError as error:
        if error.name not in ("fastapi", "uvicorn", "starlette"):
            raise
        raise InputError(
            f"decost studio needs {error.name}, which comes with: pip install 'decost[studio]'"
        ) from None
    serve(settings, browser=browser, say=lambda words: typer.echo(words))


def _tokens(path: Path | None) -> dict[str, str]:
    """Read the tokens of clients, each with the client's name."""
    found: dict[str, str] = {}
    if os.environ.get("DECOST_TOKEN"):
        found[os.environ["DECOST_TOKEN"]] = "team"
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines() if path else (), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) != 2 or words[1] in found:
            raise InputError(f"{path}: line {number}: must be a name and a token of its own")
        found[words[1]] = words[0]
    for token in found:
        if len(token) < 16:
            raise InputError("a token has at least 16 characters, such as: openssl rand -hex 16")
    return found
