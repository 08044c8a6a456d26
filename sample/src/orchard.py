"""Totals of a harvest file: python3 src/orchard.py data/harvest.csv"""
import csv
import sys


def totals(rows):
    """Crates per variety; rows without a number are skipped."""
    sums = {}
    for row in rows:
        if row["crates"].isdigit():
            sums[row["variety"]] = sums.get(row["variety"], 0) + int(row["crates"])
    return sums


def main(path):
    # TODO: read the price list too
    with open(path, newline="") as f:
        for variety, crates in sorted(totals(csv.DictReader(f)).items()):
            print(f"{variety:12} {crates:5}")


if __name__ == "__main__":
    main(sys.argv[1])
