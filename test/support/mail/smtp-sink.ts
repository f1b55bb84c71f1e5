import { once } from 'node:events';
import {
  SMTPServer,
  type SMTPServerDataStream,
  type SMTPServerError,
  type SMTPServerOptions,
  type SMTPServerSession,
} from 'smtp-server';
import { answerHalfClosed, HALF_OPEN } from '../../../apps/worker/src/deliverability/smtp-clients.js';
import { localhostCertificate } from '../servers/localhost-certificate.js';
import {
  ConnectionCount,
  messageIdOf,
  type ReceivedMail,
  type SinkRule,
  SinkRules,
  type SinkStage,
  type SmtpSink,
} from './sink-rules.js';

export interface SmtpSinkOptions {
  /** `off` when left out. The certificate is self-signed, so clients need rejectUnauthorized=false or trust in it. */
  readonly tls?: 'off' | 'starttls' | 'implicit';
  /** Refuses mail from clients that did not give these. */
  readonly credentials?: { readonly user: string; readonly pass: string };
  /** `index` keeps no contents, for tests with very many mails. */
  readonly keep?: 'raw' | 'index';
  /** Announced as SIZE, in octets. */
  readonly size?: number;
  readonly hidePipelining?: boolean;
  readonly hideSmtpUtf8?: boolean;
  readonly hide8BitMime?: boolean;
  readonly port?: number;
}

/**
 * A relay on 127.0.0.1, made of smtp-server, that a test can tell how to behave. Rules for `ehlo`, `data`,
 * `rset` and `quit` need startRawSmtpSink: smtp-server answers those itself.
 */
export async function startSmtpSink(options: SmtpSinkOptions = {}): Promise<SmtpSink> {
  const sink = new ServerSink(options);
  await sink.listen(options.port ?? 0);
  return sink;
}

type Answer = (error?: SMTPServerError | null, reply?: string) => void;

class ServerSink implements SmtpSink {
  readonly messages: ReceivedMail[] = [];
  readonly connections = new ConnectionCount();
  readonly #rules = new SinkRules();
  readonly #options: SmtpSinkOptions;
  readonly #server: SMTPServer;
  port = 0;

  constructor(options: SmtpSinkOptions) {
    this.#options = options;
    this.#server = new SMTPServer({ ...serverOptions(options), ...this.#handlers() });
    answerHalfClosed(this.#server);
    // A client that goes away in mid-command is what many tests are about.
    this.#server.on('error', () => {});
  }

  get url(): string {
    const { tls, credentials } = this.#options;
    const login = credentials
      ? `${encodeURIComponent(credentials.user)}:${encodeURIComponent(credentials.pass)}@`
      : '';
    return `${tls === 'implicit' ? 'smtps' : 'smtp'}://${login}127.0.0.1:${this.port}`;
  }

  async listen(port: number): Promise<void> {
    const server = this.#server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    if (address === null || typeof address === 'string')
      throw new Error('The sink does not listen on a port.');
    this.port = address.port;
  }

  count(): number {
    return this.messages.length;
  }

  clear(): void {
    this.messages.length = 0;
    this.connections.clear();
  }

  behave(rule: SinkRule): () => void {
    return this.#rules.behave(rule);
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    for (const connection of this.#server.connections) connection._socket.destroy();
    await closed;
  }

  #handlers(): SMTPServerOptions {
    return {
      onConnect: (session, done) => {
        this.connections.opened();
        this.#answer('greeting', session, done);
      },
      onClose: () => this.connections.closed(),
      onAuth: ({ username, password }, session, done) => {
        const { credentials } = this.#options;
        this.#answer('auth', session, (error) => {
          if (error) done(error);
          else if (username === credentials?.user && password === credentials?.pass)
            done(null, { user: username });
          else done(replyError('535 5.7.8 Authentication credentials invalid'));
        });
      },
      onMailFrom: ({ address }, session, done) => this.#answer('mail', session, done, address, []),
      onRcptTo: ({ address }, session, done) => this.#answer('rcpt', session, done, undefined, [address]),
      onData: (stream, session, done) => this.#receive(stream, session, done),
    };
  }

  #receive(stream: SMTPServerDataStream, session: SMTPServerSession, done: Answer): void {
    const chunks: Buffer[] = [];
    let kept = 0;
    stream.on('data', (chunk: Buffer) => {
      if (this.#options.keep === 'index' && kept > 16_384) return;
      chunks.push(chunk);
      kept += chunk.length;
    });
    stream.once('end', () => {
      if (stream.sizeExceeded) return done(replyError('552 5.3.4 Message too big'));
      const raw = Buffer.concat(chunks);
      this.#answer('body', session, (error, reply) => {
        if (!error) this.#keep(raw, session);
        done(error, reply ?? '2.0.0 Ok: queued');
      });
    });
  }

  #keep(raw: Buffer, session: SMTPServerSession): void {
    this.messages.push({
      ...transactionOf(session),
      secure: session.secure,
      messageId: messageIdOf(raw),
      raw: this.#options.keep === 'index' ? Buffer.alloc(0) : raw,
      receivedAt: Date.now(),
    });
  }

  #answer(at: SinkStage, session: SMTPServerSession, done: Answer, from?: string, to?: string[]): void {
    const transaction = transactionOf(session);
    const action = this.#rules.take(at, {
      ...transaction,
      from: from ?? transaction.from,
      to: to ?? transaction.to,
    });
    if (action === null) done();
    else if (action === 'drop') this.#socketOf(session)?.destroy();
    else if (action === 'hang' || action === 'reset' || action === 'trickle') return;
    else if ('hold' in action) action.hold(() => done());
    else if ('delayMs' in action) setTimeout(() => done(), action.delayMs);
    else if ('reply' in action) answerWith(action.reply, done);
    else {
      answerWith(action.replyThenDrop, done);
      this.#socketOf(session)?.end();
    }
  }

  #socketOf(session: SMTPServerSession) {
    for (const connection of this.#server.connections) {
      if (connection.id === session.id) return connection._socket;
    }
    return undefined;
  }
}

function serverOptions(options: SmtpSinkOptions): SMTPServerOptions {
  const { tls = 'off', credentials, size } = options;
  return {
    ...localhostCertificate,
    ...HALF_OPEN,
    secure: tls === 'implicit',
    ...(size === undefined ? {} : { size }),
    authOptional: credentials === undefined,
    allowInsecureAuth: true,
    disabledCommands: [
      ...(tls === 'starttls' ? [] : ['STARTTLS']),
      ...(credentials === undefined ? ['AUTH'] : []),
    ],
    hidePIPELINING: options.hidePipelining ?? false,
    hideSMTPUTF8: options.hideSmtpUtf8 ?? false,
    hide8BITMIME: options.hide8BitMime ?? false,
    hideENHANCEDSTATUSCODES: true,
    disableReverseLookup: true,
    logger: false,
    closeTimeout: 1_000,
  };
}

function transactionOf({ id, envelope }: SMTPServerSession) {
  return {
    connectionId: id,
    from: envelope?.mailFrom ? envelope.mailFrom.address : '',
    to: envelope?.rcptTo.map(({ address }) => address) ?? [],
  };
}

function answerWith(reply: string, done: Answer): void {
  if (reply.startsWith('2')) done(null, reply.slice(4));
  else done(replyError(reply));
}

/** smtp-server puts the code in front of the text itself. */
function replyError(reply: string): SMTPServerError {
  return Object.assign(new Error(reply.slice(4)), { responseCode: Number(reply.slice(0, 3)) });
}
