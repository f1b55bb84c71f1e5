import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { withLocalInstallation } from './local-installation.js';

const FILES = {
  'postgres/superuser.password': 'pass\n',
  'ports.json': '{"postgres":5437,"publicUrl":"http://localhost:3005"}\n',
  'secrets.json': '{"tokenSecret":"token","masterKey":"master"}\n',
};
const FOUND = {
  DATABASE_URL: 'postgres://postgres:pass@127.0.0.1:5437/mailwright',
  TOKEN_SECRET: 'token',
  MASTER_KEY: 'master',
  PUBLIC_URL: 'http://localhost:3005',
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
});
