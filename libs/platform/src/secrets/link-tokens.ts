import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { stringify } from 'uuid';
import { decrypt, encrypt } from './secret-box.js';

/**
 * Purposes of links; `view` is of a mail, `feedback` of a relay's provider, `export` of a file with a project's data, `preview` of a
 * campaign or a template for those who look it over.
 */
export type LinkKind =
  | 'confirm'
  | 'unsubscribe'
  | 'preferences'
  | 'view'
  | 'invoice'
  | 'report'
  | 'feedback'
  | 'export'
  | 'preview';

/** Reader and subject of a mail, which its unsubscribe link needs when the mail is no longer kept. */
export interface LinkedMail {
  readonly subscriberId: string;
  /** The campaign, or the topic of an automation's mail. */
  readonly aboutId: string;
}

/** Content of a token, without personal data. */
export interface LinkClaims {
  readonly kind: LinkKind;
  readonly environmentId: number;
  /** The confirmation, delivery, subscriber, invoice, campaign, template, relay's feedback or export that the link is about. */
  readonly id: string;
  /** Whole minutes; null for a link that stays good. */
  readonly expiresAt: Date | null;
  readonly mail?: LinkedMail;
}

const KIND_CODES: Record<LinkKind, number> = {
  confirm: 1,
  unsubscribe: 2,
  preferences: 3,
  view: 4,
  invoice: 5,
  report: 6,
  feedback: 7,
  export: 8,
  preview: 9,
};
const KEY_ID = 1;
const CLAIMS_BYTES = 27;
const MAIL_BYTES = 32;
const MAC_BYTES = 16;
const TOKEN = /^(?:[A-Za-z0-9_-]{58}|[A-Za-z0-9_-]{100})$/;
const MINUTE_MS = 60_000;

/**
 * Signs and checks the tokens of links: key id, kind, environment, id, expiry (27 bytes), for some the mail's two ids (32), and
 * 128 bits of HMAC-SHA-256, together 58 or 100 characters of base64url. Nothing is looked up before the MAC holds.
 */
export class LinkTokens {
  /** Parsed once, which costs as much as a MAC. */
  readonly #key: KeyObject;

  constructor(secret: string) {
    this.#key = createSecretKey(createHmac('sha256', secret).update('mailwright.links.v1').digest());
  }

  sign(claims: LinkClaims): string {
    const { mail } = claims;
    const length = CLAIMS_BYTES + (mail === undefined ? 0 : MAIL_BYTES);
    const bytes = Buffer.alloc(length + MAC_BYTES);
    bytes.writeUInt8(KEY_ID, 0);
    bytes.writeUInt8(KIND_CODES[claims.kind], 1);
    bytes.writeUIntBE(claims.environmentId, 2, 5);
    writeUuid(bytes, claims.id, 7);
    bytes.writeUInt32BE(
      claims.expiresAt === null ? 0 : Math.ceil(claims.expiresAt.getTime() / MINUTE_MS),
      23,
    );
    if (mail !== undefined) {
      writeUuid(bytes, mail.subscriberId, CLAIMS_BYTES);
      writeUuid(bytes, mail.aboutId, CLAIMS_BYTES + 16);
    }
    this.#mac(bytes.subarray(0, length)).copy(bytes, length);
    return bytes.toString('base64url');
  }

  /** Claims of a token that is ours and of this kind, expired or not; else null. */
  verify(token: string, kind: LinkKind): LinkClaims | null {
    if (!TOKEN.test(token)) return null;
    const bytes = Buffer.from(token, 'base64url');
    const length = bytes.length - MAC_BYTES;
    const claims = bytes.subarray(0, length);
    // The last character has spare bits: one token has one spelling.
    if (bytes.toString('base64url') !== token) return null;
    if (!timingSafeEqual(this.#mac(claims), bytes.subarray(length))) return null;
    if (claims.readUInt8(0) !== KEY_ID || claims.readUInt8(1) !== KIND_CODES[kind]) return null;
    const minutes = claims.readUInt32BE(23);
    return {
      kind,
      environmentId: claims.readUIntBE(2, 5),
      id: stringify(claims.subarray(7, 23)),
      expiresAt: minutes === 0 ? null : new Date(minutes * MINUTE_MS),
      ...(length === CLAIMS_BYTES ? {} : { mail: mailIn(claims) }),
    };
  }

  #mac(claims: Buffer): Buffer {
    return createHmac('sha256', this.#key).update(claims).digest().subarray(0, MAC_BYTES);
  }
}

const writeUuid = (bytes: Buffer, id: string, at: number) => bytes.write(id.replaceAll('-', ''), at, 'hex');

function mailIn(claims: Buffer): LinkedMail {
  return {
    subscriberId: stringify(claims.subarray(CLAIMS_BYTES, CLAIMS_BYTES + 16)),
    aboutId: stringify(claims.subarray(CLAIMS_BYTES + 16)),
  };
}

export interface SealedMail {
  readonly environmentId: number;
  readonly deliveryId: string;
  readonly subscriberId: string;
}

/**
 * Seals the content of a mail for the link to it on the web: AES-256-GCM in base64url with a key of the environment, bound to the
 * mail and its reader. Logs of links tell nothing, and on another mail's link it does not open.
 */
export class MailSeals {
  readonly #root: KeyObject;
  /** Parsed keys, since parsing takes longer than sealing. */
  readonly #keys = new LRUCache<number, KeyObject>({
    max: 1_000,
    memoMethod: (environmentId) =>
      createSecretKey(createHmac('sha256', this.#root).update(String(environmentId)).digest()),
  });

  constructor(secret: string) {
    this.#root = createSecretKey(createHmac('sha256', secret).update('mailwright.shown.v1').digest());
  }

  seal(mail: SealedMail, text: string): string {
    return encrypt(this.#keys.memo(mail.environmentId), text, bindingOf(mail)).toString('base64url');
  }

  /** Null when it is of another mail or reader, or damaged. */
  open(mail: SealedMail, sealed: string): string | null {
    try {
      const key = this.#keys.memo(mail.environmentId);
      return decrypt(key, Buffer.from(sealed, 'base64url'), bindingOf(mail));
    } catch {
      return null;
    }
  }
}

const bindingOf = ({ deliveryId, subscriberId }: SealedMail): string => `${deliveryId}/${subscriberId}`;
