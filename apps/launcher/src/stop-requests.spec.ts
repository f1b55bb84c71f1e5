import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { onStopRequest } from './stop-requests.js';

describe('Ctrl-C', () => {
  const SIGNALS = ['SIGINT', 'SIGTERM'] as const;
  let now: number;
  let heard: string[];

  beforeEach(() => {
    [now, heard] = [0, []];
    onStopRequest({ stop: () => heard.push('stop'), kill: () => heard.push('kill') }, false, () => now);
  });
  afterEach(() => {
    for (const signal of SIGNALS) process.removeAllListeners(signal);
  });

  it.each(SIGNALS)('as %s stops, and what follows within a second belongs to it', (signal) => {
    process.emit(signal);
    now = 1_000;
    process.emit('SIGINT');
    process.emit('SIGTERM');
    expect(heard).toEqual(['stop']);
  });

  it('pressed again later ends everything at once', () => {
    process.emit('SIGINT');
    now = 1_001;
    process.emit('SIGINT');
    expect(heard).toEqual(['stop', 'kill']);
  });
});
