import {
  type EmailAddress,
  isUuid,
  type Metadata,
  type MetadataPatch,
  parseEmailAddress,
  patched,
  patchedMetadata,
} from '#kernel';
import type { SubscriberStatus } from '../consents/consent.js';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';

export type SubscriberSource = 'API' | 'IMPORT' | 'FORM' | 'MANUAL';

/** A subscriber as clients see it: the values of archived fields are left out. */
export type SubscriberView = Readonly<
  Omit<
    Subscriber,
    'environmentId' | 'emailKey' | 'archivedKeys' | 'pausedUntil' | 'edit' | 'fields' | 'toView'
  >
>;

const FIELDS = [
  'externalId',
  'firstName',
  'lastName',
  'phone',
  'locale',
  'timeZone',
  'customFields',
] as const;

/** The fields that a client may change. */
export type SubscriberFields = Pick<SubscriberView, (typeof FIELDS)[number]>;

/** The fields of a new subscriber of whom nothing else is known. */
export const NO_FIELDS: Omit<SubscriberFields, 'customFields'> = {
  externalId: null,
  firstName: null,
  lastName: null,
  phone: null,
  locale: null,
  timeZone: null,
};

/** A client's changes: absent fields stay, null clears. The same applies to each custom field. */
export type SubscriberPatch = {
  readonly [Field in Exclude<keyof SubscriberFields, 'customFields'>]?: SubscriberFields[Field] | undefined;
} & {
  readonly customFields?: Readonly<Record<string, unknown>> | undefined;
  readonly metadata?: MetadataPatch | undefined;
};

/** A person in one project, identified by an address. Sign-ups and imports insert with SQL. */
export class Subscriber {
  readonly id!: string;
  readonly environmentId!: number;
  readonly subscriberKey!: string;
  /** As it was given. */
  readonly email!: string;
  readonly emailKey!: string;
  /** The client's own id of the person, unique in the environment. */
  externalId!: string | null;
  firstName!: string | null;
  lastName!: string | null;
  phone!: string | null;
  /** BCP 47, as `parseLocale` writes it. */
  locale!: string | null;
  /** IANA. */
  timeZone!: string | null;
  readonly source!: SubscriberSource;
  /** Derived from suppression and consents, never written by a client. */
  readonly status!: SubscriberStatus;
  /** Includes the values of archived fields. */
  customFields!: CustomFieldValues;
  metadata!: Metadata;
  /** The keys of the project's archived fields. */
  readonly archivedKeys!: readonly string[];
  /** The end of the pause; null: mail is not paused. */
  pausedUntil!: Date | null;
  readonly createdAt!: Date;
  updatedAt!: Date;

  /** Applies the patch and sets the custom fields; false when nothing changes. Throws DomainValidationError. */
  edit(patch: SubscriberPatch, customFields: CustomFieldValues, at: Date): boolean {
    const metadata = patchedMetadata(this.metadata, patch.metadata);
    const isChanged = patched(this, [...FIELDS, 'metadata'], { ...patch, customFields, metadata });
    if (isChanged) this.updatedAt = at;
    return isChanged;
  }

  /** The values that `edit` may change. */
  fields(): SubscriberFields & Pick<Subscriber, 'metadata'> {
    const { externalId, firstName, lastName, phone, locale, timeZone, customFields, metadata } = this;
    return { externalId, firstName, lastName, phone, locale, timeZone, customFields, metadata };
  }

  toView(): SubscriberView {
    const { environmentId: _environment, emailKey: _key, pausedUntil: _pause, archivedKeys, ...view } = this;
    const active = Object.entries(this.customFields).filter(([key]) => !archivedKeys.includes(key));
    return { ...view, customFields: Object.fromEntries(active) };
  }
}

/** Quotes that programs leave around a whole name when they export or import it once too often. Single ones are letters, too. */
const PAIRS: ReadonlySet<string> = new Set(['""', '“”', '„“', '„”', '«»']);

/** Most names: ASCII, and neither a space nor a quote at the ends. An import asks for each of its rows. */
const NORMAL = /^[!#-~](?:[ -~]*[!#-~])?$/;

/** A first or last name as it is stored, searched and compared: Unicode NFC, without spaces and pairs of quotes around it. */
export function normalizedName(text: string): string {
  if (NORMAL.test(text)) return text;
  let from = 0;
  let to = text.length;
  for (;;) {
    while (from < to && isSpace(text.charAt(from))) from += 1;
    while (from < to && isSpace(text.charAt(to - 1))) to -= 1;
    if (to - from < 2 || !PAIRS.has(text.charAt(from) + text.charAt(to - 1))) break;
    from += 1;
    to -= 1;
  }
  return text.slice(from, to).normalize('NFC');
}

function isSpace(character: string): boolean {
  return character.trim() === '';
}

export const MAX_EXTERNAL_ID = 128;

/** Characters without a shape of their own: control, format, surrogate, private, unassigned, line and paragraph separators. */
const NOT_PRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/u;

/** The error in an external id, or null: 1 to 128 printable characters, counted as Unicode code points. */
export function externalIdFault(id: string): string | null {
  if (id.trim() === '') return 'must not be empty';
  if (id !== id.trim()) return 'must not begin or end with a space';
  if (Array.from(id).length > MAX_EXTERNAL_ID) return `must be at most ${MAX_EXTERNAL_ID} characters`;
  return NOT_PRINTABLE.test(id) ? 'must have printable characters only' : null;
}

/** A person as a path names one: by the address, which may be nobody's, or by something that stays when the address changes. */
export type SubscriberRef = Pick<EmailAddress, 'value' | 'key'> | OtherRef;
type OtherRef = { readonly by: 'id' | 'externalId' | 'subscriberKey'; readonly id: string };

/** A subscriber with the address of the moment. */
export interface Person extends Pick<EmailAddress, 'value' | 'key'> {
  readonly id: string;
}

const EXTERNAL = 'ext:';
const SUBSCRIBER_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,17}$/;

/** Reads an e-mail address, `ext:` and an external id, an id or a subscriberKey. */
export function parseSubscriberRef(
  text: string,
): { readonly ref: SubscriberRef } | { readonly fault: string } {
  const given = text.trim();
  if (given.startsWith(EXTERNAL)) {
    const id = given.slice(EXTERNAL.length);
    const fault = externalIdFault(id);
    return fault === null ? { ref: { by: 'externalId', id } } : { fault: `${EXTERNAL}… ${fault}` };
  }
  if (isUuid(given)) return { ref: { by: 'id', id: given.toLowerCase() } };
  if (SUBSCRIBER_KEY.test(given)) return { ref: { by: 'subscriberKey', id: given } };
  const read = parseEmailAddress(given);
  return 'address' in read ? { ref: read.address } : read;
}
