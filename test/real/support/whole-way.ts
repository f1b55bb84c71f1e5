import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import type { ApiClient } from '#testing/http/api-client';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { startProgram } from '#testing/programs/program';
import {
  insertSendingDomain,
  publishSendingDomain,
  returnPathHostOf,
} from '#testing/fixtures/sending-domain';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

export const DOMAIN = 'news.acme.example';
/** Domain to which the reports on its mails go. */
export const RETURN_PATHS = returnPathHostOf(DOMAIN);

const CONNECTIONS = 5;
/** Only ends a hang: mail servers take their time on a busy machine. */
const HANG_MS = 10 * 60_000;

export interface CampaignDraft {
  readonly name: string;
  readonly readers: readonly string[];
  readonly contentText?: string;
  readonly contentJson?: string;
  readonly subject?: string;
  readonly fromEmail?: string;
}

export interface DeliveryState {
  readonly address: string;
  readonly state: string;
  readonly reason: string | null;
  readonly last_error: string | null;
}

/** Our api and worker with a signing domain, a bounce server, and a destination behind whatever relay a test puts between. */
export class WholeWay {
  private constructor(
    readonly destination: SmtpSink,
    readonly dns: DnsServer,
    private readonly system: RunningSystem,
    private readonly project: SystemProject,
    readonly client: ApiClient,
  ) {}

  static async start(variables: Readonly<Record<string, string>> = {}): Promise<WholeWay> {
    const [destination, dns] = await Promise.all([startSmtpSink(), startDnsServer()]);
    const system = await startSystem({
      BOUNCE_PORT: String(await freePort()),
      DNS_SERVERS: dns.address,
      THROTTLE: 'false',
      SMTP_CONNECTIONS: String(CONNECTIONS),
      ...variables,
    });
    const project = await system.project();
    const domain = { domainName: DOMAIN, keys: [rsaKey('r1'), ed25519Key('e1')] };
    await insertSendingDomain(system.database, project.live, domain);
    publishSendingDomain(dns, domain);
    const client = await project.client('LIVE');
    return new WholeWay(destination, dns, system, project, client);
  }

  get bouncePort(): number {
    return Number(this.system.variables['BOUNCE_PORT']);
  }

  /** From now on the worker's mail goes through this relay. */
  async relayThrough(url: string): Promise<void> {
    this.destination.clear();
    await this.system.worker.stop();
    this.system.worker = await startProgram('worker', { ...this.system.variables, SMTP_URL: url });
  }

  /** Sends a campaign to people who have subscribed to its topic alone. Returns its key. */
  async send({ name, readers, fromEmail = `news@${DOMAIN}`, ...content }: CampaignDraft): Promise<string> {
    const topic = await this.client.post('/topics', { name, doubleOptInEnabled: false });
    await this.#subscribe(topic.at('id'), readers);
    const draft = { name, subject: name, fromEmail, topicIds: [topic.at('id')], ...content };
    const created = await this.client.post('/campaigns', draft);
    const campaignKey: string = created.at('campaignKey');
    const sent = created.status === 201 ? await this.client.post(`/campaigns/${campaignKey}/send`) : created;
    if (sent.status !== 200) throw new Error(`The campaign was refused: ${JSON.stringify(sent.body)}`);
    return campaignKey;
  }

  /** When all its mails have their end. */
  async ended(campaignKey: string): Promise<readonly DeliveryState[]> {
    await eventually(`${campaignKey} is sent`, async () => {
      const status = (await this.client.get(`/campaigns/${campaignKey}`)).at('status');
      return status === 'SENT';
    });
    return this.deliveries(campaignKey);
  }

  async deliveries(campaignKey: string): Promise<readonly DeliveryState[]> {
    return this.system.database.query<DeliveryState>(
      `select d.address, d.state, d.reason, d.last_error from messaging.deliveries d
       join messaging.campaigns c on c.id = d.source_id
       where c.campaign_key = $1 and c.environment_id = $2 order by d.address`,
      [campaignKey, this.project.live.environmentId],
    );
  }

  /** When the relay has handed on so many mails; more than that is a fault that the caller sees. */
  async arrived(mails: number): Promise<void> {
    await eventually(`${mails} mails arrived`, () => this.destination.count() >= mails, HANG_MS);
  }

  /** Makes the deliveries that wait for another try due now. */
  async tryAgainNow(): Promise<void> {
    await this.system.database.query(
      `update messaging.deliveries set next_attempt_at = now() where state = 'DEFERRED'`,
    );
  }

  async statusOf(email: string): Promise<string> {
    return (await this.client.get(`/subscribers/${encodeURIComponent(email)}`)).at('status');
  }

  async stop(): Promise<void> {
    await this.system.stop();
    await Promise.all([this.destination.stop(), this.dns.stop()]);
  }

  async #subscribe(topicId: string, emails: readonly string[]): Promise<void> {
    await this.system.database.query(
      `with known as (
         insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, first_name, source, status,
           created_at, updated_at)
         select platform.new_id(), $1, md5(email), email, lower(email), 'Ada', 'IMPORT', 'ACTIVE', now(), now()
         from unnest($3::text[]) as email
         on conflict (environment_id, email_key) do update set updated_at = now()
         returning id
       )
       insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at)
       select id, $2, $1, 'SUBSCRIBED', now() - interval '1 day', now() - interval '1 day' from known`,
      [this.project.live.environmentId, topicId, emails],
    );
  }
}

/** As many addresses, of which some are outside ASCII. */
export function addressesOf(name: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) =>
    at % 20 === 7 ? `jürgen-${name}-${at}@example.com` : `${name}-${at}@example.com`,
  );
}
