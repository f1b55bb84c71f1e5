import type { Mailwright } from '#sdk';

/** A request to the API. */
export type ApiCall = (mailwright: Mailwright) => Promise<unknown>;

/** A request to a page for readers, by the link in a mail. */
export interface PageRequest {
  readonly method: 'GET' | 'POST';
  readonly url: string;
  readonly form?: Readonly<Record<string, string>>;
}

export type DemoRequest = ApiCall | PageRequest;

/** A sent request, for people to read. */
export interface SentRequest {
  readonly method: string;
  /** Relative to the base URL for the API, absolute for the link of a mail. */
  readonly url: string;
  readonly json?: unknown;
  readonly form?: Readonly<Record<string, string>>;
}
