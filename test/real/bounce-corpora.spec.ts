import { describe, expect, it } from '@jest/globals';
import { readReport } from '#deliverability';
import { fluflSamples } from './support/flufl-corpus.js';
import { sendmailReport } from '#testing/mail/sendmail-report';
import { isRight, sisimaiSamples, suppressesWrongly } from './support/sisimai-corpus.js';
import { sisimaiPhrases } from './support/sisimai-tables.js';

const SISIMAI = process.env['BOUNCE_CORPUS_SISIMAI'];
const FLUFL = process.env['BOUNCE_CORPUS_FLUFL'];
const TABLES = process.env['BOUNCE_TABLES_SISIMAI'];

/** Per cent. */
const LEAST_RIGHT = 97;
const LEAST_NOTICED = 95;
const MOST_HARD = 2;

/** Reasons of dead addresses, and of those that are refused as dead ones are: disabled, or at a domain without mail. */
const SUPPRESSING = ['userunknown', 'hostunknown', 'hasmoved', 'suspend', 'notaccept'];

/** `describe`, where a corpus is there; else the name of the suite says which variable would name it. */
function describeCorpus(
  directory: string | undefined,
  variable: string,
  name: string,
  body: (d: string) => void,
): void {
  if (directory === undefined) describe.skip(`${name} (no corpus: ${variable})`, () => body(''));
  else describe(name, () => body(directory));
}

/** A bounce's class, `complaint`, `delayed` or `nothing`. */
async function outcomeOf(raw: Uint8Array): Promise<string> {
  const report = await readReport(raw);
  if (report.kind === 'bounce') return report.class;
  return report.kind === 'nothing' && report.why === 'delayed' ? 'delayed' : report.kind;
}

const percent = (part: number, whole: number) => (100 * part) / whole;
const print = (line: string) => process.stdout.write(`${line}\n`);

describeCorpus(SISIMAI, 'BOUNCE_CORPUS_SISIMAI', "the reports of sisimai's public set", (directory) => {
  it(`are read rightly, ${LEAST_RIGHT} of a hundred, and none suppresses an address that is alive`, async () => {
    const samples = sisimaiSamples(directory);
    const wrong: string[] = [];
    const suppressed: string[] = [];
    for (const sample of samples) {
      const read = await outcomeOf(sample.raw);
      const outcome = read === 'delayed' ? 'nothing' : read;
      const line = `${sample.name}: ${sample.findings.map(({ reason }) => reason).join(', ')}, read as ${outcome}`;
      if (!isRight(sample, outcome)) wrong.push(line);
      if (suppressesWrongly(sample, outcome)) suppressed.push(line);
    }
    const right = percent(samples.length - wrong.length, samples.length);
    print(`sisimai: ${samples.length} reports, ${right.toFixed(1)} % right; not: ${wrong.join('; ')}`);
    expect(samples.length).toBeGreaterThan(500);
    expect(suppressed).toEqual([]);
    expect(right).toBeGreaterThanOrEqual(LEAST_RIGHT);
  });
});

describeCorpus(FLUFL, 'BOUNCE_CORPUS_FLUFL', 'the reports of flufl.bounce', (directory) => {
  it(`are noticed, ${LEAST_NOTICED} of a hundred, and none that is temporary suppresses an address`, async () => {
    const samples = fluflSamples(directory);
    const unnoticed: string[] = [];
    const suppressed: string[] = [];
    for (const { name, raw, expected } of samples) {
      const outcome = await outcomeOf(raw);
      if (expected !== 'none' && outcome === 'nothing') unnoticed.push(name);
      if (expected === 'permanent' && outcome === 'delayed') unnoticed.push(name);
      if (expected === 'temporary' && outcome === 'hard') suppressed.push(name);
    }
    const bounces = samples.filter(({ expected }) => expected !== 'none').length;
    const noticed = percent(bounces - unnoticed.length, bounces);
    print(
      `flufl.bounce: ${bounces} reports, ${noticed.toFixed(1)} % noticed; not: ${unnoticed.join(', ')}; suppressed: ${suppressed.join(', ')}`,
    );
    expect(bounces).toBeGreaterThan(90);
    expect(suppressed).toEqual([]);
    expect(noticed).toBeGreaterThanOrEqual(LEAST_NOTICED);
  });
});

describeCorpus(
  TABLES,
  'BOUNCE_TABLES_SISIMAI',
  "the phrases of sisimai's tables in a report of Sendmail's",
  (directory) => {
    it(`are of dead addresses in ${MOST_HARD} of a hundred at most, where sisimai calls them something else`, async () => {
      const others = sisimaiPhrases(directory).filter(({ reason }) => !SUPPRESSING.includes(reason));
      const hard: string[] = [];
      for (const { reason, phrase } of others)
        if ((await outcomeOf(sendmailReport(phrase))) === 'hard') hard.push(`${reason}: ${phrase}`);
      const share = percent(hard.length, others.length);
      print(`sisimai's tables: ${others.length} phrases, ${share.toFixed(1)} % hard: ${hard.join('; ')}`);
      expect(others.length).toBeGreaterThan(500);
      expect(share).toBeLessThanOrEqual(MOST_HARD);
    });
  },
);
