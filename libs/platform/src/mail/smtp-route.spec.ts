import { describe, expect, it } from '@jest/globals';
import { mayTrustClearText, parseSmtpUrl } from './smtp-route.js';

describe('an SMTP URL', () => {
  it.each([
    ['smtp://relay.test', { host: 'relay.test', port: 587, implicitTls: false, startTls: 'opportunistic' }],
    ['smtp://relay.test:25', { port: 25 }],
    ['smtps://relay.test', { port: 465, implicitTls: true, startTls: 'required' }],
    ['smtp://[::1]:2525', { host: '::1', port: 2525 }],
    ['smtp://relay.test?tls=required', { startTls: 'required', rejectUnauthorized: true }],
    ['smtp://relay.test/?tls=off&rejectUnauthorized=false', { startTls: 'off', rejectUnauthorized: false }],
    ['smtp://relay.test', { credentials: null }],
    ['smtp://me%40x.test:p%3A%2F%40%25@relay.test', { credentials: { user: 'me@x.test', pass: 'p:/@%' } }],
  ])('%s is read', (url, route) => {
    expect(parseSmtpUrl(url)).toMatchObject(route);
  });

  it.each([
    'relay.test',
    'http://user:secret@relay.test',
    'smtp://user:secret@',
    'smtp://user@relay.test',
    'smtp://:secret@relay.test',
    'smtp://user:%secret@relay.test',
    'smtp://user:secret@relay.test?tls=perhaps',
    'smtp://user:secret@relay.test?rejectUnauthorized=no',
    'smtp://user:secret@relay.test?rejectUnauthorised=false',
    'smtps://user:secret@relay.test?tls=off',
  ])('%s is refused without repeating a password', (url) => {
    const refused = (() => {
      try {
        return parseSmtpUrl(url);
      } catch (error) {
        return error;
      }
    })();
    expect(refused).toBeInstanceOf(Error);
    expect(String(refused)).not.toContain('secret');
  });

  it.each([
    ['smtp://relay.test', '203.0.113.7', false],
    ['smtp://relay.test', '2001:db8::1', false],
    ['smtp://relay.test', '', false],
    ['smtp://relay.test?tls=off', '203.0.113.7', true],
    ['smtp://localhost', '127.0.0.1', true],
    ['smtp://localhost', '::1', true],
    ['smtp://localhost', '::ffff:127.0.0.1', true],
  ])('%s lets credentials go to %s in the clear: %s', (url, address, allowed) => {
    expect(mayTrustClearText(parseSmtpUrl(url), address)).toBe(allowed);
  });
});
