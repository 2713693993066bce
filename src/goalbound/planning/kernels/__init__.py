"""The planner's kernels: Bellman backups, graphs, chains, Dijkstra, steps of policy iteration, many contexts."""
