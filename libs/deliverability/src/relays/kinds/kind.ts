import type { RecordPurpose } from '../../dns/dns-record.js';
import type { RelayOption, RelayOptions, RelayStream, RelayTls } from '../relay-terms.js';
import type { FeedbackFormat } from './feedback.js';

export interface RelayEndpoint {
  readonly host: string;
  readonly port: number;
  readonly tls: RelayTls;
}

/** A mail about to be handed over. */
export interface MailForRelay {
  /** Names our delivery in the provider's events. ASCII letters, digits, `+`, `.`, `-`, `_`; at most 64. */
  readonly token: string;
  readonly stream: RelayStream;
  readonly options: RelayOptions;
}

/** The values of an option that a kind can use. */
export interface OptionValues {
  readonly pattern: RegExp;
  /** What a value must be, after `must be`. */
  readonly inWords: string;
}

/** What a relay's `feedbackKey` has to be, since nothing is ever proved by another one. */
export interface FeedbackKeyForm {
  isUsable(key: string): boolean;
  /** What it must be, after `must be`. */
  readonly inWords: string;
}

/**
 * What is particular to one provider's relay. A new one is a folder here, with its proof, a line in
 * `kinds.ts`, and a page in docs/relays/.
 * Every statement about a provider names the page of its documentation in a comment.
 */
export interface RelayKindRules {
  /** In words, e.g. `Amazon SES`. */
  readonly name: string;
  /** The options that it takes, and which values of each, null for any; others are refused. */
  readonly options: Partial<Readonly<Record<RelayOption, OptionValues | null>>>;
  /** The option that says where it is reached: needed where host and port are left out. */
  readonly endpointOption?: RelayOption;
  /** The username of a relay that has a password and names none. */
  readonly username?: string;
  /** Where it is reached when host and port are left out; null where only the client can know. */
  endpoint(options: RelayOptions): RelayEndpoint | null;
  /** `ALWAYS`: no signature of ours gets through, the relay alone signs. Left out: whoever the client says. */
  readonly signs?: 'ALWAYS';
  /** Header fields, in lower case, that it replaces: our signature leaves them out. */
  readonly replacedHeaders: readonly string[];
  /** Header fields that it wants before the message: never one that our signature covers. */
  headersOf(mail: MailForRelay): readonly (readonly [name: string, value: string])[];
  /** The id that its events name, from the words of its reply to the body (`SmtpReply.text`); null where they hold none. */
  messageIdOf(replyText: string): string | null;
  /** Whether no two mails ever have the same id; else an event is a mail's only where the recipient's address is too. */
  readonly idIsUnique: boolean;
  /** Which records of the sending domain mail by this relay needs. */
  readonly dnsRecords: readonly RecordPurpose[];
  /** What proves its events, where only some values can; left out: any. */
  readonly feedbackKey?: FeedbackKeyForm;
  /** How its events come; null where there are none but reports to the return path. */
  readonly feedback: FeedbackFormat | null;
}
