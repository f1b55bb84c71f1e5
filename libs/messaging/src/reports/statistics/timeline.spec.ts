import { describe, expect, it } from '@jest/globals';
import { filledTimeline, MOST_POINTS, TIMELINE_INTERVALS } from './timeline.query.js';

const at = (text: string, sent = 1) => ({
  timestamp: new Date(text),
  sent,
  delivered: sent,
  opened: 0,
  clicked: 0,
  bounced: 0,
});

describe('a timeline', () => {
  it('is empty before anything happened', () => {
    expect(filledTimeline([], 'hour')).toEqual([]);
  });

  it('has a zero for each hour in which nothing happened', () => {
    const points = filledTimeline([at('2026-11-21T09:00:00Z'), at('2026-11-21T12:00:00Z', 3)], 'hour');
    expect(points.map(({ timestamp, sent }) => [timestamp.getUTCHours(), sent])).toEqual([
      [9, 1],
      [10, 0],
      [11, 0],
      [12, 3],
    ]);
  });

  it('crosses months and leap days in days', () => {
    const points = filledTimeline([at('2028-02-28T00:00:00Z'), at('2028-03-01T00:00:00Z')], 'day');
    expect(points.map(({ timestamp }) => timestamp.toISOString().slice(0, 10))).toEqual([
      '2028-02-28',
      '2028-02-29',
      '2028-03-01',
    ]);
  });

  it.each(TIMELINE_INTERVALS)('of an interval of a %s has a greatest length', (interval) => {
    const points = filledTimeline([at('2020-01-01T00:00:00Z'), at('2030-01-01T00:00:00Z')], interval);
    expect(points).toHaveLength(MOST_POINTS[interval]);
  });
});
