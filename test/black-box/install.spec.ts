import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';

const REPORT = join(projectRoot(), 'node_modules/@scarf/scarf/report.js');

/** Number of reports of an installation of a project, by the script that npm runs where it knows no `allowScripts`. */
async function reportsOf(packageJson: object): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'mailwright-install-'));
  writeFileSync(join(directory, 'package.json'), JSON.stringify(packageJson));
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const script = spawn(process.execPath, [REPORT], {
    env: {
      PATH: process.env['PATH'],
      TMPDIR: directory,
      INIT_CWD: directory,
      npm_execpath: 'npm-cli.js',
      SCARF_LOCAL_PORT: String((server.address() as AddressInfo).port),
    },
    stdio: 'ignore',
  });
  await once(script, 'exit');
  server.close();
  rmSync(directory, { recursive: true });
  return requests;
}

describe('an installation', () => {
  it('is reported to nobody by the packages that it brings, whatever npm it is done with', async () => {
    const own = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as {
      readonly scarfSettings: object;
      readonly allowScripts: Readonly<Record<string, boolean>>;
    };
    expect(own.allowScripts['@scarf/scarf']).toBe(false);
    const { name, version } = { name: 'somebody', version: '1.0.0' };
    expect(await reportsOf({ name, version, scarfSettings: { skipTraversal: true } })).toBe(1);
    expect(await reportsOf({ name, version, scarfSettings: own.scarfSettings })).toBe(0);
  });
});
