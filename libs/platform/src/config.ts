import { createHmac } from 'node:crypto';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { z } from 'zod';
import { hostName, parseEmailAddress } from '#kernel';

/** Proxies whose X-Forwarded-For is believed: none, any that connects, or these addresses and networks (CIDR). */
export type TrustedProxies = boolean | readonly string[];

/** `false`, `true`, or addresses and networks with commas between them. */
export const trustedProxies = z
  .string()
  .transform((text): TrustedProxies => {
    if (text === 'true' || text === 'false') return text === 'true';
    return text.split(',').map((network) => network.trim());
  })
  .refine((proxies) => typeof proxies === 'boolean' || proxies.every(isNetwork), {
    error: 'must be true, false, or IP addresses and networks such as 10.0.0.0/8, with commas between them',
  });

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}

const flag = z.enum(['true', 'false']).transform((value) => value === 'true');
const port = z.coerce.number().int().min(0).max(65_535);
const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);
const secret = z.string().min(32, 'needs at least 32 characters');
const urlOf = (...protocols: string[]) =>
  z.string().refine((value) => URL.canParse(value) && protocols.includes(new URL(value).protocol), {
    error: `must be a URL that begins with ${protocols.map((protocol) => `${protocol}//`).join(' or ')}`,
  });
/** Contacts of security.txt (RFC 9116 §2.5.3). */
const contacts = z
  .string()
  .transform((text) => text.split(',').map((contact) => contact.trim()))
  .refine(
    (all) => all.every((each) => /^(?:mailto:[^\s@]+@[^\s@]+|https:\/\/\S+|tel:\+[\d-]+)$/.test(each)),
    {
      error: 'must be addresses that begin with mailto:, https:// or tel:+, with commas between them',
    },
  );
const emailAddress = z.string().refine((value) => 'address' in parseEmailAddress(value), {
  error: 'must be an e-mail address such as news@example.com',
});
const host = z.string().refine((value) => hostName(value) === value, {
  error: 'must be a host name in lower case',
});

/** `name=value` with commas between them, percent-encoded, as OpenTelemetry has it. */
const headers = z
  .string()
  .refine(
    (text) => text.split(',').every((pair) => /^\s*[\w.-]+\s*=(?:[^%]|%[\da-f]{2})*$/i.test(pair)),
    'must be name=value, with commas between several, and % before two hexadecimal digits',
  );

/** An IP address with or without a port, as `dns.Resolver.setServers` takes it. */
function isServer(server: string): boolean {
  const { bare, bracketed } =
    /^(?:\[(?<bracketed>[^\]]+)\]|(?<bare>[\d.]+))(?::\d{1,5})?$/.exec(server)?.groups ?? {};
  return isIPv4(bare ?? '') || isIPv6(bracketed ?? server);
}

/**
 * Every environment variable that Mailwright reads; nothing reads the environment elsewhere. `description` is the text of
 * `.env.example` and docs/configuration.md, too: a test compares them.
 */
export const environmentVariables = z.object({
  NODE_ENV: z
    .enum(['development', 'production', 'test'])
    .default('development')
    .meta({ description: 'production insists on real secrets and a verified sending domain.' }),
  DATABASE_URL: urlOf('postgres:', 'postgresql:').meta({
    description: 'PostgreSQL 15 or newer. `npm start` brings its own server when this is not set.',
  }),
  DATABASE_OWNER_URL: urlOf('postgres:', 'postgresql:').optional().meta({
    description:
      'The same database by the login that owns the schema, for `migrate` alone, which makes the login of DATABASE_URL. Default: DATABASE_URL.',
  }),
  DATABASE_READ_URL: urlOf('postgres:', 'postgresql:').optional().meta({
    description:
      'A streaming replica of the same server by the login of DATABASE_URL: lists of deliveries, exports and the breakdowns of reports are read there. Without it, as everything else.',
  }),
  DATABASE_POOL_SIZE: count(2, 200).default(10).meta({ description: 'Connections per process.' }),
  REDIS_URL: urlOf('redis:', 'rediss:').optional().meta({
    description:
      'Queues, rate limits and wake-ups go through this Redis; without it, through PostgreSQL. The same for all processes.',
  }),
  SMTP_URL: urlOf('smtp:', 'smtps:').optional().meta({
    description:
      'Where live mail is handed over, e.g. `smtp://user:pass@relay:587`. Without it, live mail waits.',
  }),
  SMTP_CONNECTIONS: count(1, 100).default(5).meta({ description: 'SMTP connections of one worker.' }),
  SMTP_MESSAGES_PER_CONNECTION: count(1, 10_000)
    .default(100)
    .meta({ description: 'A connection is renewed after this many messages.' }),
  SMTP_EHLO_NAME: z.string().min(1).default('localhost').meta({ description: 'The name given in EHLO.' }),
  THROTTLE: flag.default(true).meta({
    description:
      'false: live mail goes as fast as the relay takes it, without limits of destinations, slow-downs and warm-up of new domains.',
  }),
  THROTTLE_SCALE: z.coerce
    .number()
    .min(0.001)
    .max(1_000)
    .default(1)
    .meta({ description: 'Times the limits of the large mailbox providers.' }),
  THROTTLE_DOMAIN_RATE: z.coerce.number().min(0.001).max(100_000).optional().meta({
    description:
      'Mails a second to each domain that is no large mailbox provider’s. Without it, there is no limit until it complains.',
  }),
  AMBIGUOUS_POLICY: z.enum(['RESEND', 'HOLD']).default('RESEND').meta({
    description:
      'What a campaign does with mails that may or may not have arrived, since the relay or the worker stopped in the middle: send each once more, or hold it. It holds for campaigns queued from then on.',
  }),
  HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .meta({ description: 'Address that the api and the worker listen on.' }),
  PORT: port.default(3000).meta({ description: 'Port of the api; 0 takes a free one.' }),
  WORKER_PORT: port
    .default(0)
    .meta({ description: 'Port of the worker’s health and metrics; 0 takes a free one.' }),
  WORKER_PROCESSES: count(1, 64).default(1).meta({
    description:
      'Processes of a worker. Several are as many workers, each with `SMTP_CONNECTIONS` of its own, behind one `WORKER_PORT` and one `BOUNCE_PORT`.',
  }),
  BOUNCE_PORT: port.optional().meta({
    description:
      'Port of the worker’s bounce server, where mail that could not be delivered comes back; 0 takes a free one. Without it, there is none.',
  }),
  BOUNCE_TLS_CERT_FILE: z.string().min(1).optional().meta({
    description: 'Certificate (PEM) with which the bounce server offers STARTTLS.',
  }),
  BOUNCE_TLS_KEY_FILE: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The private key (PEM) of that certificate.' }),
  OPERATIONS_PORT: port.optional().meta({
    description:
      'Binds the api’s /health, /metrics and the operator’s page /operator to this port instead of PORT; /operator/v1 is on both.',
  }),
  METRICS_PORT: port.optional().meta({
    description:
      'Port of the api’s /metrics, which PORT does not serve in production. Without it, OPERATIONS_PORT alone does.',
  }),
  PUBLIC_URL: urlOf('http:', 'https:').optional().meta({
    description:
      'How the world reaches the api; links in mails begin with it. Default: `http://localhost:PORT`.',
  }),
  SECURITY_CONTACT: contacts.optional().meta({
    description:
      'Whom to write to about weaknesses, for /.well-known/security.txt: addresses such as `mailto:security@example.com` or `https://…`, with commas between them. Without it, there is none.',
  }),
  TRUST_PROXY: trustedProxies.default(false).meta({
    description:
      'Whose X-Forwarded-For is believed: addresses and networks of proxies, e.g. `10.0.0.0/8,192.0.2.1`; true: that of whoever connects.',
  }),
  TOKEN_SECRET: secret.optional().meta({
    description: 'Signs the links in mails (32 characters or more). Required in production.',
  }),
  MASTER_KEY: secret.optional().meta({
    description: 'Encrypts secrets at rest and keys the hashes of erased addresses. Required in production.',
  }),
  MASTER_KEY_PREVIOUS: secret.optional().meta({
    description:
      'The MASTER_KEY before this one, until `master-key:rotate` has encrypted every secret again.',
  }),
  ERASED_ADDRESS_KEY: secret.optional().meta({
    description:
      'Keys the hashes of erased addresses; needed once MASTER_KEY was changed. Default: MASTER_KEY.',
  }),
  TRACKING: flag.default(true).meta({
    description: 'false: no open pixel, no rewritten links, and opens and clicks are not recorded.',
  }),
  OUTGOING_PRIVATE_ADDRESSES: flag.default(false).meta({
    description:
      'true lets webhooks, relays and logos lead to private and loopback addresses. Only where every customer is trusted with your network.',
  }),
  RATE_LIMIT_PER_MINUTE: count(1, 1_000_000)
    .default(60)
    .meta({ description: 'Requests per minute and API key, unless the key has its own limit.' }),
  PAGE_LIMIT_PER_MINUTE: count(1, 1_000_000).default(3_000).meta({
    description:
      'Pages per minute and client address that readers of mails open: to confirm, choose, unsubscribe, view.',
  }),
  FEEDBACK_LIMIT_PER_MINUTE: count(1, 10_000_000).default(30_000).meta({
    description: 'Posts of events per minute that a provider may send to the feedback URL of one relay.',
  }),
  MESSAGES_PER_ADDRESS_A_DAY: count(1, 1_000_000).default(20).meta({
    description:
      'The most messages that one address may get from a project within 24 hours; more are refused with 429.',
  }),
  RETENTION_DELIVERIES_DAYS: count(60, 36_500).optional().meta({
    description:
      'Days after which mails that were sent are let go, with the steps of automations that have ended, in whole months. Without it, they are kept.',
  }),
  RETENTION_EVENTS_DAYS: count(30, 36_500).optional().meta({
    description:
      'The same for single opens, clicks, bounces, complaints and unsubscriptions, and for the events of subscribers. Statistics stay.',
  }),
  ARCHIVE_DIRECTORY: z.string().min(1).optional().meta({
    description:
      'Where a worker writes what is let go, a CSV file a month and table; every worker needs it. Without it, it is removed at once.',
  }),
  MEDIA_DIR: z.string().min(1).default('.data/media').meta({
    description:
      'Directory of the images that mails show; api and workers need the same, and it belongs to a backup. Not used with S3_BUCKET.',
  }),
  MEDIA_QUOTA_MB: count(1, 10_000_000)
    .default(500)
    .meta({ description: 'Megabytes of images that each environment of a project may keep.' }),
  S3_BUCKET: z
    .string()
    .regex(/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/, 'must be the name of a bucket')
    .optional()
    .meta({ description: 'Keeps images in this bucket of an S3 service instead of MEDIA_DIR.' }),
  S3_ENDPOINT: urlOf('http:', 'https:').optional().meta({
    description:
      'The S3 service, e.g. `https://s3.eu-central-1.amazonaws.com`. Required with S3_BUCKET, which is asked for in the path.',
  }),
  S3_REGION: z.string().min(1).default('us-east-1').meta({ description: 'The region of the bucket.' }),
  S3_ACCESS_KEY_ID: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'A key that may read, write and delete in the bucket. Required with S3_BUCKET.' }),
  S3_SECRET_ACCESS_KEY: z
    .string()
    .min(1)
    .optional()
    .meta({ description: 'The secret of that key. Required with S3_BUCKET.' }),
  REQUIRE_VERIFIED_DOMAIN: flag.default(true).meta({
    description: 'false lets live mail go without a verified sending domain. Refused in production.',
  }),
  BOUNCE_HOST: host.default('bounces.mailwright.test').meta({
    description: 'The bounce server’s host name: customers’ return paths have their MX there.',
  }),
  SPF_INCLUDE: host.default('spf.mailwright.test').meta({
    description: 'Host whose SPF record lists the addresses that mail leaves from; customers include it.',
  }),
  RETURN_PATH_LABEL: z
    .string()
    .regex(/^(?!-)[a-z0-9-]{1,63}(?<!-)$/, 'must be one label of a host name, in lower case')
    .default('bounce')
    .meta({ description: 'Return paths are at this label below a customer’s domain.' }),
  DKIM_ED25519: flag.default(false).meta({
    description: 'true: new domains and rotated keys also get an Ed25519 key beside RSA (RFC 8463).',
  }),
  DNS_SERVERS: z
    .string()
    .transform((list) => list.split(',').map((server) => server.trim()))
    .refine((servers) => servers.every(isServer), 'must be a list like `192.0.2.1:53, [2001:db8::1]:53`')
    .optional()
    .meta({
      description: 'Resolvers that check customers’ records, e.g. `192.0.2.1:53`. Default: the system’s.',
    }),
  DKIM_SIGNING: z.enum(['mailwright', 'relay']).default('mailwright').meta({
    description: 'relay: the relay signs mail, so Mailwright adds no DKIM signature.',
  }),
  DEFAULT_FROM_EMAIL: emailAddress
    .default('news@mailwright.test')
    .meta({ description: 'Sender of mail whose campaign or project names none.' }),
  AI_BASE_URL: urlOf('http:', 'https:').optional().meta({
    description:
      'An OpenAI-compatible endpoint that writes the reports, e.g. `https://api.openai.com/v1`. Without it, the built-in analyst does.',
  }),
  AI_API_KEY: z.string().optional().meta({ description: 'The key for AI_BASE_URL, if it needs one.' }),
  AI_MODEL: z.string().optional().meta({ description: 'The model at AI_BASE_URL. Required with it.' }),
  AI_TIMEOUT_MS: count(100, 600_000)
    .default(60_000)
    .meta({ description: 'How long one answer of the model may take.' }),
  AI_REPORT_DELAY_MINUTES: z.coerce
    .number()
    .min(0)
    .max(7 * 24 * 60)
    .default(60)
    .meta({ description: 'How long after its sending a campaign’s report is written.' }),
  AI_REPORT_LOCALE: z
    .string()
    .min(1)
    .default('en')
    .meta({ description: 'The language of reports: the name of a file in `locales/campaign-report`.' }),
  INVOICE_SELLER_NAME: z
    .string()
    .default('Mailwright')
    .meta({ description: 'Who stands on invoices as the seller.' }),
  INVOICE_SELLER_ADDRESS: z.string().optional().meta({
    description: 'The seller’s postal address; `|` begins a new line.',
  }),
  INVOICE_SELLER_TAX_ID: z
    .string()
    .optional()
    .meta({ description: 'The seller’s tax number as it must be written, e.g. `VAT DE123456789`.' }),
  INVOICE_TAX_RATE: z
    .string()
    .regex(/^\d{1,2}(\.\d{1,2})?$/, 'must be a percentage with at most two decimals')
    .default('0')
    .meta({ description: 'Per cent of tax that is added to every invoice, e.g. `23` or `8.1`.' }),
  INVOICE_TAX_NAME: z.string().default('VAT').meta({ description: 'What the tax is called.' }),
  INVOICE_PAYMENT_DAYS: count(0, 90)
    .default(7)
    .meta({ description: 'Days after which an invoice that is not paid is overdue.' }),
  INVOICE_PAYMENT_NOTE: z.string().optional().meta({
    description: 'How to pay, on invoices that are not paid yet; `|` begins a new line.',
  }),
  STRIPE_SECRET_KEY: z.string().optional().meta({
    description:
      'Lets subscriptions be paid through Stripe; without it, the operator marks invoices as paid.',
  }),
  STRIPE_WEBHOOK_SECRET: z
    .string()
    .startsWith('whsec_')
    .optional()
    .meta({ description: 'Checks what Stripe posts to `/stripe/webhooks`.' }),
  STRIPE_API_BASE: urlOf('http:', 'https:').optional().meta({
    description: 'Where Stripe’s API is, when it is not Stripe’s own.',
  }),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .meta({ description: 'The least severe line that is written.' }),
  LOG_FORMAT: z
    .enum(['json', 'pretty'])
    .optional()
    .meta({ description: 'Default: json in production, pretty elsewhere.' }),
  OTEL_EXPORTER_OTLP_ENDPOINT: urlOf('http:', 'https:').optional().meta({
    description:
      'Exports traces to this collector of OpenTelemetry, below its `/v1/traces`, e.g. `http://localhost:4318`. Without it, nothing is traced.',
  }),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .enum(['http/json'])
    .default('http/json')
    .meta({ description: 'How traces are exported: OTLP over HTTP as JSON alone.' }),
  OTEL_EXPORTER_OTLP_HEADERS: headers.optional().meta({
    description:
      'Headers for the collector, such as its key: `name=value`, with commas between several, percent-encoded.',
  }),
  OTEL_SERVICE_NAME: z.string().min(1).optional().meta({
    description: 'The name of the service in traces. Default: `mailwright-api`, `mailwright-worker`.',
  }),
  OTEL_TRACES_SAMPLER: z
    .enum([
      'always_on',
      'always_off',
      'traceidratio',
      'parentbased_always_on',
      'parentbased_always_off',
      'parentbased_traceidratio',
    ])
    .default('parentbased_always_on')
    .meta({ description: 'Which traces are exported; parentbased: a part of a trace as its beginning.' }),
  OTEL_TRACES_SAMPLER_ARG: z.coerce
    .number()
    .min(0)
    .max(1)
    .default(1)
    .meta({ description: 'The share of traces that a sampler with traceidratio exports, e.g. `0.01`.' }),
  TRUST_TRACEPARENT: flag.default(false).meta({
    description:
      'true: requests continue the trace that their `traceparent` names, and are exported as it says. Only where every client is yours; else the two are linked.',
  }),
  REQUEST_TIMEOUT_MS: count(1_000, 600_000).default(30_000).meta({
    description:
      'How long the api works on a request before it answers 503; on one statement for the database, two thirds of that.',
  }),
  SHUTDOWN_TIMEOUT_MS: count(100, 600_000)
    .default(3_000)
    .meta({ description: 'How long work in flight may take to finish on SIGTERM before it is handed back.' }),
  SHUTDOWN_DELAY_MS: count(0, 600_000).default(0).meta({
    description:
      'How long the api goes on answering after SIGTERM, not ready any more, until load balancers have noticed.',
  }),
});

export type EnvironmentVariables = z.infer<typeof environmentVariables>;

/** The configuration of a process, checked once at its start. */
export interface Config extends EnvironmentVariables {
  readonly LOG_FORMAT: 'json' | 'pretty';
  readonly PUBLIC_URL: string;
  readonly TOKEN_SECRET: string;
  readonly MASTER_KEY: string;
  readonly ERASED_ADDRESS_KEY: string;
}

/** All faults of the environment, one line each. */
export class ConfigurationError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** Hosts that customers publish in their DNS: with the defaults mail could neither be proved nor come back (RFC 6761 §6.2). */
const PUBLISHED_HOSTS = ['BOUNCE_HOST', 'SPF_INCLUDE'] as const;

/** Older ones start and fail later; `npm ci` brings one that is new enough. */
const OLDEST_NODE = 24;

/** Reads the configuration, or throws a `ConfigurationError` that lists every problem. */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  nodeVersion = process.versions.node,
): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environmentVariables.safeParse(given);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${describe(issue, given)}`);
  if (Number.parseInt(nodeVersion, 10) < OLDEST_NODE)
    problems.push(
      `Node ${OLDEST_NODE} or newer is needed, this is ${nodeVersion}: node_modules/.bin/node is one`,
    );
  if ((given['BOUNCE_TLS_CERT_FILE'] === undefined) !== (given['BOUNCE_TLS_KEY_FILE'] === undefined)) {
    problems.push('BOUNCE_TLS_CERT_FILE and BOUNCE_TLS_KEY_FILE go together');
  }
  problems.push(...masterKeyProblems(given));
  if (given['AI_BASE_URL'] !== undefined && given['AI_MODEL'] === undefined)
    problems.push('AI_MODEL is required with AI_BASE_URL');
  if ((given['STRIPE_SECRET_KEY'] === undefined) !== (given['STRIPE_WEBHOOK_SECRET'] === undefined)) {
    problems.push('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are needed together');
  }
  for (const name of ['S3_ENDPOINT', 'S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'])
    if (given['S3_BUCKET'] !== undefined && given[name] === undefined)
      problems.push(`${name} is required with S3_BUCKET`);
  if (given['NODE_ENV'] === 'production') problems.push(...productionProblems(given));
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems);
  return complete(parsed.data);
}

function describe(issue: z.core.$ZodIssue, given: Readonly<Record<string, string | undefined>>): string {
  if (issue.code === 'invalid_type') {
    const missing = given[issue.path.join('.')] === undefined;
    return missing ? 'is required' : issue.expected === 'int' ? 'must be an integer' : 'must be a number';
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small' && issue.origin !== 'string') return `must be at least ${issue.minimum}`;
  if (issue.code === 'too_big' && issue.origin !== 'string') return `must be at most ${issue.maximum}`;
  return lowerFirst(issue.message);
}

/** Hashes of erased addresses cannot be made anew: they keep the key that they were made with. */
function masterKeyProblems(given: Readonly<Record<string, string | undefined>>): string[] {
  if (given['MASTER_KEY_PREVIOUS'] === undefined || given['ERASED_ADDRESS_KEY'] !== undefined) return [];
  return ['ERASED_ADDRESS_KEY is required with MASTER_KEY_PREVIOUS: set it to the key before, and keep it'];
}

function productionProblems(given: Readonly<Record<string, string | undefined>>): string[] {
  const problems: string[] = [];
  for (const name of ['TOKEN_SECRET', 'MASTER_KEY', 'PUBLIC_URL', ...PUBLISHED_HOSTS]) {
    if (given[name] === undefined) problems.push(`${name} is required when NODE_ENV=production`);
  }
  for (const name of PUBLISHED_HOSTS.filter((published) => given[published]?.endsWith('.test'))) {
    problems.push(`${name} is below .test, which leads nowhere: refused when NODE_ENV=production`);
  }
  if (given['REQUIRE_VERIFIED_DOMAIN'] === 'false') {
    problems.push('REQUIRE_VERIFIED_DOMAIN=false is refused when NODE_ENV=production');
  }
  return problems;
}

function complete(values: EnvironmentVariables): Config {
  const MASTER_KEY = values.MASTER_KEY ?? developmentSecret('MASTER_KEY', values.DATABASE_URL);
  return {
    ...values,
    LOG_FORMAT: values.LOG_FORMAT ?? (values.NODE_ENV === 'production' ? 'json' : 'pretty'),
    PUBLIC_URL: (values.PUBLIC_URL ?? `http://localhost:${values.PORT}`).replace(/\/+$/, ''),
    TOKEN_SECRET: values.TOKEN_SECRET ?? developmentSecret('TOKEN_SECRET', values.DATABASE_URL),
    MASTER_KEY,
    ERASED_ADDRESS_KEY: values.ERASED_ADDRESS_KEY ?? MASTER_KEY,
  };
}

/** Outside production: the same secret for every process on the same database. */
function developmentSecret(name: string, databaseUrl: string): string {
  const database = new URL(databaseUrl);
  return createHmac('sha256', name).update(`${database.password}/${database.pathname}`).digest('base64url');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
