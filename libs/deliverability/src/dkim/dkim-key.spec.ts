import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import { BrokenSigningKeyError, parseSigningKey, SigningKeyring } from './dkim-key.js';

describe('a DKIM key', () => {
  const rsa = rsaKey('mw1');

  it.each([
    ['nothing', { ...rsa, privateKeyPem: '' }, 'cannot be read'],
    ['a key that was cut off', { ...rsa, privateKeyPem: rsa.privateKeyPem.slice(0, 400) }, 'cannot be read'],
    ['another kind of key', { ...rsa, algorithm: 'ed25519-sha256' }, 'is no key for ed25519-sha256'],
    ['an RSA key that nobody trusts', rsaKey('weak', 1_023), 'has fewer than 1024 bits'],
    ['a selector that is no host name', { ...rsa, selector: 'a; d=other' }, 'has a selector'],
  ] as const)('is refused when it is %s', (_, material, fault) => {
    expect(() => parseSigningKey(material)).toThrow(BrokenSigningKeyError);
    expect(() => parseSigningKey(material)).toThrow(fault);
  });

  it('never stands in the error that it causes', () => {
    const broken = rsa.privateKeyPem.replace(/\n.{20}/, '\n!!!!');
    let message = '';
    try {
      parseSigningKey({ ...rsa, privateKeyPem: broken });
    } catch (error) {
      message = String(error);
    }
    expect(message).toBe('BrokenSigningKeyError: The DKIM key mw1 cannot be read.');
  });

  it('may be PKCS #1 too', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const privateKeyPem = privateKey.export({ type: 'pkcs1', format: 'pem' }).toString();
    expect(parseSigningKey({ ...rsa, privateKeyPem }).key.asymmetricKeyType).toBe('rsa');
  });

  it('is parsed once, and anew when it has changed', () => {
    const keyring = new SigningKeyring();
    const first = keyring.keyOf(rsa);
    expect(keyring.keyOf({ ...rsa })).toBe(first);
    expect(keyring.keyOf(rsaKey('mw1'))).not.toBe(first);
    expect(keyring.keyOf(ed25519Key('mw2')).algorithm).toBe('ed25519-sha256');
  });
});
