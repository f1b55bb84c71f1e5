import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { FeedbackRequest } from '../../libs/deliverability/src/relays/kinds/kind.js';
import { smtpKind } from '../../libs/deliverability/src/relays/kinds/smtp-kind.js';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { samplesOf } from '#testing/fixtures/code-samples';
import { takenPort } from '#testing/programs/ports';
import { compileIn, runIn } from '#testing/http/sample-room';

const PAGE = 'docs/relays/smtp.md';
/** Only ends a hang. */
const PROGRAM_MS = 300_000;

/** Posts of the sample programs are taken by a server that proves and reads them as the feedback address does. */
describe('the samples that post events', () => {
  const key = `whsec_${randomBytes(24).toString('base64')}`;
  const posts: FeedbackRequest[] = [];
  let server: Server;
  let directory: string;
  let environment: Record<string, string>;

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const headers = request.headers as Record<string, string>;
    const post = { headers, body: await buffer(request), receivedAt: new Date() };
    const fetchText = () => Promise.reject(new Error('There is no document.'));
    const isGenuine = await smtpKind.feedback.isGenuine(post, { key, fetchText });
    if (isGenuine) posts.push(post);
    response.writeHead(isGenuine ? 200 : 401).end();
  };

  beforeAll(async () => {
    server = createServer((request, response) => void take(request, response));
    directory = await mkdtemp(join(tmpdir(), 'mailwright-feedback-'));
    const url = `http://127.0.0.1:${await takenPort(server)}/`;
    environment = { PATH: process.env['PATH'] ?? '', FEEDBACK_URL: url, FEEDBACK_KEY: key };
  });
  afterAll(async () => {
    server?.close();
    await rm(directory, { recursive: true, force: true });
  });

  const sample = async (language: string): Promise<string> => {
    const samples = samplesOf(PAGE, await readFile(join(projectRoot(), PAGE), 'utf8'));
    const named = samples.filter(
      (one) => one.language === language && one.notRunBecause === 'test/docs/feedback-sample.spec.ts runs it',
    );
    expect(named).toHaveLength(1);
    return named[0]!.code;
  };
  const events = () => posts.splice(0).flatMap((post) => smtpKind.feedback.read(post).events);
  const about = { token: null, providerMessageId: '4dF3vN0bqzz1k', address: 'ann@reader.example' };

  it(
    'sign them so that the shell’s are believed',
    async () => {
      const script = `set -euo pipefail\n${await sample('bash')}`;
      const outcome = await runIn({ directory, environment }, 'bash', ['--norc', '-c', script], PROGRAM_MS);
      expect(outcome).toEqual({ exitCode: 0, output: '' });
      expect(events()).toEqual([
        expect.objectContaining({ kind: 'bounce', class: 'hard', basicCode: 550, ...about }),
      ]);
    },
    PROGRAM_MS,
  );

  it(
    'sign them so that Node’s are believed, and compile',
    async () => {
      const file = join(directory, 'post.ts');
      await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
      await writeFile(file, await sample('ts'));
      expect(await compileIn(directory, ['post.ts'], PROGRAM_MS)).toEqual({ exitCode: 0, output: '' });
      const outcome = await runIn({ directory, environment }, process.execPath, [file], PROGRAM_MS);
      expect(outcome).toEqual({ exitCode: 0, output: '' });
      expect(events()).toEqual([{ kind: 'complaint', ...about }]);
    },
    2 * PROGRAM_MS,
  );

  it('fail with another key', async () => {
    const script = `set -euo pipefail\n${await sample('bash')}`;
    const other = { ...environment, FEEDBACK_KEY: `whsec_${randomBytes(24).toString('base64')}` };
    const outcome = await runIn(
      { directory, environment: other },
      'bash',
      ['--norc', '-c', script],
      PROGRAM_MS,
    );
    expect(outcome).toMatchObject({ exitCode: 22, output: expect.stringContaining('401') });
    expect(posts).toEqual([]);
  });
});
