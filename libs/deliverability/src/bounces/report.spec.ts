import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { newId } from '#kernel';
import { projectRoot } from '#platform';
import { COSTLY_REPORTS, damaged, damagedReports } from '#testing/random/damaged-reports';
import * as fc from '#testing/random/properties';
import { sendmailReport } from '#testing/mail/sendmail-report';
import { EXPECTED, WITHOUT_ORIGINAL } from './report-samples.fixture.js';
import { readReport, type Report } from './report.js';
import { ReturnPaths } from './return-path.js';

const SAMPLES = join(projectRoot(), 'libs/deliverability/src/bounces/samples');
const ORIGINAL = '<019be3f0-4c11-7a62-9d0c-2f1a6b0f5c77@shop.example>';

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

it('reads the reply where a report names neither action nor status', async () => {
  const report = (reply: string) =>
    Buffer.from(`From: mailerdaemon@mx.example
Subject: Delivery Status Notification
Content-Type: multipart/report; report-type=delivery-status; boundary="part"

--part
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example

Final-recipient: rfc822; ada@example.com
Diagnostic-Code: smtp; ${reply}

--part--
`);
  expect(summary(await readReport(report('552 Mailbox disk quota exceeded')))).toBe('mailbox');
  expect(summary(await readReport(report('450 Mailbox busy')))).toBe('nothing:not-failed');
});

describe('a mail from the empty sender', () => {
  const said = (text: string) => Buffer.from(`From: robot@mail.example\nSubject: Notice\n\n${text}\n`);

  it('is a bounce when its text says that a mail was not delivered, whatever its name and its subject', async () => {
    const mail = said('Your mail could not be delivered to ada@example.com: no such user');
    expect(summary(await readReport(mail, ''))).toBe('hard');
    expect(summary(await readReport(mail, 'robot@mail.example'))).toBe('nothing:no-report');
  });

  it('is a bounce as well when its header names nobody', async () => {
    const mail = Buffer.from("From: <>\nAuto-Submitted: auto-replied\n\nThat's not a valid user here.\n");
    expect(summary(await readReport(mail))).toBe('hard');
  });

  it('is nothing when it says something else', async () => {
    expect(summary(await readReport(said('I am on holiday, and my address is unknown'), ''))).toBe(
      'nothing:no-report',
    );
  });
});

describe('an address that is alive is not suppressed when Sendmail makes 5.1.1 of', () => {
  it.each([
    'Relaying denied',
    'Sorry, we do not relay for strangers',
    'Your message was rejected due to spam',
    'You must use TLS',
    'Encryption needed, issue STARTTLS first',
    'Access denied',
    'Please try again later',
    'Come back in an hour',
    'Mail of your domain breaks its DMARC policy',
    'SPF says that you are not who you say you are',
    'We could not find the reverse name of your address',
    'Your server has no PTR record',
    'Your address is listed by our provider of lists',
    'Too many connections from your network',
    'Slow down, please',
    'Dynamic IP addresses may not send mail here',
    'Content filter hit: message refused',
    'This message smells of phishing',
    'A virus was found in your attachment',
    'Message larger than we take',
    'Message size exceeds the limit of this site',
    'Only members may post to this list',
    'Sender not in the list of allowed senders',
    'Sender address rejected: user unknown',
    'The domain of the sender does not resolve',
    'Log in before you send',
    'Local configuration error',
    'Internal error while delivering',
    'Connection timed out',
    'Mailbox is over its quota',
    'Not enough space in the mailbox',
    'Mailbox locked temporarily',
    'Directory service unavailable, user unknown',
    'Unknown user or full mailbox',
    'Not today',
    'Tänk om',
  ])('550 %s', async (reply) => {
    expect(summary(await readReport(sendmailReport(reply)))).not.toBe('hard');
  });
});

describe('a dead address is suppressed when Sendmail reports', () => {
  it.each([
    'No such user here',
    'User unknown',
    'ada@example.com...User unknown',
    'Unknown recipient',
    'Recipient rejected',
    'Nonexistent mailbox',
    'There is no one at this address',
    'Sorry, no mailbox here by that name',
    'This account was closed',
    'Mailbox disabled',
    'Her account has been suspended',
    'Empfänger unbekannt',
    'Utilisateur inconnu',
    'El destinatario no existe',
    'Access denied, no such user',
    'Spam or not, user unknown',
  ])('550 %s', async (reply) => {
    expect(summary(await readReport(sendmailReport(reply)))).toBe('hard');
  });
});

const LOOKED_AT = 128 * 1024;
const LINE = '\r\n';
const behind = (preamble: string) =>
  Buffer.from(
    `Content-Type: multipart/report; boundary=b\r\n\r\n${preamble}\r\n--b\r\n` +
      'Content-Type: message/delivery-status\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n',
  );

/** The time that each takes is measured by bench/reports.ts; bounce-table.spec.ts shows that no pattern costs more. */
describe('a mail to a return path of up to 1 MB', () => {
  it.each(COSTLY_REPORTS)('is read no further than its beginning when it is %s', async (_, text) => {
    const raw = Buffer.from(text);
    const report = await readReport(raw);
    expect(report).toEqual(await readReport(raw.subarray(0, LOOKED_AT)));
    expect(report.kind === 'bounce' ? report.class : report.kind).not.toBe('complaint');
  });

  it.each([
    ['128 KB', 'x'.repeat(120_000), 'x'.repeat(LOOKED_AT)],
    ['2 000 lines', LINE.repeat(1_900), LINE.repeat(2_000)],
    ['6 000 equals signs', '='.repeat(5_900), '='.repeat(6_000)],
  ])('is not looked at behind %s', async (_, less, more) => {
    expect(await readReport(behind(less))).toMatchObject({ kind: 'bounce', class: 'hard' });
    expect(await readReport(behind(more))).toMatchObject({ kind: 'nothing' });
  });
});

/** Number of damaged reports; the longest time that one takes is measured by bench/reports.ts. */
const RUNS = fc.runs(2_000);

describe('damaged reports', () => {
  it('are read without an error', async () => {
    await fc.assert(
      fc.asyncProperty(damagedReports(), async (raw) => {
        expect(['bounce', 'complaint', 'nothing']).toContain((await readReport(raw)).kind);
      }),
      { numRuns: RUNS },
    );
  });

  it('are of no use without a return path of ours: no damaged one is', () => {
    const paths = new ReturnPaths('a secret of the tests, long enough for it');
    const address = paths.addressOf({ environmentId: 3, deliveryId: newId() }, 'bounces.example');
    const ours = paths.read(address);
    expect(ours).not.toBeNull();
    fc.assert(
      fc.property(damaged([Buffer.from(address)]), (raw) => {
        const mutated = raw.toString('latin1');
        // Only another host, or another case, leaves it what it was.
        const [local = '', ...hosts] = mutated.split('@');
        const isUnchanged =
          hosts.length === 1 && hosts[0] !== '' && local.toLowerCase() === address.split('@')[0];
        expect(paths.read(mutated)).toEqual(isUnchanged ? ours : null);
      }),
      { numRuns: RUNS },
    );
  });
});
