import { randomBytes } from 'node:crypto';
import type { FeedbackRequest } from '../../../libs/deliverability/src/relays/kinds/feedback.js';
import { webhookHeaders } from '../../../libs/platform/src/outgoing-http/signed-webhook.js';
import type { ReceivedMail, SmtpSink } from '../sink-rules.js';
import { type SmtpSinkOptions, startSmtpSink } from '../smtp-sink.js';

/** An event as GENERIC documents it. */
export type GenericEvent = Readonly<Record<string, unknown>>;

/** A relay of one's own on 127.0.0.1, which replies as Postfix does, and a program that reads its log and posts what it says. */
export class GenericStandIn {
  readonly key = `whsec_${randomBytes(24).toString('base64')}`;

  private constructor(
    readonly sink: SmtpSink,
    /** Of the mails of `sink.messages`, in their order. */
    private readonly queueIds: string[],
  ) {}

  static async start(options: SmtpSinkOptions = {}): Promise<GenericStandIn> {
    const sink = await startSmtpSink(options);
    const ids: string[] = [];
    sink.behave({
      at: 'body',
      action: {
        get reply() {
          return `250 2.0.0 Ok: queued as ${ids[ids.push(`4dF3vN${randomBytes(4).toString('hex')}`) - 1]}`;
        },
      },
    });
    return new GenericStandIn(sink, ids);
  }

  /** As Postfix does with a client that sends more than `smtpd_client_message_rate_limit` allows. */
  throttle(times: number): void {
    const reply = '450 4.7.1 Error: too much mail from 127.0.0.1';
    this.sink.behave({ at: 'mail', action: { reply }, times });
  }

  delivered(mail: ReceivedMail): GenericEvent {
    return this.#event(mail, 'delivered');
  }

  bounced(mail: ReceivedMail, detail = '550 5.1.1 No such user here'): GenericEvent {
    return { ...this.#event(mail, 'bounce'), detail };
  }

  complained(mail: ReceivedMail): GenericEvent {
    return this.#event(mail, 'complaint');
  }

  unsubscribed(mail: ReceivedMail): GenericEvent {
    return this.#event(mail, 'unsubscribed');
  }

  /** A post of the events, signed at that time as our own webhooks are. */
  post(events: readonly GenericEvent[], at: Date): FeedbackRequest {
    const body = JSON.stringify({ events });
    const id = `msg_${randomBytes(12).toString('base64url')}`;
    const headers = { 'content-type': 'application/json', ...webhookHeaders([this.key], { id, at, body }) };
    return { headers, body: Buffer.from(body), receivedAt: at };
  }

  #event(mail: ReceivedMail, type: string): GenericEvent {
    return {
      type,
      messageId: this.queueIds[this.sink.messages.indexOf(mail)],
      address: mail.to[0],
      at: new Date(mail.receivedAt).toISOString(),
    };
  }
}
