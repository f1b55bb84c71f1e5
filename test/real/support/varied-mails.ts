import { expect } from '@jest/globals';
import { authenticity } from '#testing/mail/mail-authentication';
import { messageIdOf, type ReceivedMail } from '#testing/mail/sink-rules';
import { addressesOf, DOMAIN, type WholeWay } from './whole-way.js';

const LONG = 'a line that does not end '.repeat(200);
const TEXT = `Hello {{ subscriber.first_name }}\n.\n..\n.one dot\nGrüße aus Köln 😀\n${LONG}\nMAIL FROM:<x@y.example>\n`;
const BLOCKS = JSON.stringify({
  blocks: [
    { type: 'heading', level: 1, text: 'Grüße' },
    { type: 'text', html: `<p>Hello {{ subscriber.first_name }}! ${LONG}</p><p>.</p>` },
    { type: 'button', label: 'Lesen', url: 'https://acme.example/news' },
  ],
});

/** Sends campaigns of text alone, of blocks, and from an address outside ASCII. Returns all their deliveries. */
async function sendVariedMails(way: WholeWay, name: string, count: number) {
  const third = Math.ceil(count / 3);
  const drafts = [
    { name: `${name} text`, contentText: TEXT, readers: addressesOf(`${name}-text`, third) },
    { name: `${name} blöcke`, contentJson: BLOCKS, readers: addressesOf(`${name}-blocks`, third) },
    {
      name: `${name} from`,
      contentText: TEXT,
      fromEmail: `grüße@${DOMAIN}`,
      readers: addressesOf(`${name}-from`, third),
    },
  ];
  const keys = await Promise.all(drafts.map((draft) => way.send(draft)));
  const ended = await Promise.all(keys.map((key) => way.ended(key)));
  return drafts.flatMap(({ fromEmail }, at) =>
    (ended[at] ?? []).map((delivery) => ({
      ...delivery,
      needsSmtpUtf8: fromEmail !== undefined || /[^\p{ASCII}]/u.test(delivery.address),
    })),
  );
}

/** Each mail comes to the destination, once, with signatures that hold. */
export async function expectVariedMailsToArrive(way: WholeWay, name: string, count: number): Promise<void> {
  const deliveries = await sendVariedMails(way, name, count);
  expect(deliveries).toHaveLength(count);
  expect(deliveries.filter(({ state }) => state !== 'SENT')).toEqual([]);
  await expectToHaveArrived(way, deliveries);
}

/** So does each through a relay without SMTPUTF8, but those that need it, whose readers stay as they are. */
export async function expectAsciiMailsToArrive(way: WholeWay, name: string, count: number): Promise<void> {
  const deliveries = await sendVariedMails(way, name, count);
  expect(deliveries).toHaveLength(count);
  const { plain = [], international = [] } = Object.groupBy(deliveries, ({ needsSmtpUtf8 }) =>
    needsSmtpUtf8 ? 'international' : 'plain',
  );
  expect(plain.filter(({ state }) => state !== 'SENT')).toEqual([]);
  expect(international.filter(({ reason }) => reason !== 'content')).toEqual([]);
  expect(await way.statusOf(international[0]?.address ?? '')).toBe('ACTIVE');
  await expectToHaveArrived(way, plain);
}

async function expectToHaveArrived(
  way: WholeWay,
  sent: readonly { readonly address: string }[],
): Promise<void> {
  await way.arrived(sent.length);
  const { messages } = way.destination;
  expect(messages.map(({ to }) => to.join()).sort()).toEqual(sent.map(({ address }) => address).sort());
  expect(new Set(messages.map(({ messageId }) => messageId)).size).toBe(sent.length);
  for (const mail of messages) await expectItIsWhole(way, mail);
}

async function expectItIsWhole(way: WholeWay, mail: ReceivedMail): Promise<void> {
  const found = await authenticity(way.dns, mail);
  expect({ ...found, of: messageIdOf(mail.raw) }).toMatchObject({
    dkim: ['rsa-sha256 pass', 'ed25519-sha256 pass'],
    dmarc: 'pass',
  });
}
