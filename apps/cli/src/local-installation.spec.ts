import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { projectRoot } from '#platform';
import { withLocalInstallation } from './local-installation.js';

const FILES = {
  'postgres/superuser.password': 'pass\n',
  'ports.json': '{"postgres":5437,"publicUrl":"http://localhost:3005","privateAddresses":true}\n',
  'secrets.json': '{"tokenSecret":"token","masterKey":"master"}\n',
};
const FOUND = {
  DATABASE_URL: expect.stringMatching(/^postgres:\/\/mailwright:[0-9a-f]{64}@127\.0\.0\.1:5437\/mailwright$/),
  DATABASE_OWNER_URL: 'postgres://postgres:pass@127.0.0.1:5437/mailwright',
  TOKEN_SECRET: 'token',
  MASTER_KEY: 'master',
  PUBLIC_URL: 'http://localhost:3005',
  OUTGOING_PRIVATE_ADDRESSES: 'true',
};

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mailwright-installation-'));
  await mkdir(join(directory, 'postgres'));
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(directory, name), text);
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

describe('The installation of `npm start`', () => {
  it('is what the operator works on where no database is named, with the secrets of its programs', async () => {
    expect(await withLocalInstallation({ PATH: '/bin', DATABASE_URL: '' }, directory)).toEqual({
      ...FOUND,
      PATH: '/bin',
    });
  });

  it('does not come before what the environment says', async () => {
    const own = { MASTER_KEY: 'mine', PUBLIC_URL: 'https://mail.example' };
    expect(await withLocalInstallation(own, directory)).toEqual({ ...FOUND, ...own });
    const elsewhere = { DATABASE_URL: 'postgres://elsewhere/mailwright' };
    expect(await withLocalInstallation(elsewhere, directory)).toEqual(elsewhere);
  });

  it('is nothing where it never started', async () => {
    await rm(join(directory, 'secrets.json'));
    expect(await withLocalInstallation({}, directory)).toEqual({});
  });

  it('is said to be the one that does not answer where it does not run', async () => {
    const cwd = join(directory, 'elsewhere');
    await mkdir(join(cwd, '.data/postgres'), { recursive: true });
    const secret = 'x'.repeat(32);
    const files = {
      ...FILES,
      'ports.json': '{"postgres":1}',
      'secrets.json': JSON.stringify({ tokenSecret: secret, masterKey: secret }),
    };
    for (const [name, text] of Object.entries(files)) await writeFile(join(cwd, '.data', name), text);
    const program = join(projectRoot(), 'dist/apps/cli/src/main.js');
    const refused = promisify(execFile)(process.execPath, [program, 'key:list'], { cwd, env: {} });
    await expect(refused).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^PostgreSQL does not answer .*\nDATABASE_URL is not set: this is the database of `npm start` in this directory, which has to run\.\n$/,
      ),
    });
  });
});
