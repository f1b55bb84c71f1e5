import type { KnownSegment } from './rule-catalogue.js';

/** A segment and the segments that its rules name. */
export interface SegmentLinks {
  readonly id: string;
  readonly segmentKey: string;
  /** Of its own rules. */
  readonly conditionCount: number;
  readonly uses: readonly string[];
}

/**
 * The segments that rules can name, with their links. `self` is the segment with the rules, null for a new one. The links
 * have no cycle, since cycles are refused.
 */
export function knownSegments(
  segments: readonly SegmentLinks[],
  self: string | null,
): ReadonlyMap<string, KnownSegment> {
  const byId = new Map(segments.map((segment) => [segment.id, segment]));
  const known = new Map<string, KnownSegment>();
  const describe = (segment: SegmentLinks): KnownSegment => {
    const done = known.get(segment.id);
    if (done !== undefined) return done;
    const used = segment.uses.flatMap((id) => byId.get(id) ?? []).map(describe);
    const description = {
      id: segment.id,
      leadsBack: segment.id === self || used.some(({ leadsBack }) => leadsBack),
      conditions: used.reduce((sum, { conditions }) => sum + conditions, segment.conditionCount),
      chain: used.reduce((longest, { chain }) => Math.max(longest, chain), 0) + 1,
    };
    known.set(segment.id, description);
    return description;
  };
  return new Map(segments.map((segment) => [segment.segmentKey, describe(segment)]));
}
