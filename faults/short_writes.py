"""Writes that write less than they were asked to: once, and until no more can be written."""

from __future__ import annotations

import random
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from faults.result import Result
from faults.world import check_told, environment, told_by

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>
static unsigned long calls;
static size_t some(size_t size) {
  const char *every = getenv("SHORT_EVERY");
  unsigned long n = every ? strtoul(every, 0, 10) : 0;
  return n && size > 1 && ++calls % n == 0 ? 1 + size / 3 : size;
}
ssize_t write(int file, const void *data, size_t size) {
  static ssize_t (*real)(int, const void *, size_t);
  if (!real) real = dlsym(RTLD_NEXT, "write");
  return real(file, data, file > 2 ? some(size) : size);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
  static ssize_t (*real)(int, const void *, size_t, off64_t);
  if (!real) real = dlsym(RTLD_NEXT, "pwrite64");
  return real(file, data, some(size), at);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) { return pwrite64(file, data, size, at); }
"""


def short_writes(folder: Path, *, runs: int) -> Result:
    """Every few writes are short, or files may not grow any more in the midst of a write: nothing told is lost."""
    result, rng = Result("short writes"), random.Random(0)
    library = _library(folder)
    result.add("runs with short writes", 0)
    for number in range(runs):
        store = folder / f"store{number}"
        if library is not None and number % 2:
            every = rng.choice((1, 2, 3, 7, 20))
            extra = {"LD_PRELOAD": str(library), "SHORT_EVERY": str(every)}
            done = _run(store, environment() | extra, None)
            what, codes = f"every {every}. write is short", (0,)
            result.add("runs with short writes")
        else:
            size = rng.randrange(20_000, 400_000)  # within a page, too
            done = _run(store, environment(), size)
            what, codes = f"files of {size} bytes at most", (0, 3, 4, 5)
            result.add("runs with files that cannot grow")
        result.check(done.returncode in codes, f"{what}: it ended with {done.returncode}: {done.stderr[-300:]}")
        if (store / "log.sqlite").exists():
            check_told(result, store, told_by(done.stdout))
        shutil.rmtree(store, ignore_errors=True)
    if library is None:
        result.counts["without a C compiler, so only by the size of files"] = 1
    return result


def _run(store: Path, variables: dict[str, str], size: int | None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    words = [sys.executable, "-m", "faults.workload", str(store), "120"]
    return subprocess.run(words, env=variables, preexec_fn=limit, capture_output=True, check=False, text=True)


def _library(folder: Path) -> Path | None:
    """A library whose write and pwrite now and then write a part only; None: there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        return None
    source, target = folder / "short.c", folder / "short.so"
    source.write_text(_SOURCE, encoding="ascii")
    words = [compiler, "-shared", "-fPIC", "-O1", "-o", str(target), str(source), "-ldl"]
    return target if subprocess.run(words, capture_output=True, check=False).returncode == 0 else None
