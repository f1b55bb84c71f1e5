import { compare, type Comparison, type Goal, type Measured } from '../support/comparison.js';
import { get, load, type LoadRequest, post } from '../support/http-load.js';
import { addressOf, anyone, middlePage, type Operation, PAGE, sizeOf } from '../support/peer.js';
import type { BothMailers } from './both-mailers.js';

/** Clients at a time. */
export const CLIENTS = 16;

/** Bounds beside listmonk. */
const GOALS: Readonly<Record<Operation, readonly Goal[]>> = {
  'get one person': [{ of: 'rate', least: 1.5 }],
  'lists or topics with their counts': [{ of: 'rate', least: 50 }],
  'list of people, first page': [{ of: 'rate', least: 20 }],
  'first page, each of another size': [],
  'list of people, a middle page': [{ of: 'rate', least: 10 }],
  'create a person with consent': [
    { of: 'rate', least: 1 },
    { of: 'app', most: 0.3 },
    { of: 'postgres', most: 0.6 },
  ],
};

/** The recipients, then each pair a share of the others. */
export function compareImports(
  both: BothMailers,
  { pairs, people }: { readonly pairs: number; readonly people: number },
): Promise<Comparison> {
  const recipients = both.readers.to;
  const share = Math.floor((people - recipients) / pairs);
  const peopleOf = (run: number) => {
    if (run === 0) return both.readers;
    const from = recipients + (run - 1) * share;
    return { from, to: run === pairs ? people : from + share, list: 'Others' as const };
  };
  const count = (run: number) => peopleOf(run).to - peopleOf(run).from;
  const goals = [
    { of: 'rate', least: 5 },
    { of: 'cpu', most: 0.3 },
  ] as const;
  return compare('import, rows', goals, pairs, {
    theirs: (run) => both.measure(() => both.peer.import(peopleOf(run)).then(() => count(run))),
    ours: (run) => both.measure(() => both.importOurs(peopleOf(run)).then(() => count(run))),
  });
}

/** Single requests to both APIs among `people`, who are settled: after VACUUM and ANALYZE. */
export async function compareRequests(
  both: BothMailers,
  { pairs, seconds, people }: { readonly pairs: number; readonly seconds: number; readonly people: number },
): Promise<Comparison[]> {
  const { peer, system, client } = both;
  await system.database.query('vacuum analyze');
  await peer.database.query('vacuum analyze');
  const requests = peer.requests(people);
  const comparisons: Comparison[] = [];
  for (const [operation, ours] of Object.entries(ourRequests(both, people)) as [Operation, Requests][]) {
    const theirs = requests[operation];
    if (theirs === undefined) continue;
    let serial = 0;
    const run = (side: 'theirs' | 'ours', next: Requests) => async (): Promise<Measured> => {
      const target =
        side === 'theirs'
          ? { port: peer.port, headers: peer.headers }
          : { port: system.api.port, headers: { 'x-api-key': client.key ?? '' } };
      const ask = () => next((serial += 1));
      return both.measure(
        async () => (await load(target, ask, { connections: CLIENTS, seconds })).requests,
        () => both.settled(),
      );
    };
    const sides = { theirs: run('theirs', theirs), ours: run('ours', ours) };
    comparisons.push(await compare(operation, GOALS[operation], pairs, sides));
  }
  return comparisons;
}

type Requests = (n: number) => LoadRequest;

function ourRequests({ topics }: BothMailers, people: number): Readonly<Record<Operation, Requests>> {
  return {
    'get one person': (n) => get(`/api/v1/subscribers/${encodeURIComponent(addressOf(anyone(n, people)))}`),
    'lists or topics with their counts': () => get('/api/v1/topics'),
    'list of people, first page': () => get(`/api/v1/subscribers?size=${PAGE}`),
    'first page, each of another size': (n) => get(`/api/v1/subscribers?size=${sizeOf(n)}`),
    'list of people, a middle page': (n) =>
      get(`/api/v1/subscribers?page=${middlePage(n, people)}&size=${PAGE}`),
    'create a person with consent': (n) =>
      post('/api/v1/subscribers', 201, {
        email: `x${n}@new.example`,
        firstName: `X${n}`,
        topicKeys: [topics.Others.key],
        consent: { source: 'bench' },
        customFields: { f0: 'v1', f1: 'v2' },
      }),
  };
}
