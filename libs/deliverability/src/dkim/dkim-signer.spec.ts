import { describe, expect, it } from '@jest/globals';
import { joinOctets, sizeOf } from '#kernel';
import { ed25519Key, type PublishedKey, rsaKey } from '#testing/mail/dkim-keys';
import * as fc from '#testing/random/properties';
import { turnsDuring } from '#testing/time/loop-turns';
import { RelaxedBodyHash, relaxedBodyHash } from './canonical-form.js';
import { DkimSigner, SigningTurns } from './dkim-signer.js';
import { verdicts } from '#testing/mail/dkim-verdicts';
import { parseSigningKey } from './dkim-key.js';

const DOMAIN = 'mail.acme.example';
const NOW = new Date('2026-11-21T10:00:00Z');
const rsa = rsaKey('mw1');
const ed25519 = ed25519Key('mw2');
const signer = new DkimSigner();

async function sign(message: Buffer, ...keys: readonly PublishedKey[]): Promise<Buffer> {
  const fields = await signer.sign([message], { domain: DOMAIN, keys: keys.map(parseSigningKey) }, NOW);
  return Buffer.concat([Buffer.from(fields, 'latin1'), message]);
}

const HEADERS: readonly (readonly [string, string])[] = [
  ['From', 'Acme Shop <news@mail.acme.example>'],
  ['To', 'reader@example.com'],
  ['Subject', 'Good news'],
  ['Date', 'Sat, 21 Nov 2026 10:00:00 +0000'],
  ['Message-ID', '<018f@mail.acme.example>'],
  ['Reply-To', 'help@acme.example'],
  ['List-Id', 'News <news.acme.example>'],
  ['List-Unsubscribe', '<https://mail.example/u/token>'],
  ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ['Feedback-ID', 'A-1:ACME:campaign:mailwright'],
  ['Precedence', 'bulk'],
  ['MIME-Version', '1.0'],
  ['Content-Type', 'text/plain; charset=utf-8'],
  ['Content-Transfer-Encoding', '7bit'],
];

const messageOf = (headers: readonly (readonly [string, string])[], body: string): Buffer =>
  Buffer.from(`${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`, 'latin1');

const message = messageOf(HEADERS, 'Hello  there, \r\n\r\n this is it.\t \r\n\r\n\r\n');

/** The signature field of a message, unfolded. */
const signatureField = (signed: Buffer): string =>
  signed
    .toString('latin1')
    .split(/\r\n(?![ \t])/, 1)[0]!
    .replaceAll('\r\n ', ' ');

describe('DkimSigner', () => {
  it('signs so that mailauth verifies it, with RSA, Ed25519 and both', async () => {
    expect(await verdicts(await sign(message, rsa), DOMAIN, [rsa])).toEqual(['rsa-sha256 pass']);
    expect(await verdicts(await sign(message, ed25519), DOMAIN, [ed25519])).toEqual(['ed25519-sha256 pass']);
    expect(await verdicts(await sign(message, rsa, ed25519), DOMAIN, [rsa, ed25519])).toEqual([
      'rsa-sha256 pass',
      'ed25519-sha256 pass',
    ]);
  });

  it('puts the signatures before an unchanged message, in lines of at most 78 characters', async () => {
    const signed = await sign(message, rsa, ed25519);
    expect(signed.subarray(signed.length - message.length)).toEqual(message);
    const lines = signed.toString('latin1', 0, signed.length - message.length).split('\r\n');
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(78);
    expect(lines.at(-1)).toBe('');
  });

  it('covers the whole body and every field that readers and mailbox providers go by', async () => {
    const field = signatureField(await sign(message, rsa));
    expect(field).toContain(
      'v=1; a=rsa-sha256; c=relaxed/relaxed; d=mail.acme.example; s=mw1; t=1795255200;',
    );
    expect(field).not.toMatch(/\bl=/);
    const names = /\bh=([^;]*);/
      .exec(field)![1]!
      .toLowerCase()
      .split(/\s*:\s*/);
    expect(names.toSorted()).toEqual(
      [
        ...HEADERS.map(([name]) => name.toLowerCase()).filter((name) => name !== 'precedence'),
        'from',
        'to',
        'cc',
        'subject',
        'date',
        'reply-to',
        'mime-version',
        'content-type',
        'list-unsubscribe',
        'list-unsubscribe-post',
      ].toSorted(),
    );
  });

  it.each(HEADERS.filter(([name]) => name !== 'Precedence'))(
    'does not verify when %s is changed or taken away',
    async (name, value) => {
      const signed = (await sign(message, rsa, ed25519)).toString('latin1');
      for (const forged of [`${name}: ${value}x\r\n`, '']) {
        const changed = Buffer.from(signed.replace(`\r\n${name}: ${value}\r\n`, `\r\n${forged}`), 'latin1');
        expect(changed.toString('latin1')).not.toBe(signed);
        const results = await verdicts(changed, DOMAIN, [rsa, ed25519]);
        expect(results).toHaveLength(2);
        expect(results.filter((result) => result.endsWith(' pass'))).toEqual([]);
      }
    },
  );

  const ONCE: readonly (readonly [string, string])[] = [
    ...['From', 'To', 'Cc', 'Reply-To'].map((name) => [name, 'someone@else.example'] as const),
    ['Subject', 'Other news'],
    ['Date', 'Sun, 22 Nov 2026 10:00:00 +0000'],
    ['MIME-Version', '1.0'],
    ['Content-Type', 'multipart/alternative; boundary="theirs"'],
    ['List-Unsubscribe', '<https://else.example/>'],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
  ];

  it.each(ONCE)('does not verify when another %s is added, above or below ours', async (name, value) => {
    const signed = await sign(message, rsa, ed25519);
    const added = Buffer.from(`${name}: ${value}\r\n`);
    const bodyAt = signed.indexOf('\r\n\r\n') + 2;
    const below = Buffer.concat([signed.subarray(0, bodyAt), added, signed.subarray(bodyAt)]);
    for (const forged of [Buffer.concat([added, signed]), below]) {
      const results = await verdicts(forged, DOMAIN, [rsa, ed25519]);
      expect(results.filter((result) => result.endsWith(' pass'))).toEqual([]);
    }
  });

  it('lets nobody add a way to unsubscribe to a mail that has none', async () => {
    const confirmation = messageOf(
      HEADERS.filter(([name]) => !name.startsWith('List-')),
      'Please confirm.\r\n',
    );
    const signed = await sign(confirmation, rsa);
    expect(await verdicts(signed, DOMAIN, [rsa])).toEqual(['rsa-sha256 pass']);
    const forged = Buffer.concat([Buffer.from('List-Unsubscribe: <https://else.example/>\r\n'), signed]);
    expect(await verdicts(forged, DOMAIN, [rsa])).not.toContain('rsa-sha256 pass');
  });

  it('does not verify when the body is changed or something is added to it', async () => {
    const signed = await sign(message, rsa);
    const changed = Buffer.from(signed.toString('latin1').replace('this is it', 'this is not it'), 'latin1');
    const longer = Buffer.concat([signed, Buffer.from('And more.\r\n')]);
    for (const forged of [changed, longer])
      expect(await verdicts(forged, DOMAIN, [rsa])).not.toContain('rsa-sha256 pass');
  });

  it('verifies when a relay folds and spaces headers anew, as relaxed signatures allow', async () => {
    const signed = (await sign(message, rsa)).toString('latin1');
    const refolded = signed
      .replace('\r\nSubject: Good news\r\n', '\r\nSUBJECT:\tGood\r\n   news  \r\n')
      .replace(/\r\n\r\n\r\n$/, '\r\n');
    expect(await verdicts(Buffer.from(refolded, 'latin1'), DOMAIN, [rsa])).toEqual(['rsa-sha256 pass']);
  });

  it('signs any message that can be on a wire', async () => {
    const byte = fc.constantFrom(...Array.from('a .=:;\t\u00e4\u00a0\u00ff\r\0'), ' ', ' ', '\t');
    const text = fc.string({ unit: byte, maxLength: 30 }).map((line) => line.replaceAll('\r', ''));
    const value = fc
      .array(text, { minLength: 1, maxLength: 3 })
      .map((lines) => lines.map((line) => line.replaceAll('\0', '')).join('\r\n x'));
    const name = fc.constantFrom('Subject', 'X-Other', 'Content-Language', 'list-id', 'To', 'Received');
    const headers = fc.array(fc.tuple(name, value), { maxLength: 6 });
    const body = fc.array(text, { maxLength: 12 }).map((lines) => lines.join('\r\n'));
    await fc.assert(
      fc.asyncProperty(headers, body, async (added, content) => {
        const composed = messageOf([['From', 'a@mail.acme.example'], ...added], content);
        const signed = await sign(composed, rsa, ed25519);
        const results = await verdicts(signed, DOMAIN, [rsa, ed25519]);
        expect(results).toEqual(['rsa-sha256 pass', 'ed25519-sha256 pass']);
      }),
      { numRuns: fc.runs(150) },
    );
  });

  it('refuses a message without From, or with a header section that cannot be read', async () => {
    await expect(sign(Buffer.from('To: a@example.com\r\n\r\n'), rsa)).rejects.toThrow('has no From');
    await expect(sign(Buffer.from('From: a@example.com\r\nno field\r\n\r\n'), rsa)).rejects.toThrow(
      'no header field',
    );
    await expect(sign(Buffer.from('From: a@example.com\r\n'), rsa)).rejects.toThrow('no end');
    await expect(sign(message)).rejects.toThrow('needs a key');
  });

  it('leaves the event loop free while it signs', async () => {
    const turns = await turnsDuring(Promise.all(Array.from({ length: 640 }, () => sign(message, rsa))));
    expect(turns).toBeGreaterThan(20);
  });
});

describe('a large message', () => {
  const identity = { domain: DOMAIN, keys: [rsa, ed25519].map(parseSigningKey) };
  const head = messageOf(HEADERS, '');
  const line = `${'a line of  base64 '.repeat(4)}\t\r\n`;
  const pieces = [head, ...Array.from({ length: 120 }, () => line.repeat(1_100)), '\r\n', ' \r\n'];

  it('is signed piece by piece as it would be in one', async () => {
    const whole = joinOctets(pieces, Buffer.alloc(sizeOf(pieces)));
    const fields = await signer.sign(pieces, identity, NOW);
    const signed = Buffer.concat([Buffer.from(fields, 'latin1'), whole]);
    expect(await verdicts(signed, DOMAIN, [rsa, ed25519])).toEqual([
      'rsa-sha256 pass',
      'ed25519-sha256 pass',
    ]);
  });

  it('keeps nobody waiting while it is hashed', async () => {
    expect(await turnsDuring(signer.sign(pieces, identity, NOW))).toBeGreaterThan(20);
  });

  it('has the same hash, wherever it is cut', () => {
    const body = fc.string({ unit: fc.constantFrom('a', ' ', '\t', '\r\n', '\r', '\n'), maxLength: 60 });
    fc.assert(
      fc.property(body, fc.array(fc.nat(60)), (text, cuts) => {
        const bytes = Buffer.from(text);
        const hash = new RelaxedBodyHash();
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        for (const [at, to] of places.slice(1).entries()) hash.update(bytes.subarray(places[at], to));
        expect(hash.digest()).toBe(relaxedBodyHash(bytes));
      }),
      { numRuns: fc.runs(2_000) },
    );
  });
});

describe('signing turns', () => {
  it('let so many be at it at once, in the order in which they came, and go on after a failure', async () => {
    const turns = new SigningTurns(2);
    const begun: number[] = [];
    const gates = Array.from({ length: 5 }, () => Promise.withResolvers<number>());
    const results = gates.map(({ promise }, index) =>
      turns
        .take(() => {
          begun.push(index);
          return promise;
        })
        .catch(() => 'failed'),
    );
    expect(begun).toEqual([0, 1]);
    gates[1]!.reject(new Error('no'));
    await results[1];
    expect(begun).toEqual([0, 1, 2]);
    gates[0]!.resolve(0);
    gates[2]!.resolve(2);
    await Promise.all([results[0], results[2]]);
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    gates[3]!.resolve(3);
    gates[4]!.resolve(4);
    expect(await Promise.all(results)).toEqual([0, 'failed', 2, 3, 4]);
    await turns.take(() => Promise.resolve());
  });
});
