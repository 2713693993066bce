"""Is this a release? Builds wheel and sdist, installs them into empty environments, and uses what they promise.

``python -m release`` is the short form, part of CI; ``python -m release --full`` (``make release-check``) also has
every Python that is found, the lower bounds of the dependencies, and the extras of those who develop goalbound.
Not part of the package. Packages come from where pip is configured to find them (:mod:`release.index`).
"""
