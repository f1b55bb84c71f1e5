import { describe, expect, it } from '@jest/globals';
import { KNOWN_AGENTS } from './known-agents.js';
import { classificationOf, kindOfAgent } from './user-agent.js';

describe('a user agent', () => {
  it.each(KNOWN_AGENTS.flatMap((agent) => agent.samples.map((sample) => [sample, agent.classification])))(
    '%s is a %s',
    (sample, classification) => {
      expect(kindOfAgent(sample)).toBe(classification);
      expect(classificationOf(kindOfAgent(sample))).toBe(classification);
    },
  );

  it.each([
    [
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
      'apple',
    ],
    [
      'Mozilla/5.0 (Linux; Android 15) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Mobile Safari/537.36',
      'android',
    ],
    ['Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17928; Pro)', 'outlook'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Safari/537.36',
      'desktop',
    ],
    ['curl/8.5.0', 'other'],
    [undefined, 'other'],
  ])('%s may be a person’s', (sample, kind) => {
    expect(kindOfAgent(sample)).toBe(kind);
    expect(classificationOf(kindOfAgent(sample))).toBeNull();
  });
});
