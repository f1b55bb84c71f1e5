import { createSign, generateKeyPairSync, randomBytes } from 'node:crypto';
import type { FeedbackRequest } from '../../../libs/deliverability/src/relays/kinds/feedback.js';
import type { ReceivedMail, SmtpSink } from '../sink-rules.js';
import { type SmtpSinkOptions, startSmtpSink } from '../smtp-sink.js';

/** One of SendGrid's events; our unique arguments stand beside its own properties. */
export type SendgridEvent = Readonly<Record<string, unknown>>;

/** SendGrid on 127.0.0.1: takes mail as its SMTP service does, and makes and signs the posts of its Event Webhook. */
export class SendgridStandIn {
  /** What the owner of the account copies from its settings: the verification key. */
  readonly key: string;
  readonly #privateKey;
  /** Of the mails of `sink.messages`, in their order. */
  readonly #queueIds: string[];

  private constructor(
    readonly sink: SmtpSink,
    queueIds: string[],
  ) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    this.key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    this.#privateKey = privateKey;
    this.#queueIds = queueIds;
  }

  static async start(options: SmtpSinkOptions = {}): Promise<SendgridStandIn> {
    const sink = await startSmtpSink(options);
    const queueIds: string[] = [];
    sink.behave({
      at: 'body',
      action: {
        get reply() {
          return `250 Ok: queued as ${queueIds[queueIds.push(randomBytes(16).toString('base64url')) - 1]}`;
        },
      },
    });
    return new SendgridStandIn(sink, queueIds);
  }

  /** …/docs/sendgrid/for-developers/sending-email/smtp-errors-and-troubleshooting; at which command is not said there. */
  throttle(times: number): void {
    this.sink.behave({
      at: 'mail',
      action: { reply: '451 Authentication failed: Maximum credits exceeded' },
      times,
    });
  }

  delivered(mail: ReceivedMail): SendgridEvent {
    return { ...this.#event(mail, 'delivered'), response: '250 2.0.0 OK', tls: 1 };
  }

  deferred(mail: ReceivedMail, response = '451 4.7.1 Try again later'): SendgridEvent {
    return { ...this.#event(mail, 'deferred'), response, attempt: '1' };
  }

  bounced(
    mail: ReceivedMail,
    reason = '550 5.1.1 No such user here',
    bounceClassification = 'Invalid Address',
    type: 'bounce' | 'blocked' = 'bounce',
  ): SendgridEvent {
    const status = /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(reason)?.[0] ?? reason.slice(0, 3);
    const bounce = { reason, status, type, bounce_classification: bounceClassification, tls: 1 };
    return { ...this.#event(mail, 'bounce'), ...bounce };
  }

  dropped(mail: ReceivedMail, reason = 'Bounced Address'): SendgridEvent {
    return { ...this.#event(mail, 'dropped'), reason, status: '5.0.0' };
  }

  complained(mail: ReceivedMail): SendgridEvent {
    return this.#event(mail, 'spamreport');
  }

  unsubscribed(mail: ReceivedMail): SendgridEvent {
    return this.#event(mail, 'unsubscribe');
  }

  /** A post of the events, signed at that time. */
  post(events: readonly SendgridEvent[], at: Date): FeedbackRequest {
    const timestamp = String(Math.floor(at.getTime() / 1_000));
    const body = Buffer.from(`${JSON.stringify(events)}\r\n`);
    return {
      headers: {
        'content-type': 'application/json',
        'x-twilio-email-event-webhook-timestamp': timestamp,
        'x-twilio-email-event-webhook-signature': createSign('sha256')
          .update(timestamp)
          .update(body)
          .sign(this.#privateKey, 'base64'),
      },
      body,
      receivedAt: at,
    };
  }

  #event(mail: ReceivedMail, event: string): SendgridEvent {
    const queueId = this.#queueIds[this.sink.messages.indexOf(mail)];
    return {
      ...uniqueArgumentsOf(mail.raw),
      email: mail.to[0],
      timestamp: Math.floor(mail.receivedAt / 1_000),
      'smtp-id': mail.messageId,
      event,
      sg_event_id: randomBytes(16).toString('base64url'),
      sg_message_id: `${queueId}.recvd-7b9c6d5f8-x2kqz-1-6922A1C4-1B.0`,
    };
  }
}

/** Of the first X-SMTPAPI header; rejects as SendGrid does what is no JSON. */
function uniqueArgumentsOf(raw: Buffer): Record<string, string> {
  const headers = raw.toString('latin1').split(/\r\n\r\n/, 1)[0] ?? '';
  const value = /^x-smtpapi:(.*(?:\r\n[ \t].*)*)/im.exec(headers)?.[1] ?? '{}';
  const { unique_args = {} } = JSON.parse(value) as { unique_args?: Record<string, string> };
  return unique_args;
}
