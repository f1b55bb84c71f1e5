import { execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { walkthrough } from '../../apps/launcher/src/walkthrough.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import {
  addKey,
  prepareProject,
  type SharedSystem,
  sharedSystem,
  type SystemProject,
} from '#testing/programs/system';

const DEMO = join(projectRoot(), 'dist/apps/demo/src/main.js');
const ALL_STEPS = 34;
/** The confirmation mail is the first thing that a worker is needed for. */
const FIRST_WORKER_STEP = 5;

describe('whoever tries Mailwright for the first time', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let database: TestDatabase;
  let api: RunningProgram;
  let directory: string;
  let testKey: string;

  beforeAll(async () => {
    [system, directory] = await Promise.all([sharedSystem(), mkdtemp(join(tmpdir(), 'mailwright-demo-'))]);
    project = await system.project('DEMO');
    const client = await project.client('TEST');
    for (const [name, doubleOptInEnabled] of [
      ['Product news', true],
      ['Release notes', false],
    ] as const) {
      expect((await client.post('/topics', { name, doubleOptInEnabled })).status).toBe(201);
    }
    // The demo project's keys have no limit of their own either: 60 requests a minute.
    testKey = await addKey(system.database, project.test, { rateLimitPerMinute: null });
    await mkdir(join(directory, '.data'));
    await writeDemoFile(system.baseUrl);
  });

  afterAll(async () => {
    await api?.stop();
    await database?.drop();
    await system?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  it('gets through the walk-through by pasting it into a shell', async () => {
    const topics = { doubleOptIn: 'DEMO-1', singleOptIn: 'DEMO-2' };
    const key = (await project.client('TEST')).key ?? '';
    const sections = await paste(walkthrough({ baseUrl: system.baseUrl, testKey: key }, topics));
    const [, listed, signedUp, mail, pressed, consents, queued, inbox, report] = sections;

    expect(sections).toHaveLength(9);
    expect(topicKeysIn(listed)).toEqual(['DEMO-2', 'DEMO-1']);
    const { email } = json(signedUp);
    expect(json(signedUp)).toMatchObject({
      email: expect.stringMatching(/^ada\+\d+@example\.com$/),
      status: 'ACTIVE',
    });
    expect(mail).toMatch(new RegExp(`^${system.baseUrl}/c/\\S+\n$`));
    expect(pressed).toBe('200\n');
    expect(json(consents)['consents']).toEqual([
      expect.objectContaining({ topicKey: 'DEMO-2', status: 'SUBSCRIBED', confirmedAt: null }),
      expect.objectContaining({ topicKey: 'DEMO-1', status: 'SUBSCRIBED', confirmedAt: expect.any(String) }),
    ]);
    expect(json(queued)).toMatchObject({ campaignKey: 'DEMO-001', status: 'QUEUED_FOR_SENDING' });
    expect(json(inbox)['data']).toEqual([
      expect.objectContaining({ to: email, kind: 'CAMPAIGN', subject: 'Our first issue' }),
    ]);
    const [statistics, csvHead, csvRow] = (report ?? '').split(/\r?\n/);
    expect(json(statistics)).toMatchObject({ totalSent: 1, totalDelivered: 1, deliveryRate: 1 });
    expect(csvHead).toMatch(/^campaignKey,name,status,totalSent,totalDelivered,/);
    expect(csvRow).toMatch(/^DEMO-001,Walk-through,SENT,1,1,/);
  });

  it('sees every request of the demo and that all of its steps held', async () => {
    const { exitCode, stdout, stderr } = await demo();

    expect(stderr).toBe('');
    expect(marksIn(stdout)).toEqual(Array<string>(ALL_STEPS).fill('✓'));
    expect(exitCode).toBe(0);
    const requests = Number(/All 34 steps held\. It took (\d+) requests/.exec(stdout)?.[1]);
    expect(requests).toBeGreaterThanOrEqual(ALL_STEPS);
    expect(requests).toBeLessThan(60);
    expect(linesLike(stdout, /^ {4}(?:GET|POST|PATCH|DELETE) \S+$/)).toHaveLength(ALL_STEPS);
    expect(linesLike(stdout, /^ {4}(?:20[0124]|302)( {2}\(asked \d+ times in \d+\.\d s\))?$/)).toHaveLength(
      ALL_STEPS,
    );
    expect(stdout).toContain('"subject": "First issue for Ada"');
    expect(stdout).toContain('"headers.List-Unsubscribe-Post": "List-Unsubscribe=One-Click"');
    expect(stdout).toContain(testKey.slice(-4));
    expect(stdout).not.toContain(testKey.slice(0, 20));
    expect(stdout).not.toContain('whsec_');
    expect(stdout).not.toContain('\u001b');
  });

  it('may run the demo as often as they like, and with the summary only', async () => {
    const key = (await project.client('TEST')).key ?? '';
    const { exitCode, stdout } = await demo('--quiet', '--base-url', system.baseUrl, '--key', key);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^\nSummary\n/);
    expect(marksIn(stdout)).toEqual(Array<string>(ALL_STEPS).fill('✓'));
  });

  it('is told which step did not hold while no worker runs', async () => {
    const baseUrl = await startLoneApi();
    const tester = await (await prepareProject(database, baseUrl, 'DEMO')).client('TEST');
    await tester.post('/topics', { name: 'Product news', doubleOptInEnabled: true });
    await tester.post('/topics', { name: 'Release notes', doubleOptInEnabled: false });
    const { exitCode, stdout } = await demo(
      '--base-url',
      baseUrl,
      '--key',
      tester.key ?? '',
      '--patience',
      '1',
    );

    expect(exitCode).toBe(1);
    expect(stdout).toContain(
      '✗ Step 5 did not hold\n      expected  a mail to Ada\n      came      an empty inbox\n      Mail is sent by the worker. Does it run?\n',
    );
    expect(marksIn(stdout)).toEqual([
      ...Array<string>(FIRST_WORKER_STEP - 1).fill('✓'),
      '✗',
      ...Array<string>(ALL_STEPS - FIRST_WORKER_STEP).fill('–'),
    ]);
    expect(stdout).toContain('4 of 34 steps held, 1 did not, 29 were not tried.');
  });

  it('is told what to do when the key is from another system', async () => {
    const { exitCode, stdout } = await demo('--key', 'mw_test_of-another-system');

    expect(exitCode).toBe(1);
    expect(stdout).toContain('expected  a key that is known here\n      came      status 401\n');
    expect(stdout).toContain('`mailwright start` writes .data/demo.json anew');
  });

  it('is told what to do when nothing runs', async () => {
    const baseUrl = `http://127.0.0.1:${api.port}`;
    await api.stop();
    await writeDemoFile(baseUrl);
    const { exitCode, stdout, stderr } = await demo();

    expect(exitCode).toBe(1);
    expect(stderr).toContain(`Mailwright is not running: ${baseUrl} does not answer (ECONNREFUSED).\n`);
    expect(stderr).toContain('Start it with `mailwright start` in another terminal');
    expect(stdout).not.toContain('Summary');
  });

  it('is told what to do when Mailwright was never started', async () => {
    await rm(join(directory, '.data'), { recursive: true });
    const { exitCode, stdout, stderr } = await demo();

    expect([exitCode, stdout]).toEqual([1, '']);
    expect(stderr).toContain('There is no demo project yet');
    expect(stderr).toContain('Start Mailwright with `mailwright start` in another terminal');
    expect(stderr).toContain('Or say where it runs: mailwright demo --base-url');
  });

  it('is told the commands of a clone where npm runs the demo', async () => {
    const program = spawn(process.execPath, [DEMO], {
      cwd: directory,
      env: { ...process.env, npm_lifecycle_event: 'demo' },
    });
    const said = await text(program.stderr);
    expect(said).toContain('Start Mailwright with `npm start` in another terminal');
    expect(said).toContain('Or say where it runs: npm run demo -- --base-url');
  });

  const writeDemoFile = (baseUrl: string) =>
    writeFile(
      join(directory, '.data', 'demo.json'),
      JSON.stringify({ baseUrl, projectKey: 'DEMO', testKey, liveKey: 'mw_live_x' }),
    );

  /** An api without a worker, on a database of its own. */
  async function startLoneApi(): Promise<string> {
    database = await createTestDatabase();
    api = await startProgram('api', { DATABASE_URL: database.url });
    return `http://127.0.0.1:${api.port}`;
  }

  /** Runs the built demo program in `directory`. */
  function demo(...args: string[]): Promise<{ exitCode: number | null; stdout: string; stderr: string }> {
    return new Promise((resolve) => {
      const program = execFile(
        process.execPath,
        [DEMO, ...args],
        { cwd: directory },
        (_error, stdout, stderr) => resolve({ exitCode: program.exitCode, stdout, stderr }),
      );
    });
  }
});

/** Runs shell commands as they stand but for a line between the steps; resolves to what each step printed. */
async function paste(commands: string): Promise<string[]> {
  const shell = spawn('sh', { stdio: ['pipe', 'pipe', 'pipe'] });
  shell.stdin.end(commands.replace(/^# \d+\. /gm, 'echo "--- step ---"\n$&'));
  const [output, complaints] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
  expect(complaints).toBe('');
  return output.split('--- step ---\n');
}

function json(line: string | undefined): Record<string, unknown> {
  return JSON.parse(line ?? '') as Record<string, unknown>;
}

function topicKeysIn(line: string | undefined): unknown[] {
  return (json(line)['data'] as { topicKey: unknown }[]).map(({ topicKey }) => topicKey);
}

/** The marks of the summary, in order. */
function marksIn(output: string): (string | undefined)[] {
  return [...output.matchAll(/^ {2}([✓✗–]) [ \d]\d\. /gmu)].map(([, mark]) => mark);
}

function linesLike(output: string, pattern: RegExp): string[] {
  return output.split('\n').filter((line) => pattern.test(line));
}
