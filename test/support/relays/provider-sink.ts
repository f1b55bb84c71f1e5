import type { FeedbackProof } from '../../../libs/deliverability/src/relays/kinds/kind.js';
import { startSmtpSink } from '../mail/smtp-sink.js';
import type { SmtpSink } from '../mail/sink-rules.js';

/** A mail that a provider took. */
export interface TakenMail {
  /** The provider's own id of it. */
  readonly id: string;
  readonly to: string;
  /** As it was handed over. */
  readonly raw: Buffer;
}

/** Event that a provider tells of a mail. `said` is the refusal of the recipient's server, basic and enhanced code in front. */
export type ProviderEvent =
  | { readonly kind: 'delivered' | 'complaint' | 'unsubscribed' | 'deferred' }
  | { readonly kind: 'bounce'; readonly said: string };

/** As it comes to `POST /feedback/{kind}/{token}`. */
export interface PostedFeedback {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  readonly receivedAt: Date;
}

/** When a request of a stand-in is signed, where a test does not say it, and when it comes. */
export const SIGNED_AT = new Date('2026-11-23T04:41:00Z');
export const RECEIVED_AT = new Date('2026-11-23T04:41:01Z');

export interface PostOptions {
  /** Instead of the one that the relay has. */
  readonly key?: string;
  readonly signedAt?: Date;
}

/** A provider that behaves as its documentation says. */
export interface ProviderStandIn {
  start(): Promise<ProviderSink>;
  /** True if its reply to a mail names the id that its events have. */
  readonly namesIdInReply: boolean;
  /** Proof as a relay has it. */
  readonly proof: FeedbackProof & { readonly key: string };
  /** True if its events prove nothing without a key; otherwise the secret in our address proves them. */
  readonly needsKey: boolean;
  /** Key of another account. */
  readonly otherKey: string;
  /** Subject of its proof: the events, the request but not its events, or only who sends it. */
  readonly proves: 'EVENTS' | 'REQUEST' | 'SENDER';
  /** Greatest age of its requests, ms; null where its documentation names no bound. */
  readonly maxAgeMs: number | null;
  /** Its event about a mail. */
  eventOf(mail: TakenMail, event: ProviderEvent): object;
  post(event: object, options?: PostOptions): PostedFeedback;
  /** The mail as recipients get it. */
  passedOn(mail: TakenMail, at: Date): Buffer;
}

/** Proof of a provider that serves no document. */
export function proofBy(key: string): ProviderStandIn['proof'] {
  return { key, fetchText: () => Promise.reject(new Error('Nothing is asked.')) };
}

/** As a provider that changes nothing passes a mail on. */
export function passedOnUnchanged({ raw }: TakenMail, at: Date): Buffer {
  return withFields(raw, () => false, [`Received: from client by provider.example; ${dateField(at)}`]);
}

export function dateField(at: Date): string {
  return at.toUTCString().replace('GMT', '+0000');
}

interface ProviderManners {
  readonly newId: (count: number) => string;
  /** To the body of a mail. */
  readonly replyTo: (id: string) => string;
  /** To a mail too many, at its first command or at its end. */
  readonly throttled: string;
  readonly throttledAt?: 'mail' | 'body';
}

/** The SMTP side of a provider: names each mail in its reply as the provider does, and throttles in its words. */
export class ProviderSink {
  readonly #ids: string[] = [];
  #tooMany = 0;

  private constructor(
    readonly sink: SmtpSink,
    private readonly manners: ProviderManners,
  ) {}

  static async start(manners: ProviderManners): Promise<ProviderSink> {
    const provider = new ProviderSink(await startSmtpSink(), manners);
    provider.sink.behave({
      at: 'body',
      get action() {
        return { reply: provider.#answer() };
      },
    });
    return provider;
  }

  get mails(): readonly TakenMail[] {
    return this.sink.messages.map(({ to: [to = ''], raw }, index) => ({
      id: this.#ids[index] ?? '',
      to,
      raw,
    }));
  }

  /** Turns this many mails away. */
  throttle(mails: number): void {
    const { throttledAt: at = 'body', throttled: reply } = this.manners;
    if (at === 'body') this.#tooMany = mails;
    else this.sink.behave({ at, action: { reply }, times: mails });
  }

  stop(): Promise<void> {
    return this.sink.stop();
  }

  #answer(): string {
    const { newId, replyTo, throttled } = this.manners;
    if (this.#tooMany > 0) {
      this.#tooMany--;
      return throttled;
    }
    const id = newId(this.#ids.length);
    // The sink keeps the mail at once.
    this.#ids.push(id);
    return replyTo(id);
  }
}

/** Values of a header field of a mail, unfolded. */
export function fieldsOf(raw: Buffer, name: string): string[] {
  const fields = headOf(raw).matchAll(/^([\w-]+):[ \t]*((?:.*)(?:\r\n[ \t].*)*)/gm);
  return [...fields]
    .filter(([, each = '']) => each.toLowerCase() === name.toLowerCase())
    .map(([, , value = '']) => value.replaceAll(/\r\n[ \t]+/g, ' '));
}

/** The mail without the header fields of which `isMeant`, in lower case, and with others in front. */
export function withFields(
  raw: Buffer,
  isMeant: (name: string) => boolean,
  added: readonly string[],
): Buffer {
  const head = headOf(raw);
  const kept = head
    .split(/\r\n(?![ \t])/)
    .filter((field) => !isMeant(field.replace(/:.*$/s, '').toLowerCase()));
  return Buffer.concat([Buffer.from([...added, ...kept].join('\r\n'), 'latin1'), raw.subarray(head.length)]);
}

function headOf(raw: Buffer): string {
  const end = raw.indexOf('\r\n\r\n');
  return raw.toString('latin1', 0, end === -1 ? raw.length : end);
}

/** A UUID that tells the `count`th thing of a kind. */
export function uuidOf(count: number): string {
  return `883953f4-6105-42a2-a16a-${count.toString(16).padStart(12, '0')}`;
}

/** Codes and words of a refusal: `550 5.1.1 No such user`. */
export function partsOf(said: string): { code: number; enhancedCode: string; words: string } {
  const [, code = '', enhancedCode = '', words = ''] = /^(\d{3}) (\d\.\d+\.\d+) (.*)$/s.exec(said) ?? [];
  if (code === '') throw new Error(`No code, enhanced code and words: ${said}`);
  return { code: Number(code), enhancedCode, words };
}
