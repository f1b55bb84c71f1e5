import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { type RawSmtpSink, startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SinkAction } from '#testing/mail/sink-rules';
import { DEADLINE_MS } from './campaign-run.fixture.js';

/** Everyone whom a relay took a body for, and how often it took one as its own. */
export interface HandedOver {
  readonly seen: ReadonlySet<string>;
  readonly accepted: ReadonlyMap<string, number>;
}

/** A project's relay of kind SMTP that goes away, comes back, and keeps what it decides to itself. */
export class ChaoticRelay {
  /** Recipients of mails whose body it got without saying that it did, once for each time. */
  readonly inDoubt: string[] = [];
  readonly #sinks: RawSmtpSink[] = [];
  #held: { readonly address: string; readonly answer: () => void }[] = [];
  #hold: (() => void) | undefined;

  private constructor(
    readonly client: ApiClient,
    readonly relayKey: string,
    readonly connections: number,
  ) {}

  static async create(
    client: ApiClient,
    name: string,
    connections: number,
    priority: number,
  ): Promise<ChaoticRelay> {
    const port = await freePort();
    const sink = await openSink(port);
    const settings = { name, kind: 'SMTP', host: '127.0.0.1', port, tls: 'OPPORTUNISTIC' };
    const answer = await client.post('/relays', { ...settings, connections, priority });
    if (answer.status !== 201) throw new Error(`No relay was made: ${answer.text}`);
    const relay = new ChaoticRelay(client, answer.at('relayKey'), connections);
    relay.#sinks.push(sink);
    return relay;
  }

  get #sink(): RawSmtpSink {
    const sink = this.#sinks.at(-1);
    if (sink === undefined) throw new Error('The relay has no sink.');
    return sink;
  }

  /** Number of mails that it has taken so far. */
  count(): number {
    return this.#sinks.reduce((sum, sink) => sum + sink.count(), 0);
  }

  /** Since it last came back. */
  countOfLate(): number {
    return this.#sink.count();
  }

  async is(status: 'ACTIVE' | 'FAILING'): Promise<{ readonly lastError: string | null }> {
    return eventually(
      `${this.relayKey} is ${status}`,
      async () => {
        const answer = await this.client.get(`/relays/${this.relayKey}`);
        return answer.at('status') === status && { lastError: answer.at<string | null>('lastError') };
      },
      DEADLINE_MS,
    );
  }

  /** It takes so many mails, and is gone before it has said so. */
  async loseReplies(times: number): Promise<void> {
    const before = this.inDoubt.length;
    this.#atBody({ replyThenDrop: '250-2.0.0 Queued' }, times, (address) => this.inDoubt.push(address));
    await eventually('replies are lost', () => this.inDoubt.length === before + times, DEADLINE_MS);
  }

  /** It gets bodies and says nothing, until there is one on each of its connections. */
  async fill(): Promise<void> {
    this.keepSilent();
    await eventually('each connection waits', () => this.#held.length === this.connections, DEADLINE_MS);
  }

  keepSilent(): void {
    let address = '';
    const hold = (answer: () => void) => this.#held.push({ address, answer });
    this.#hold = this.#atBody({ hold }, undefined, (to) => (address = to));
  }

  /** It takes what it was silent about, and says so to whoever is still there. */
  speak(): void {
    this.#hold?.();
    for (const { answer } of this.#held.splice(0)) answer();
  }

  /** The worker that waits for its answers is dead: it took the mails, and nobody knows. */
  takeUnheard(): void {
    this.inDoubt.push(...this.#held.map(({ address }) => address));
    for (const { answer } of this.#held.splice(0)) answer();
  }

  /** Drops its connections: what it was silent about it does not have. */
  async stop(): Promise<void> {
    this.inDoubt.push(...this.#held.splice(0).map(({ address }) => address));
    await this.#sink.stop();
  }

  async comeBack(): Promise<void> {
    this.#sinks.push(await openSink(this.#sink.port));
  }

  handedOver(): HandedOver {
    const accepted = new Map<string, number>();
    for (const { to } of this.#sinks.flatMap(({ messages }) => messages))
      for (const address of to) accepted.set(address, (accepted.get(address) ?? 0) + 1);
    return { accepted, seen: new Set([...accepted.keys(), ...this.inDoubt]) };
  }

  #atBody(action: SinkAction, times: number | undefined, to: (address: string) => unknown): () => void {
    const when = ({ to: [address = ''] }: { readonly to: readonly string[] }) => {
      to(address);
      return true;
    };
    return this.#sink.behave({ at: 'body', action, when, ...(times === undefined ? {} : { times }) });
  }
}

const openSink = (port: number): Promise<RawSmtpSink> => startRawSmtpSink({ port, keep: 'index' });
