import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '#platform';
import { type Report, readReport } from './report.js';
import { EXPECTED, WITHOUT_ORIGINAL } from './report-samples.fixture.js';

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
