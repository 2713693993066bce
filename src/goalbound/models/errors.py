"""Errors of argument and file checks: what was wrong, where, and what to do about it."""


class ModelError(ValueError):
    """A problem that is not one: wrong shapes, numbers that are no probabilities, states without actions."""


class FileFormatError(ModelError):
    """A file that cannot be read as the model it claims to be. Nothing of it was used."""


class FileConflictError(ModelError):
    """A file that was not replaced: it holds what someone else wrote."""


class LargeFileWarning(UserWarning):
    """A file was written that is read only with a larger ``limit`` than the usual one."""
