import { describe, expect, it } from '@jest/globals';
import { MAILBOX_BEHAVIOURS, mailboxBehaviour } from './mailbox-behaviour.js';

describe('a simulated mailbox', () => {
  it.each(MAILBOX_BEHAVIOURS)(
    'is known by its local part %s, with or without a tag, in any case',
    (behaviour) => {
      for (const local of [behaviour, `${behaviour}+1`, `${behaviour}+a+b`, behaviour.toUpperCase()]) {
        expect(mailboxBehaviour(`${local}@example.org`)).toBe(behaviour);
      }
    },
  );

  it.each([
    'delivered@example.org',
    'delivered+1@example.org',
    'ada@example.org',
    'x.bounced@example.org',
    'ada@bounced.example',
  ])('is not %s, which only receives', (address) => {
    expect(mailboxBehaviour(address)).toBeNull();
  });
});
