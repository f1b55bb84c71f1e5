import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type Environment, startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystemOn, type SystemProject } from '#testing/programs/system';
import { startBenchServer } from '../support/bench-server.js';
import type { Measured } from '../support/comparison.js';
import {
  contentOf,
  FIELDS,
  type ListName,
  needs,
  type Peer,
  type PeerKind,
  type People,
  personsOf,
} from '../support/peer.js';
import { treeCpuSeconds } from '../support/process-usage.js';

const DEADLINE_MS = 1_800_000;
const CONTENT = contentOf('{{ subscriber.first_name }}', (key) => `{{ custom.${key} }}`);

type Topics = Readonly<Record<ListName, { readonly id: string; readonly key: string }>>;

export interface BothMailersOptions {
  /** Port on 127.0.0.1 where both hand their mail over. */
  readonly relayPort: number;
  /** Connections that each opens to it. */
  readonly connections: number;
  /** Size of the list of news, to which campaigns go. */
  readonly recipients: number;
  readonly variables?: Environment;
}

/**
 * Ours and a peer, each on a database of its own in one PostgreSQL with everything durable. They have the same people and send the
 * same mail: eight custom fields, twelve tracked links, 14 KB of HTML.
 */
export class BothMailers<P extends Peer = Peer> {
  private constructor(
    readonly system: RunningSystem,
    readonly peer: P,
    readonly postgresPid: number,
    readonly project: SystemProject,
    readonly client: ApiClient,
    readonly topics: Topics,
    /** Recipients of campaigns. */
    readonly readers: People,
    readonly close: () => Promise<void>,
  ) {}

  static async open<P extends Peer>(kind: PeerKind<P>, options: BothMailersOptions): Promise<BothMailers<P>> {
    const { relayPort, connections, recipients, variables } = options;
    const [program = ''] = needs(kind.program);
    const server = await startBenchServer();
    const system = await startSystemOn(server.database, {
      SMTP_URL: `smtp://127.0.0.1:${relayPort}?tls=off`,
      SMTP_CONNECTIONS: String(connections),
      REQUIRE_VERIFIED_DOMAIN: 'false',
      ...variables,
    });
    const peer = await kind.start({ program, server, sinkPort: relayPort, connections });
    const close = async () => {
      await peer.stop();
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
    const readers: People = { from: 0, to: recipients, list: 'News' };
    return new BothMailers(system, peer, server.pid, project, client, topics, readers, close);
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

  /** All programs are counted: the side whose turn it is not does next to nothing. */
  #cpu() {
    const programs = [this.system.worker.pid, this.system.api.pid, this.peer.pid];
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

  /** Resolves when all are in their topic. */
  async importOurs(people: People): Promise<void> {
    const columns = ['email', 'firstName', ...FIELDS.map((key) => `customFields.${key}`)].join();
    const answer = await this.client.post(
      `/subscriber-imports?topicKeys=${this.topics[people.list].key}&consent.source=bench`,
      [columns, ...personsOf(people).map(({ email, name, values }) => [email, name, ...values].join())].join(
        '\n',
      ),
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

  /** Resolves when the campaign is sent. */
  async sendOurs(): Promise<void> {
    const created = await this.client.post('/campaigns', {
      name: 'Bench',
      subject: 'News, {{ subscriber.first_name }}',
      contentJson: JSON.stringify({ blocks: [{ type: 'html', html: CONTENT }] }),
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
}
