import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeDataDirectory } from './data-directory.js';
import { inPlainWords, LaunchError } from './failure.js';

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mailwright-failure-'));
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const withCode = (code: string) => Object.assign(new Error(`${code}: no, '/x/.data'`), { code });

describe('what the terminal says when Mailwright does not start', () => {
  it('is to move a file that is called .data away', async () => {
    const file = join(directory, '.data');
    await writeFile(file, '');
    const error: unknown = await makeDataDirectory(file).catch((reason: unknown) => reason);
    expect(inPlainWords(error)).toContain('.data has to be a directory');
  });

  it.each([
    ['EROFS', 'Start it in another.'],
    ['ENOSPC', 'Make room and start again'],
    ['EACCES', 'sudo chown -R "$(id -un)" .data'],
  ])('is what to do about %s, and no stack', (code, advice) => {
    const text = inPlainWords(withCode(code));
    expect(text).toContain(`${code}: no, '/x/.data'`);
    expect(text).toContain(advice);
    expect(text).not.toMatch(/^\s+at /m);
  });

  it('is our own words where there are some, and the stack of what nobody expected', () => {
    expect(inPlainWords(new LaunchError('Two of them.'))).toBe('Two of them.');
    expect(inPlainWords(new TypeError('a mistake of ours'))).toMatch(/a mistake of ours\n\s+at /);
  });
});
