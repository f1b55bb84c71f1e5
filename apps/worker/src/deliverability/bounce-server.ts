import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import {
  SMTPServer,
  type SMTPServerDataStream,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import { ReturnedMail } from '#deliverability';
import { Clock } from '#kernel';
import { type Config, CONFIG, describeError, LOGGER } from '#platform';
import type { WorkerPart } from '../context-work.js';
import { WorkerStartError } from '../worker-start.error.js';
import { readMail } from './bounce-mail.js';
import { ClientLimits } from './client-limits.js';
import { answerHalfClosed, HALF_OPEN } from './half-closed-clients.js';
import { type Answer, refuse } from './smtp-refusal.js';

const MAX_MAIL_BYTES = 1_048_576;
const MAX_CLIENTS = 200;
const MAX_RECIPIENTS = 10;
const IDLE_MS = 60_000;

/**
 * Receives bounces (the MX of return paths). Accepts mail for our own addresses only, relays nothing, and answers 250
 * when the report in the mail is stored.
 */
@Injectable()
export class BounceServer implements WorkerPart {
  readonly #limits: ClientLimits;
  #server: SMTPServer | undefined;

  constructor(
    @Inject(ReturnedMail) private readonly returned: ReturnedMail,
    @Inject(Clock) clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#limits = new ClientLimits(() => clock.now());
  }

  /** Listens on `BOUNCE_PORT`; without one, there is no bounce server. Throws `WorkerStartError` when it cannot. */
  async start(): Promise<void> {
    const { BOUNCE_PORT: port, HOST: host } = this.config;
    if (port === undefined) return;
    const server = new SMTPServer({ ...(await this.#options()), ...this.#handlers() });
    answerHalfClosed(server);
    // Clients disconnect; without a listener their errors would end the process.
    server.on('error', (error) => this.logger.debug({ error: describeError(error) }, 'bounce connection'));
    const listener = server.listen(port, host);
    await once(listener, 'listening').catch((error: unknown) => {
      throw new WorkerStartError(
        `The bounce server cannot listen on ${host}:${port} (BOUNCE_PORT): ${describeError(error)}`,
      );
    });
    this.#server = server;
    this.logger.info({ host, port: this.port }, 'the bounce server listens');
  }

  /** The port that it listens on; null when there is no bounce server. */
  get port(): number | null {
    const address = this.#server?.server.address() ?? null;
    return address === null || typeof address === 'string' ? null : address.port;
  }

  async stop(): Promise<void> {
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
    if (this.returned.knows(address)) done();
    else if (this.#limits.allows('strangers', remoteAddress)) refuse(done, 550, '5.1.1 No such address here');
    else refuse(done, 421, '4.7.0 Too many unknown addresses');
  }

  async #answer(stream: SMTPServerDataStream, session: SMTPServerSession, done: Answer): Promise<void> {
    try {
      const mail = await readMail(stream);
      if (mail === 'too-big') return refuse(done, 552, '5.3.4 Message too big');
      if (mail === 'incomplete') return;
      await this.returned.take({ ...envelopeOf(session), raw: mail });
      done(null, '2.0.0 Thank you');
    } catch (error) {
      this.logger.error({ error: describeError(error) }, 'a report could not be stored');
      refuse(done, 451, '4.3.0 Try again later');
    }
  }
}

function envelopeOf({ envelope: { mailFrom, rcptTo } }: SMTPServerSession) {
  return { from: mailFrom === false ? '' : mailFrom.address, to: rcptTo.map(({ address }) => address) };
}
