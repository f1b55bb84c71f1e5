import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface FluflSample {
  readonly name: string;
  readonly raw: Buffer;
  /** Finding of flufl.bounce; `none` when it finds no address that failed. */
  readonly expected: 'permanent' | 'temporary' | 'none';
}

/** `('qmail', 'qmail_01.txt', [b'userx@example.de'], False),` */
const ROW = /\('\w+',\s*'(\w+\.txt)',\s*\[([^\]]*)\],\s*(True|False)\)/g;

/** The samples of the source distribution of flufl.bounce, each once, whichever of its detectors reads it. */
export function fluflSamples(directory: string): FluflSample[] {
  const tests = join(directory, 'tests');
  const expected = new Map<string, FluflSample['expected']>();
  for (const [, file = '', addresses = '', temporary] of readFileSync(
    join(tests, 'test_detectors.py'),
    'utf8',
  ).matchAll(ROW)) {
    if (addresses.trim() !== '') expected.set(file, temporary === 'True' ? 'temporary' : 'permanent');
    else if (!expected.has(file)) expected.set(file, 'none');
  }
  return [...expected].map(([name, what]) => ({
    name,
    raw: readFileSync(join(tests, 'data', name)),
    expected: what,
  }));
}
