import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type Report, readReport } from './report.js';

const SAMPLES = join(import.meta.dirname, 'samples');
const MOST_CPU_MS = 50;
const ORIGINAL = '<019be3f0-4c11-7a62-9d0c-2f1a6b0f5c77@shop.example>';

/** Reports in the forms of real servers, and what each means: a bounce's class, a complaint, or nothing and why. */
const EXPECTED: Readonly<Record<string, string>> = {
  'a-person-answers': 'nothing:no-report',
  'amazon-ses-report': 'hard',
  'arf-aol-folded-type': 'complaint',
  'arf-auth-failure': 'nothing:other-feedback',
  'arf-comcast': 'complaint',
  'arf-fraud': 'nothing:other-feedback',
  'arf-not-spam': 'nothing:other-feedback',
  'arf-outlook-jmrp': 'complaint',
  'arf-rfc5965-full': 'complaint',
  'arf-rfc5965-minimal': 'complaint',
  'arf-upper-case': 'complaint',
  'arf-virus': 'nothing:other-feedback',
  'arf-without-type': 'nothing:other-feedback',
  'arf-yahoo': 'complaint',
  'challenge-response': 'nothing:no-report',
  'comcast-block-list': 'policy',
  'daemon-without-reason': 'unknown',
  'domino-plain': 'hard',
  'dsn-empty-diagnostic-text-tells': 'mailbox',
  'exchange-5-plain-text': 'hard',
  'exchange-delayed': 'nothing:delayed',
  'exchange-hop-count': 'network',
  'exchange-relayed': 'nothing:not-failed',
  'exim-delayed': 'nothing:delayed',
  'exim-old-plain-text': 'hard',
  'exim-old-plain-text-delay': 'nothing:delayed',
  'exim-quota': 'mailbox',
  'exim-retry-timeout': 'network',
  'exim-sender-verify-failed': 'sender',
  'exim-unrouteable': 'hard',
  'exim-user-unknown': 'hard',
  'german-daemon': 'hard',
  'gmail-disabled': 'hard',
  'gmail-likely-unsolicited': 'policy',
  'gmail-no-such-account': 'hard',
  'gmail-over-quota': 'mailbox',
  'gmail-receiving-too-quickly': 'mailbox',
  'gmail-report-address-not-found': 'hard',
  'gmail-report-domain-not-found': 'hard',
  'gmail-report-incomplete': 'nothing:delayed',
  'gmail-report-over-quota-group': 'mailbox',
  'gmail-unauthenticated': 'sender',
  'gmx-mailbox-unavailable': 'hard',
  'icloud-over-quota': 'mailbox',
  'icloud-user-unknown': 'hard',
  'jmrp-before-arf': 'complaint',
  'left-the-company': 'nothing:no-report',
  'mailenable-plain': 'hard',
  'mimecast-unknown-address': 'hard',
  'office365-directory-edge-blocking': 'hard',
  'office365-domain-does-not-exist': 'hard',
  'office365-expired': 'network',
  'office365-mailbox-full': 'mailbox',
  'office365-message-too-large': 'content',
  'office365-not-authorized': 'policy',
  'office365-recipient-not-found': 'hard',
  'office365-remote-error-wrapped': 'hard',
  'out-of-office-exchange': 'nothing:no-report',
  'out-of-office-gmail': 'nothing:no-report',
  'out-of-office-vacation': 'nothing:no-report',
  'outlookcom-authentication-level': 'sender',
  'outlookcom-block-list-s3150': 'policy',
  'outlookcom-mailbox-unavailable': 'hard',
  'postfix-delay-warning': 'nothing:delayed',
  'postfix-delivered-receipt': 'nothing:not-failed',
  'postfix-expired-greylisting': 'policy',
  'postfix-expired-timeout': 'network',
  'postfix-greylisting-delay': 'nothing:delayed',
  'postfix-host-not-found': 'hard',
  'postfix-local-user-unknown': 'hard',
  'postfix-loop': 'network',
  'postfix-mailbox-full': 'mailbox',
  'postfix-null-mx': 'hard',
  'postfix-relay-access-denied': 'policy',
  'postfix-relayed-receipt': 'nothing:not-failed',
  'postfix-sender-domain-not-found': 'sender',
  'postfix-spamhaus': 'policy',
  'postfix-too-large': 'content',
  'postfix-user-unknown': 'hard',
  'proofpoint-blocked': 'policy',
  'qmail-in-queue-too-long': 'network',
  'qmail-no-host': 'hard',
  'qmail-no-mailbox': 'hard',
  'qmail-quota': 'mailbox',
  'qmail-rejected-as-spam': 'policy',
  'qmail-relay-refused': 'sender',
  'qmail-remote-said-unknown': 'hard',
  'read-receipt': 'nothing:no-report',
  'sendmail-alias-expanded': 'nothing:not-failed',
  'sendmail-expired': 'network',
  'sendmail-host-unknown': 'hard',
  'sendmail-user-unknown': 'hard',
  'sendmail-vacation-exit-code': 'unknown',
  'sendmail-warning': 'nothing:delayed',
  'several-recipients-one-failed': 'hard',
  'spam-to-the-return-path': 'nothing:no-report',
  'unfolded-lf-only-lower-case': 'hard',
  'unknown-permanent-failure': 'unknown',
  'utf8-global-report': 'hard',
  'virus-refused': 'content',
  'yahoo-deferred-ts03': 'policy',
  'yahoo-mailbox-disabled': 'hard',
  'yahoo-no-account': 'hard',
  'yahoo-policy-reasons': 'policy',
};

/** Reports that do not carry the message they are about, or not its Message-ID. */
const WITHOUT_ORIGINAL = [
  'daemon-without-reason',
  'domino-plain',
  'exchange-5-plain-text',
  'german-daemon',
  'qmail-relay-refused',
  'several-recipients-one-failed',
];

function summary(report: Report): string {
  if (report.kind === 'bounce') return report.class;
  return report.kind === 'complaint' ? 'complaint' : `nothing:${report.why}`;
}

const sampleOf = (name: string) => readFileSync(join(SAMPLES, `${name}.eml`));

describe('reports of real-world forms', () => {
  it('are all in the table, and are no fewer than 60', () => {
    const files = readdirSync(SAMPLES).map((file) => file.replace(/\.eml$/, ''));
    expect(files.toSorted()).toEqual(Object.keys(EXPECTED).toSorted());
    expect(files.length).toBeGreaterThanOrEqual(60);
  });

  it.each(Object.entries(EXPECTED))('%s is read as %s', async (name, expected) => {
    expect(summary(await readReport(sampleOf(name)))).toBe(expected);
  });

  it.each(Object.entries(EXPECTED))('%s with the line ends of SMTP is read as %s', async (name, expected) => {
    const wire = sampleOf(name).toString('latin1').replaceAll(/\r?\n/g, '\r\n');
    expect(summary(await readReport(Buffer.from(wire, 'latin1')))).toBe(expected);
  });

  it('tell the Message-ID of the mail that they are about', async () => {
    for (const name of Object.keys(EXPECTED)) {
      const report = await readReport(sampleOf(name));
      if (report.kind === 'nothing' || WITHOUT_ORIGINAL.includes(name)) continue;
      expect([name, report.originalMessageId]).toEqual([name, ORIGINAL]);
    }
  });
});

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
