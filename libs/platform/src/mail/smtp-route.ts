import { isIP, isIPv4, type Socket } from 'node:net';
import { createRequire } from 'node:module';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { SmtpStage } from './mail-transport.js';
import { SmtpChannel } from './smtp-channel.js';
import { type Capabilities, capabilitiesOf } from './smtp-message.js';
import { SmtpSession } from './smtp-session.js';

const PARAMETERS = new Set(['tls', 'rejectUnauthorized']);
const TLS_MODES = ['required', 'opportunistic', 'off'] as const;

/** When STARTTLS is used: `required` refuses a relay without it, `opportunistic` takes it where it is offered. */
type StartTls = (typeof TLS_MODES)[number];

/** Way to a relay. */
export interface SmtpRoute {
  readonly host: string;
  /** Connected to instead of looking the host up, whose name TLS is still held to. */
  readonly address?: string;
  readonly port: number;
  /** TLS from the first octet (RFC 8314 §3). */
  readonly implicitTls: boolean;
  readonly startTls: StartTls;
  readonly rejectUnauthorized: boolean;
  readonly credentials: { readonly user: string; readonly pass: string } | null;
}

/**
 * Reads `smtp://user:pass@host:port?tls=required|opportunistic|off&rejectUnauthorized=false`, or `smtps://` for implicit TLS.
 * User and password are percent-encoded. Ports: 587 for smtp (submission, RFC 6409 §3.1), 465 for smtps (RFC 8314 §7.3). Throws
 * an Error that never repeats the URL, which holds a password.
 */
export function parseSmtpUrl(url: string): SmtpRoute {
  const parsed = URL.parse(url);
  if (parsed === null) throw new Error('The SMTP URL cannot be read.');
  const implicitTls = parsed.protocol === 'smtps:';
  if (!implicitTls && parsed.protocol !== 'smtp:')
    throw new Error('The SMTP URL must begin with smtp:// or smtps://.');
  if (parsed.hostname === '') throw new Error('The SMTP URL names no host.');
  for (const name of parsed.searchParams.keys()) {
    if (!PARAMETERS.has(name)) throw new Error(`The SMTP URL has an unknown parameter ${name}.`);
  }
  return {
    host: parsed.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: parsed.port === '' ? (implicitTls ? 465 : 587) : Number(parsed.port),
    implicitTls,
    startTls: startTlsOf(parsed.searchParams.get('tls'), implicitTls),
    rejectUnauthorized: booleanOf(parsed.searchParams.get('rejectUnauthorized')),
    credentials: credentialsOf(parsed),
  };
}

/**
 * True if credentials may leave unencrypted: to this machine, or by `tls=off`; else a network could strip STARTTLS and read them.
 */
export function mayTrustClearText(route: SmtpRoute, remoteAddress: string): boolean {
  if (route.startTls === 'off') return true;
  const address = remoteAddress.replace(/^::ffff:/i, '');
  return address === '::1' || (isIPv4(address) && address.startsWith('127.'));
}

function startTlsOf(value: string | null, implicitTls: boolean): StartTls {
  const mode = TLS_MODES.find((known) => known === (value ?? (implicitTls ? 'required' : 'opportunistic')));
  if (mode === undefined) throw new Error(`In the SMTP URL, tls must be one of ${TLS_MODES.join(', ')}.`);
  if (implicitTls && mode !== 'required')
    throw new Error('In the SMTP URL, smtps:// always uses TLS: leave tls out.');
  return mode;
}

function booleanOf(value: string | null): boolean {
  if (value !== null && value !== 'true' && value !== 'false') {
    throw new Error('In the SMTP URL, rejectUnauthorized must be true or false.');
  }
  return value !== 'false';
}

function credentialsOf(url: URL): SmtpRoute['credentials'] {
  if (url.username === '' && url.password === '') return null;
  if (url.username === '' || url.password === '')
    throw new Error('The SMTP URL needs both user and password, or neither.');
  try {
    return { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) };
  } catch {
    throw new Error('User and password in the SMTP URL must be percent-encoded.');
  }
}

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
  // Loaded with the first connection: an api seldom makes one.
  const load = createRequire(import.meta.url);
  const Connection = load('nodemailer/lib/smtp-connection') as typeof SMTPConnection;
  return new Connection({
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

/** Stage of an opening that failed; nodemailer tells it by a mixture of state and error code. */
function failedStage(connection: SMTPConnection, error: unknown): SmtpStage {
  const command = property(error, 'command');
  if (property(error, 'code') === 'ETLS' || command === 'STARTTLS' || connection.upgrading) return 'tls';
  if (connection.stage === 'init')
    return connection.secureConnection && isHandshakeFailure(error) ? 'tls' : 'connect';
  const last = connection.lastServerResponse;
  return last === false || (command === 'CONN' && !last.startsWith('2')) ? 'greeting' : 'ehlo';
}

/** A socket error other than of connecting, which names its system call, or its attempts by address. */
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

/** Capabilities of a server, or the reason why it could not be asked. */
export type RouteCheck =
  | { readonly isReady: true; readonly capabilities: Capabilities }
  | { readonly isReady: false; readonly stage: SmtpStage; readonly detail: string };

/** Connects, secures and authenticates, and sends nothing. Ends within three times `limitMs`. */
export async function checkRoute(
  find: () => Promise<SmtpRoute>,
  ehloName: string,
  limitMs: number,
): Promise<RouteCheck> {
  const timeouts = { connect: limitMs, greeting: limitMs, reply: limitMs, data: limitMs };
  try {
    const session = await openSession(await find(), ehloName, timeouts);
    await session.quit();
    return { isReady: true, capabilities: session.capabilities };
  } catch (error) {
    if (!(error instanceof RouteUnavailable)) throw error;
    return { isReady: false, stage: error.stage, detail: error.message };
  }
}
