import { describe, expect, it } from '@jest/globals';
import { COSTLY_REPORTS } from '#testing/damaged-reports';
import { readReport } from './report.js';

const LOOKED_AT = 128 * 1024;
const LINE = '\r\n';
const behind = (preamble: string) =>
  Buffer.from(
    `Content-Type: multipart/report; boundary=b\r\n\r\n${preamble}\r\n--b\r\n` +
      'Content-Type: message/delivery-status\r\n\r\nAction: failed\r\nStatus: 5.1.1\r\n\r\n--b--\r\n',
  );

/** How long each takes is measured by bench/reports.ts; that no pattern costs more, bounce-table.spec.ts shows. */
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
