import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { RawConnection, type SinkState } from './raw-smtp-connection.js';
import { ConnectionCount, type SinkRule, SinkRules, type SmtpSink } from './sink-rules.js';

export interface RawSmtpSinkOptions {
  /** The lines of the EHLO reply after its first. */
  readonly extensions?: readonly string[];
  /** `index` keeps no contents and no commands, for tests with very many mails. */
  readonly keep?: 'raw' | 'index';
  readonly port?: number;
}

/** A sink that also shows what it was told. */
export interface RawSmtpSink extends SmtpSink {
  /** Every command line, of all connections. */
  readonly commands: readonly string[];
}

/** Extensions that it offers unless it is told otherwise. */
const EXTENSIONS = ['PIPELINING', '8BITMIME', 'SMTPUTF8', 'ENHANCEDSTATUSCODES', 'SIZE 20000000'];

/** A relay on 127.0.0.1 that can misbehave at every stage of the protocol; it knows no TLS and checks nothing. */
export async function startRawSmtpSink(options: RawSmtpSinkOptions = {}): Promise<RawSmtpSink> {
  const state: SinkState = {
    rules: new SinkRules(),
    connections: new ConnectionCount(),
    messages: [],
    commands: [],
    extensions: options.extensions ?? EXTENSIONS,
    keepsAll: options.keep !== 'index',
  };
  const sockets = new Set<Socket>();
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    state.connections.opened();
    socket.once('close', () => {
      sockets.delete(socket);
      state.connections.closed();
    });
    new RawConnection(socket, state, String(state.connections.total)).greet();
  });
  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    messages: state.messages,
    commands: state.commands,
    connections: state.connections,
    count: () => state.messages.length,
    clear() {
      state.messages.length = 0;
      state.commands.length = 0;
      state.connections.clear();
    },
    behave: (rule: SinkRule) => state.rules.behave(rule),
    async stop() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The sink does not listen on a port.');
  return address.port;
}
