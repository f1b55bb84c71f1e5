import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import { executable } from '#testing/executable';
import type { Environment } from '#testing/program';
import { type RunningSystem, startSystemOn } from '#testing/system';
import { Listmonk } from '../reference/listmonk.js';
import { type BenchServer, startBenchServer } from './bench-server.js';

const FIELDS = Array.from({ length: 8 }, (_, place) => `f${place}`);
const DEADLINE_MS = 1_800_000;
const LOREM =
  'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. ';

/** The mail in the words of one of the two: how it names a first name, a field, and a tracked link. */
const contentOf = (name: string, field: (key: string) => string, tracked: string) =>
  Array.from(
    { length: 12 },
    (_, part) =>
      `<p>${name}, here is <a href="https://example.com/news/${part}${tracked}">part ${part}</a>. ` +
      `${LOREM.repeat(5)}${field(FIELDS[part % FIELDS.length] ?? '')}</p>`,
  ).join('');
const FIRST_NAME_OF_THEIRS = '{{ .Subscriber.FirstName }}';
const fieldOfTheirs = (key: string) => `{{ .Subscriber.Attribs.${key} }}`;
const OURS = contentOf('{{ subscriber.first_name }}', (key) => `{{ custom.${key} }}`, '');
const THEIRS =
  contentOf(FIRST_NAME_OF_THEIRS, fieldOfTheirs, '@TrackLink') +
  '{{ TrackView }}<p><a href="{{ UnsubscribeURL }}">Unsubscribe</a></p>';
/** Ours makes a text part of the HTML, listmonk sends one where its user writes it: with TEXT_PART=1 both have one. */
const TEXT_OF_THEIRS =
  process.env['TEXT_PART'] === '1'
    ? contentOf(FIRST_NAME_OF_THEIRS, fieldOfTheirs, '')
        .replaceAll(/<a href="(.*?)">(.*?)<\/a>/g, '$2 <$1>')
        .replaceAll(/<\/?p>/g, '\n')
    : null;

export interface BothMailersOptions {
  /** Of 127.0.0.1: where both hand their mail over. */
  readonly relayPort: number;
  /** Each has so many. */
  readonly connections: number;
  readonly recipients: number;
  readonly variables?: Environment;
}

/** Ends the benchmark with a word where one of these, or listmonk, is not here. */
export function needs(...others: readonly string[]): readonly string[] {
  const names = [...others, process.env['LISTMONK'] ?? 'listmonk'];
  const found = names.map(executable);
  const missing = names.filter((_, place) => found[place] === undefined);
  if (missing.length > 0) {
    process.stdout.write(`skipped: ${missing.join(', ')} not here (LISTMONK names listmonk’s program)\n`);
    process.exit(0);
  }
  return found.map(String);
}

/**
 * Ours and listmonk, each on a database of its own in one PostgreSQL with everything durable. They have the same people and
 * send the same mail: eight custom fields, twelve tracked links, 14 KB. `LISTMONK` is listmonk's program, `LISTMONK_SOURCE` its
 * source where it was built from that without its files.
 */
export class BothMailers {
  private constructor(
    private readonly parts: {
      readonly system: RunningSystem;
      readonly listmonk: Listmonk;
      readonly server: BenchServer;
      readonly client: ApiClient;
      readonly topic: { readonly id: string; readonly key: string };
      readonly recipients: number;
    },
    readonly close: () => Promise<void>,
  ) {}

  get system(): RunningSystem {
    return this.parts.system;
  }

  get listmonk(): Listmonk {
    return this.parts.listmonk;
  }

  get postgresPid(): number {
    return this.parts.server.pid;
  }

  static async open(options: BothMailersOptions): Promise<BothMailers> {
    const { relayPort, connections, recipients, variables } = options;
    const [program = ''] = needs();
    const server = await startBenchServer();
    const system = await startSystemOn(server.database, {
      SMTP_URL: `smtp://127.0.0.1:${relayPort}?tls=off`,
      SMTP_CONNECTIONS: String(connections),
      REQUIRE_VERIFIED_DOMAIN: 'false',
      ...variables,
    });
    const listmonk = await Listmonk.start({
      program,
      source: process.env['LISTMONK_SOURCE'] ?? server.directory,
      directory: server.directory,
      databaseUrl: await server.addDatabase('listmonk'),
      sinkPort: relayPort,
      connections,
    });
    const close = async () => {
      await listmonk.stop();
      await system.stop();
      await server.stop();
    };
    const client = await (await system.project()).client('LIVE');
    await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    for (const key of FIELDS) await client.post('/custom-fields', { key, type: 'TEXT', displayName: key });
    const known = { id: topic.at('id'), key: topic.at('topicKey') };
    return new BothMailers({ system, listmonk, server, client, topic: known, recipients }, close);
  }

  /** Resolves when all are in their list. */
  importTheirs(): Promise<void> {
    return this.listmonk.import(this.#csv('email,name,attributes', attributesOf));
  }

  async importOurs(): Promise<void> {
    const columns = ['email', 'firstName', ...FIELDS.map((key) => `customFields.${key}`)].join();
    const { client, topic, recipients } = this.parts;
    const answer = await client.post(
      `/subscriber-imports?topicKeys=${topic.key}&consent.source=bench`,
      this.#csv(columns, (values) => values.join()),
      { headers: { 'content-type': 'text/csv' } },
    );
    if (answer.status !== 202) throw new Error(answer.text);
    const isOver = async () => {
      const found = await client.get(`/subscriber-imports/${answer.at('id')}`);
      return found.at('completedAt') === null ? null : found;
    };
    const ended = await eventually('the import ends', isOver, DEADLINE_MS);
    if (ended.at<number>('counts', 'created') !== recipients) throw new Error(ended.text);
  }

  /** Resolves when they say that the campaign is sent. */
  sendTheirs(): Promise<void> {
    return this.listmonk.send(`News, ${FIRST_NAME_OF_THEIRS}`, THEIRS, TEXT_OF_THEIRS);
  }

  async sendOurs(): Promise<void> {
    const { client, topic } = this.parts;
    const created = await client.post('/campaigns', {
      name: 'Bench',
      subject: 'News, {{ subscriber.first_name }}',
      contentJson: JSON.stringify({ blocks: [{ type: 'html', html: OURS }] }),
      topicIds: [topic.id],
    });
    const path = `/campaigns/${created.at('campaignKey')}`;
    const queued = await client.post(`${path}/send`);
    if (queued.status !== 200) throw new Error(queued.text);
    while ((await client.get(path)).at('status') !== 'SENT') await delay(250);
  }

  /** The same people, whatever else the columns are. */
  #csv(columns: string, rest: (values: readonly string[]) => string): string {
    const rows = Array.from({ length: this.parts.recipients }, (_, n) => {
      const values = FIELDS.map((_key, place) => `v${(n * 7_919 + place * 104_729) % 1_000}`);
      return `reader${n}@d${n % 200}.example,Name${n},${rest(values)}\n`;
    });
    return `${columns}\n${rows.join('')}`;
  }
}

/** One JSON object, as a CSV has it. */
function attributesOf(values: readonly string[]): string {
  const attributes = Object.fromEntries(FIELDS.map((key, place) => [key, values[place]]));
  return `"${JSON.stringify(attributes).replaceAll('"', '""')}"`;
}
