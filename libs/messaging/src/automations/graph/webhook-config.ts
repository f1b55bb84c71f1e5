import type { ConfigReader } from './config-reader.js';
import { isObject, isText } from './graph-faults.js';

/** The request of a webhook step. */
export interface WebhookConfig {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The author's own body, JSON; null for the default. */
  readonly body: unknown;
}

const MAX_URL = 2_000;
const MAX_HEADERS = 20;
const MAX_BODY = 32 * 1024;
/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+.^_`|~\da-z-]{1,100}$/i;
/** Visible ASCII, with spaces inside (RFC 9110 §5.5). */
const HEADER_VALUE = /^[!-~]([ -~]{0,998}[!-~])?$/;
/** Headers that the service sets itself. */
const OURS =
  /^(host|content-.*|connection|transfer-encoding|webhook-.*|user-agent|expect|upgrade|te|trailer|keep-alive|proxy-.*)$/i;

export function readWebhook(config: ConfigReader): WebhookConfig | null {
  const url = readUrl(config);
  const headers = readHeaders(config);
  const body = config.value('body');
  if (Buffer.byteLength(JSON.stringify(body)) > MAX_BODY) config.fault('body', 'must be at most 32 KB');
  return url === null || headers === null ? null : { url, headers, body };
}

function readUrl(config: ConfigReader): string | null {
  const text = config.required('url', { max: MAX_URL });
  if (text === null) return null;
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    return config.fault('url', 'must be an http or https URL');
  if (url.username !== '' || url.password !== '')
    return config.fault('url', 'must not contain a user name or a password');
  return url.href;
}

function readHeaders(config: ConfigReader): Record<string, string> | null {
  const value = config.value('headers') ?? {};
  if (!isObject(value)) return config.fault('headers', 'must be an object');
  const headers = Object.entries(value);
  if (headers.length > MAX_HEADERS)
    return config.fault('headers', `must contain at most ${MAX_HEADERS} entries`);
  return Object.fromEntries(
    headers.flatMap(([name, text]) => {
      const fault = headerFault(name, text);
      if (fault !== null) config.fault(`headers.${name}`, fault);
      return fault === null ? [[name, String(text)]] : [];
    }),
  );
}

function headerFault(name: string, value: unknown): string | null {
  if (!TOKEN.test(name)) return 'is not the name of a header';
  if (OURS.test(name)) return 'is set by the service';
  return isText(value) && HEADER_VALUE.test(value) ? null : 'must be a string of visible ASCII characters';
}
