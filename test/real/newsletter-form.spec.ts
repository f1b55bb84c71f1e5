import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { samplesOf } from '#testing/code-samples';
import { eventually } from '#testing/eventually';
import { freePort } from '#testing/ports';
import { openRoom, runIn, type SampleRoom } from '#testing/sample-room';
import { type RunningSystem, startSystem } from '#testing/system';
import { describeWith, type Part } from './parts.js';
import { serverDirectory, type ServerProcess, startServerProcess } from './support/server-process.js';

const PAGE = 'docs/guides/newsletter.md';
const GUIDE = readFileSync(join(projectRoot(), PAGE), 'utf8');
const APPLICATIONS = join(projectRoot(), 'test/real/support/newsletter-form');
const PROGRAM_MS = 60_000;

interface Framework {
  readonly name: string;
  readonly part: Part;
  readonly language: string;
  /** Files as the guide says, beside the application. */
  readonly files: (guide: Row & { readonly code: string; readonly form: string }) => Record<string, string>;
  readonly application: readonly [source: string, name: string];
  readonly command: (port: number) => readonly string[];
  /** Status of a form without the token. */
  readonly refusal: number;
}

interface Row {
  readonly handler: string;
  readonly inForm: string;
}

const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'Laravel',
    part: 'laravel',
    language: 'php',
    files: ({ code, handler, form }) => ({
      'newsletter.php': code,
      'handler.php': `<?php return function (Illuminate\\Http\\Request $request) { ${handler} };`,
      'form.blade.php': form,
    }),
    application: ['laravel.php', 'index.php'],
    command: (port) => ['php', '-S', `127.0.0.1:${port}`, 'index.php'],
    refusal: 419,
  },
  {
    name: 'Django',
    part: 'django',
    language: 'python',
    files: ({ code, handler, form }) => ({
      'newsletter.py': code,
      'handler.py': `from django.shortcuts import redirect\nfrom newsletter import subscribe\n\ndef newsletter(request): ${handler}\n`,
      'form.html': form,
    }),
    application: ['django.py', 'app.py'],
    command: (port) => ['/usr/bin/python3', 'app.py', 'runserver', '--noreload', `127.0.0.1:${port}`],
    refusal: 403,
  },
  {
    name: 'Rails',
    part: 'rails',
    language: 'ruby',
    files: ({ code, handler, form }) => ({
      'newsletter.rb': code,
      'handler.rb': `class NewslettersController\n  def create\n    ${handler}\n  end\nend\n`,
      'form.erb': form,
    }),
    application: ['rails.ru', 'config.ru'],
    command: (port) => ['rackup', '-s', 'webrick', '-o', '127.0.0.1', '-p', String(port), 'config.ru'],
    refusal: 422,
  },
];

let system: RunningSystem;
let directory: string;
let room: SampleRoom;

beforeAll(async () => {
  [system, directory] = await Promise.all([startSystem(), mkdtemp(join(tmpdir(), 'mailwright-form-'))]);
  room = await openRoom(system, directory, { isOperators: false, makesAcme: false });
});
afterAll(async () => {
  await system?.stop();
  await rm(directory, { recursive: true });
});

describe.each(FRAMEWORKS)('the newsletter form of the guide', (framework) => {
  describeWith([framework.part], `in ${framework.name}`, () => {
    let server: ServerProcess;
    let url: string;

    beforeAll(async () => {
      const port = await freePort();
      url = `http://127.0.0.1:${port}`;
      const place = serverDirectory(framework.part);
      const row = rowOf(framework.name);
      const form = codeOf('html').replace('>', `>\n  ${row.inForm}`);
      const files = framework.files({ ...row, code: functionOf(framework.language), form });
      for (const [name, content] of Object.entries(files)) writeFileSync(join(place, name), content);
      const [source, name] = framework.application;
      cpSync(join(APPLICATIONS, source), join(place, name));
      const { MAILWRIGHT_URL = '', MAILWRIGHT_KEY = '' } = room.environment;
      const variables = [`MAILWRIGHT_URL=${MAILWRIGHT_URL}`, `MAILWRIGHT_KEY=${MAILWRIGHT_KEY}`];
      server = await startServerProcess({
        command: 'env',
        args: ['-C', place, ...variables, ...framework.command(port)],
        port,
        directory: place,
      });
    });
    afterAll(() => server?.stop());

    it('signs a person up, in their language', async () => {
      const email = `${framework.part}@example.com`;
      const page = await fetch(url);
      const cookie = page.headers
        .getSetCookie()
        .map((each) => each.split(';')[0])
        .join('; ');
      const [hidden = ''] = /<input[^>]*type="hidden"[^>]*>/.exec(await page.text()) ?? [];
      const token = ['name', 'value'].map((name) => new RegExp(`${name}="([^"]+)"`).exec(hidden)?.[1] ?? '');
      const answer = await post({ email, agree: 'on', [token[0] ?? '']: token[1] ?? '' }, cookie);
      expect(answer.headers.get('location')).toMatch(/\/thanks$/);
      expect([302, 303]).toContain(answer.status);
      await expectPending(email);
    });

    it('is refused without the token', async () => {
      expect((await post({ email: 'stranger@example.com' }, '')).status).toBe(framework.refusal);
      expect((await room.client.get('/subscribers/stranger@example.com')).status).toBe(404);
    });

    const post = (fields: Record<string, string>, cookie: string) =>
      fetch(`${url}/newsletter`, {
        method: 'POST',
        redirect: 'manual',
        headers: { cookie, 'accept-language': 'de-AT,de;q=0.9' },
        body: new URLSearchParams(fields),
      });
  });
});

describe('the newsletter form of the guide in Next.js', () => {
  it('signs a person up and leads on at whatever host they see', async () => {
    const file = join(directory, 'route.ts');
    const form = `new URLSearchParams({ email: 'next@example.com', agree: 'on' })`;
    const request = `new Request('http://localhost:3000/newsletter', { method: 'POST', body: ${form}, headers: { 'accept-language': 'de' } })`;
    const visit = `const answer = await POST(${request});\nconsole.log(answer.status, answer.headers.get('location'));\n`;
    writeFileSync(file, `${functionOf('ts')}\n${rowOf('Next.js').handler}\n${visit}`);
    const outcome = await runIn(room, process.execPath, [file], PROGRAM_MS);
    expect(outcome).toEqual({ exitCode: 0, output: '303 /thanks\n' });
    await expectPending('next@example.com');
  });
});

async function expectPending(email: string): Promise<void> {
  const consents = await room.client.get(`/subscribers/${email}/consents`);
  expect(consents.at('consents', 0)).toMatchObject({ topicKey: 'DEMO-1', status: 'PENDING_CONFIRMATION' });
  const subject = await eventually('the mail has come', async () =>
    (await room.client.get(`/test-inbox/messages?to=${email}`)).at<string | undefined>('data', 0, 'subject'),
  );
  expect(subject).toContain('bestätigen');
}

function codeOf(language: string): string {
  const found = samplesOf(PAGE, GUIDE).find((sample) => sample.language === language);
  if (found === undefined) throw new Error(`${PAGE} has no ${language}.`);
  return found.code;
}

/** A sample without its last line, which calls the function. */
function functionOf(language: string): string {
  return codeOf(language).replace(/\n.*subscribe\(.*\n$/, '\n');
}

function rowOf(framework: string): Row {
  const line = GUIDE.split('\n').find((each) => each.startsWith(`| ${framework} |`)) ?? '';
  const [, , , handler = '', inForm = ''] = line.split('|').map((cell) => cell.trim().replaceAll('`', ''));
  return { handler, inForm };
}
