import { median } from './figures.js';

/** One look at the memory of a process. */
export interface Sample {
  readonly seconds: number;
  readonly megabytes: number;
}

export interface Growth {
  readonly from: number;
  readonly to: number;
  /** 0.1 is ten per cent more. */
  readonly share: number;
}

/** Share of the time after the warm-up that is looked at, at its beginning and at its end. */
const EDGE = 0.25;

/** The median of the last quarter after the warm-up against that of its first; NaN without samples in both. */
export function growth(samples: readonly Sample[], warmUpSeconds: number): Growth {
  const warm = samples.filter(({ seconds }) => seconds >= warmUpSeconds);
  const edge = Math.max(1, Math.floor(warm.length * EDGE));
  const from = megabytesOf(warm.slice(0, edge));
  const to = megabytesOf(warm.slice(-edge));
  return { from, to, share: to / from - 1 };
}

const megabytesOf = (samples: readonly Sample[]): number => median(samples.map(({ megabytes }) => megabytes));
