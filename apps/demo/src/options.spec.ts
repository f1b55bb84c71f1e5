import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { DemoError, findTarget, maskedKey, parseOptions } from './options.js';

describe('the options of the demo', () => {
  it('may be left out', () => {
    expect(parseOptions([])).toEqual({ quiet: false, patience: 30 });
  });

  it('say where, with which key, how patiently and how quietly', () => {
    const args = [
      '--base-url',
      'https://mail.acme.example/',
      '--key',
      'mw_test_a',
      '--patience',
      '2.5',
      '--quiet',
    ];
    expect(parseOptions(args)).toEqual({
      baseUrl: 'https://mail.acme.example',
      key: 'mw_test_a',
      patience: 2.5,
      quiet: true,
    });
  });

  it.each([
    [['--key', 'mw_live_a'], 'must be a test key'],
    [['--base-url', 'localhost:3000'], 'It must be an address such as http://localhost:3000.'],
    [['--patience', 'long'], 'It must be a number of seconds'],
    [['--patience', '-1'], 'It must be a number of seconds'],
    [['now'], 'too many arguments'],
  ])('are refused when they read %j', (args, words) => {
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      expect(() => parseOptions(args)).toThrow(words);
      expect(written).toHaveBeenCalled();
    } finally {
      written.mockRestore();
    }
  });
});

describe('the demo speaks', () => {
  let directory: string;
  let path: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mailwright-target-'));
    path = join(directory, 'demo.json');
  });

  afterEach(() => rm(directory, { recursive: true }));

  it('to the system that npm start wrote down, but for what the options say', async () => {
    const file = {
      baseUrl: 'http://localhost:3000',
      projectKey: 'DEMO',
      testKey: 'mw_test_a',
      liveKey: 'mw_live_b',
    };
    await writeFile(path, JSON.stringify(file));
    expect(await findTarget({}, path)).toEqual({ baseUrl: 'http://localhost:3000', key: 'mw_test_a' });
    expect(await findTarget({ key: 'mw_test_c' }, path)).toMatchObject({ key: 'mw_test_c' });
    expect(await findTarget({ baseUrl: 'http://a' }, path)).toEqual({
      baseUrl: 'http://a',
      key: 'mw_test_a',
    });
  });

  it('to whatever the options say when there is no file', async () => {
    const options = { baseUrl: 'http://a', key: 'mw_test_c' };
    expect(await findTarget(options, path)).toEqual(options);
    await expect(findTarget({ key: 'mw_test_c' }, path)).rejects.toThrow(DemoError);
  });

  it.each([['{"baseUrl":'], ['{}'], ['{"baseUrl":"http://a","testKey":"mw_live_b"}']])(
    'to nobody when the file reads %s',
    async (text) => {
      await writeFile(path, text);
      await expect(findTarget({}, path)).rejects.toThrow(
        'Start Mailwright with `mailwright start` in another terminal',
      );
    },
  );

  it('of its key in few characters', () => {
    expect(maskedKey('mw_test_abcdefghijklmnopqrstuvwxyz')).toBe('mw_test_…wxyz');
  });
});
