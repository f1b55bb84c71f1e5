import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import { executable } from '#testing/executable';
import { type Environment, startProgram } from '#testing/program';
import { type RunningSystem, startSystemOn, type SystemProject } from '#testing/system';
import { Listmonk, type ListmonkList } from '../reference/listmonk.js';
import { startBenchServer } from '../support/bench-server.js';
import type { Measured } from '../support/comparison.js';
import { treeCpuSeconds } from '../support/process-usage.js';

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
/** Ours makes a text part of the HTML, listmonk sends one where its user writes it. */
const TEXT_OF_THEIRS = contentOf(FIRST_NAME_OF_THEIRS, fieldOfTheirs, '')
  .replaceAll(/<a href="(.*?)">(.*?)<\/a>/g, '$2 <$1>')
  .replaceAll(/<\/?p>/g, '\n');

/** Topics of ours by the name of listmonk's list. */
type Topics = Readonly<Record<ListmonkList, { readonly id: string; readonly key: string }>>;

/** People `from` up to, not including, `to`, who join a list together. */
export interface People {
  readonly from: number;
  readonly to: number;
  readonly list: ListmonkList;
}

export interface BothMailersOptions {
  /** Of 127.0.0.1: where both hand their mail over. */
  readonly relayPort: number;
  /** Each has so many. */
  readonly connections: number;
  /** Of the list of news, to which campaigns go. */
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
    readonly system: RunningSystem,
    readonly listmonk: Listmonk,
    readonly postgresPid: number,
    readonly project: SystemProject,
    readonly client: ApiClient,
    readonly topics: Topics,
    private readonly recipients: number,
    readonly close: () => Promise<void>,
  ) {}

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
    const project = await system.project();
    const client = await project.client('LIVE');
    await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const topic = async (name: string, doubleOptInEnabled: boolean): Promise<Topics['News']> => {
      const made = await client.post('/topics', { name, doubleOptInEnabled });
      return { id: made.at('id'), key: made.at('topicKey') };
    };
    const topics = {
      News: await topic('News', false),
      Others: await topic('Others', false),
      OptIn: await topic('OptIn', true),
    };
    for (const key of FIELDS) await client.post('/custom-fields', { key, type: 'TEXT', displayName: key });
    return new BothMailers(system, listmonk, server.pid, project, client, topics, recipients, close);
  }

  /** Rate and CPU of `task`, which resolves to how much it did; `rest` sees to what follows, which counts as CPU only. */
  async measure(task: () => Promise<number>, rest?: () => Promise<unknown>): Promise<Measured> {
    const [before, began] = [this.#cpu(), performance.now()];
    const units = await task();
    const seconds = (performance.now() - began) / 1_000;
    await rest?.();
    const after = this.#cpu();
    const each = (part: 'app' | 'postgres') => ((after[part] - before[part]) * 1_000) / units;
    return { perSecond: units / seconds, app: each('app'), postgres: each('postgres') };
  }

  /** All programs are counted: the side whose turn it is not does nothing. */
  #cpu() {
    const programs = [this.system.worker.pid, this.system.api.pid, this.listmonk.pid];
    return {
      app: programs.reduce((sum, pid) => sum + treeCpuSeconds(pid), 0),
      postgres: treeCpuSeconds(this.postgresPid),
    };
  }

  /** Resolves when our worker has done all that is due. */
  async settled(): Promise<void> {
    await eventually('all jobs are done', async () => {
      const [row] = await this.system.database.query<{ open: boolean }>(
        'select exists (select from platform.jobs where finished_at is null and run_at <= now()) as open',
      );
      return row?.open === false;
    });
  }

  /** Resolves when all are in their list. */
  importTheirs(people: People = this.#readers()): Promise<void> {
    return this.listmonk.import(csvOf(people, 'email,name,attributes', attributesOf), people.list);
  }

  async importOurs(people: People = this.#readers()): Promise<void> {
    const columns = ['email', 'firstName', ...FIELDS.map((key) => `customFields.${key}`)].join();
    const answer = await this.client.post(
      `/subscriber-imports?topicKeys=${this.topics[people.list].key}&consent.source=bench`,
      csvOf(people, columns, (values) => values.join()),
      { headers: { 'content-type': 'text/csv' } },
    );
    if (answer.status !== 202) throw new Error(answer.text);
    const isOver = async () => {
      const found = await this.client.get(`/subscriber-imports/${answer.at('id')}`);
      return found.at('completedAt') === null ? null : found;
    };
    const ended = await eventually('the import ends', isOver, DEADLINE_MS);
    if (ended.at<number>('counts', 'created') !== people.to - people.from) throw new Error(ended.text);
  }

  /** Resolves when they say that the campaign is sent; with a text part only when asked for. */
  sendTheirs({ hasText = false } = {}): Promise<void> {
    const text = hasText ? TEXT_OF_THEIRS : null;
    return this.listmonk.send(`News, ${FIRST_NAME_OF_THEIRS}`, THEIRS, text);
  }

  async sendOurs(): Promise<void> {
    const created = await this.client.post('/campaigns', {
      name: 'Bench',
      subject: 'News, {{ subscriber.first_name }}',
      contentJson: JSON.stringify({ blocks: [{ type: 'html', html: OURS }] }),
      topicIds: [this.topics.News.id],
    });
    const path = `/campaigns/${created.at('campaignKey')}`;
    const queued = await this.client.post(`${path}/send`);
    if (queued.status !== 200) throw new Error(queued.text);
    while ((await this.client.get(path)).at('status') !== 'SENT') await delay(250);
  }

  /** Starts our worker anew, as after a reboot. */
  async restartWorker(): Promise<void> {
    await this.system.worker.stop();
    this.system.worker = await startProgram('worker', this.system.variables);
  }

  #readers(): People {
    return { from: 0, to: this.recipients, list: 'News' };
  }
}

export const addressOf = (n: number): string => `reader${n}@d${n % 200}.example`;

/** The same people, whatever else the columns are. */
function csvOf({ from, to }: People, columns: string, rest: (values: readonly string[]) => string): string {
  const rows = Array.from({ length: to - from }, (_, place) => {
    const n = from + place;
    const values = FIELDS.map((_key, field) => `v${(n * 7_919 + field * 104_729) % 1_000}`);
    return `${addressOf(n)},Name${n},${rest(values)}\n`;
  });
  return `${columns}\n${rows.join('')}`;
}

/** One JSON object, as a CSV has it. */
function attributesOf(values: readonly string[]): string {
  const attributes = Object.fromEntries(FIELDS.map((key, place) => [key, values[place]]));
  return `"${JSON.stringify(attributes).replaceAll('"', '""')}"`;
}
