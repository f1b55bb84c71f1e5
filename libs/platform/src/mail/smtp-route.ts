import { isIPv4 } from 'node:net';

const PARAMETERS = new Set(['tls', 'rejectUnauthorized']);
const TLS_MODES = ['required', 'opportunistic', 'off'] as const;

/** When STARTTLS is used: `required` refuses a relay without it, `opportunistic` takes it where it is offered. */
type StartTls = (typeof TLS_MODES)[number];

/** How the relay is reached. */
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
 * Reads `smtp://user:pass@host:port?tls=required|opportunistic|off&rejectUnauthorized=false`, or
 * `smtps://` for implicit TLS. User and password are percent-encoded. Ports: 587 for smtp (submission,
 * RFC 6409 §3.1), 465 for smtps (RFC 8314 §7.3). Throws an Error that never repeats the URL, which
 * holds a password.
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

/** Credentials may leave unencrypted to this machine itself, or where the URL says `tls=off`; else a network could strip STARTTLS and read them. */
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
