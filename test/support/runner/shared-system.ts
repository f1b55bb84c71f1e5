import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { run } from '../../../apps/cli/src/program.js';
import { type DnsServer, startDnsServer } from '../mail/dns-server.js';
import type { CliOutcome } from '../programs/operator-cli.js';
import { takenPort } from '../programs/ports.js';
import { endPrograms, type RunningProgram, startProgram } from '../programs/program.js';
import { publishRecords } from '../mail/published-records.js';
import type {
  DnsCall,
  Queue,
  RelayCall,
  SharedMail,
  SharedSystemPlace,
} from '../programs/shared-system-client.js';
import type { SmtpSink } from '../mail/sink-rules.js';
import { startSmtpSink } from '../mail/smtp-sink.js';
import { type RunningSystem, startSystem } from '../programs/system.js';

export interface CliCall {
  readonly environment: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

/** Variables that files need between them, as far as none changes what another file sees. */
const VARIABLES = {
  OUTGOING_PRIVATE_ADDRESSES: 'true',
  TRUST_PROXY: '127.0.0.1, 10.0.0.0/8',
  // All readers of all files have one address.
  PAGE_LIMIT_PER_MINUTE: '1000000',
  SMTP_CONNECTIONS: '3',
  BOUNCE_PORT: '0',
  BOUNCE_HOST: 'bounces.sender.example',
  SPF_INCLUDE: 'spf.sender.example',
};

/**
 * Systems that all files of one test run share, in Jest's own process: for each queue one api and worker, started when a file
 * first asks for them, a relay and a name server for them, and the built operator's program, loaded once. Files reach it
 * at `MAILWRIGHT_TEST_SHARED_SYSTEM`.
 */
export async function openSharedSystem(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const systems = new Systems(await startSmtpSink({ keep: 'index' }), await startDnsServer());
  const answers: Readonly<Record<string, (request: IncomingMessage) => Promise<unknown>>> = {
    '/system': async (request) => systems.placeOf(((await json(request)) as { queue: Queue }).queue),
    '/second-api': async (request) => systems.secondApiOf(((await json(request)) as { queue: Queue }).queue),
    '/cli': async (request) => runCommand((await json(request)) as CliCall),
    '/dns': async (request) => systems.tellDns((await json(request)) as DnsCall),
    '/relay': async (request) => systems.askRelay((await json(request)) as RelayCall),
  };
  const server = createServer((request, response) => {
    const answer = async (): Promise<unknown> => {
      const answerOf = answers[request.url ?? ''];
      if (answerOf === undefined) throw new Error(`The shared system has no ${request.url ?? ''}.`);
      return answerOf(request);
    };
    answer().then(
      (body) => response.end(JSON.stringify(body ?? null)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  // A file may ask over a connection just as it would be ended for being idle.
  server.keepAliveTimeout = 0;
  const port = await takenPort(server);
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await systems.stop();
      await endPrograms();
    },
  };
}

/** So few that a test of a limit asks no more than it has to; those of keys are as everywhere. */
const LIMITS_OF_SECOND_API = { PAGE_LIMIT_PER_MINUTE: '5', FEEDBACK_LIMIT_PER_MINUTE: '3' };

class Systems {
  readonly #systems = new Map<Queue, Promise<RunningSystem>>();
  readonly #secondApis = new Map<Queue, Promise<RunningProgram>>();
  /** Lets the mails go that the relay holds, by the end of their addresses. */
  readonly #held = new Map<string, () => void>();
  readonly #stops: (() => Promise<unknown>)[] = [];

  constructor(
    private readonly sink: SmtpSink,
    private readonly dns: DnsServer,
  ) {}

  async placeOf(queue: Queue): Promise<SharedSystemPlace> {
    const starting = this.#systems.get(queue) ?? this.#start(queue);
    this.#systems.set(queue, starting);
    const { database, api, worker, variables } = await starting;
    const { url: databaseUrl, adminUrl } = database;
    const bouncePort = worker.bouncePort ?? 0;
    return { databaseUrl, adminUrl, apiPort: api.port, workerPort: worker.port, bouncePort, variables };
  }

  async secondApiOf(queue: Queue): Promise<number> {
    const { variables } = await this.placeOf(queue);
    const starting =
      this.#secondApis.get(queue) ?? startProgram('api', { ...variables, ...LIMITS_OF_SECOND_API });
    this.#secondApis.set(queue, starting);
    return (await starting).port;
  }

  tellDns(call: DnsCall): void {
    if (call[0] === 'txt') this.dns.txt(call[1], call[2]);
    else if (call[0] === 'a') this.dns.a(call[1], ...call.slice(2));
    else if (call[0] === 'publish') publishRecords(this.dns, call[1]);
    else this.dns.fail(call[1], call[2]);
  }

  askRelay({ call, addressEnd, after }: RelayCall): readonly SharedMail[] {
    if (call === 'hold') this.#hold(addressEnd, after);
    if (call === 'release') this.#held.get(addressEnd)?.();
    const found = this.sink.messages.filter(({ to }) => to.some((address) => address.endsWith(addressEnd)));
    return found.map(({ to }) => ({ to }));
  }

  #hold(addressEnd: string, after: number): void {
    const answers: (() => void)[] = [];
    let taken = 0;
    const end = this.sink.behave({
      at: 'body',
      action: { hold: (answer) => answers.push(answer) },
      when: ({ to }) => to.some((address) => address.endsWith(addressEnd)) && (taken += 1) > after,
    });
    this.#held.set(addressEnd, () => {
      end();
      for (const answer of answers) answer();
    });
  }

  async stop(): Promise<void> {
    for (const api of this.#secondApis.values()) await (await api.catch(() => undefined))?.stop();
    for (const system of this.#systems.values()) await (await system.catch(() => undefined))?.stop();
    for (const stop of this.#stops) await stop();
    await Promise.all([this.sink.stop(), this.dns.stop()]);
  }

  async #start(queue: Queue): Promise<RunningSystem> {
    const reached = { ...VARIABLES, SMTP_URL: this.sink.url, DNS_SERVERS: this.dns.address };
    if (queue === 'postgres') return startSystem(reached);
    const { startRedis } = await import('../programs/redis.js');
    const redis = await startRedis();
    this.#stops.push(() => redis.stop());
    return startSystem({ ...reached, REDIS_URL: redis.url });
  }
}

async function runCommand({ environment, args }: CliCall): Promise<CliOutcome> {
  const said = { stdout: '', stderr: '' };
  const exitCode = await run(args, {
    env: environment,
    print: (text) => (said.stdout += text),
    complain: (text) => (said.stderr += text),
  });
  return { exitCode, ...said };
}
