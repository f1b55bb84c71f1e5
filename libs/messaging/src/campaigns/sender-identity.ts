import { type EmailAddress, parseEmailAddress } from '#kernel';

/** The person or company that a mail is from. `address` has its domain as A-labels, fit for an SMTP command and a header. */
export interface SenderIdentity {
  readonly name: string;
  readonly address: string;
  readonly domain: string;
}

/** The sender of a project's mail. */
export interface Sender extends SenderIdentity {
  /** The end of the Message-ID: the domain that signs, or that of the address where none does. */
  readonly messageIdDomain: string;
}

/** A campaign's own words on its sender; null: the project's. */
export interface OwnSender {
  readonly fromName: string | null;
  readonly fromEmail: string | null;
}

/** A mail's own name for its sender, or the project's where it has none to show. */
export function senderName(own: string | null, ofProject: string): string {
  const name = own?.trim() ?? '';
  return name === '' ? ofProject : name;
}

/** The first of these that is an address; null when none is. */
export function firstAddress(...candidates: readonly (string | null)[]): EmailAddress | null {
  for (const candidate of candidates) {
    const parsed = candidate === null ? null : parseEmailAddress(candidate);
    if (parsed !== null && 'address' in parsed) return parsed.address;
  }
  return null;
}

/** The first of the addresses that is one, with the name; throws when none is. */
export function senderIdentity(name: string, ...addresses: readonly (string | null)[]): SenderIdentity {
  const found = firstAddress(...addresses);
  if (found === null) throw new Error('No sender address is configured.');
  const { localPart, domain } = found;
  return { name, address: `${localPart}@${domain}`, domain };
}
