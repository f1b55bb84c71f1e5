import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Pool } from 'undici';
import { type ApiAnswer, type ApiClient, readAnswer } from '#testing/http/api-client';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { type GeneratedRequest, requestsOf } from '#testing/random/generated-requests';
import { fillIn, known } from '#testing/random/hostile-values';
import { type OpenApiDocument, openApiDocument, validateAnswer } from '#testing/http/openapi-validation';
import * as fc from '#testing/random/properties';
import { type RunningSystem, startSystem } from '#testing/programs/system';

/** The whole: `FUZZ_REQUESTS=20000`. The same requests again: `FUZZ_SEED=…`, as printed. */
const REQUESTS = Number(process.env['FUZZ_REQUESTS'] ?? 800);
const SEED = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const AT_ONCE = 4;
const PATIENCE_MS = 120_000;
const REFILL_AFTER = 150;
/** Frequency of a method, as against a GET. */
const SHARES: Readonly<Record<string, number>> = { post: 2, patch: 2, delete: 0.5 };
const CONTENT = {
  nodes: JSON.stringify([
    { id: 'n0', type: 'trigger', config: {} },
    { id: 'n1', type: 'delay', config: { duration: 'P1D' } },
  ]),
  edges: '[{"id":"e0","source":"n0","target":"n1"}]',
};
const SHOWN_FAULTS = 25;
/** In which member an answer names a resource, by the kind of path or body parameter that takes it. */
const NAMED_IN: readonly (readonly [path: RegExp, member: string, kind: string])[] = [
  [/\/topics$/, 'topicKey', 'topicKey'],
  [/\/topics$/, 'id', 'topicId'],
  [/\/subscribers$/, 'email', 'email'],
  [/\/campaigns$/, 'campaignKey', 'campaignKey'],
  [/\/segments$/, 'segmentKey', 'segmentId'],
  [/\/segments$/, 'id', 'segmentUuid'],
  [/\/automations$/, 'automationKey', 'automationId'],
  [/\/custom-fields$/, 'key', 'key'],
  [/\/subscriber-imports$/, 'id', 'importId'],
  [/\/suppression-imports$/, 'id', 'suppressionImportId'],
  [/\/exports$/, 'id', 'exportId'],
  [/\/messages$/, 'id', 'messageId'],
  [/\/relays$/, 'relayKey', 'relayKey'],
  [/\/templates$/, 'templateKey', 'templateKey'],
  [/\/api-keys$/, 'id', 'apiKeyId'],
];

describe('whatever is sent to it, the API', () => {
  let dns: DnsServer;
  let system: RunningSystem;
  let client: ApiClient;
  let pool: Pool;
  let requests: GeneratedRequest[];
  /** Identifiers of the resources that are there, by kind. */
  const resources = new Map<string, string[]>();
  const answered = new Map<number, number>();
  const succeeded = new Set<string>();
  let rounds = 0;

  beforeAll(async () => {
    process.stdout.write(`FUZZ_SEED=${SEED} FUZZ_REQUESTS=${REQUESTS}\n`);
    dns = await startDnsServer();
    system = await startSystem({ DNS_SERVERS: dns.address });
    client = await (await system.project()).client('TEST');
    await system.database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    pool = new Pool(system.baseUrl, {
      connections: AT_ONCE,
      bodyTimeout: PATIENCE_MS,
      headersTimeout: PATIENCE_MS,
    });
    await fill();
    await eventually('the confirmation mail', async () => {
      const answer = await client.get('/test-inbox/messages');
      return answer.at<unknown[]>('data').length > 0;
    });
    await fill();
    requests = await generated();
  });
  afterAll(async () => {
    await pool?.destroy();
    await system?.stop();
    await dns?.stop();
  });

  const add = (kind: string, id: string): void => {
    resources.set(kind, [...(resources.get(kind) ?? []).slice(-20), id]);
  };
  const remember = (path: string, answer: ApiAnswer): void => {
    if (answer.status > 202) return;
    for (const [where, member, kind] of NAMED_IN) {
      const id = answer.at<unknown>(member);
      if (where.test(path) && typeof id === 'string') add(kind, id);
    }
  };

  /** Makes some of each kind, ready for what can be done with them: at the beginning, and again since requests remove things. */
  async function fill(): Promise<void> {
    const create = async (path: string, body: object): Promise<ApiAnswer> => {
      const answer = await client.post(path, body);
      remember(path, answer);
      return answer;
    };
    // A field that a request made required would keep everybody out.
    await system.database.query('update audience.custom_fields set is_required = false');
    const topic = await create('/topics', { name: 'News', doubleOptInEnabled: false });
    const pending = await create('/topics', { name: 'Offers' });
    const consent = { source: 'form' };
    const topicKeys = [topic.at('topicKey'), pending.at('topicKey')];
    for (const name of ['ada', 'grace', 'linus'])
      await create('/subscribers', { email: `${name}${(rounds += 1)}@example.com`, topicKeys, consent });
    await create('/subscriber-imports', { rows: [{ email: 'no address' }], topicKeys, consent });
    for (const subject of ['One', 'Two', 'Three'])
      await create('/campaigns', {
        name: 'x',
        subject,
        contentText: 'Hello',
        topicIds: [topic.at('id')],
        scheduledAt: '2031-01-01T00:00:00Z',
      });
    await create('/segments', { name: 'x', type: 'STATIC' });
    const automation = await create('/automations', { name: 'x', triggerType: 'manual' });
    await client.patch(`/automations/${automation.at('automationKey')}/content`, CONTENT);
    for (const [key, type] of Object.entries({ plan: 'TEXT', age: 'NUMBER', note: 'LONG_TEXT' }))
      await create('/custom-fields', { key, displayName: key, type });
    await create('/sending-domain', { domainName: 'sender.example' });
    await create('/exports', { what: 'SUPPRESSIONS' });
    await create('/relays', { name: 'Own', kind: 'POSTMARK', password: 'a token', streams: ['AUTOMATION'] });
    for (const kind of ['MESSAGE', 'PARTIAL']) await create('/templates', { name: 'x', kind });
    const message = { subject: 'x', text: 'Hello', purpose: 'A receipt' };
    for (const name of ['ada', 'grace'])
      await create('/messages', { ...message, to: { email: `${name}${(rounds += 1)}@example.com` } });
    const mails = await client.get('/test-inbox/messages');
    for (const { id } of mails.at<{ id: string }[]>('data')) add('id', id);
  }

  /** The same number for each operation, and more for those that make something, in an order of their own. */
  async function generated(): Promise<GeneratedRequest[]> {
    const document = await openApiDocument(system.baseUrl);
    const operations = Object.entries(document.paths).flatMap(([template, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({ template, method, operation })),
    );
    const shareOf = (method: string) => SHARES[method] ?? 1;
    const whole = operations.reduce((sum, { method }) => sum + shareOf(method), 0);
    const all = operations.flatMap(({ template, method, operation }, index) =>
      fc.sample(requestsOf(document, template, method, operation), {
        numRuns: Math.ceil((REQUESTS * shareOf(method)) / whole),
        seed: SEED + index,
      }),
    );
    const order = fc.shuffledSubarray([...all.keys()], { minLength: all.length });
    return (fc.sample(order, { numRuns: 1, seed: SEED })[0] ?? []).flatMap((index) => all[index] ?? []);
  }

  const forget = (url: string): void => {
    const parts = url.split(/[/?]/);
    for (const [kind, ids] of resources)
      resources.set(
        kind,
        ids.filter((id) => !parts.includes(encodeURIComponent(id))),
      );
  };
  const pick = (kind: string, index: number): string => {
    const ids = resources.get(kind) ?? [];
    return ids[index % ids.length] ?? 'APIT-1';
  };

  /** Puts the request on the wire as it is: no client puts it right before. */
  async function send({ method, path, headers, body }: GeneratedRequest): Promise<ApiAnswer> {
    const url = fillIn(path, (kind, index) => encodeURIComponent(pick(kind, index)));
    const response = await pool.request({
      method,
      path: url,
      headers: { 'x-api-key': client.key ?? '', ...headers },
      body: body === undefined ? null : fillIn(body, pick),
    });
    const text = await response.body.text();
    const answer = await readAnswer(
      new Response(text === '' ? null : text, {
        status: response.statusCode,
        headers: Object.entries(response.headers).map(([name, value]): [string, string] => [
          name,
          String(value),
        ]),
      }),
    );
    if (answer.status >= 500) throw new Error(`answers ${answer.status}: ${answer.text.slice(0, 300)}`);
    await validateAnswer(system.baseUrl, method, url, answer);
    if (method === 'DELETE' && answer.status === 204) forget(url);
    return answer;
  }

  const shown = ({ method, path, headers, body }: GeneratedRequest, error: unknown): string =>
    `${method} ${path.slice(0, 300)} ${JSON.stringify(headers).slice(0, 200)} ${(body ?? '').slice(0, 1_500)}\n   ${String(error).slice(0, 600)}`;

  it(
    `never fails, hangs or answers what its document does not know (FUZZ_SEED=${SEED})`,
    async () => {
      const faults: string[] = [];
      let next = 0;
      const work = async (): Promise<void> => {
        for (let request = requests[next++]; request !== undefined; request = requests[next++]) {
          try {
            const answer = await send(request);
            remember(request.template, answer);
            if (answer.status < 300) succeeded.add(`${request.method} ${request.template}`);
            if (next % REFILL_AFTER === 0) await fill();
            answered.set(answer.status, (answered.get(answer.status) ?? 0) + 1);
          } catch (error) {
            faults.push(shown(request, error));
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      const counts = [...answered].toSorted(([one], [other]) => one - other);
      process.stdout.write(
        `${requests.length} requests: ${counts.map(([status, count]) => `${count} × ${status}`).join(', ')}\n`,
      );
      expect({ faults: faults.length, shown: faults.slice(0, SHOWN_FAULTS) }).toEqual({
        faults: 0,
        shown: [],
      });
    },
    300_000 + REQUESTS * 100,
  );

  it('takes null in any one field of a body as left out, or names it', async () => {
    await fill();
    const document = await openApiDocument(system.baseUrl);
    const faults: string[] = [];
    for (const { method, template, body, field } of bodiesWithNull(document)) {
      const path = template.replaceAll(/\{(\w+)\}/g, (_all, kind: string) => known(kind, 0));
      const headers = { 'content-type': 'application/json' };
      const request = { method, template, path, headers, body: JSON.stringify(body) };
      try {
        const answer = await send(request);
        if (answer.status !== 400 || answer.at('errors', field) !== undefined) continue;
        const rest = Object.fromEntries(Object.entries(body).filter(([name]) => name !== field));
        const without = await send({ ...request, body: JSON.stringify(rest) });
        if (JSON.stringify(without.at('errors')) !== JSON.stringify(answer.at('errors')))
          throw new Error(`does not name ${field}: ${answer.text.slice(0, 300)}`);
      } catch (error) {
        faults.push(shown(request, error));
      }
    }
    expect(faults).toEqual([]);
  });

  it('gets past its checks often enough for this to mean something', () => {
    const done = [200, 201, 202, 204].reduce((sum, status) => sum + (answered.get(status) ?? 0), 0);
    expect(done / requests.length).toBeGreaterThan(0.2);
    const operations = new Set(requests.map(({ method, template }) => `${method} ${template}`));
    const never = [...operations].filter((name) => !succeeded.has(name));
    // With few requests for each, some are never well-formed for something that is in the right state.
    const allowed = operations.size / (REQUESTS >= 10_000 ? 10 : 2);
    process.stdout.write(`Never done: ${never.join(', ') || 'none'}\n`);
    expect(never.length).toBeLessThanOrEqual(allowed);
  });

  it('shows afterwards everything that it took', async () => {
    const { paths } = await openApiDocument(system.baseUrl);
    const lists = Object.entries(paths).filter(([path, { get }]) => get !== undefined && !path.includes('{'));
    for (const [path, { get }] of lists) {
      const isPaged = get?.parameters?.some(({ name }) => name === 'size') === true;
      const answer = await client.get(path.replace('/api/v1', '') + (isPaged ? '?size=100' : ''));
      expect([path, answer.status]).toEqual([path, answer.status === 404 ? 404 : 200]);
    }
  });

  it('is still the same two processes, which report no failure', () => {
    for (const program of [system.api, system.worker]) {
      expect(() => process.kill(program.pid, 0)).not.toThrow();
      expect(
        program
          .output()
          .split('\n')
          .filter((line) => /"level":(?:50|60|"error"|"fatal")/.test(line))
          .slice(0, 10),
      ).toEqual([]);
    }
  });
});

interface JsonBody {
  readonly content?: Readonly<
    Record<string, { readonly example?: object; readonly schema?: { readonly $ref?: string } }>
  >;
}

/** The example of each operation's body, with null in one of its fields after the other. */
function bodiesWithNull(
  document: OpenApiDocument,
): { method: string; template: string; body: object; field: string }[] {
  return Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, { requestBody }]) => {
      const described: JsonBody = requestBody ?? {};
      const { example = {}, schema } = described.content?.['application/json'] ?? {};
      const named = document.components?.schemas?.[schema?.$ref?.split('/').at(-1) ?? ''];
      const { properties = {} } = (named ?? {}) as { readonly properties?: object };
      return Object.keys(properties).map((field) => ({
        method: method.toUpperCase(),
        template,
        body: { ...example, [field]: null },
        field,
      }));
    }),
  );
}
