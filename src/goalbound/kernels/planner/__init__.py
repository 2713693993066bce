"""The planner's kernels: Bellman backups, the graph of a problem, a policy's chain, Dijkstra, and many contexts."""
