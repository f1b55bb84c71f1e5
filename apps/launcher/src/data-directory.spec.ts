import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lockDataDirectory, makeDataDirectory, readOrMakeSecrets } from './data-directory.js';
import { readDemoFile, writeDemoFile } from './demo.js';

const BUILT_LOCK = resolve('dist/apps/launcher/src/data-directory.js');

let directory: string;
let database: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mailwright-data-'));
  database = join(directory, 'postgres');
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const modeOf = async (path: string) => (await stat(path)).mode & 0o777;

describe('a data directory', () => {
  it('is made once, and stays as it is', async () => {
    const path = join(directory, '.data');
    await makeDataDirectory(path);
    expect(await modeOf(path)).toBe(0o711);
    await writeFile(join(path, 'kept'), '');
    await makeDataDirectory(path);
    expect(await readdir(path)).toEqual(['kept']);
  });
});

describe('the lock of a data directory', () => {
  it('keeps a second launcher out until the first has ended', async () => {
    const first = await lockDataDirectory(directory);
    await expect(lockDataDirectory(directory)).rejects.toThrow(
      `Mailwright already runs in this directory (process ${process.pid}).`,
    );
    await first.release();
    await (await lockDataDirectory(directory)).release();
    expect(await readdir(directory)).toEqual([]);
  });

  it('is free again when its holder was killed', async () => {
    const code = `
      const { lockDataDirectory } = await import(${JSON.stringify(BUILT_LOCK)});
      await lockDataDirectory(${JSON.stringify(directory)});
      process.send('locked');
      setInterval(() => undefined, 60_000);
    `;
    const holder = spawn(process.execPath, ['--input-type=module', '-e', code], {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await once(holder, 'message');
    await expect(lockDataDirectory(directory)).rejects.toThrow(`(process ${holder.pid})`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await (await lockDataDirectory(directory)).release();
  });

  it('is free when the number of its holder was given to another program since', async () => {
    await writeFile(
      join(directory, 'launcher.lock'),
      JSON.stringify({ pid: process.pid, started: 'long ago' }),
    );
    await (await lockDataDirectory(directory)).release();
  });
});

describe('the secrets', () => {
  it('are made once, kept, and readable by their owner only', async () => {
    const path = join(directory, 'secrets.json');
    const made = await readOrMakeSecrets(path, database);
    expect(made.tokenSecret).toHaveLength(43);
    expect(made.masterKey).not.toBe(made.tokenSecret);
    expect(await modeOf(path)).toBe(0o600);

    await chmod(path, 0o644);
    await mkdir(database);
    expect(await readOrMakeSecrets(path, database)).toEqual(made);
    expect(await modeOf(path)).toBe(0o600);
  });

  it('are never replaced when their file is damaged', async () => {
    const path = join(directory, 'secrets.json');
    await writeFile(path, '{"tokenSecret":');
    await expect(readOrMakeSecrets(path, database)).rejects.toThrow('is damaged');
    expect(await readFile(path, 'utf8')).toBe('{"tokenSecret":');
  });

  it('are never made anew beside a database that was made with others', async () => {
    const path = join(directory, 'secrets.json');
    await mkdir(database);
    await expect(readOrMakeSecrets(path, database)).rejects.toThrow(
      `${path} is missing, and the database in ${database} needs it. Restore it from a backup;`,
    );
    expect(await readdir(directory)).toEqual(['postgres']);
  });
});

describe('the demo file', () => {
  const demo = {
    baseUrl: 'http://localhost:3000',
    projectKey: 'DEMO',
    testKey: 'mw_test_a',
    liveKey: 'mw_live_b',
  };

  it('holds what a client needs, for its owner only', async () => {
    const path = join(directory, 'demo.json');
    await writeFile(path, 'old', { mode: 0o644 });
    await writeDemoFile(path, demo);
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual(demo);
    expect(await modeOf(path)).toBe(0o600);
    expect(await readDemoFile(path)).toEqual(demo);
  });

  it.each([['{"baseUrl":'], ['{}'], [JSON.stringify({ ...demo, testKey: null })]])(
    'counts as lost when it reads %s',
    async (text) => {
      const path = join(directory, 'demo.json');
      expect(await readDemoFile(path)).toBeNull();
      await writeFile(path, text);
      expect(await readDemoFile(path)).toBeNull();
    },
  );
});
