import { expect } from '@jest/globals';
import { eventually } from '#testing/eventually';
import { startRawSmtpSink } from '#testing/raw-smtp-sink';
import type { SmtpSink } from '#testing/sink-rules';
import type { ProjectScope } from '#kernel';
import { type DeliveryRow, MessagingFixture } from '../../messaging.fixture.js';
import { CampaignClosingService } from './campaign-closing.service.js';

/** The large form: `LIFECYCLE_READERS=20000 npm run jest -- campaign-control campaign-recovery`. */
export const READERS = Number(process.env['LIFECYCLE_READERS'] ?? 300);
export const CONNECTIONS = 2;
export const never = new AbortController().signal;

/** How many deliveries are in each state. */
export function states(rows: readonly DeliveryRow[]): Readonly<Record<string, number>> {
  const byState = Map.groupBy(rows, ({ state }) => state);
  return Object.fromEntries([...byState].map(([state, those]) => [state, those.length]));
}

/** Live campaigns of one project, from being sent to their end, to a relay that the test tells how to behave. */
export class CampaignLifecycle {
  private constructor(
    readonly sink: SmtpSink,
    readonly fixture: MessagingFixture,
    readonly scope: ProjectScope,
  ) {}

  static async open(): Promise<CampaignLifecycle> {
    const sink = await startRawSmtpSink();
    const variables = { SMTP_URL: sink.url, SMTP_CONNECTIONS: String(CONNECTIONS) };
    const fixture = await MessagingFixture.open(variables);
    return new CampaignLifecycle(sink, fixture, await fixture.scope());
  }

  async stop(): Promise<void> {
    await this.fixture.close();
    await this.sink.stop();
  }

  closing(campaignId: string) {
    return this.fixture.get(CampaignClosingService).close(this.scope, campaignId, never);
  }

  expand(campaignId: string): Promise<void> {
    return this.fixture.expand(this.scope, campaignId);
  }

  async isSent(campaignId: string): Promise<void> {
    const isSent = async () => (await this.fixture.campaign(campaignId)).status === 'SENT';
    await eventually('it is sent', isSent);
  }

  /** Who got a mail; nobody got two. */
  mailedOnce(): readonly string[] {
    const received = this.sink.messages.flatMap(({ to }) => to);
    expect(new Set(received).size).toBe(received.length);
    return received;
  }
}
