import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import {
  SMTPServer,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import { Clock } from '#kernel';
import { type Config, CONFIG, describeError, logFailure, LOGGER } from '#platform';
import { type WorkerPart, WorkerStartError } from '../worker.js';
import { BounceProcessor } from './bounce-processor.js';
import { type Answer, answerHalfClosed, ClientLimits, HALF_OPEN, readMail, refuse } from './smtp-clients.js';

const MAX_MAIL_BYTES = 1_048_576;
const MAX_CLIENTS = 200;
const MAX_RECIPIENTS = 10;
const IDLE_MS = 60_000;
const TAKE_OVER_MS = 2_000;
const GREETING_MS = 5_000;

/**
 * Receives bounces (the MX of return paths). Accepts mail for our own addresses only, relays nothing, and answers 250
 * when the report in the mail is stored.
 */
@Injectable()
export class BounceServer implements WorkerPart {
  readonly #limits: ClientLimits;
  /** Greeting by which other workers of this installation know the server; does not reveal the secret. */
  readonly #banner: string;
  #server: SMTPServer | undefined;
  #standBy: NodeJS.Timeout | undefined;

  constructor(
    private readonly bounces: BounceProcessor,
    clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#limits = new ClientLimits(() => clock.now());
    const mark = createHmac('sha256', config.TOKEN_SECRET).update('bounce server').digest('hex').slice(0, 16);
    this.#banner = `Mailwright ${mark}`;
  }

  /**
   * Listens on `BOUNCE_PORT`; without one, there is no bounce server. Where another worker of this installation has the port,
   * stands by until that one ends. Throws `WorkerStartError` when it cannot listen for any other reason.
   */
  async start(): Promise<void> {
    const { BOUNCE_PORT: port, HOST: host } = this.config;
    if (port === undefined) return;
    const refusal = await this.#listen(port, host);
    if (refusal === null) return;
    if (refusal.code !== 'EADDRINUSE' || !(await this.#isOfThisInstallation(port, host))) {
      throw new WorkerStartError(
        `The bounce server cannot listen on ${host}:${port} (BOUNCE_PORT): ${describeError(refusal)}`,
      );
    }
    this.logger.info(
      { host, port },
      'another worker has the bounce server; this one takes over when it ends',
    );
    this.#standBy = setInterval(() => void this.#takeOver(port, host), TAKE_OVER_MS);
  }

  async #takeOver(port: number, host: string): Promise<void> {
    if ((await this.#listen(port, host)) === null) clearInterval(this.#standBy);
  }

  /** Null when it listens, else the error of the system. */
  async #listen(port: number, host: string): Promise<NodeJS.ErrnoException | null> {
    const server = new SMTPServer({ ...(await this.#options()), ...this.#handlers() });
    answerHalfClosed(server);
    // Clients disconnect; without a listener their errors would end the process.
    server.on('error', (error) => this.logger.debug({ error: describeError(error) }, 'bounce connection'));
    try {
      await once(server.listen(port, host), 'listening');
    } catch (error) {
      return error as NodeJS.ErrnoException;
    }
    this.#server = server;
    this.logger.info({ host, port: this.port }, 'the bounce server listens');
    return null;
  }

  /** True if the greeting on the port is that of a bounce server with the same secrets, which accepts the same addresses. */
  async #isOfThisInstallation(port: number, host: string): Promise<boolean> {
    const socket = connect({ port, host, timeout: GREETING_MS });
    socket.on('timeout', () => socket.destroy(new Error('no greeting')));
    try {
      const [greeting] = (await once(socket, 'data')) as [Buffer];
      return greeting.toString().includes(this.#banner);
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }

  /** The port that it listens on; null when there is no bounce server. */
  get port(): number | null {
    const address = this.#server?.server.address() ?? null;
    return address === null || typeof address === 'string' ? null : address.port;
  }

  async stop(): Promise<void> {
    clearInterval(this.#standBy);
    const server = this.#server;
    this.#server = undefined;
    if (server !== undefined) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  async #options(): Promise<SMTPServerOptions> {
    const certificate = await this.#certificate();
    return {
      ...certificate,
      ...HALF_OPEN,
      name: this.config.SMTP_EHLO_NAME,
      banner: this.#banner,
      size: MAX_MAIL_BYTES,
      maxClients: MAX_CLIENTS,
      maxRecipients: MAX_RECIPIENTS,
      maxAllowedUnauthenticatedCommands: false,
      socketTimeout: IDLE_MS,
      closeTimeout: this.config.SHUTDOWN_TIMEOUT_MS,
      authOptional: true,
      disabledCommands: certificate === null ? ['AUTH', 'STARTTLS'] : ['AUTH'],
      // Our texts have their own.
      hideENHANCEDSTATUSCODES: true,
      disableReverseLookup: true,
      logger: false,
    };
  }

  /** Throws a `WorkerStartError` where it is to listen, and its certificate cannot be read. */
  async checkCertificate(): Promise<void> {
    if (this.config.BOUNCE_PORT !== undefined) await this.#certificate();
  }

  async #certificate(): Promise<{ readonly cert: Buffer; readonly key: Buffer } | null> {
    const { BOUNCE_TLS_CERT_FILE: certFile, BOUNCE_TLS_KEY_FILE: keyFile } = this.config;
    if (certFile === undefined || keyFile === undefined) return null;
    try {
      const [cert, key] = await Promise.all([readFile(certFile), readFile(keyFile)]);
      return { cert, key };
    } catch (error) {
      throw new WorkerStartError(
        `The certificate of the bounce server cannot be read (BOUNCE_TLS_CERT_FILE, BOUNCE_TLS_KEY_FILE): ${describeError(error)}`,
      );
    }
  }

  #handlers(): SMTPServerOptions {
    return {
      onConnect: ({ id, remoteAddress }, done) =>
        this.#limits.enter(id, remoteAddress) ? done() : refuse(done, 421, '4.7.0 Too many connections'),
      onClose: ({ id }) => this.#limits.leave(id),
      onMailFrom: (_, { remoteAddress }, done) =>
        this.#limits.allows('mails', remoteAddress)
          ? done()
          : refuse(done, 450, '4.7.0 Too many mails, come back in a minute'),
      onRcptTo: ({ address }, session, done) => this.#accept(address, session, done),
      onData: (stream, session, done) => void this.#answer(stream, session, done),
    };
  }

  /** Accepts the addresses that we generated; disconnects clients that guess. */
  #accept(address: string, { remoteAddress }: SMTPServerSession, done: Answer): void {
    if (this.bounces.knows(address)) done();
    else if (this.#limits.allows('strangers', remoteAddress)) refuse(done, 550, '5.1.1 No such address here');
    else refuse(done, 421, '4.7.0 Too many unknown addresses');
  }

  async #answer(stream: SMTPServerDataStream, session: SMTPServerSession, done: Answer): Promise<void> {
    try {
      const mail = await readMail(stream);
      if (mail === 'too-big') return refuse(done, 552, '5.3.4 Message too big');
      if (mail === 'incomplete') return;
      await this.bounces.take({ ...envelopeOf(session), raw: mail });
      done(null, '2.0.0 Thank you');
    } catch (error) {
      logFailure(this.logger, error, 'a report could not be stored');
      refuse(done, 451, '4.3.0 Try again later');
    }
  }
}

function envelopeOf({ envelope: { mailFrom, rcptTo } }: SMTPServerSession) {
  return { from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address) };
}
