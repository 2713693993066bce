"""Print the numbers of the house with budgets and goals; ``--write`` first lowers the budgets to them."""

import sys

from tests.house.budget import lower, table

if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        lower()
    print(table())
