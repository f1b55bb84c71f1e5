import type { SubscriberStatus } from '../consents/consent.js';
import type { CustomFieldValues } from '../custom-fields/custom-field.js';
import { patched } from '../patched.js';

export type SubscriberSource = 'API' | 'IMPORT' | 'FORM' | 'MANUAL';

/** A subscriber as clients see it: the values of archived fields are left out. */
export type SubscriberView = Readonly<
  Omit<Subscriber, 'environmentId' | 'emailKey' | 'archivedKeys' | 'pausedUntil' | 'edit' | 'toView'>
>;

const FIELDS = ['firstName', 'lastName', 'phone', 'locale', 'timeZone', 'customFields'] as const;

/** The fields that a client may change. */
export type SubscriberFields = Pick<SubscriberView, (typeof FIELDS)[number]>;

/** The fields of a new subscriber of whom nothing else is known. */
export const NO_FIELDS: Omit<SubscriberFields, 'customFields'> = {
  firstName: null,
  lastName: null,
  phone: null,
  locale: null,
  timeZone: null,
};

/** A client's changes: absent fields stay, null clears. The same applies to each custom field. */
export type SubscriberPatch = {
  readonly [Field in Exclude<keyof SubscriberFields, 'customFields'>]?: SubscriberFields[Field] | undefined;
} & { readonly customFields?: Readonly<Record<string, unknown>> | undefined };

/** A person in one project, identified by an address. Sign-ups and imports insert with SQL. */
export class Subscriber {
  readonly id!: string;
  readonly environmentId!: number;
  readonly subscriberKey!: string;
  /** As it was given. */
  readonly email!: string;
  readonly emailKey!: string;
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
  /** The keys of the project's archived fields. */
  readonly archivedKeys!: readonly string[];
  /** The end of the pause; null: mail is not paused. */
  pausedUntil!: Date | null;
  readonly createdAt!: Date;
  updatedAt!: Date;

  /** Applies the patch and sets the custom fields; false when nothing changes. */
  edit(patch: SubscriberPatch, customFields: CustomFieldValues, at: Date): boolean {
    const isChanged = patched(this, FIELDS, { ...patch, customFields });
    if (isChanged) this.updatedAt = at;
    return isChanged;
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
