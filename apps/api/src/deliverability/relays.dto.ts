import { z } from 'zod';
import {
  RELAY_KINDS,
  RELAY_OPTIONS,
  RELAY_SIGNING,
  RELAY_STATUSES,
  RELAY_STREAMS,
  RELAY_TLS,
} from '#deliverability';
import { pageOf, strictBody, timestamp, uuid } from '#platform/http';
import { leftOut, requiredLine } from '../fields.js';

const HOST =
  /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$|^[0-9a-f:]+:[0-9a-f:.]*$/i;
const MOST_CONNECTIONS = 50;

const host = requiredLine(253).regex(HOST, 'must be a host name or an IP address');
const port = z.int().min(1).max(65_535);
const streams = z
  .array(z.enum(RELAY_STREAMS))
  .min(1)
  .max(RELAY_STREAMS.length)
  .refine((given) => new Set(given).size === given.length, 'must not name a stream twice');
const optionsOf = <Option extends z.ZodType>(option: Option) =>
  strictBody(
    Object.fromEntries(RELAY_OPTIONS.map((name) => [name, option])) as Record<
      (typeof RELAY_OPTIONS)[number],
      Option
    >,
  );
const password = z.string().min(1).max(1_000).nullish().meta({ description: 'Write-only.' });
const feedbackKey = requiredLine(4_000).nullish().meta({
  description:
    'Write-only. With which the provider’s events are proved, as its page in the documentation says.',
});

const settings = {
  host: leftOut(host).meta({
    description: 'Default: that of the kind. A private or loopback address needs the operator’s leave.',
  }),
  port: leftOut(port).meta({ description: 'Default: that of the kind.' }),
  tls: leftOut(z.enum(RELAY_TLS)).meta({
    description:
      'From the first octet, by STARTTLS, or by STARTTLS where it is offered. Default: IMPLICIT on port 465, else REQUIRED.',
  }),
  options: leftOut(optionsOf(requiredLine(255).optional())).meta({
    description: 'What only some kinds take.',
  }),
  streams: leftOut(streams).meta({ description: 'The kinds of mail that it takes. Default: all.' }),
  priority: leftOut(z.int().min(1).max(100)).meta({ description: '1 is tried first. Default: 1.' }),
  weight: leftOut(z.int().min(1).max(100)).meta({
    description: 'Its share among the relays of the same priority. Default: 1.',
  }),
  connections: leftOut(z.int().min(1).max(MOST_CONNECTIONS)).meta({
    description: 'At most so many connections from each worker. Default: 5.',
  }),
  ratePerSecond: z
    .number()
    .min(0.001)
    .max(100_000)
    .nullish()
    .meta({ description: 'Mails a second; null: no limit.' }),
  signing: leftOut(z.enum(RELAY_SIGNING)).meta({
    description:
      'OWN: with the sending domain’s DKIM keys. RELAY: the relay signs, and we do not. Default: OWN. A kind that puts mails together anew, and so lets no signature but its own through, takes RELAY alone.',
  }),
  username: requiredLine(320).nullish(),
  password,
  feedbackKey,
};

export const createRelayBody = strictBody({
  name: requiredLine(200),
  kind: z.enum(RELAY_KINDS),
  ...settings,
}).meta({ id: 'CreateRelay' });

export const updateRelayBody = strictBody({
  name: leftOut(requiredLine(200)),
  ...settings,
  options: leftOut(optionsOf(requiredLine(255).nullish())).meta({
    description: 'What is left out stays, null removes an option.',
  }),
  status: leftOut(z.enum(['ACTIVE', 'PAUSED'])).meta({
    description: 'A PAUSED relay is given no mail. ACTIVE tries a FAILING one at once.',
  }),
}).meta({ id: 'UpdateRelay' });

export const relayView = z
  .object({
    id: uuid,
    relayKey: z.string().meta({ example: 'APIT-1' }),
    name: z.string(),
    kind: z.enum(RELAY_KINDS),
    host: z.string(),
    port: z.int(),
    tls: z.enum(RELAY_TLS),
    username: z.string().nullable(),
    options: z.partialRecord(z.enum(RELAY_OPTIONS), z.string()),
    streams: z.array(z.enum(RELAY_STREAMS)),
    priority: z.int(),
    weight: z.int(),
    connections: z.int(),
    ratePerSecond: z.number().nullable(),
    signing: z.enum(RELAY_SIGNING),
    status: z
      .enum(RELAY_STATUSES)
      .meta({ description: 'FAILING: it cannot be used at the moment, and is tried again by itself.' }),
    lastError: z.string().nullable(),
    lastUsedAt: timestamp.nullable(),
    feedbackUrl: z.string().nullable().meta({
      description: 'Where the provider posts its events. Secret: who has it can tell us of bounces.',
    }),
    lastFeedbackAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Relay' });

export const relayPage = pageOf(relayView, 'RelayPage');

export const relayCheckView = z
  .object({
    isReady: z.boolean().meta({ description: 'Whether it would take mail now.' }),
    stage: z
      .string()
      .nullable()
      .meta({ description: 'Where it ended, when it is not ready: connect, greeting, tls, ehlo or auth.' }),
    detail: z
      .string()
      .nullable()
      .meta({ description: 'What is wrong, in words; without addresses and secrets.' }),
    capabilities: z
      .object({
        pipelining: z.boolean(),
        chunking: z.boolean(),
        eightBitMime: z.boolean(),
        smtpUtf8: z.boolean(),
        size: z
          .int()
          .nullable()
          .meta({ description: 'The largest mail in octets; 0: no limit; null: not said.' }),
      })
      .nullable(),
  })
  .meta({ id: 'RelayCheck' });
