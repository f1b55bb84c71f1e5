import { describe, expect, it } from '@jest/globals';
import type { DestinationFacts } from './campaign-facts.js';
import { destinationLimits } from './destination-limits.js';
import { campaign, NOW } from './pre-send.fixture.js';

const MINUTE = 60_000;
const after = (minutes: number) => new Date(NOW.getTime() + minutes * MINUTE);
const at = (
  destination: string,
  recipients: number,
  mailsPerSecond: number | null,
  slowUntil: Date | null = null,
): DestinationFacts => ({ destination, recipients, mailsPerSecond, slowUntil });
const told = (...destinations: DestinationFacts[]) => destinationLimits(campaign({ destinations }));

describe('the limits of destinations in the analysis', () => {
  it.each<[string, DestinationFacts[], string]>([
    ['nobody there', [], 'No recipient is at a mailbox provider with a limit.'],
    [
      'few people',
      [at('google', 40, 50)],
      'Takes a minute at most. google: 40 mails at 50 a second, a minute at most.',
    ],
    [
      'many people, the slowest first',
      [at('google', 400_000, 50), at('microsoft', 360_000, 30), at('orange', 1_000, 5)],
      'Takes at least 3 h 20 min. microsoft: 360000 mails at 30 a second, at least 3 h 20 min; ' +
        'google: 400000 mails at 50 a second, at least 2 h 14 min; orange: 1000 mails at 5 a second, at least 4 min.',
    ],
    [
      'days of mail',
      [at('free', 1_000_000, 5)],
      'Takes at least 2 d 7 h. free: 1000000 mails at 5 a second, at least 2 d 7 h.',
    ],
    [
      'a provider that is slowed down, and enough to outlast it',
      [at('yahoo', 24_090, 20, after(90))],
      'Takes at least 1 h 50 min. yahoo: 24090 mails at one a minute until 2026-11-21T11:30Z, then 20 a second, at least 1 h 50 min.',
    ],
    [
      'a domain without a limit that is slowed down',
      [at('shop.example', 30, null, after(90))],
      'Takes at least 30 min. shop.example: 30 mails at one a minute until 2026-11-21T11:30Z, at least 30 min.',
    ],
    [
      'more destinations than are named',
      Array.from({ length: 7 }, (_, n) => at(`p${n}`, 6_000 * (n + 1), 10)),
      'Takes at least 1 h 10 min. p6: 42000 mails at 10 a second, at least 1 h 10 min; p5: 36000 mails at 10 a second, at least 1 h; ' +
        'p4: 30000 mails at 10 a second, at least 50 min; p3: 24000 mails at 10 a second, at least 40 min; ' +
        'p2: 18000 mails at 10 a second, at least 30 min; 2 more are faster.',
    ],
  ])('are told for %s', (_, destinations, message) => {
    expect(told(...destinations)).toEqual({
      code: 'destination-limits',
      severity: 'INFO',
      result: 'PASS',
      message,
    });
  });

  it('are not looked at where nothing limits', () => {
    expect(destinationLimits(campaign({ destinations: null }))).toMatchObject({
      severity: 'INFO',
      result: 'SKIPPED',
      message: 'Nothing limits how fast this mail goes.',
    });
  });
});
