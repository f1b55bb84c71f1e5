import { describe, expect, it } from '@jest/globals';
import { slowsDown } from '../bounces/retry-schedule.js';
import { destinationOf, limitOf, MAILBOX_PROVIDERS, providerOf } from './destination.js';

const settings = { scale: 1, otherDomains: null };

describe('the destination of a mail', () => {
  it.each([
    ['ada@gmail.com', 'google'],
    ['ada@GoogleMail.com', 'google'],
    ['"a@b"@hotmail.co.uk', 'microsoft'],
    ['ada@me.com', 'apple'],
    ['ada@web.de', 'united-internet'],
    ['ada@Shop.Example', 'shop.example'],
    ['ada@mail.gmail.com.example', 'mail.gmail.com.example'],
  ])('of %s is %s', (address, destination) => {
    expect(destinationOf(address)).toBe(destination);
  });

  it('is named once in the table, so that no domain has two limits', () => {
    const domains = MAILBOX_PROVIDERS.flatMap((provider) => provider.domains);
    expect(new Set(domains).size).toBe(domains.length);
  });

  it('is a provider or `other` in the metrics', () => {
    expect([providerOf('google'), providerOf('shop.example')]).toEqual(['google', 'other']);
  });
});

describe('the limit of a destination', () => {
  it('is the table’s for a mailbox provider, times the scale', () => {
    expect(limitOf('google', { ...settings, scale: 2 })).toEqual({ mailsPerSecond: 100, burst: 100 });
    expect(limitOf('orange', { ...settings, scale: 0.1 })).toEqual({ mailsPerSecond: 0.5, burst: 1 });
  });

  it('is none for other domains, unless one is set', () => {
    expect(limitOf('shop.example', settings).mailsPerSecond).toBeNull();
    expect(limitOf('shop.example', { scale: 3, otherDomains: 7 })).toEqual({ mailsPerSecond: 7, burst: 7 });
  });
});

describe('a destination is slowed down', () => {
  it.each([
    [true, 421, '4.7.0', '[TSS04] Messages from 192.0.2.1 temporarily deferred due to user complaints'],
    [true, 451, null, 'Messages temporarily deferred'],
    [true, 554, null, 'Service unavailable; Client host blocked using zen.spamhaus.org'],
    [true, 550, '5.7.1', 'Our system has detected that this message is likely unsolicited mail'],
    [false, 451, '4.7.1', 'Greylisted, please try again in 300 seconds'],
    [false, 550, '5.7.26', 'This mail has been blocked because the sender is unauthenticated'],
    [false, 550, '5.1.1', 'No such user'],
    [false, 452, '4.2.2', 'Mailbox full'],
    [false, 421, null, 'Service not available'],
  ])('(%s) by %d %s %s', (slowed, code, enhancedCode, text) => {
    expect(slowsDown({ code, enhancedCode, text })).toBe(slowed);
  });
});
