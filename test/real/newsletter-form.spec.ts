import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { samplesOf } from '#testing/fixtures/code-samples';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { openRoom, runIn, type SampleRoom } from '#testing/http/sample-room';
import { type RunningSystem, startSystem } from '#testing/programs/system';
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
  readonly files: (guide: Guide) => Record<string, string>;
  /** Its token, in the form. */
  readonly token: string;
  readonly application: readonly [source: string, name: string];
  readonly command: (port: number) => readonly string[];
  /** Status of a form without the token. */
  readonly refusal: number;
}

interface Guide {
  readonly code: string;
  readonly handler: string;
  readonly form: string;
}

const FRAMEWORKS: readonly Framework[] = [
  {
    name: 'Laravel',
    part: 'laravel',
    token: '@csrf',
    language: 'php',
    files: ({ code, handler, form }) => ({
      'newsletter.php': code,
      'handler.php': `<?php\nuse Illuminate\\Http\\Request;\nuse Illuminate\\Support\\Facades\\Route;\n${handler}`,
      'form.blade.php': form,
    }),
    application: ['laravel.php', 'index.php'],
    command: (port) => ['php', '-S', `127.0.0.1:${port}`, 'index.php'],
    refusal: 419,
  },
  {
    name: 'Django',
    part: 'django',
    token: '{% csrf_token %}',
    language: 'python',
    files: ({ code, handler, form }) => ({
      'newsletter.py': code,
      'handler.py': `from newsletter import subscribe\n${handler}`,
      'form.html': form,
    }),
    application: ['django.py', 'app.py'],
    command: (port) => ['/usr/bin/python3', 'app.py', 'runserver', '--noreload', `127.0.0.1:${port}`],
    refusal: 403,
  },
  {
    name: 'Rails',
    part: 'rails',
    token: '<%= hidden_field_tag :authenticity_token, form_authenticity_token %>',
    language: 'ruby',
    files: ({ code, handler, form }) => ({
      'newsletter.rb': code,
      'handler.rb': handler,
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
      const { name: title, language, token } = framework;
      expect(GUIDE).toContain(`\`${token}\` in the form`);
      const form = codeOf('html').replace('>', `>\n  ${token}`);
      const files = framework.files({ code: functionOf(language), handler: handlerOf(title), form });
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

    /** Fetches the cookies of the page and the field with the token, which a form needs that is posted from it. */
    async function visit() {
      const page = await fetch(url);
      const cookie = page.headers
        .getSetCookie()
        .map((each) => each.split(';')[0])
        .join('; ');
      const [hidden = ''] = /<input[^>]*type="hidden"[^>]*>/.exec(await page.text()) ?? [];
      const token = ['name', 'value'].map((name) => new RegExp(`${name}="([^"]+)"`).exec(hidden)?.[1] ?? '');
      return { cookie, token: { [token[0] ?? '']: token[1] ?? '' } };
    }

    it('signs a person up, in their language', async () => {
      const email = `${framework.part}@example.com`;
      const { cookie, token } = await visit();
      const answer = await post({ email, agree: 'on', ...token }, cookie);
      expect(answer.headers.get('location')).toMatch(/\/thanks$/);
      expect([302, 303]).toContain(answer.status);
      await expectPending(email);
    });

    it('is refused without the token, and without the tick', async () => {
      const email = 'stranger@example.com';
      expect((await post({ email, agree: 'on' }, '')).status).toBe(framework.refusal);
      const { cookie, token } = await visit();
      expect((await post({ email, ...token }, cookie)).status).toBe(422);
      expect((await room.client.get(`/subscribers/${email}`)).status).toBe(404);
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
    const visit = `for (const agreed of [{}, { agree: 'on' }]) {
  const body = new URLSearchParams({ email: 'next@example.com', ...agreed });
  const headers = { 'accept-language': 'de' };
  const answer = await POST(new Request('http://localhost:3000/newsletter', { method: 'POST', body, headers }));
  console.log(answer.status, answer.headers.get('location'));
}
`;
    writeFileSync(file, `${functionOf('ts')}\n${handlerOf('Next.js')}\n${visit}`);
    const outcome = await runIn(room, process.execPath, [file], PROGRAM_MS);
    expect(outcome).toEqual({ exitCode: 0, output: '422 null\n303 /thanks\n' });
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

function handlerOf(framework: string): string {
  const section = GUIDE.split(`### ${framework}\n`)[1]?.split('\n##')[0];
  const [sample] = samplesOf(PAGE, section ?? '');
  if (sample === undefined) throw new Error(`${PAGE} has no handler for ${framework}.`);
  return sample.code;
}
