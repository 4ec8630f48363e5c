"""The exceptions of the package. Those of wrong values are also the ones that Python itself raises."""

from __future__ import annotations


class ToolrouteError(Exception):
    """The base of all exceptions of this package."""


class CatalogError(ToolrouteError):
    """Tools, a catalog or a servers file that cannot be read."""


class RequestError(ToolrouteError, ValueError):
    """A prompt, an option, a policy or a table that is not as expected."""


class ModelError(ToolrouteError):
    """A model that is missing or that cannot be used."""


class CallError(ToolrouteError):
    """A tool that was not called, or that failed."""


class UnknownTool(RequestError, CallError):
    """A name that no tool of the router has."""


class ArgumentError(CallError, TypeError, ValueError):
    """Arguments that are missing, unknown, or do not fit their parameters: nothing was called."""


class ConfirmationNeeded(CallError):
    """A call that a person must agree to first; call again with `confirmed=True`."""


for _error in (
    ToolrouteError,
    CatalogError,
    RequestError,
    ModelError,
    CallError,
    UnknownTool,
    ArgumentError,
    ConfirmationNeeded,
):
    # Tracebacks and pickles name them as users import them.
    _error.__module__ = "toolroute"
