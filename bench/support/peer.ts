import type { TestDatabase } from '#testing/postgres/database';
import { executable } from '#testing/programs/executable';
import type { BenchServer } from './bench-server.js';
import type { LoadRequest } from './http-load.js';

/** Another mailer to measure ours beside, as a client and an operator use it. */
export interface Peer {
  readonly pid: number;
  readonly port: number;
  /** Headers of a client of its API. */
  readonly headers: Readonly<Record<string, string>>;
  /** Database that has its people. */
  readonly database: TestDatabase;
  /** Requests of its API among so many people. */
  requests(people: number): Readonly<PeerRequests>;
  /** Resolves when all are in their list. */
  import(people: People): Promise<void>;
  /** Sends the sample mail to the list of news; resolves when it says that the campaign is sent. */
  send(): Promise<void>;
  stop(): Promise<void>;
}

/** The nth request of each operation; one that the API has no request for is left out. */
export type PeerRequests = { [operation in Operation]?: (n: number) => LoadRequest };

export type Operation =
  | 'get one person'
  | 'lists or topics with their counts'
  | 'list of people, first page'
  | 'first page, each of another size'
  | 'list of people, a middle page'
  | 'create a person with consent';

/** Class of a peer. */
export interface PeerKind<P extends Peer> {
  /** The name or path of its program. */
  readonly program: string;
  start(options: PeerOptions): Promise<P>;
}

export interface PeerOptions {
  readonly program: string;
  /** For a database of its own. */
  readonly server: BenchServer;
  /** Port on 127.0.0.1 to which it hands its mail over. */
  readonly sinkPort: number;
  /** To the sink, as far as it lets its user choose. */
  readonly connections: number;
}

/** Ends the benchmark with a word where one of these is not here. */
export function needs(...names: readonly string[]): readonly string[] {
  const found = names.map(executable);
  const missing = names.filter((_, place) => found[place] === undefined);
  if (missing.length > 0) {
    process.stdout.write(
      `skipped: ${missing.join(', ')} not here (LISTMONK and NOTIFUSE name their programs)\n`,
    );
    process.exit(0);
  }
  return found.map(String);
}

/** Topics of ours, and lists of a peer. */
export type ListName = 'News' | 'Others' | 'OptIn';

/** People `from` up to, not including, `to`, who join a list together. */
export interface People {
  readonly from: number;
  readonly to: number;
  readonly list: ListName;
}

export interface Person {
  readonly email: string;
  readonly name: string;
  /** Values of the fields, in their order. */
  readonly values: readonly string[];
}

/** Keys of the custom fields that all have. */
export const FIELDS = Array.from({ length: 8 }, (_, place) => `f${place}`);

export const addressOf = (n: number): string => `reader${n}@d${n % 200}.example`;

/** The same people for all. */
export function personsOf({ from, to }: People): Person[] {
  return Array.from({ length: to - from }, (_, place) => {
    const n = from + place;
    const values = FIELDS.map((_key, field) => `v${(n * 7_919 + field * 104_729) % 1_000}`);
    return { email: addressOf(n), name: `Name${n}`, values };
  });
}

const LOREM =
  'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor incididunt ut labore et dolore magna aliqua. ';

/** The sample mail in the words of a mailer: how it names a first name, a field, and a tracked link. */
export const contentOf = (name: string, field: (key: string) => string, tracked = ''): string =>
  Array.from(
    { length: 12 },
    (_, part) =>
      `<p>${name}, here is <a href="https://example.com/news/${part}${tracked}">part ${part}</a>. ` +
      `${LOREM.repeat(5)}${field(FIELDS[part % FIELDS.length] ?? '')}</p>`,
  ).join('');

/** People in a page. */
export const PAGE = 20;

/** Spread over all people, and the same for both. */
export const anyone = (n: number, people: number): number => (n * 7_919) % people;

/** Size of the nth page: clients that ask for the very same at the same time share one read of ours. */
export const sizeOf = (n: number): number => PAGE / 2 + 1 + (n % PAGE);

/** Number of a page in the middle, from 0. */
export const middlePage = (n: number, people: number): number => Math.floor(people / PAGE / 2) + (n % 100);
