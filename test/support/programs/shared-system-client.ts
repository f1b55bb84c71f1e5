import type { DnsFault } from '../mail/dns-server.js';
import type { RecordToPublish } from '../mail/published-records.js';

export type Queue = 'postgres' | 'redis';

/** Facts that a test file needs to know of the system that all files share. */
export interface SharedSystemPlace {
  /** URLs with the login of the programs, and of a superuser. */
  readonly databaseUrl: string;
  readonly adminUrl: string;
  readonly apiPort: number;
  readonly workerPort: number;
  readonly bouncePort: number;
  readonly variables: Readonly<Record<string, string>>;
}

/** A mail that the shared relay took. */
export interface SharedMail {
  readonly to: readonly string[];
}

/** The name server of the shared system: each file has domains of its own there. */
export interface SharedDns {
  txt(host: string, record: string): Promise<void>;
  a(host: string, ...addresses: readonly string[]): Promise<void>;
  publish(records: readonly RecordToPublish[]): Promise<void>;
  /** From now on every question for this name ends so; null ends that. */
  fail(fault: DnsFault | null, host: string): Promise<void>;
}

export type DnsCall = {
  [Name in keyof SharedDns]: [name: Name, ...Parameters<SharedDns[Name]>];
}[keyof SharedDns];

const tellDns = (...call: DnsCall) => askSharedSystem<void>('/dns', call);

export const sharedDns: SharedDns = {
  txt: (host, record) => tellDns('txt', host, record),
  a: (host, ...addresses) => tellDns('a', host, ...addresses),
  publish: (records) => tellDns('publish', records),
  fail: (fault, host) => tellDns('fail', fault, host),
};

/** The relay of the shared system, for addresses that end so. */
export interface SharedRelay {
  /** Mails that it took, the oldest first. */
  mails(): Promise<readonly SharedMail[]>;
  /** Takes so many mails more, and lets the next ones wait for its answer until `release`. */
  hold(after: number): Promise<unknown>;
  release(): Promise<unknown>;
}

export interface RelayCall {
  readonly call: keyof SharedRelay;
  readonly addressEnd: string;
  readonly after: number;
}

export function sharedRelay(addressEnd: string): SharedRelay {
  const ask = (call: keyof SharedRelay, after = 0) =>
    askSharedSystem<readonly SharedMail[]>('/relay', { call, addressEnd, after } satisfies RelayCall);
  return {
    mails: () => ask('mails'),
    hold: (after) => ask('hold', after),
    release: () => ask('release'),
  };
}

/** Asks what all files of the test run share: see shared-system.ts. */
export async function askSharedSystem<T>(path: string, body: object = {}): Promise<T> {
  const address = process.env['MAILWRIGHT_TEST_SHARED_SYSTEM'];
  if (address === undefined)
    throw new Error('Run the tests with `npm test`: it opens the shared system for them.');
  const response = await fetch(`${address}${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()) as T;
}
