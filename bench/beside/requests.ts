import { compare, type Comparison, type Goal, type Measured } from '../support/comparison.js';
import { load, type LoadRequest } from '../support/http-load.js';
import { addressOf, type BothMailers } from './both-mailers.js';

/** Clients at a time. */
export const CLIENTS = 16;
const PAGE = 20;

interface Request {
  readonly operation: string;
  readonly goals: readonly Goal[];
  /** The nth request of each. */
  readonly theirs: (n: number) => LoadRequest;
  readonly ours: (n: number) => LoadRequest;
}

/** Single requests to both APIs among `people`, who are settled: after VACUUM and ANALYZE. */
export async function compareRequests(
  both: BothMailers,
  { pairs, seconds, people }: { readonly pairs: number; readonly seconds: number; readonly people: number },
): Promise<Comparison[]> {
  await both.system.database.query('vacuum analyze');
  await both.listmonk.database.query('vacuum analyze');
  const comparisons: Comparison[] = [];
  for (const { operation, goals, theirs, ours } of requestsOf(both, people)) {
    let serial = 0;
    const run =
      (side: 'theirs' | 'ours', next: (n: number) => LoadRequest) => async (): Promise<Measured> => {
        const { listmonk, system, client } = both;
        const target =
          side === 'theirs'
            ? { port: listmonk.port, headers: listmonk.headers }
            : { port: system.api.port, headers: { 'x-api-key': client.key ?? '' } };
        const ask = () => next((serial += 1));
        return both.measure(
          async () => (await load(target, ask, { connections: CLIENTS, seconds })).requests,
          () => both.settled(),
        );
      };
    const sides = { theirs: run('theirs', theirs), ours: run('ours', ours) };
    comparisons.push(await compare(operation, goals, pairs, sides));
  }
  return comparisons;
}

function requestsOf({ listmonk, topics }: BothMailers, people: number): readonly Request[] {
  const get = (path: string): LoadRequest => ({ method: 'GET', path, status: 200 });
  const post = (path: string, status: number, body: object): LoadRequest => ({
    method: 'POST',
    path,
    status,
    body: JSON.stringify(body),
  });
  // Spread over all of them, and the same for both.
  const anyone = (n: number) => (n * 7_919) % people;
  // Who asks for the very same at the same time shares one read of ours.
  const size = (n: number) => PAGE / 2 + 1 + (n % PAGE);
  const middle = (n: number) => Math.floor(people / PAGE / 2) + (n % 100);
  return [
    {
      operation: 'get one person',
      goals: [{ of: 'rate', least: 1.5 }],
      theirs: (n) => get(`/api/subscribers/${anyone(n) + 1}`),
      ours: (n) => get(`/api/v1/subscribers/${encodeURIComponent(addressOf(anyone(n)))}`),
    },
    {
      operation: 'lists or topics with their counts',
      goals: [{ of: 'rate', least: 50 }],
      theirs: () => get('/api/lists'),
      ours: () => get('/api/v1/topics'),
    },
    {
      operation: 'list of people, first page',
      goals: [{ of: 'rate', least: 20 }],
      theirs: () => get(`/api/subscribers?page=1&per_page=${PAGE}`),
      ours: () => get(`/api/v1/subscribers?size=${PAGE}`),
    },
    {
      operation: 'first page, each of another size',
      goals: [],
      theirs: (n) => get(`/api/subscribers?page=1&per_page=${size(n)}`),
      ours: (n) => get(`/api/v1/subscribers?size=${size(n)}`),
    },
    {
      operation: 'list of people, a middle page',
      goals: [{ of: 'rate', least: 10 }],
      theirs: (n) => get(`/api/subscribers?page=${middle(n) + 1}&per_page=${PAGE}`),
      ours: (n) => get(`/api/v1/subscribers?page=${middle(n)}&size=${PAGE}`),
    },
    {
      operation: 'create a person with consent',
      goals: [
        { of: 'rate', least: 1 },
        { of: 'app', most: 0.3 },
        { of: 'postgres', most: 0.6 },
      ],
      theirs: (n) =>
        post('/api/subscribers', 200, {
          email: `x${n}@new.example`,
          name: `X${n}`,
          status: 'enabled',
          lists: [listmonk.listId('Others')],
          preconfirm_subscriptions: true,
          attribs: { f0: 'v1', f1: 'v2' },
        }),
      ours: (n) =>
        post('/api/v1/subscribers', 201, {
          email: `x${n}@new.example`,
          firstName: `X${n}`,
          topicKeys: [topics.Others.key],
          consent: { source: 'bench' },
          customFields: { f0: 'v1', f1: 'v2' },
        }),
    },
  ];
}
