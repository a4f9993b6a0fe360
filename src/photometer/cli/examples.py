"""Examples that the help of each command ends with. A test checks that the command accepts each of them."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, ...]] = {
    "time": (
        'photometer time "x + 1" -s "x = torch.ones(64)"',
        'photometer time "x.sum()" "x.mean()" -s "x = torch.rand(n)" -L n=64,4096',
        'photometer time "torch.mm(x, x)" -s "x = torch.rand(64, 64)" --precision 0.01',
        'photometer time --instructions "x * x" -s "x = torch.ones(4)"',
        'photometer time --device "x + 1" -s "x = torch.ones(4096, device=\'cuda\')"',
    ),
    "ab": (
        'photometer ab "torch.add(x, x)" "x + x + x" -s "x = torch.ones(16)"',
        'photometer ab "x * 2" "x + x" "torch.add(x, x)" -s "x = torch.ones(16)" -o ranking.json',
        "photometer ab @old.py @new.py --instructions --fail-on slower",
    ),
    "run": (
        "photometer run standard -k matmul",
        "photometer run my_suite.py -o results --no-instructions",
        "photometer run my_suite.py -L n=16..4096*2 --rates",
    ),
    "init": ("photometer init", "photometer init --yes"),
    "compare": (
        "photometer compare",
        "photometer compare --fail-on slower:5%,memory:0 --format github -o comparison",
        "photometer compare git:merge-base:main git:WORKTREE --suite my_suite.py",
        "photometer compare pip:torch==2.12.1 pip:torch==2.13.0 --suite standard -o comparison",
        "photometer compare current env:OMP_NUM_THREADS=2 --suite my_suite.py",
        "photometer compare before.json after.json",
        "photometer compare current --calibrate --suite standard -k quick",
    ),
    "comment": ("photometer comment comparison --pull-request 7 --dry-run",),
    "compile-report": ('photometer compile-report "f(x)" -s "f = torch.sin; x = torch.ones(8)"',),
    "bisect": ("photometer bisect v1.0 main --suite my_suite.py -k linear",),
    "peaks": ("photometer peaks",),
    "flame": (
        'photometer flame "x.sum()" -s "x = torch.rand(4096)" -o flames',
        'photometer flame overrides -k "torch.add and SubTensor" --instructions',
    ),
    "fuzz": (
        'photometer fuzz "x.exp()" --against "x.abs()" --fuzzer unary -n 50 -o map.html',
        'photometer fuzz "x.sum(axis)" --fuzzer reduction --seed 3',
    ),
    "list": ("photometer list standard", "photometer list my_suite.py --variants -k backward"),
    "check": ("photometer check my_suite.py",),
    "show": (
        "photometer show results.json",
        "photometer show before.json after.json --by-file --relative %",
        "photometer show results.json -o table.md",
    ),
    "report": ("photometer report photometer-results/standard", "photometer report results.json -o page.html"),
    "load": ("photometer load old.pkl -o results.json",),
    "publish": ("photometer publish site",),
    "serve": ("photometer serve --port 0",),
    "doctor": ("photometer doctor", "photometer doctor -o doctor.html"),
    "cache": ("photometer cache", "photometer cache --clear --only snippets"),
    "history init": ("photometer history init",),
    "history add": ("photometer history add results.json --commit HEAD",),
    "history list": ("photometer history list -n 10",),
    "history show": ("photometer history show -k linear --metric time",),
    "history run": ("photometer history run git:v1.0..main --suite my_suite.py --commits 20",),
    "history changes": ("photometer history changes --metric instructions",),
    "history compare": ("photometer history compare v1.0 main",),
    "history export": ("photometer history export curves.csv -f csv",),
    "history prune": ("photometer history prune --before 2026-01-31 --yes",),
    "history doctor": ("photometer history doctor",),
}
