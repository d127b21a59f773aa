"""Options of the command line that are made from a schema: a method's, or a training's."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args, get_origin

import typer
from typer.core import TyperCommand

from decost.cli.shared import InputError
from decost.method.options import ImprovingOptions, Options

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Fields: TypeAlias = "Mapping[str, FieldInfo]"

_MADE, _GIVEN = "decost.made", "decost.given"


class SchemaCommand(TyperCommand):
    """A command that takes the options of a schema beside its own, which decide on the schema."""

    def fields_of(self, given: dict[str, Any], rest: list[str]) -> Fields:
        """Choose fields by the command's own options, and the words that are none of them."""
        raise NotImplementedError

    def get_params(self, ctx: Any) -> list[Any]:
        """List the command's own parameters, those of the schema, and help."""
        *own, help_option = super().get_params(ctx)
        return [*own, *ctx.meta.get(_MADE, ()), help_option]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command's own options, then all of them with the schema that they ask for."""
        parser = self.make_parser(ctx)
        parser.ignore_unknown_options = True
        given, rest, _ = parser.parse_args(list(args))
        own = {parameter.name for parameter in self.params}
        if ctx.resilient_parsing:  # a shell asks for completions: any option may come
            rest = [*rest, "-"]
        try:
            found = self.fields_of(given, rest)
        except ValueError:
            if not ctx.resilient_parsing:
                raise
            found = {}
        fields = {name: field for name, field in found.items() if name not in own}
        ctx.meta[_MADE] = options_of(fields)
        left = super().parse_args(ctx, [_flag(word, fields) for word in args])
        values = {made.name: ctx.params.pop(made.name) for made in ctx.meta[_MADE]}
        ctx.meta[_GIVEN] = {name: value for name, value in values.items() if value is not None}
        return left


def given_options(context: typer.Context) -> dict[str, Any]:
    """Give the options of the schema that were given, as words for the schema to read."""
    return dict(context.meta[_GIVEN])


def own_fields(options: type[Options]) -> Fields:
    """Give the options that a method has beside those that all may have."""
    common = ImprovingOptions.model_fields
    return {name: field for name, field in options.model_fields.items() if name not in common}


def options_of(fields: Fields) -> list[Any]:
    """Make an option of every field; whether a value is right is up to the schema."""
    parameters = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=_annotation(name, field))
        for name, field in fields.items()
    ]

    def command(**given: object) -> None:
        """Stand for a command with these options."""

    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    maker = typer.Typer(add_completion=False, rich_markup_mode=None)
    maker.command()(command)
    return list(typer.main.get_command(maker).params)


def _annotation(name: str, field: FieldInfo) -> Any:
    flag = name.replace("_", "-")
    if field.annotation is bool:
        default = flag if field.default else f"no-{flag}"
        about = f"{field.description or ''}  [default: {default}]"
        option = typer.Option(f"--{flag}/--no-{flag}", help=about, show_default=False)
        return Annotated[bool | None, option]
    default = "" if field.default in ("", None) else f"  [default: {field.default}]"
    about = f"{field.description or ''}{default}"
    option = typer.Option(f"--{flag}", help=about, metavar=_metavar(field), show_default=False)
    return Annotated[str | None, option]


def _metavar(field: FieldInfo) -> str:
    kinds = [kind for kind in get_args(field.annotation) if kind is not type(None)]
    if get_origin(field.annotation) is Literal:
        return f"<{'|'.join(map(str, kinds))}>"
    kind = kinds[0] if kinds else field.annotation
    return f"<{getattr(kind, '__name__', 'str')}>"


def _flag(word: str, fields: Fields) -> str:
    """Read --flag=false and the like as --no-flag, which is what the parser knows."""
    flag, equals, value = word.partition("=")
    field = fields.get(flag.removeprefix("--").replace("-", "_"))
    if not (equals and flag.startswith("--") and field is not None and field.annotation is bool):
        return word
    if value.lower() in ("true", "1", "yes", "on"):
        return flag
    if value.lower() in ("false", "0", "no", "off"):
        return f"--no-{flag.removeprefix('--')}"
    raise InputError(f"{word}: must be true or false")
