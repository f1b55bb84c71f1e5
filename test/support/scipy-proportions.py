"""Makes the table of `libs/kernel/src/proportion.spec.ts` with scipy: `pip install scipy; python test/support/scipy-proportions.py`."""

from scipy.stats import binomtest, chi2_contingency, hypergeom

CASES = [
    (300, 1_000, 200, 1_000),
    (210, 1_000, 200, 1_000),
    (204_000, 1_000_000, 200_000, 1_000_000),
    (31, 412, 18, 405),
    (55, 9_988, 102, 10_012),
    (400, 1_000, 100, 1_000),
    (990, 1_000, 970, 1_000),
    (3, 40, 0, 38),
    (1, 1_000, 2, 1_000),
    (7, 12, 2, 11),
    (0, 20, 4, 20),
]


def p_value(a, of_a, b, of_b):
    """The z-test, which is chi-square without Yates's correction; Fisher's, its smaller tail doubled, below 5 expected cases."""
    pooled = (a + b) / (of_a + of_b)
    if min(of_a, of_b) * min(pooled, 1 - pooled) >= 5:
        return chi2_contingency([[a, of_a - a], [b, of_b - b]], correction=False).pvalue
    distribution = hypergeom(of_a + of_b, a + b, of_a)
    return min(1, 2 * min(distribution.cdf(a), distribution.sf(a - 1)))


for a, of_a, b, of_b in CASES:
    interval = binomtest(a, of_a).proportion_ci(0.95, method="wilson")
    low, high = float(interval.low), float(interval.high)
    print(f"    [[{a}, {of_a}], [{b}, {of_b}], [{low!r}, {high!r}], {float(p_value(a, of_a, b, of_b))!r}],")
