import { z } from 'zod';
import { API_KEY_STATUSES, MAX_NETWORKS, MAX_OVERLAP_HOURS } from '#access';
import { API_SCOPES, parseNetwork } from '#kernel';
import { pageOf, strictBody, timestamp, uuid } from '#platform/http';
import { leftOut, moment, requiredLine } from '../fields.js';

const network = z.string().transform((input, context): string => {
  const parsed = parseNetwork(input);
  if ('network' in parsed) return parsed.network;
  context.issues.push({ code: 'custom', message: parsed.fault, input });
  return z.NEVER;
});
const NETWORKS =
  'Addresses and networks (CIDR), IPv4 and IPv6, that it may be used from; others get 403 `network-not-allowed`. Behind a proxy the ' +
  'client’s address is what `TRUST_PROXY` says.';
export const allowedNetworks = z.array(network).max(MAX_NETWORKS).nullish();
export const rateLimitPerMinute = z.int().min(1).max(1_000_000).nullish();

export const createApiKeyBody = strictBody({
  name: requiredLine(200).meta({ description: 'The program or person that has it.' }),
  scopes: z
    .array(z.enum(API_SCOPES))
    .min(1)
    .meta({ description: 'What it may do: nothing that the key that asks may not.' }),
  expiresAt: leftOut(moment).meta({
    description: 'At most the end of the key that asks, which is the default; at most 100 years ahead.',
  }),
  rateLimitPerMinute: rateLimitPerMinute.meta({
    description: 'At most the limit of the key that asks, which is the default.',
  }),
  allowedNetworks: allowedNetworks.meta({
    description: `${NETWORKS} Within those of the key that asks, which are the default.`,
  }),
}).meta({ id: 'CreateApiKey' });

export const updateApiKeyBody = strictBody({
  name: leftOut(requiredLine(200)),
  rateLimitPerMinute: rateLimitPerMinute.meta({
    description: 'At most the limit of the key that asks; null: the installation’s.',
  }),
  allowedNetworks: allowedNetworks.meta({
    description: `${NETWORKS} Within those of the key that asks; null or empty: from anywhere.`,
  }),
}).meta({ id: 'UpdateApiKey' });

export const rotateApiKeyBody = strictBody({
  overlapHours: z
    .int()
    .min(0)
    .max(MAX_OVERLAP_HOURS)
    .nullish()
    .transform((hours) => hours ?? 24)
    .meta({
      default: 24,
      description: 'The key before works for so many more hours, or until it expires anyway; 0: no more.',
    }),
}).meta({ id: 'RotateApiKey' });

const API_KEY = {
  id: uuid,
  name: z.string(),
  prefix: z.string().meta({ description: 'Its beginning.', example: 'mw_live_' }),
  lastFour: z.string().meta({ description: 'Its last four characters.', example: 'x7Qa' }),
  status: z.enum(API_KEY_STATUSES).meta({
    description: 'REPLACED: `replacedBy` is its successor, and it works until `expiresAt`.',
  }),
  scopes: z.array(z.string()),
  expiresAt: timestamp.nullable().meta({ description: 'Null: never.' }),
  rateLimitPerMinute: z
    .int()
    .nullable()
    .meta({ description: 'Requests a minute; null: as the installation is configured.' }),
  allowedNetworks: z
    .array(z.string())
    .meta({ description: 'Where it may be used from, as CIDR; empty: from anywhere.' }),
  lastUsedAt: timestamp.nullable().meta({ description: 'At most a minute late. Null: not yet.' }),
  createdBy: z.string().meta({
    description: '`id` of the key that asked for it; OPERATOR: the operator of the installation.',
    example: 'OPERATOR',
  }),
  replacedBy: uuid.nullable().meta({ description: '`id` of the key that rotation made of it.' }),
  revokedAt: timestamp.nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
};

export const apiKeyView = z.object(API_KEY).meta({ id: 'ApiKey' });

export const createdApiKeyView = z
  .object({
    ...API_KEY,
    key: z.string().meta({ description: 'The key itself. It is shown in this answer alone.' }),
  })
  .meta({ id: 'CreatedApiKey' });

export const apiKeyPage = pageOf(apiKeyView, 'ApiKeyPage');
