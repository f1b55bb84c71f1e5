import { expect } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { ProjectScope } from '#kernel';
import { type DeliveryRow, MessagingFixture } from '../../messaging.fixture.js';
import { CampaignClosingService } from './campaign-closing.service.js';

/** The large form: `LIFECYCLE_READERS=20000 npm run jest -- campaign-control campaign-recovery`. */
export const READERS = Number(process.env['LIFECYCLE_READERS'] ?? 300);
export const CONNECTIONS = 2;
export const never = new AbortController().signal;

/** Stops the expansion when it asks for the second time. */
export function afterOneChunk(): AbortSignal {
  let asked = 0;
  return Object.defineProperty(new AbortController().signal, 'aborted', { get: () => asked++ > 0 });
}

/** Number of deliveries in each state. */
export function states(rows: readonly DeliveryRow[]): Readonly<Record<string, number>> {
  const byState = Map.groupBy(rows, ({ state }) => state);
  return Object.fromEntries([...byState].map(([state, those]) => [state, those.length]));
}

/** Live campaigns, from being sent to their end: each test has a project, and a relay that it tells how to behave. */
export class CampaignLifecycle {
  sink!: RawSmtpSink;
  scope!: ProjectScope;

  private constructor(
    readonly fixture: MessagingFixture,
    private readonly port: number,
  ) {}

  static async open(): Promise<CampaignLifecycle> {
    const port = await freePort();
    const variables = { SMTP_URL: `smtp://127.0.0.1:${port}`, SMTP_CONNECTIONS: String(CONNECTIONS) };
    return new CampaignLifecycle(await MessagingFixture.open(variables), port);
  }

  /** Before each test. */
  async begin(): Promise<void> {
    this.sink = await startRawSmtpSink({ port: this.port });
    this.scope = await this.fixture.scope();
  }

  /** After each test. */
  async end(): Promise<void> {
    await this.fixture.clear();
    await this.sink.stop();
  }

  closing(campaignId: string) {
    return this.fixture.get(CampaignClosingService).close(this.scope, { campaignId }, { signal: never });
  }

  expand(campaignId: string): Promise<void> {
    return this.fixture.expand(this.scope, campaignId);
  }

  async isSent(campaignId: string): Promise<void> {
    const isSent = async () => (await this.fixture.campaign(campaignId)).status === 'SENT';
    await eventually('it is sent', isSent);
  }

  /** Addresses that got a mail; none got two. */
  mailedOnce(): readonly string[] {
    const received = this.sink.messages.flatMap(({ to }) => to);
    expect(new Set(received).size).toBe(received.length);
    return received;
  }
}
