"""``python -m tcasm`` lists the regions of this user."""

from . import regions


def main() -> None:
    rows: list[tuple[str, ...]] = [
        ("NAME", "STATE", "PID", "VERSION", "STEP", "TIME", "FIELDS")
    ]
    for region in regions():
        name = f"{region.name} (kept)" if region.kept else region.name
        numbers = (region.pid, region.version, region.step, region.time)
        texts = ("-" if number is None else f"{number}" for number in numbers)
        rows.append((name, region.state, *texts, " ".join(region.fields)))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()
