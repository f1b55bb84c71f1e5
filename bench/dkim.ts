import { sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { type SigningKeyMaterial, DkimSigner, parseSigningKey } from '#deliverability';
import { octetsOf } from '#kernel';
import { buildMimeMessage } from '../libs/messaging/src/content/mail/mime-message.js';
import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import { spread } from './support/figures.js';

/**
 * Messages signed a second through our signer, against bare `crypto.sign` of as much as a message's signed header,
 * both on libuv's threads with as many in flight, in turn in one process.
 */
const PAIRS = Number(process.env['PAIRS'] ?? 7);
const SECONDS = Number(process.env['SECONDS'] ?? 2);
const IN_FLIGHT = Number(process.env['IN_FLIGHT'] ?? 64);
/** Characters of the HTML part. */
const LENGTH = Number(process.env['LENGTH'] ?? 7_000);
/** Bytes of the signed header fields in relaxed form. */
const SIGNED_BYTES = 1_000;

interface Measured {
  readonly perSecond: number;
  readonly cpuMs: number;
}

const cores = availableParallelism();
const signer = new DkimSigner();
const now = new Date();
const messages = Array.from({ length: 50 }, (_, reader) => messageTo(reader));
const signedBytes = Buffer.alloc(SIGNED_BYTES, 'a header field and its value\r\n');

function messageTo(reader: number): Buffer {
  const text = `Reader ${reader}, here is a line of the news, as they are read every week by many.\n`;
  const message = buildMimeMessage({
    from: { name: 'Acme Shop', address: 'news@mail.acme.example' },
    to: `reader${reader}@example.com`,
    subject: 'News of the week',
    messageId: `0198c8f2-0000-7000-8000-${String(reader).padStart(12, '0')}@mail.acme.example`,
    date: now,
    headers: [
      ['List-Id', 'News <news.mail.acme.example>'],
      ['List-Unsubscribe', `<https://mail.acme.example/u/${'t'.repeat(80)}>`],
      ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
      ['Feedback-ID', 'A-1:ACME:campaign:mailwright'],
      ['Precedence', 'bulk'],
    ],
    text: text.repeat(10),
    html: `<p>${text}</p>`.repeat(Math.ceil(LENGTH / text.length)),
  });
  return octetsOf(message);
}

const KEYS: Readonly<Record<string, SigningKeyMaterial>> = {
  'RSA-2048': rsaKey('mw1'),
  Ed25519: ed25519Key('mw2'),
};

async function measure(task: (index: number) => Promise<unknown>): Promise<Measured> {
  const before = process.cpuUsage();
  const began = performance.now();
  const end = began + SECONDS * 1_000;
  let done = 0;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (performance.now() < end) {
        await task(done);
        done += 1;
      }
    }),
  );
  const { user, system } = process.cpuUsage(before);
  const seconds = (performance.now() - began) / 1_000;
  return { perSecond: done / seconds, cpuMs: (user + system) / 1_000 / done };
}

const print = (text: string) => process.stdout.write(`${text}\n`);
print(`${messages[0]?.length} bytes a message, ${cores} cores, ${IN_FLIGHT} in flight, ${PAIRS} pairs`);
for (const [name, material] of Object.entries(KEYS)) {
  const parsed = parseSigningKey(material);
  const { key, algorithm } = parsed;
  const digest = algorithm === 'rsa-sha256' ? 'sha256' : null;
  const ours = () =>
    measure((index) =>
      signer.sign(
        [messages[index % messages.length] ?? signedBytes],
        { domain: 'mail.acme.example', keys: [parsed] },
        now,
      ),
    );
  const bare = () =>
    measure(() => {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      sign(digest, signedBytes, key, (error, signature) =>
        error === null ? resolve(signature) : reject(error),
      );
      return promise;
    });
  await bare();
  await ours();
  const pairs: { ours: Measured; bare: Measured }[] = [];
  for (let pair = 0; pair < PAIRS; pair += 1) pairs.push({ bare: await bare(), ours: await ours() });
  const show = (pick: (measured: Measured) => number, digits: number) =>
    [pairs.map((pair) => pick(pair.ours)), pairs.map((pair) => pick(pair.bare))]
      .map((values) => spread(values, digits))
      .join(' against ');
  print(`${name}, messages/s: ${show(({ perSecond }) => perSecond, 0)}`);
  print(`${name}, CPU ms a message: ${show(({ cpuMs }) => cpuMs, 3)}`);
  print(
    `${name}, ratio of messages/s: ${spread(pairs.map((pair) => pair.ours.perSecond / pair.bare.perSecond))}`,
  );
  print(`${name}, ratio of CPU: ${spread(pairs.map((pair) => pair.bare.cpuMs / pair.ours.cpuMs))}`);
}
