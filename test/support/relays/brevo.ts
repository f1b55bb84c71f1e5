import type { FeedbackRequest } from '../../../libs/deliverability/src/relays/kinds/feedback.js';
import type { ReceivedMail, SmtpSink } from '../sink-rules.js';
import { type SmtpSinkOptions, startSmtpSink } from '../smtp-sink.js';

/** One of Brevo's transactional events. */
export type BrevoEvent = Readonly<Record<string, unknown>>;

/** Brevo on 127.0.0.1: takes mail as its SMTP relay does, and makes the posts of a webhook that carries the key. */
export class BrevoStandIn {
  private constructor(
    readonly sink: SmtpSink,
    /** Of the mails of `sink.messages`, in their order. */
    private readonly messageIds: string[],
    /** What the owner of the account has set for the webhook: a token, or `user:password`. */
    readonly key: string,
  ) {}

  static async start(key = 'brevo:3f9c1d', options: SmtpSinkOptions = {}): Promise<BrevoStandIn> {
    const sink = await startSmtpSink(options);
    const ids: string[] = [];
    sink.behave({
      at: 'body',
      action: {
        get reply() {
          const number = ids.push(`<202611230500.${10_000_000_000 + ids.length}@smtp-relay.mailin.fr>`);
          return `250 2.0.0 OK: queued as ${ids[number - 1]}`;
        },
      },
    });
    return new BrevoStandIn(sink, ids, key);
  }

  /** Brevo does not document what it says over a limit; this is what RFC 5321 §3.8 has for it. */
  throttle(times: number): void {
    this.sink.behave({ at: 'mail', action: { reply: '421 4.7.0 Service not available' }, times });
  }

  delivered(mail: ReceivedMail): BrevoEvent {
    return this.#event(mail, 'delivered');
  }

  deferred(mail: ReceivedMail, reason = '451 4.7.1 Try again later'): BrevoEvent {
    return { ...this.#event(mail, 'deferred'), reason };
  }

  bounced(
    mail: ReceivedMail,
    reason = 'RecipientError: 550 5.1.1 No such user here',
    event: 'hard_bounce' | 'soft_bounce' | 'invalid_email' | 'error' = 'hard_bounce',
  ): BrevoEvent {
    return { ...this.#event(mail, event), reason };
  }

  blocked(mail: ReceivedMail): BrevoEvent {
    return { ...this.#event(mail, 'blocked'), reason: 'blocked : due to blacklist user' };
  }

  complained(mail: ReceivedMail): BrevoEvent {
    return this.#event(mail, 'spam');
  }

  unsubscribed(mail: ReceivedMail): BrevoEvent {
    return this.#event(mail, 'unsubscribed');
  }

  /** A post of one event, or of a batch. */
  post(events: readonly BrevoEvent[], at: Date): FeedbackRequest {
    const authorization = this.key.includes(':')
      ? `Basic ${Buffer.from(this.key).toString('base64')}`
      : `Bearer ${this.key}`;
    return {
      headers: { 'content-type': 'application/json', authorization },
      body: Buffer.from(JSON.stringify(events.length === 1 ? events[0] : events)),
      receivedAt: at,
    };
  }

  #event(mail: ReceivedMail, event: string): BrevoEvent {
    const headers = mail.raw.toString('latin1').split(/\r\n\r\n/, 1)[0] ?? '';
    const custom = /^x-mailin-custom: ?(.*)/im.exec(headers)?.[1];
    const seconds = Math.floor(mail.receivedAt / 1_000);
    return {
      id: 26_224,
      email: mail.to[0],
      'message-id': this.messageIds[this.sink.messages.indexOf(mail)],
      date: '2026-11-23 06:00:00',
      subject: 'Hello',
      event,
      ts: seconds,
      ts_event: seconds,
      ts_epoch: mail.receivedAt,
      sending_ip: '192.0.2.1',
      ...(custom === undefined ? {} : { 'X-Mailin-custom': custom }),
    };
  }
}
