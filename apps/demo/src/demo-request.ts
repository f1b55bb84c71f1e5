import type { Mailwright } from '#sdk';

/** What a step asks of the API. */
export type ApiCall = (mailwright: Mailwright) => Promise<unknown>;

/** What a step asks of a page for readers, by the link as it stands in a mail. */
export interface PageRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly form?: Readonly<Record<string, string>>;
}

export type DemoRequest = ApiCall | PageRequest;

/** A request as it went out, for people to read. */
export interface SentRequest {
  readonly method: string;
  /** Below the base URL for the API, whole for the link of a mail. */
  readonly url: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}
