import { isIP, type Socket } from 'node:net';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { capabilitiesOf } from './capabilities.js';
import type { SmtpStage } from './mail-transport.js';
import { SmtpChannel } from './smtp-channel.js';
import { mayTrustClearText, type SmtpRoute } from './smtp-route.js';
import { SmtpSession } from './smtp-session.js';

/** Limits in milliseconds, after RFC 5321 §4.5.3.2. */
export interface SmtpTimeouts {
  /** Until the TCP connection stands (and TLS, with smtps). */
  readonly connect: number;
  /** Until the 220 greeting, and for the STARTTLS handshake. */
  readonly greeting: number;
  /** For each reply up to the 354. */
  readonly reply: number;
  /** For the reply to the message, counted from when the body is given to the socket. */
  readonly data: number;
}

/** The relay could not be brought to the point where it takes mail. */
export class RouteUnavailable extends Error {
  constructor(
    readonly stage: SmtpStage,
    detail: string,
  ) {
    super(detail);
  }
}

/** Connects, greets, secures and authenticates. Rejects with RouteUnavailable. */
export async function openSession(
  route: SmtpRoute,
  ehloName: string,
  timeouts: SmtpTimeouts,
): Promise<SmtpSession> {
  const connection = connectionTo(route, ehloName, timeouts);
  let authenticating = false;
  // The limits of nodemailer begin anew with each octet: a relay that dribbles would never run into them.
  const limitMs = timeouts.connect + timeouts.greeting + timeouts.reply;
  const deadline = setTimeout(() => {
    connection.emit('error', new Error(`The relay was not ready within ${limitMs} ms.`));
    connection.close();
  }, limitMs);
  try {
    await connected(connection, timeouts.connect);
    // The last reply before AUTH is the one to EHLO, inside TLS where there is any.
    const relay = capabilitiesOf(connection.lastServerResponse || '');
    authenticating = true;
    await authenticated(connection, route);
    return new SmtpSession(new SmtpChannel(connection, socketOf(connection)), relay, timeouts);
  } catch (error) {
    const stage = authenticating ? 'auth' : failedStage(connection, error);
    connection.close();
    throw new RouteUnavailable(stage, detailOf(error));
  } finally {
    clearTimeout(deadline);
  }
}

function connectionTo(route: SmtpRoute, name: string, timeouts: SmtpTimeouts): SMTPConnection {
  return new SMTPConnection({
    host: route.address ?? route.host,
    ...(isIP(route.host) === 0 ? { servername: route.host } : {}),
    port: route.port,
    name,
    secure: route.implicitTls,
    requireTLS: route.startTls === 'required' && !route.implicitTls,
    opportunisticTLS: route.startTls === 'opportunistic',
    ignoreTLS: route.startTls === 'off',
    tls: { rejectUnauthorized: route.rejectUnauthorized, minVersion: 'TLSv1.2' },
    connectionTimeout: timeouts.connect + timeouts.greeting,
    greetingTimeout: timeouts.greeting,
    dnsTimeout: timeouts.connect,
    socketTimeout: timeouts.reply,
    socketCloseTimeout: 1_000,
  });
}

function connected(connection: SMTPConnection, limitMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      if (connection.stage === 'init') reject(new Error(`No connection within ${limitMs} ms.`));
    }, limitMs);
    const settle = (error?: Error): void => {
      clearTimeout(timer);
      if (error) reject(error);
      else resolve();
    };
    // This listener stays for as long as the connection lives: an 'error' without one would end the process.
    connection.on('error', settle);
    connection.once('end', () => settle(new Error('The relay closed the connection.')));
    connection.connect(settle);
  });
}

/** RFC 4954. */
async function authenticated(connection: SMTPConnection, route: SmtpRoute): Promise<void> {
  const { credentials } = route;
  if (credentials === null) return;
  if (!connection.secure && !mayTrustClearText(route, socketOf(connection).remoteAddress ?? '')) {
    throw new Error('The relay offers no TLS, and credentials go out in the clear only with tls=off.');
  }
  if (!connection.allowsAuth) {
    throw new Error('The relay offers no authentication, and the SMTP URL has credentials.');
  }
  await new Promise<void>((resolve, reject) => {
    connection.on('error', reject);
    connection.login({ ...credentials }, (error) => (error ? reject(error) : resolve()));
  });
}

function socketOf(connection: SMTPConnection): Socket {
  if (!connection._socket) throw new Error('The connection has ended.');
  return connection._socket;
}

/** Where the opening stood when it failed; nodemailer says it by a mixture of state and error code. */
function failedStage(connection: SMTPConnection, error: unknown): SmtpStage {
  const command = property(error, 'command');
  if (property(error, 'code') === 'ETLS' || command === 'STARTTLS' || connection.upgrading) return 'tls';
  if (connection.stage === 'init')
    return connection.secureConnection && isHandshakeFailure(error) ? 'tls' : 'connect';
  const last = connection.lastServerResponse;
  return last === false || (command === 'CONN' && !last.startsWith('2')) ? 'greeting' : 'ehlo';
}

/** A socket error other than that of connecting, which names its system call, or its attempts by address. */
function isHandshakeFailure(error: unknown): boolean {
  const isSocketError = property(error, 'code') === 'ESOCKET';
  return isSocketError && property(error, 'syscall') !== 'connect' && property(error, 'errors') === undefined;
}

/** The error of several addresses that all failed has an empty message; its code says what happened. */
function detailOf(error: unknown): string {
  const words = String(property(error, 'message') || property(error, 'originalCode') || error);
  return words.replaceAll(/\p{Cc}/gu, ' ');
}

function property(error: unknown, name: string): unknown {
  return typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
}
