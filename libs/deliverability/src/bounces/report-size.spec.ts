import { describe, expect, it } from '@jest/globals';
import { readReport } from './report.js';

const MOST_CPU_MS = 50;
const REPORT = 'Content-Type: multipart/report; boundary=b\r\n\r\n--b\r\n';
const STATUS = `${REPORT}Content-Type: message/delivery-status\r\n\r\n`;
const DAEMON = 'From: MAILER-DAEMON@x.example\r\nSubject: Returned mail\r\n\r\n';
const nested = (n: number) => `Content-Type: multipart/mixed; boundary=b${n}\r\n\r\n--b${n}\r\n`;

describe('a mail to a return path of up to 1 MB', () => {
  it.each([
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
  ])('is read in less than 50 ms when it is %s', async (_, text) => {
    const raw = Buffer.from(text);
    const report = await readReport(raw);
    // The collector of garbage, and what compiles, use the thread too: what is slow is slow again.
    let least = Number.POSITIVE_INFINITY;
    for (let time = 0; time < 5 && least >= MOST_CPU_MS; time += 1) least = Math.min(least, await cpuOf(raw));
    expect(least).toBeLessThan(MOST_CPU_MS);
    expect(report.kind === 'bounce' ? report.class : report.kind).not.toBe('complaint');
  });
});

async function cpuOf(raw: Buffer): Promise<number> {
  const before = process.threadCpuUsage();
  await readReport(raw);
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
