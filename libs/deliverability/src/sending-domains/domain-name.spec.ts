import { describe, expect, it } from '@jest/globals';
import { parseDomainName } from './sending-domain.js';

describe('The name of a sending domain', () => {
  it.each([
    ['acme.com', 'acme.com'],
    ['News.Acme.co.uk', 'news.acme.co.uk'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['почта.рф', 'xn--80a1acny.xn--p1ai'],
    ['acme.github.io', 'acme.github.io'],
    ['acme.test', 'acme.test'],
  ])('may be %s', (input, name) => {
    expect(parseDomainName(input)).toEqual({ name });
  });

  it.each([
    'acme.zzzzqq',
    'mail.acme.lan',
    'acme.internal',
    'acme.local',
    'acme.localhost',
    'acme.invalid',
    'acme.onion',
    'co.uk',
    'github.io',
    'com',
    'test',
    '192.0.2.1',
    '[2001:db8::1]',
  ])('cannot be %s, which nobody can register', (input) => {
    expect(parseDomainName(input)).toHaveProperty('fault');
  });
});
