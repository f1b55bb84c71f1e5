import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { projectRoot } from '../../../libs/platform/src/project-root.js';
import * as fc from './properties.js';

const SAMPLES = join(projectRoot(), 'libs/deliverability/src/bounces/samples');
const LARGEST = 1_048_576;

const SPLICES = [
  '\0',
  '\r\n\r\n',
  '\n',
  ':',
  ';',
  '=',
  '"',
  '(',
  '<',
  '>',
  '--',
  '\xff\xfe',
  '=?utf-8?B?',
  'Action: failed\r\n',
  'Content-Type: message/delivery-status\r\n\r\n',
  'Content-Transfer-Encoding: base64\r\n',
  'boundary=',
  ' '.repeat(5_000),
  'a'.repeat(20_000),
  '@'.repeat(2_000),
  'user '.repeat(2_000),
  '\t\r\n'.repeat(3_000),
  '('.repeat(5_000),
  '550-5.1.1 '.repeat(2_000),
];

type Change = (mail: Buffer, at: number) => Buffer;

const splice = fc.constantFrom(...SPLICES).map(
  (text): Change =>
    (mail, at) =>
      Buffer.concat([mail.subarray(0, at), Buffer.from(text, 'latin1'), mail.subarray(at)]),
);
const flip = fc.nat({ max: 255 }).map((byte): Change => (mail, at) => {
  const flipped = Buffer.from(mail);
  if (flipped.length > 0) flipped[at] = byte;
  return flipped;
});
const cut = fc.nat({ max: 299 }).map(
  (length): Change =>
    (mail, at) =>
      Buffer.concat([mail.subarray(0, at), mail.subarray(at + length)]),
);
const repeat = fc.constant<Change>((mail) =>
  Buffer.concat(Array.from({ length: 20 }, () => mail)).subarray(0, LARGEST),
);

/** One of `mails` after up to six changes: other bytes, pieces cut out, put in, taken of another or repeated. */
export function damaged(mails: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const ended = fc.constantFrom(...mails).map(
    (other): Change =>
      (mail, at) =>
        Buffer.concat([mail.subarray(0, at), other.subarray(at)]),
  );
  const change = fc.oneof(
    { weight: 6, arbitrary: flip },
    { weight: 4, arbitrary: cut },
    { weight: 6, arbitrary: splice },
    { weight: 3, arbitrary: ended },
    { weight: 1, arbitrary: repeat },
  );
  const place = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  const changes = fc.array(fc.tuple(change, place), { minLength: 1, maxLength: 6, size: 'max' });
  return fc
    .tuple(fc.constantFrom(...mails), changes)
    .map(([mail, all]) =>
      all.reduce((result, [changed, at]) => changed(result, Math.floor(at * result.length)), mail),
    );
}

/** The samples of the bounces' tests, damaged. */
export function damagedReports(): fc.Arbitrary<Buffer> {
  return damaged(readdirSync(SAMPLES).map((file) => readFileSync(join(SAMPLES, file))));
}

const REPORT = 'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\n';
const STATUS = `${REPORT}Content-Type: message/delivery-status\r\n\r\n`;
const DAEMON = 'From: MAILER-DAEMON@x.example\r\nSubject: Returned mail\r\n\r\n';
const nested = (n: number) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`;

/** Mails of up to 1 MB that are made to cost whoever reads them. */
export const COSTLY_REPORTS: readonly (readonly [what: string, text: string])[] = [
  ['nothing at all', ''],
  ['no headers', '\r\n\r\nhello'],
  ['a header without end', `Subject: ${'x'.repeat(1_000_000)}`],
  ['a header of brackets', `Content-Type: ${'('.repeat(1_000_000)}`],
  ['a thousand headers', 'a: b\r\n'.repeat(150_000)],
  ['a thousand parts', REPORT + 'x\r\n--b\r\n\r\n'.repeat(80_000)],
  ['a nest without a floor', Array.from({ length: 20_000 }, (_, n) => nested(n)).join('')],
  ['a status of a thousand groups', STATUS + 'a: b\r\n\r\n'.repeat(80_000)],
  ['a status of white space', `${STATUS}Action:${' '.repeat(500_000)}x${'\t\r\n'.repeat(150_000)}`],
  [
    'a diagnosis without end',
    `${STATUS}Action: failed\r\nDiagnostic-Code: ${'user 5.1.1.1 '.repeat(70_000)}`,
  ],
  ['a text without end', DAEMON + 'user address mailbox '.repeat(47_000)],
  ['a text of white space', DAEMON + ' \t\r\n'.repeat(250_000)],
  ['a text of failures', DAEMON + 'addresses failed: \r\n'.repeat(50_000)],
  ['a text of nearly failures', DAEMON + 'could not be delivered to '.repeat(38_000)],
  ['a page of brackets', `Content-Type: text/html\r\n\r\n${'<'.repeat(1_000_000)}`],
  ['a page of styles', `Content-Type: text/html\r\n\r\n${'<style '.repeat(140_000)}`],
  ['a page of entities', `Content-Type: text/html\r\n\r\n${'&amp;&#1;'.repeat(100_000)}`],
  ['base64 that is none', `${REPORT}Content-Transfer-Encoding: base64\r\n\r\n${'=A'.repeat(500_000)}`],
];
