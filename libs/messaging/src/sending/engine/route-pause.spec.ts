import { describe, expect, it } from '@jest/globals';
import { RoutePause } from './route-pause.js';

const down = { kind: 'route-unavailable', detail: 'refused', stage: 'connect' } as const;
const busy = {
  kind: 'temporary',
  reply: { code: 450, enhancedCode: null, text: 'Busy' },
  stage: 'rcpt',
} as const;
const up = { kind: 'accepted' } as const;

describe('RoutePause', () => {
  it('rests longer each time, up to a minute', () => {
    const pause = new RoutePause();
    let now = 0;
    const lengths = Array.from({ length: 9 }, () => {
      pause.after(down, now);
      now += pause.seconds * 1_000;
      return pause.seconds;
    });
    expect(lengths).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('takes several failures at once for one', () => {
    const pause = new RoutePause();
    expect([pause.after(down, 0), pause.after(down, 10), pause.after(down, 20)]).toEqual([
      true,
      false,
      false,
    ]);
    expect([pause.isOn(999), pause.isOn(1_000)]).toEqual([true, false]);
  });

  it('lets one mail find out whether the relay answers again, whatever it says', () => {
    const pause = new RoutePause();
    expect(pause.isFailing).toBe(false);
    pause.after(down, 0);
    expect([pause.isFailing, pause.until]).toEqual([true, new Date(1_000)]);
    pause.after(busy, 2_000);
    expect(pause.isFailing).toBe(false);
  });

  it('begins anew after a mail was accepted', () => {
    const pause = new RoutePause();
    pause.after(down, 0);
    pause.after(down, 1_000);
    pause.after(up, 3_000);
    pause.after(down, 4_000);
    expect(pause.seconds).toBe(1);
  });

  it('rests longer still after a mail that the relay answered without accepting it', () => {
    const pause = new RoutePause();
    pause.after(down, 0);
    expect(pause.after(busy, 2_000)).toBe(false);
    pause.after(down, 3_000);
    expect(pause.seconds).toBe(2);
  });
});
