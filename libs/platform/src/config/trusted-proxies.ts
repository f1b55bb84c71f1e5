import { isIP } from 'node:net';
import { z } from 'zod';

/** Whose X-Forwarded-For is believed: nobody's, that of whoever connects, or that of these addresses and networks (CIDR). */
export type TrustedProxies = boolean | readonly string[];

/** `false`, `true`, or addresses and networks with commas between them. */
export const trustedProxies = z
  .string()
  .transform((text): TrustedProxies => {
    if (text === 'true' || text === 'false') return text === 'true';
    return text.split(',').map((network) => network.trim());
  })
  .refine((proxies) => typeof proxies === 'boolean' || proxies.every(isNetwork), {
    error: 'must be true, false, or IP addresses and networks such as 10.0.0.0/8, with commas between them',
  });

function isNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || rest.length > 0) return false;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128));
}
