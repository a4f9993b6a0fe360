from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"
