import { generateKeyPairSync } from 'node:crypto';

/** A private key with what its owner publishes. */
export interface PublishedKey {
  readonly selector: string;
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256';
  readonly privateKeyPem: string;
  /** TXT record at `<selector>._domainkey.<domain>`. */
  readonly record: string;
}

const pem = { type: 'pkcs8', format: 'pem' } as const;
const der = { type: 'spki', format: 'der' } as const;

export function rsaKey(selector: string, modulusLength = 2_048): PublishedKey {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength });
  const record = `v=DKIM1; k=rsa; p=${publicKey.export(der).toString('base64')}`;
  return { selector, algorithm: 'rsa-sha256', privateKeyPem: privateKey.export(pem).toString(), record };
}

export function ed25519Key(selector: string): PublishedKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  // RFC 8463 §4.2: the bare key, the last 32 octets of its SPKI.
  const record = `v=DKIM1; k=ed25519; p=${publicKey.export(der).subarray(-32).toString('base64')}`;
  return { selector, algorithm: 'ed25519-sha256', privateKeyPem: privateKey.export(pem).toString(), record };
}
