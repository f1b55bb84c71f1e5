import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { get, post } from '../support/http-load.js';
import {
  anyone,
  contentOf,
  FIELDS,
  type ListName,
  middlePage,
  type Peer,
  type PeerOptions,
  type PeerRequests,
  type People,
  PAGE,
  personsOf,
  sizeOf,
} from '../support/peer.js';

const DEADLINE_MS = 1_800_000;
const NAME = 'api';
/** Lists that the benchmarks use, and their opt-in. */
const LISTS: Readonly<Record<ListName, 'single' | 'double'>> = {
  News: 'single',
  Others: 'single',
  OptIn: 'double',
};
const FIRST_NAME = '{{ .Subscriber.FirstName }}';
const fieldOf = (key: string) => `{{ .Subscriber.Attribs.${key} }}`;
const CONTENT =
  contentOf(FIRST_NAME, fieldOf, '@TrackLink') +
  '{{ TrackView }}<p><a href="{{ UnsubscribeURL }}">Unsubscribe</a></p>';
/** Ours makes a text part of the HTML, listmonk sends one where its user writes it. */
const TEXT = contentOf(FIRST_NAME, fieldOf)
  .replaceAll(/<a href="(.*?)">(.*?)<\/a>/g, '$2 <$1>')
  .replaceAll(/<\/?p>/g, '\n');
const run = promisify(execFile);

/**
 * A listmonk with its lists. `LISTMONK` is its program, `LISTMONK_SOURCE` its source where it was built from that without its
 * files.
 */
export class Listmonk implements Peer {
  static readonly program = process.env['LISTMONK'] ?? 'listmonk';

  #child: ChildProcess;
  readonly #lists = new Map<ListName, number>();

  private constructor(
    private readonly begin: () => ChildProcess,
    readonly port: number,
    private readonly token: string,
    /** Its own, for the ids that stand in the links of its mails. */
    readonly database: TestDatabase,
  ) {
    this.#child = begin();
  }

  static async start(options: PeerOptions): Promise<Listmonk> {
    const { program, server } = options;
    const { directory } = server;
    const source = process.env['LISTMONK_SOURCE'] ?? directory;
    const databaseUrl = await server.addDatabase('listmonk');
    const port = await freePort();
    const config = join(directory, 'listmonk.toml');
    await writeFile(config, configOf(port, new URL(databaseUrl)));
    // It does not start without the folder, although nobody looks at its pages here.
    await mkdir(join(source, 'frontend/dist'), { recursive: true });
    const env = { ...process.env, LISTMONK_ADMIN_USER: 'admin', LISTMONK_ADMIN_PASSWORD: 'adminadmin' };
    const { stdout, stderr } = await run(
      program,
      ['--config', config, '--install', '--yes', '--idempotent'],
      { cwd: source, env: { ...env, LISTMONK_ADMIN_API_USER: NAME } },
    );
    const token = /API_TOKEN="([^"]+)"/.exec(stdout + stderr)?.[1];
    if (token === undefined) throw new Error(`listmonk gave no token: ${stdout}${stderr}`);
    const database = openTestDatabase(databaseUrl);
    await setUp(database, port, options);
    const begin = () => spawn(program, ['--config', config], { cwd: source, env, stdio: 'ignore' });
    const listmonk = new Listmonk(begin, port, token, database);
    await listmonk.#isUp();
    for (const [name, optin] of Object.entries(LISTS)) {
      const made = await listmonk.#ask<{ id: number }>('POST', '/lists', { name, type: 'private', optin });
      listmonk.#lists.set(name as ListName, made.id);
    }
    return listmonk;
  }

  /** Headers of a client of its API. */
  get headers(): Readonly<Record<string, string>> {
    return { authorization: `token ${NAME}:${this.token}` };
  }

  listId(list: ListName): number {
    return this.#lists.get(list) ?? 0;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async stop(): Promise<void> {
    await this.#end('SIGTERM');
    await this.database.drop();
  }

  /** Ends it, and starts another one in its place. */
  async replace(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    await this.#end(signal);
    this.#child = this.begin();
    await this.#isUp();
  }

  requests(people: number): PeerRequests {
    const page = (number: number, size = PAGE) => get(`/api/subscribers?page=${number}&per_page=${size}`);
    return {
      'get one person': (n) => get(`/api/subscribers/${anyone(n, people) + 1}`),
      'lists or topics with their counts': () => get('/api/lists'),
      'list of people, first page': () => page(1),
      'first page, each of another size': (n) => page(1, sizeOf(n)),
      'list of people, a middle page': (n) => page(middlePage(n, people) + 1),
      'create a person with consent': (n) =>
        post('/api/subscribers', 200, {
          email: `x${n}@new.example`,
          name: `X${n}`,
          status: 'enabled',
          lists: [this.listId('Others')],
          preconfirm_subscriptions: true,
          attribs: { f0: 'v1', f1: 'v2' },
        }),
    };
  }

  async import(people: People): Promise<void> {
    const form = new FormData();
    const choices = { mode: 'subscribe', subscription_status: 'confirmed', delim: ',', overwrite: true };
    form.set('params', JSON.stringify({ ...choices, lists: [this.listId(people.list)] }));
    form.set('file', new Blob([csvOf(people)], { type: 'text/csv' }), 'people.csv');
    await this.#ask('POST', '/import/subscribers', form);
    const isOver = async () => {
      const { status } = await this.#ask<{ status: string }>('GET', '/import/subscribers');
      return status === 'finished' || null;
    };
    await eventually('listmonk has imported', isOver, DEADLINE_MS);
  }

  /** Its mails are HTML alone unless a text part is asked for. */
  async send({ hasText = false } = {}): Promise<void> {
    const { id } = await this.#ask<{ id: number }>('POST', '/campaigns', {
      name: 'Bench',
      subject: `News, ${FIRST_NAME}`,
      body: CONTENT,
      lists: [this.listId('News')],
      type: 'regular',
      content_type: 'html',
      altbody: hasText ? TEXT : null,
      messenger: 'email',
      from_email: 'News <news@acme.example>',
    });
    await this.#ask('PUT', `/campaigns/${id}/status`, { status: 'running' });
    for (;;) {
      // While it is replaced it does not answer.
      const found = await this.#ask<{ status: string }>('GET', `/campaigns/${id}`).catch(() => null);
      if (found?.status === 'finished') return;
      await delay(250);
    }
  }

  async #isUp(): Promise<void> {
    await eventually('listmonk answers', () => this.#ask('GET', '/lists').catch(() => null));
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const exit = once(this.#child, 'exit');
    this.#child.kill(signal);
    await exit;
  }

  async #ask<Answer>(method: string, path: string, body?: unknown): Promise<Answer> {
    const isForm = body instanceof FormData;
    const answer = await fetch(`http://127.0.0.1:${this.port}/api${path}`, {
      method,
      headers: {
        ...this.headers,
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return ((await answer.json()) as { data: Answer }).data;
  }
}

/** Each has its fields as one JSON object. */
function csvOf(people: People): string {
  const rows = personsOf(people).map(({ email, name, values }) => {
    const attributes = Object.fromEntries(FIELDS.map((key, place) => [key, values[place]]));
    return `${email},${name},"${JSON.stringify(attributes).replaceAll('"', '""')}"\n`;
  });
  return `email,name,attributes\n${rows.join('')}`;
}

function configOf(port: number, { hostname, port: databasePort, username, password, pathname }: URL): string {
  return `[app]
address = "127.0.0.1:${port}"
[db]
host = "${hostname}"
port = ${databasePort}
user = "${decodeURIComponent(username)}"
password = "${decodeURIComponent(password)}"
database = "${pathname.slice(1)}"
ssl_mode = "disable"
max_open = 25
max_idle = 25
max_lifetime = "300s"
params = ""
`;
}

/** Sets it up as its own pages would: as many connections, no limit of its own, tracking of each reader, bounces by webhook. */
async function setUp(
  database: TestDatabase,
  port: number,
  { connections, sinkPort }: PeerOptions,
): Promise<void> {
  const settings = {
    'app.concurrency': connections,
    'app.message_rate': 100_000,
    'app.batch_size': 5_000,
    'app.root_url': `http://127.0.0.1:${port}`,
    'app.check_updates': false,
    'privacy.individual_tracking': true,
    'bounce.enabled': true,
    'bounce.webhooks_enabled': true,
    smtp: [serverOf(connections, sinkPort)],
  };
  for (const [key, value] of Object.entries(settings))
    await database.query('update settings set value = $2::jsonb where key = $1', [
      key,
      JSON.stringify(value),
    ]);
}

const serverOf = (connections: number, port: number) => ({
  uuid: '0198c8f2-0000-4000-8000-000000000001',
  name: 'email-sink',
  enabled: true,
  host: '127.0.0.1',
  port,
  tls_type: 'none',
  tls_skip_verify: true,
  auth_protocol: 'none',
  username: '',
  password: '',
  hello_hostname: '',
  email_headers: [],
  from_addresses: [],
  max_conns: connections,
  idle_timeout: '15s',
  wait_timeout: '5s',
  max_msg_retries: 2,
  msg_retry_delay: '10ms',
});
