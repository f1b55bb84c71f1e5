import { isIP } from 'node:net';
import type { Command } from 'commander';
import type { DnsReaderService } from '#deliverability';
import type { CheckedSecrets, Config, Database } from '#platform';
import { withServices } from '../command.js';
import { OperatorError } from '../failures.js';
import { type CliContext, type JsonOption, printResult, wrapped } from '../output.js';

/** Result of one check; `skipped`: there is nothing to check. */
interface Finding {
  readonly check: string;
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly found: string;
  /** Advice, unless `found` gives it. */
  readonly remedy?: string;
}

const TIME_LIMIT_MS = 5_000;
/** Certificates, and signatures of mails, are judged by the machine's clock: some seconds do no harm. */
const CLOCK_LIMIT_MS = 5_000;

/** The command that checks everything around the programs. It changes nothing and sends no mail. */
export function addDoctorCommand(program: Command, cli: CliContext): void {
  program
    .command('doctor')
    .description(
      'check settings, PostgreSQL, Redis, relay, DNS, clock and collector, and say what to do; exits with 1 when something fails',
    )
    .action(async (options: JsonOption) => {
      const findings = await examine(cli);
      printResult(cli, options, { findings }, () => asText(findings));
      const failed = findings.filter(({ status }) => status === 'failed').length;
      if (failed > 0)
        throw new OperatorError(
          'checks-failed',
          failed === 1 ? '1 check failed.' : `${failed} checks failed.`,
        );
    });
}

async function examine(cli: CliContext): Promise<readonly Finding[]> {
  const { ConfigurationError, loadConfig } = await import('#platform');
  try {
    const config = loadConfig(cli.env);
    const found = await Promise.all([
      postgres(config, cli),
      redis(config),
      relay(config),
      hosts(config),
      traces(config),
    ]);
    return [settings(config), ...found.flat()];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const remedy = 'docs/configuration.md explains each setting. The other checks need them, and come after.';
    return error.problems.map((found) => ({ check: 'settings', status: 'failed', found, remedy }));
  }
}

function settings({ NODE_ENV }: Config): Finding {
  if (NODE_ENV === 'production') return { check: 'settings', status: 'ok', found: 'All are valid.' };
  return {
    check: 'settings',
    status: 'warning',
    found: `All are valid for ${NODE_ENV}.`,
    remedy: 'Set NODE_ENV=production where mail goes to people: it refuses defaults that are for trials.',
  };
}

async function postgres(
  { DATABASE_URL, DATABASE_READ_URL }: Config,
  cli: CliContext,
): Promise<readonly Finding[]> {
  const { databaseFailure, excessiveRights, refuseUnfitDatabase, ...platform } = await import('#platform');
  const database = await platform.Database.connect({
    url: DATABASE_URL,
    readUrl: DATABASE_READ_URL,
    poolSize: 2,
    applicationName: 'mailwright-doctor',
    entities: [],
  });
  const { pool, replica } = database;
  try {
    await database.ping();
    await refuseUnfitDatabase(pool);
    const { rows } = await pool.query<{ version: string }>(
      `select current_setting('server_version') as version`,
    );
    const found = `PostgreSQL ${rows[0]?.version} takes writes, in sessions, and has all migrations.`;
    const rights = await excessiveRights(pool);
    return [
      { check: 'database', status: 'ok', found },
      rights === null
        ? { check: 'login', status: 'ok', found: 'It has the rights of our roles alone.' }
        : { check: 'login', status: 'warning', found: rights },
      await clock(pool),
      await secrets(cli),
      ...(replica === undefined ? [] : [await readReplica(replica)]),
    ];
  } catch (error) {
    return [
      { check: 'database', status: 'failed', found: databaseFailure(error)?.message ?? messageOf(error) },
    ];
  } finally {
    await database.close();
  }
}

/** Compares this machine's clock with PostgreSQL's, which was read between question and answer. */
async function clock(pool: Database['pool']): Promise<Finding> {
  const asked = Date.now();
  const { rows } = await pool.query<{ now: string }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
  );
  const answered = Date.now();
  const now = Number(rows[0]?.now);
  const behindMs = Math.round(now > answered ? now - answered : Math.min(0, now - asked));
  if (Math.abs(behindMs) < CLOCK_LIMIT_MS)
    return { check: 'clock', status: 'ok', found: 'This machine and PostgreSQL agree on the time.' };
  const seconds = Math.round(Math.abs(behindMs) / 1_000);
  return {
    check: 'clock',
    status: 'failed',
    found: `This machine’s clock is ${seconds} s ${behindMs > 0 ? 'behind' : 'ahead of'} PostgreSQL’s.`,
    remedy: 'Run chrony or another NTP client on both machines; times in Mailwright are PostgreSQL’s.',
  };
}

/** Opens a stored secret of each kind. Contents of messages are left out: one may have to be looked for among millions. */
async function secrets(cli: CliContext): Promise<Finding> {
  const [
    { DeliverabilityModule, DkimKeysService, RelaysService },
    { WebhookEndpointsService, WebhooksModule },
    { AutomationSecretsModule, AutomationSecretsService },
    { UnreadableSecretError },
  ] = await Promise.all([
    import('#deliverability'),
    import('#webhooks'),
    import('#messaging'),
    import('#platform'),
  ]);
  const keepers = {
    'a DKIM key': DkimKeysService,
    'a secret of a relay': RelaysService,
    'a secret of a webhook': WebhookEndpointsService,
    'a secret of automations': AutomationSecretsService,
  };
  const check = 'secrets';
  return withServices(
    cli,
    async ({ get }) => {
      for (const [inWords, keeper] of Object.entries(keepers)) {
        try {
          await get<CheckedSecrets>(keeper).checkSecrets();
        } catch (error) {
          if (!(error instanceof UnreadableSecretError)) throw error;
          return {
            check,
            status: 'failed',
            found: `MASTER_KEY does not open ${inWords}: ${error.message}`,
            remedy:
              'Bring back the MASTER_KEY that it was stored with, or name that as MASTER_KEY_PREVIOUS (docs/operations.md#the-master-key).',
          };
        }
      }
      return { check, status: 'ok', found: 'MASTER_KEY opens the secrets that are stored.' };
    },
    [DeliverabilityModule, WebhooksModule, AutomationSecretsModule],
  );
}

function readReplica(replica: { check(): Promise<void> }): Promise<Finding> {
  return replica.check().then(
    () => ({ check: 'replica', status: 'ok', found: 'The read replica has what the primary has.' }),
    (error: unknown) => ({
      check: 'replica',
      status: 'warning',
      found: `${messageOf(error)} The primary answers all reads meanwhile.`,
    }),
  );
}

async function redis({ REDIS_URL }: Config): Promise<Finding> {
  const check = 'redis';
  if (REDIS_URL === undefined)
    return { check, status: 'skipped', found: 'REDIS_URL is not set: PostgreSQL keeps queues and limits.' };
  const [{ Redis }, { redisFailure }] = await Promise.all([import('ioredis'), import('#platform')]);
  const client = new Redis(REDIS_URL, {
    lazyConnect: true,
    // It asks INFO, which a user may be denied.
    enableReadyCheck: false,
    connectTimeout: TIME_LIMIT_MS,
    commandTimeout: TIME_LIMIT_MS,
    retryStrategy: () => null,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.set('mailwright:probe:doctor', '1', 'PX', TIME_LIMIT_MS);
    const memory = await client.info('memory').catch(() => null);
    if (memory === null)
      return {
        check,
        status: 'warning',
        found: 'Redis takes writes. Its user may not use INFO: whether keys are evicted is not known.',
        remedy: 'See that maxmemory-policy is noeviction, or allow INFO (ACL SETUSER … +info).',
      };
    const policy = /^maxmemory_policy:(\S+)/m.exec(memory)?.[1] ?? 'unknown';
    if (policy === 'noeviction')
      return { check, status: 'ok', found: 'Redis takes writes and evicts nothing (noeviction).' };
    return {
      check,
      status: 'failed',
      found: `Redis may evict keys: its maxmemory-policy is ${policy}.`,
      remedy: 'Set maxmemory-policy to noeviction, in redis.conf or with CONFIG SET.',
    };
  } catch (error) {
    return { check, status: 'failed', found: redisFailure(error) };
  } finally {
    client.disconnect();
  }
}

/** Nothing waits for a collector, so one that is away does no harm but to traces. */
async function traces(config: Config): Promise<readonly Finding[]> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS } = config;
  if (endpoint === undefined) return [];
  const { collectorFailure } = await import('#platform/otlp-tracer');
  const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_EXPORTER_OTLP_HEADERS };
  const failure = await collectorFailure(collector, TIME_LIMIT_MS);
  const check = 'traces';
  if (failure === null) return [{ check, status: 'ok', found: `${endpoint} takes traces.` }];
  return [
    {
      check,
      status: 'warning',
      found: `${endpoint} does not take traces: ${failure}`,
      remedy:
        'Does the collector run, with a receiver for OTLP over HTTP, and are OTEL_EXPORTER_OTLP_HEADERS right?',
    },
  ];
}

/** Asks for TLS first: whether an opportunistic relay has it is not told otherwise. */
async function relay({ SMTP_URL, SMTP_EHLO_NAME }: Config): Promise<Finding> {
  const check = 'relay';
  if (SMTP_URL === undefined)
    return {
      check,
      status: 'warning',
      found: 'SMTP_URL is not set: live mail leaves by relays of projects alone (docs/relays.md).',
    };
  const { checkRoute, parseSmtpUrl } = await import('#platform');
  const route = parseSmtpUrl(SMTP_URL);
  const where = `${route.host}:${route.port}`;
  const ask = (startTls: typeof route.startTls) =>
    checkRoute(() => Promise.resolve({ ...route, startTls }), SMTP_EHLO_NAME, TIME_LIMIT_MS);
  const login = route.credentials === null ? 'without a login' : 'with its login';
  const secure = route.startTls === 'off' ? null : await ask('required');
  if (secure?.isReady) return { check, status: 'ok', found: `${where} takes mail over TLS, ${login}.` };
  const plain = route.startTls === 'required' && secure !== null ? secure : await ask(route.startTls);
  if (!plain.isReady)
    return {
      check,
      status: 'failed',
      found: `${where} cannot be used (${plain.stage}): ${plain.detail}`,
      remedy: REMEDIES[plain.stage] ?? 'The relay’s log says more.',
    };
  return {
    check,
    status: 'warning',
    found: `${where} takes mail without TLS, ${login}.`,
    remedy: 'On another machine than this one, use a relay with TLS and write tls=required into SMTP_URL.',
  };
}

const REMEDIES: Readonly<Record<string, string>> = {
  connect:
    'Does it run, is its port right, and does a firewall let this machine out? Many hosters close port 25.',
  tls: 'Its certificate has to fit the host of SMTP_URL and be of a known authority (rejectUnauthorized=false: any).',
  auth: 'Check user and password of SMTP_URL, which are percent-encoded.',
};

async function hosts(config: Config): Promise<readonly Finding[]> {
  const { DnsReaderService } = await import('#deliverability');
  const dns = new DnsReaderService(config);
  const { hostname, protocol } = new URL(config.PUBLIC_URL);
  const findings = [
    publicUrl(dns, hostname, protocol),
    bounceHost(dns, config.BOUNCE_HOST),
    senderPolicy(dns, config.SPF_INCLUDE),
  ];
  return Promise.all(findings);
}

async function publicUrl(dns: DnsReaderService, host: string, protocol: string): Promise<Finding> {
  const check = 'PUBLIC_URL';
  if (host === 'localhost' || isIP(host.replace(/^\[|\]$/g, '')) !== 0)
    return { check, status: 'warning', found: `Links in mails lead to ${host}, which readers cannot reach.` };
  const answer = await dns.everyAddress(host);
  if (answer.kind !== 'found') return unknown(check, host, answer.reason);
  const found = `${host} is ${answer.entries.join(', ')}.`;
  return protocol === 'https:'
    ? { check, status: 'ok', found }
    : {
        check,
        status: 'warning',
        found,
        remedy: 'Put TLS in front of the api, and https:// into PUBLIC_URL.',
      };
}

async function bounceHost(dns: DnsReaderService, host: string): Promise<Finding> {
  const check = 'BOUNCE_HOST';
  if (host.endsWith('.test')) return ofTrials(check, host);
  const answer = await dns.everyAddress(host);
  if (answer.kind !== 'found') return unknown(check, host, answer.reason);
  return { check, status: 'ok', found: `${host} is ${answer.entries.join(', ')}.` };
}

async function senderPolicy(dns: DnsReaderService, host: string): Promise<Finding> {
  const check = 'SPF_INCLUDE';
  if (host.endsWith('.test')) return ofTrials(check, host);
  const answer = await dns.txt(host);
  const records = answer.kind === 'found' ? answer.entries.filter((text) => /^v=spf1( |$)/i.test(text)) : [];
  if (records.length === 1) return { check, status: 'ok', found: `${host} has ${records[0]}` };
  return {
    check,
    status: 'failed',
    found: records.length > 1 ? `${host} has ${records.length} SPF records.` : `${host} has no SPF record.`,
    remedy: 'It needs one TXT record that begins with v=spf1 and names the addresses that mail leaves from.',
  };
}

function ofTrials(check: string, host: string): Finding {
  return { check, status: 'skipped', found: `${host} is for trials: customers’ domains need a real one.` };
}

function unknown(check: string, host: string, reason: string): Finding {
  const remedy = 'Add an A or AAAA record with the address of this installation.';
  return { check, status: 'failed', found: `${host} has no address: ${reason}.`, remedy };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

const MARKS = { ok: 'ok', warning: 'warning', failed: 'FAILED', skipped: '–' } as const;

function asText(findings: readonly Finding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length));
  return findings
    .map(({ check, status, found, remedy }) => {
      const before = `${MARKS[status].padEnd(7)}  ${check.padEnd(width)}  `;
      const lines = wrapped(remedy === undefined ? found : `${found}\n→ ${remedy}`, 80 - before.length);
      return before + lines.join(`\n${' '.repeat(before.length)}`);
    })
    .join('\n');
}
