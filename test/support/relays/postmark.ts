import {
  fieldsOf,
  partsOf,
  proofBy,
  type PostedFeedback,
  type ProviderEvent,
  ProviderSink,
  type ProviderStandIn,
  RECEIVED_AT,
  type TakenMail,
  uuidOf,
  withFields,
} from './provider-sink.js';

/** Pages are those of postmarkapp.com/developer. */
export const POSTMARK_PASSWORD = 'a password of the tests';

/** Starts the stand-in. No page says what its reply holds: this one is of no use, which a relay must do with. */
export function startPostmark(): Promise<ProviderSink> {
  return ProviderSink.start({
    newId: uuidOf,
    replyTo: () => '250 2.0.0 Ok: queued as 4cXk7T1QyLz9sVx',
    throttled: '421 4.7.0 Too many connections',
  });
}

/** webhooks/bounce-webhook, delivery-webhook, spam-complaint-webhook and subscription-change-webhook. */
export function postmarkEvent(mail: TakenMail, event: ProviderEvent): object {
  const about = {
    ServerID: 23,
    MessageStream: fieldsOf(mail.raw, 'X-PM-Message-Stream')[0] ?? 'outbound',
    MessageID: mail.id,
    Tag: '',
    Metadata: metadataOf(mail.raw),
  };
  const bounced = {
    ID: 901542550,
    Email: mail.to,
    From: 'news@shop.example',
    BouncedAt: '2026-11-23T04:41:00Z',
    Inactive: true,
    DumpAvailable: true,
    CanActivate: true,
    Subject: 'News',
    ...about,
  };
  switch (event.kind) {
    case 'delivered':
      return {
        RecordType: 'Delivery',
        Recipient: mail.to,
        DeliveredAt: '2026-11-23T04:41:00Z',
        Details: 'OK',
        ...about,
      };
    case 'complaint':
      return {
        RecordType: 'SpamComplaint',
        Type: 'SpamComplaint',
        TypeCode: 100001,
        Name: 'Spam complaint',
        Details: '',
        ...bounced,
      };
    case 'unsubscribed':
      return {
        RecordType: 'SubscriptionChange',
        Recipient: mail.to,
        ChangedAt: '2026-11-23T04:41:00Z',
        Origin: 'Recipient',
        SuppressSending: true,
        SuppressionReason: 'ManualSuppression',
        ...about,
      };
    case 'deferred':
      return {
        RecordType: 'Bounce',
        Type: 'Transient',
        TypeCode: 2,
        Name: 'Message delayed',
        Details: '',
        ...bounced,
      };
    case 'bounce':
      return { RecordType: 'Bounce', ...typeOf(event.said), Details: `smtp;${event.said}`, ...bounced };
  }
}

/** Keys come without the prefix; recipients never see them. */
function metadataOf(raw: Buffer): object {
  const names = new Set(
    [...raw.toString('latin1').matchAll(/^X-PM-Metadata-([\w-]+):/gim)].map(([, key = '']) => key),
  );
  return Object.fromEntries([...names].map((key) => [key, fieldsOf(raw, `X-PM-Metadata-${key}`)[0]]));
}

function typeOf(said: string): object {
  const { code, enhancedCode } = partsOf(said);
  if (enhancedCode.startsWith('5.7.')) return { Type: 'Blocked', TypeCode: 100006, Name: 'ISP block' };
  if (code < 500 || enhancedCode === '5.2.2')
    return { Type: 'SoftBounce', TypeCode: 4096, Name: 'Soft bounce' };
  return { Type: 'HardBounce', TypeCode: 1, Name: 'Hard bounce' };
}

/** webhooks/webhooks-overview: no signature; user and password of the webhook's URL by HTTP basic authentication. */
export function postmarkPost(event: object, password = POSTMARK_PASSWORD): PostedFeedback {
  const credentials = Buffer.from(`mailwright:${password}`).toString('base64');
  return {
    headers: {
      'content-type': 'application/json',
      'user-agent': 'Postmark',
      authorization: `Basic ${credentials}`,
    },
    body: Buffer.from(JSON.stringify(event)),
    receivedAt: RECEIVED_AT,
  };
}

/** The mail is taken apart and put together anew (developer-smtp.html), its fields for Postmark are gone. */
function passedOnByPostmark({ raw }: TakenMail): Buffer {
  const body = raw.subarray(raw.indexOf('\r\n\r\n') + 4);
  const head = withFields(
    raw.subarray(0, raw.length - body.length),
    (name) => name.startsWith('x-pm-') || name.startsWith('content-'),
    ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'],
  );
  return Buffer.concat([head, Buffer.from(`${body.toString('base64')}\r\n`)]);
}

export const postmark: ProviderStandIn = {
  start: startPostmark,
  namesIdInReply: false,
  proof: proofBy(POSTMARK_PASSWORD),
  needsKey: false,
  otherKey: 'another password',
  proves: 'SENDER',
  maxAgeMs: null,
  eventOf: postmarkEvent,
  post: (event, { key } = {}) => postmarkPost(event, key),
  passedOn: passedOnByPostmark,
};
