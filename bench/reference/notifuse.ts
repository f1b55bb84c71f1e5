import { type ChildProcess, spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { get, post } from '../support/http-load.js';
import {
  addressOf,
  anyone,
  contentOf,
  FIELDS,
  PAGE,
  type Peer,
  type PeerOptions,
  type PeerRequests,
  type People,
  type Person,
  personsOf,
  sizeOf,
} from '../support/peer.js';

const WORKSPACE = 'bench';
const TEMPLATE = 'sample';
const ROOT = 'root@acme.example';
const SENDER = 'news@acme.example';
const SECRET = 'a-secret-of-the-benchmark-of-32-bytes';
/** People of one request of an import; it inserts 500 at a time itself. */
const BATCH = 5_000;
/** Above all that it comes to by itself. */
const RATE_LIMIT_PER_MINUTE = 1_000_000;
/** It has five text fields; further ones stand in one of its JSON fields. */
const TEXT_FIELDS = 5;
const fieldOf = (place: number) =>
  place < TEXT_FIELDS ? `custom_string_${place + 1}` : `custom_json_1.${FIELDS[place]}`;
const HTML =
  contentOf('{{ contact.first_name }}', (key) => `{{ contact.${fieldOf(FIELDS.indexOf(key))} }}`) +
  '<p><a href="{{ unsubscribe_url }}">Unsubscribe</a></p>';
const MJML = `<mjml><mj-body><mj-raw>${HTML}</mj-raw></mj-body></mjml>`;

type Settings = Readonly<Record<string, unknown>>;

/** A Notifuse with one workspace and its lists. `NOTIFUSE` is its program. */
export class Notifuse implements Peer {
  static readonly program = process.env['NOTIFUSE'] ?? 'notifuse';

  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
    private readonly token: string,
    readonly database: TestDatabase,
  ) {}

  static async start({ program, server, sinkPort }: PeerOptions): Promise<Notifuse> {
    const url = new URL(await server.addDatabase('notifuse_system'));
    const port = await freePort();
    const env = { PATH: process.env['PATH'], ...environmentOf(port, sinkPort, url) };
    const begin = async () => {
      const child = spawn(program, [], { cwd: server.directory, env, stdio: 'ignore' });
      await eventually('Notifuse answers', () => ask(port, '', 'GET', '/setup.status').catch(() => null));
      return child;
    };
    const setUp = await begin();
    const exit = once(setUp, 'exit');
    await ask(port, '', 'POST', '/setup.initialize', { smtp_use_tls: false });
    // It ends when it is set up, for its supervisor to start it anew.
    await exit;
    const child = await begin();
    const token = await prepareWorkspace(port, sinkPort);
    url.pathname = `/notifuse_ws_${WORKSPACE}`;
    return new Notifuse(child, port, token, openTestDatabase(url.href));
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get headers(): Readonly<Record<string, string>> {
    return { authorization: `Bearer ${this.token}` };
  }

  /** Its pages have no numbers, and its lists no counts: both operations are left out. */
  requests(people: number): PeerRequests {
    const page = (size: number) => get(`/api/contacts.list?workspace_id=${WORKSPACE}&limit=${size}`);
    return {
      'get one person': (n) => {
        const email = encodeURIComponent(addressOf(anyone(n, people)));
        return get(`/api/contacts.getByEmail?workspace_id=${WORKSPACE}&email=${email}`);
      },
      'list of people, first page': () => page(PAGE),
      'first page, each of another size': (n) => page(sizeOf(n)),
      'create a person with consent': (n) =>
        post('/api/lists.subscribe', 200, {
          workspace_id: WORKSPACE,
          contact: {
            email: `x${n}@new.example`,
            first_name: `X${n}`,
            custom_string_1: 'v1',
            custom_string_2: 'v2',
          },
          list_ids: [idOf('Others')],
        }),
    };
  }

  async import(people: People): Promise<void> {
    const contacts = personsOf(people).map(contactOf);
    for (let from = 0; from < contacts.length; from += BATCH) {
      const { operations } = await this.#ask<{ operations: { action: string }[] }>(
        'POST',
        '/contacts.import',
        {
          workspace_id: WORKSPACE,
          contacts: contacts.slice(from, from + BATCH),
          subscribe_to_lists: [idOf(people.list)],
        },
      );
      const failed = operations.find(({ action }) => action !== 'create');
      if (failed !== undefined) throw new Error(JSON.stringify(failed));
    }
  }

  async send(): Promise<void> {
    const { broadcast } = await this.#ask<{ broadcast: { id: string } }>('POST', '/broadcasts.create', {
      workspace_id: WORKSPACE,
      name: 'Bench',
      audience: { list: idOf('News'), exclude_unsubscribed: true },
      test_settings: { variations: [{ variation_name: 'A', template_id: TEMPLATE }] },
      tracking_enabled: true,
    });
    await this.#ask('POST', '/broadcasts.schedule', {
      workspace_id: WORKSPACE,
      id: broadcast.id,
      send_now: true,
    });
    while (!(await this.#isSent(broadcast.id))) await delay(250);
  }

  /** A broadcast is called processed when all its mails are queued; they leave the queue when they are sent. */
  async #isSent(id: string): Promise<boolean> {
    const path = `/broadcasts.get?workspace_id=${WORKSPACE}&id=${id}`;
    const { broadcast } = await this.#ask<{ broadcast: { status: string } }>('GET', path);
    if (broadcast.status === 'failed') throw new Error('The broadcast has failed.');
    if (broadcast.status !== 'processed') return false;
    const [row] = await this.database.query<{ open: boolean }>(
      'select exists (select from email_queue) as open',
    );
    return row?.open === false;
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    await exit;
    await this.database.drop();
  }

  #ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    return ask(this.port, this.token, method, path, body);
  }
}

const idOf = (list: People['list']): string => list.toLowerCase();

function contactOf({ email, name, values }: Person): object {
  const named = FIELDS.map((key, place) => [key, values[place]] as const);
  const texts = named
    .slice(0, TEXT_FIELDS)
    .map(([, value], place) => [`custom_string_${place + 1}`, value] as const);
  return {
    email,
    first_name: name,
    ...Object.fromEntries(texts),
    custom_json_1: Object.fromEntries(named.slice(TEXT_FIELDS)),
  };
}

async function ask<Answer>(
  port: number,
  token: string,
  method: string,
  path: string,
  body?: object,
): Promise<Answer> {
  const answer = await fetch(`http://127.0.0.1:${port}/api${path}`, {
    method,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Answer;
}

/**
 * Its settings. It keeps one idle connection to a workspace's database, and opens one for nearly each request where many are
 * allowed: with eight, and 20 to its system's database, it created most people a second; 3 is its default.
 */
function environmentOf(port: number, sinkPort: number, database: URL): Record<string, string> {
  return {
    SECRET_KEY: SECRET,
    DB_HOST: database.hostname,
    DB_PORT: database.port,
    DB_USER: decodeURIComponent(database.username),
    DB_PASSWORD: decodeURIComponent(database.password),
    DB_NAME: database.pathname.slice(1),
    DB_SSLMODE: 'disable',
    DB_MAX_CONNECTIONS: '200',
    DB_MAX_CONNECTIONS_PER_DB: '8',
    SERVER_HOST: '127.0.0.1',
    SERVER_PORT: String(port),
    API_ENDPOINT: `http://127.0.0.1:${port}`,
    ROOT_EMAIL: ROOT,
    SMTP_HOST: '127.0.0.1',
    SMTP_PORT: String(sinkPort),
    SMTP_FROM_EMAIL: SENDER,
    SMTP_USE_TLS: 'false',
    SMTP_BRIDGE_ENABLED: 'false',
    TELEMETRY: 'false',
    CHECK_FOR_UPDATES: 'false',
    LOG_LEVEL: 'warn',
  };
}

/** Makes a workspace that sends to the sink, its lists and the template, as its pages would. Returns a key of the API. */
async function prepareWorkspace(port: number, sinkPort: number): Promise<string> {
  const timestamp = Math.floor(Date.now() / 1_000);
  const signature = createHmac('sha256', SECRET).update(`${ROOT}:${timestamp}`).digest('hex');
  const session = await ask<{ token: string }>(port, '', 'POST', '/user.rootSignin', {
    email: ROOT,
    timestamp,
    signature,
  });
  const asRoot = <Answer>(path: string, body: object) => ask<Answer>(port, session.token, 'POST', path, body);
  const workspace = { id: WORKSPACE, name: 'Bench' };
  const { settings } = await asRoot<{ settings: Settings }>('/workspaces.create', {
    ...workspace,
    settings: {
      timezone: 'UTC',
      default_language: 'en',
      languages: ['en'],
      email_tracking_enabled: true,
    },
  });
  const { integration_id: provider } = await asRoot<{ integration_id: string }>(
    '/workspaces.createIntegration',
    {
      workspace_id: WORKSPACE,
      name: 'sink',
      type: 'email',
      provider: {
        kind: 'smtp',
        smtp: { host: '127.0.0.1', port: sinkPort, username: '', password: '', use_tls: false },
        senders: [{ email: SENDER, name: 'News', is_default: true }],
        rate_limit_per_minute: RATE_LIMIT_PER_MINUTE,
      },
    },
  );
  await asRoot('/workspaces.update', {
    ...workspace,
    settings: { ...settings, marketing_email_provider_id: provider },
  });
  const key = await asRoot<{ token: string }>('/workspaces.createAPIKey', {
    workspace_id: WORKSPACE,
    email_prefix: 'bench',
  });
  for (const name of ['News', 'Others'] as const)
    await asRoot('/lists.create', { workspace_id: WORKSPACE, id: idOf(name), name, is_double_optin: false });
  await asRoot('/templates.create', {
    workspace_id: WORKSPACE,
    id: TEMPLATE,
    name: 'Sample',
    channel: 'email',
    category: 'marketing',
    email: {
      editor_mode: 'code',
      mjml_source: MJML,
      compiled_preview: MJML,
      subject: 'News, {{ contact.first_name }}',
    },
  });
  return key.token;
}
