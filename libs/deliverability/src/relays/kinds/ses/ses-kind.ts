import type { RelayKindRules } from '../kind.js';
import { messageTagOf, readSesEvent } from './ses-events.js';
import { confirmUrlOf, isFromSns, readSnsMessage } from './sns-message.js';

/** `eu-west-1`, `us-gov-west-1`: it becomes part of a host name. */
const REGION = { pattern: /^[a-z]{2}(?:-[a-z]{2,12}){1,3}-\d$/, inWords: 'an AWS region, as eu-west-1' };
/** docs.aws.amazon.com/ses/latest/APIReference/API_ConfigurationSet.html */
const CONFIGURATION_SET = {
  pattern: /^[\w-]{1,64}$/,
  inWords: 'the name of a configuration set: letters, digits, _ and -, at most 64',
};
/** docs.aws.amazon.com/sns/latest/api/API_CreateTopic.html; other partitions are `aws-cn`, `aws-us-gov`. */
const TOPIC_ARN = /^arn:aws(?:-[a-z]{2,10}){0,3}:sns:[a-z0-9-]{3,30}:\d{12}:[\w-]{1,256}$/;
/** `Ok 0100018b…-000000`: docs.aws.amazon.com/ses/latest/dg/troubleshoot-smtp.html, “250 Ok MessageID”. */
const MESSAGE_ID = /^Ok ([\w-]{1,255})\s*$/i;

/** Pages are those of docs.aws.amazon.com/ses/latest/dg, unless another place is named. */
export const sesKind: RelayKindRules = {
  name: 'Amazon SES',
  options: { configurationSet: CONFIGURATION_SET, region: REGION },
  endpointOption: 'region',
  // smtp-connect.html: all connections are encrypted; 587 by STARTTLS. There is one endpoint a region and none that is usual
  // (docs.aws.amazon.com/general/latest/gr/ses.html).
  endpoint: ({ region }) =>
    region !== undefined && REGION.pattern.test(region)
      ? { host: `email-smtp.${region}.amazonaws.com`, port: 587, tls: 'REQUIRED' }
      : null,
  // send-email-authentication-dkim-manual.html: these are not to be signed; header-fields.html: Date and Message-ID are overridden.
  replacedHeaders: ['date', 'message-id', 'return-path', 'bounces-to'],
  // event-publishing-send-email.html: SES takes both out of the mail. An identity's default configuration set sees the tag too.
  headersOf: ({ token, options: { configurationSet } }) => [
    ...(configurationSet === undefined ? [] : [['X-SES-CONFIGURATION-SET', configurationSet] as const]),
    ['X-SES-MESSAGE-TAGS', messageTagOf(token)],
  ],
  messageIdOf: (replyText) => MESSAGE_ID.exec(replyText)?.[1] ?? null,
  idIsUnique: true,
  // mail-from.html: SPF is about the MAIL FROM domain, a subdomain of amazonses.com or one that SES names; bounces go there.
  dnsRecords: ['OWNERSHIP', 'DKIM', 'DMARC'],
  feedbackKey: {
    isUsable: (key) => TOPIC_ARN.test(key),
    inWords: 'the ARN of a standard SNS topic, as arn:aws:sns:eu-west-1:123456789012:mailwright',
  },
  feedback: {
    isGenuine: isFromSns,
    read: ({ body }) => {
      const message = readSnsMessage(body);
      const confirmUrl = confirmUrlOf(message);
      if (confirmUrl !== null) return { events: [], confirmUrl };
      return { events: message.Type === 'Notification' ? readSesEvent(message.Message) : [] };
    },
  },
};
