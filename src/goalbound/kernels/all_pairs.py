"""What is asked of every pair at once, in one call: from Python a call per pair costs more than what it computes."""

from goalbound.jit.compile import lean
from goalbound.kernels.algorithm import is_known
from goalbound.kernels.confidence import pair_set


@lean
def all_pair_sets(constants, learner, episode):
    """The sets of all pairs under the context of the episode. O(M d + N d^2), with bounds by the variance O(M d^2)."""
    for pair in range(len(episode.revision)):
        pair_set(constants, learner, episode, pair)


@lean
def known_pairs(constants, episode, out_known):
    """Which pairs are known, by the sets that the episode holds: ``out_known`` [N]. O(N)."""
    for pair in range(len(out_known)):
        out_known[pair] = is_known(constants, episode, pair)
