"""Faults on purpose: processes are killed, disks fill and fail, power goes, bytes flip, messages come twice.

``python -m faults [--quick] [--only kill power ...]``; ``make faults``. Every part counts what it promises:
acknowledged steps that were lost, and actions that are not the ones that a replay gives. Both are to be 0. All traffic
stays on this machine.
"""
