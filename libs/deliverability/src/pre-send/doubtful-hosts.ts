import { isIP } from 'node:net';
import { LINK_SHORTENERS } from './link-shorteners.js';

const SHORTENERS = new Set(LINK_SHORTENERS);

/** The hosts among web addresses that are link shorteners or bare IP addresses, each once. */
export function doubtfulHosts(urls: readonly string[]): string[] {
  const found = new Set<string>();
  for (const url of urls) {
    const host = hostOf(url);
    if (host === null) continue;
    if (SHORTENERS.has(host.replace(/^www\./, ''))) found.add(`${host} (a link shortener)`);
    else if (isIP(host.replaceAll(/^\[|\]$/g, '')) !== 0) found.add(`${host} (an IP address)`);
  }
  return [...found];
}

/** As a browser reads it: `http://2130706433/` is 127.0.0.1. Null for what leads nowhere, or where is not known yet. */
function hostOf(url: string): string | null {
  if (!/^\s*https?:/i.test(url) || !URL.canParse(url)) return null;
  return new URL(url).hostname.replace(/\.$/, '');
}
