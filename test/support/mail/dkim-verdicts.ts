import { dkimVerify } from 'mailauth/lib/dkim/verify.js';
import type { PublishedKey } from './dkim-keys.js';

/** Verdicts of mailauth on the signatures of a message, the first one first. */
export async function verdicts(message: Buffer, domain: string, keys: readonly PublishedKey[]) {
  const { results } = await dkimVerify(message, {
    strict: true,
    resolver: async (name, type) => {
      const key = keys.find(({ selector }) => name === `${selector}._domainkey.${domain}`);
      if (key === undefined || type !== 'TXT')
        throw Object.assign(new Error('ENOTFOUND'), { code: 'ENOTFOUND' });
      return [[key.record.slice(0, 200), key.record.slice(200)]];
    },
  });
  return results.map(({ status, algo }) => `${algo} ${status.result}`);
}
