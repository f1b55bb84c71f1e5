/** A part of a whole number of cases. */
export interface Proportion {
  /** Whole, from 0 to `of`. */
  readonly part: number;
  readonly of: number;
}

interface Interval {
  readonly low: number;
  readonly high: number;
}

export type Comparison = 'higher' | 'lower' | 'same' | 'too-few';

/** Confidence of intervals, and the normal quantile of it. */
export const CONFIDENCE = 0.95;
const CONFIDENCE_Z = 1.959_963_984_540_054;

/**
 * Significance of comparisons, and the normal quantile of it (two-sided): chance alone makes such a difference no more often.
 * Stricter than the usual twentieth, since a report makes a handful of comparisons.
 */
export const CHANCE = 0.01;
const CHANCE_Z = 2.575_829_303_548_901;

/** The normal approximation holds from this many expected cases on either side. */
const FEWEST_EXPECTED = 5;

/** A difference below a twentieth of the usual is not worth a word, however sure it is. */
const SLIGHT = 0.05;

/** `part` is kept within 0 and `of`: a mail whose fate is unknown may be opened though it does not count as delivered. */
export function proportion(part: number, of: number): Proportion {
  const whole = Math.max(0, of);
  return { part: Math.min(Math.max(0, part), whole), of: whole };
}

/** 0 of nothing. */
export function shareOf({ part, of }: Proportion): number {
  return of === 0 ? 0 : part / of;
}

/** Interval of the true share with 95 % confidence: Wilson's score interval (E. B. Wilson, JASA 22, 1927). */
export function wilson({ part, of }: Proportion): Interval {
  if (of === 0) return { low: 0, high: 1 };
  const z2 = CONFIDENCE_Z ** 2;
  const centre = (part + z2 / 2) / (of + z2);
  const half = (CONFIDENCE_Z / (of + z2)) * Math.sqrt((part * (of - part)) / of + z2 / 4);
  return {
    low: part === 0 ? 0 : Math.max(0, centre - half),
    high: part === of ? 1 : Math.min(1, centre + half),
  };
}

/** The two-proportion z-test, pooled: positive when `a` is higher. 0 when both are all or nothing. */
export function zOf(a: Proportion, b: Proportion): number {
  const pooled = (a.part + b.part) / (a.of + b.of);
  const deviation = Math.sqrt(pooled * (1 - pooled) * (1 / a.of + 1 / b.of));
  return deviation > 0 ? (shareOf(a) - shareOf(b)) / deviation : 0;
}

/**
 * Probability that chance alone makes a difference like this or a larger one, two-sided: by the pooled z-test (which is the
 * chi-square test of the four numbers), by Fisher's exact test where cases are rare. 1 where there is nothing to compare.
 */
export function pValue(a: Proportion, b: Proportion): number {
  const parts = a.part + b.part;
  if (a.of === 0 || b.of === 0 || parts === 0 || parts === a.of + b.of) return 1;
  return isNormal(a, b) ? Math.min(1, 2 * upperTail(Math.abs(zOf(a, b)))) : fisher(a, b);
}

/** Probability that a standard normal variable is above `z`, which is not negative (Abramowitz and Stegun, 26.2.11 and 26.2.14). */
function upperTail(z: number): number {
  const density = Math.exp(-(z ** 2) / 2) / Math.sqrt(2 * Math.PI);
  if (z > 3) {
    let fraction = z;
    for (let term = 200; term >= 1; term -= 1) fraction = z + term / fraction;
    return density / fraction;
  }
  let [sum, power] = [0, z];
  for (let odd = 3; sum + power !== sum; odd += 2) {
    sum += power;
    power *= z ** 2 / odd;
  }
  return 0.5 - density * sum;
}

/**
 * Compares `a` with `b`: chance explains a difference in fewer than 1 % of cases. Rare cases go by Fisher's exact test, and
 * are too few where it cannot tell.
 */
export function compare(a: Proportion, b: Proportion): Comparison {
  if (a.of === 0 || b.of === 0) return 'too-few';
  if (a.part + b.part === 0) return 'same';
  const isEnough = isNormal(a, b);
  const isSure = isEnough ? Math.abs(zOf(a, b)) >= CHANCE_Z : fisher(a, b) < CHANCE;
  if (!isSure) return isEnough ? 'same' : 'too-few';
  if (Math.abs(shareOf(a) - shareOf(b)) < SLIGHT * shareOf(b)) return 'same';
  return shareOf(a) > shareOf(b) ? 'higher' : 'lower';
}

/** True when `a` is above `b` without doubt: their intervals do not even touch. */
export function isClearlyAbove(a: Proportion, b: Proportion): boolean {
  return wilson(a).low > wilson(b).high;
}

function isNormal(a: Proportion, b: Proportion): boolean {
  const pooled = (a.part + b.part) / (a.of + b.of);
  return [a, b].every(({ of }) => of * Math.min(pooled, 1 - pooled) >= FEWEST_EXPECTED);
}

/**
 * Probability that chance makes a difference like this or a larger one: Fisher's exact test, two-sided by doubling the smaller
 * tail. Its sum has few terms where it is needed, since one of the four numbers is small then.
 */
export function fisher(a: Proportion, b: Proportion): number {
  const parts = a.part + b.part;
  const least = Math.max(0, parts - b.of);
  const most = Math.min(a.of, parts);
  const weight = (part: number) =>
    Math.exp(logChoose(a.of, part) + logChoose(b.of, parts - part) - logChoose(a.of + b.of, parts));
  let [below, above] = [0, 0];
  for (let part = least; part <= most; part += 1) {
    const probability = weight(part);
    if (part <= a.part) below += probability;
    if (part >= a.part) above += probability;
  }
  return Math.min(1, 2 * Math.min(below, above));
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k);
}

/** Stirling's series; good to ten digits from 10 on, and added up below. */
function logFactorial(n: number): number {
  if (n < 10)
    return Math.log(Array.from({ length: n }, (_, index) => index + 1).reduce((all, one) => all * one, 1));
  return (
    n * Math.log(n) -
    n +
    Math.log(2 * Math.PI * n) / 2 +
    1 / (12 * n) -
    1 / (360 * n ** 3) +
    1 / (1260 * n ** 5)
  );
}
