import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type Environment, type RunningProgram, startProgram } from '#testing/programs/program';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

/** The whole form is run by `npm run test:chaos`, with CHAOS_RECIPIENTS people; the short one with the other tests. */
export const IS_WHOLE = process.env['CHAOS'] === 'whole';
export const inForm = (short: number, whole: number): number => (IS_WHOLE ? whole : short);
export const RECIPIENTS = Number(process.env['CHAOS_RECIPIENTS'] ?? inForm(2_000, 100_000));
/** From the send to the end, the leases of dead senders and a minute's lock of a stopped one included; below Jest's. */
export const DEADLINE_MS = inForm(540_000, 1_800_000);

/** A delivery as the API shows it. */
export interface ShownDelivery {
  readonly email: string;
  readonly status: string;
  readonly relayKey: string | null;
  readonly providerMessageId: string | null;
}

export interface SentRow {
  readonly message_id: string;
  readonly state: string;
  readonly possible_duplicate: boolean;
}

/** The built api and workers with a sink, and campaigns that are on their way while the test breaks things. */
export class CampaignRun {
  readonly workers: RunningProgram[] = [];

  private constructor(
    readonly sink: RawSmtpSink,
    readonly system: RunningSystem,
    readonly connections: number,
  ) {
    this.workers.push(system.worker);
  }

  static async open(
    connections: number,
    variables: Environment = {},
    start: (variables: Environment) => Promise<RunningSystem> = startSystem,
    keep: 'raw' | 'index' = 'index',
  ): Promise<CampaignRun> {
    const sink = await startRawSmtpSink({ keep });
    const system = await start({
      SMTP_URL: sink.url,
      SMTP_CONNECTIONS: String(connections),
      REQUIRE_VERIFIED_DOMAIN: 'false',
      ...variables,
    });
    return new CampaignRun(sink, system, connections);
  }

  async close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    await this.system.stop();
    await this.sink.stop();
  }

  /** Starts one more worker. */
  async addWorker(): Promise<RunningProgram> {
    const worker = await startProgram('worker', this.system.variables);
    this.workers.push(worker);
    return worker;
  }

  /** SIGKILL to the worker with this number. */
  async killWorker(at: number): Promise<void> {
    await this.workers[at]?.kill();
  }

  /** SIGKILL to the worker with this number, and another one in its place. */
  async replaceWorker(at: number): Promise<void> {
    await this.killWorker(at);
    this.workers[at] = await startProgram('worker', this.system.variables);
  }

  /** Sends a campaign to so many people of a project of its own, which `prepare` may set up before. */
  async send(
    projectKey: string,
    recipients: number,
    policy?: 'HOLD',
    prepare?: (client: ApiClient) => Promise<void>,
    fields: object = {},
  ): Promise<CampaignOnItsWay> {
    const { database } = this.system;
    const project = await this.system.project(projectKey);
    await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const client = await project.client('LIVE');
    await prepare?.(client);
    // The api that lost its Redis answers 503 until its connection is back: then nothing was done.
    const topic = await eventually('a topic is made', async () => {
      const made = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
      if (made.status !== 503 && made.status !== 201) throw new Error(`No topic was made: ${made.text}`);
      return made.status === 201 ? made : null;
    });
    await insertSubscribers(database, project.live, topic.at('id'), recipients);
    const campaign = await client.post('/campaigns', {
      name: 'News',
      subject: 'Hello {{ subscriber.first_name }}',
      contentText: 'Hello {{ subscriber.first_name }}, here is the news.',
      topicIds: [topic.at('id')],
      ...fields,
    });
    const path = `/campaigns/${campaign.at('campaignKey')}`;
    await this.#queue(client, path, policy);
    return new CampaignOnItsWay(this, project, client, path);
  }

  /** The policy is that of the api which queues the campaign. */
  async #queue(client: ApiClient, path: string, policy: 'HOLD' | undefined): Promise<void> {
    if (policy === undefined) return expectQueued(await client.post(`${path}/send`));
    const api = await startProgram('api', { ...this.system.variables, AMBIGUOUS_POLICY: policy });
    try {
      expectQueued(await new ApiClient(`http://127.0.0.1:${api.port}`, client.key).post(`${path}/send`));
    } finally {
      await api.stop();
    }
  }
}

function expectQueued({ status, text }: { readonly status: number; readonly text: string }): void {
  if (status !== 200) throw new Error(`The campaign was not queued: ${text}`);
}

/** One campaign of a run. */
export class CampaignOnItsWay {
  constructor(
    private readonly run: CampaignRun,
    private readonly project: SystemProject,
    readonly client: ApiClient,
    readonly path: string,
  ) {}

  async isSent(): Promise<void> {
    await eventually(
      'the campaign is sent',
      async () => {
        const answer = await this.client.get(this.path).catch(() => null);
        return answer?.status === 200 && answer.at('status') === 'SENT';
      },
      DEADLINE_MS,
    );
  }

  rows(): Promise<SentRow[]> {
    return this.run.system.database.query<SentRow>(
      `select message_id, state, possible_duplicate from messaging.deliveries where environment_id = $1`,
      [this.project.live.environmentId],
    );
  }

  /** All of them, as the API lists them. */
  async deliveries(): Promise<ShownDelivery[]> {
    const shown: ShownDelivery[] = [];
    for (let page = 0; ; page += 1) {
      const answer = await this.client.get(`${this.path}/deliveries?size=100&page=${page}`);
      const data = answer.at<ShownDelivery[]>('data');
      if (data.length === 0) return shown;
      shown.push(...data);
    }
  }

  /** Number of times that each of its mails was received, by Message-ID. */
  async received(): Promise<ReadonlyMap<string, number>> {
    const own = new Set((await this.rows()).map((row) => row.message_id));
    const counts = new Map<string, number>();
    for (const { messageId } of this.run.sink.messages)
      if (messageId !== null && own.has(messageId)) counts.set(messageId, (counts.get(messageId) ?? 0) + 1);
    return counts;
  }

  async usage(): Promise<{ readonly used: number; readonly reserved: number }> {
    const [row] = await this.run.system.database.query<{ used: number; reserved: number }>(
      `select (u.used + coalesce(sum(s.used), 0))::int as used,
         (u.reserved - coalesce(sum(s.used + s.released - s.reserved), 0))::int as reserved
       from billing.email_usage u left join billing.email_settlements s using (tenant_id, period_start)
       where u.tenant_id = $1 group by u.used, u.reserved`,
      [this.project.live.tenantId],
    );
    if (row === undefined) throw new Error('Nothing was counted.');
    return row;
  }
}
