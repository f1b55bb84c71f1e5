import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { openApiDocument, schemaFaults } from '#testing/http/openapi-validation';
import { runCliForJson } from '#testing/programs/operator-cli';
import type { campaignStatisticsView } from '../../apps/api/src/messaging/campaign-report.dto.js';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

type Json = Readonly<Record<string, unknown>>;

interface MediaType {
  readonly schema?: object;
  readonly example?: unknown;
}

interface Content {
  readonly content?: Readonly<Record<string, MediaType>>;
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly in: string; readonly name: string; readonly example?: string }[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Content>>;
}

/** An operation with the examples that the reference shows of it. */
interface Shown {
  readonly document: object;
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: NonNullable<Operation['parameters']>;
  readonly body: MediaType | undefined;
  readonly answer: MediaType | undefined;
}

interface PageExample {
  readonly data?: readonly unknown[];
  readonly pagination?: Readonly<Record<string, number>>;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the examples of the API reference', () => {
  let system: SharedSystem;
  let shown: readonly Shown[];

  beforeAll(async () => {
    system = await sharedSystem();
    const documents = [
      await openApiDocument(system.baseUrl),
      await openApiDocument(system.baseUrl, '/operator/v1'),
    ];
    shown = documents.flatMap((document) => {
      const paths = document.paths as unknown as Readonly<
        Record<string, Readonly<Record<string, Operation>>>
      >;
      return Object.entries(paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({
          ...shownOf(path, method, operation),
          document,
        })),
      );
    });
  });

  afterAll(() => system?.stop());

  const of = (id: string): Shown => {
    const found = shown.find((one) => one.id === id);
    if (found === undefined) throw new Error(`There is no operation ${id}.`);
    return found;
  };
  const answerOf = <T = Json>(id: string): T => of(id).answer?.example as T;
  const everyAnswer = () => shown.filter(({ answer }) => answer?.example !== undefined);

  it('are written for every JSON body, answer and path, and fit', () => {
    const faults = shown.flatMap(({ document, id, parameters, body, answer }) => [
      ...parameters.flatMap(({ name, example }) =>
        example === undefined
          ? [`${id}: apps/api/src/openapi/examples.ts has no {${name}} for its path`]
          : [],
      ),
      ...faultsOf(document, `${id}.body`, body),
      ...faultsOf(document, `${id}.answer`, answer),
    ]);
    expect(faults).toEqual([]);
  });

  function faultsOf(document: object, place: string, media: MediaType | undefined): string[] {
    if (media === undefined) return [];
    if (media.example === undefined) return [`${place} is missing in apps/api/src/openapi/examples`];
    return schemaFaults(document, media.schema ?? {}, media.example).map((fault) => `${place}${fault}`);
  }

  it('answer with what the request said', () => {
    const faults = shown.flatMap(({ id, path, parameters, body, answer }) => {
      const said: Record<string, unknown> = { ...(body?.example as Json | undefined) };
      for (const { name, example } of parameters) {
        // A copy has a key of its own, a successor or a delivery that is made once more an id.
        if (/\/(?:duplicate|rotate|\{deliveryId\}\/replay)$/.test(path)) continue;
        if (!name.endsWith('Id')) said[name] ??= example;
        // A domain is named by its environment.
        else if (name !== 'environmentId' && path.endsWith(`{${name}}`)) said['id'] = example;
      }
      const answered = answer?.example as Json | undefined;
      if (answered === undefined || Array.isArray(answered)) return [];
      return Object.entries(said)
        .filter(([name]) => name in answered)
        .filter(([name, value]) => !repeats(answered[name], value))
        .map(
          ([name, value]) => `${id} ${name}: ${JSON.stringify(value)} → ${JSON.stringify(answered[name])}`,
        );
    });
    expect(faults).toEqual([]);
  });

  it('have pages that fit their rows', () => {
    const pages = everyAnswer().flatMap(({ id, answer }) => {
      const { data, pagination } = { ...(answer?.example as PageExample) };
      return data === undefined || pagination === undefined ? [] : [{ id, data, pagination }];
    });
    expect(pages.length).toBeGreaterThan(10);
    for (const { id, data, pagination } of pages) {
      const { page = -1, size = 0, totalElements = -1 } = pagination;
      const totalPages = Math.ceil(totalElements / size);
      const rows = Math.min(size, totalElements - page * size);
      expect({ id, rows: data.length, ...pagination }).toEqual({
        id,
        rows,
        page,
        size,
        totalElements,
        totalPages,
        hasNext: page + 1 < totalPages,
        hasPrevious: page > 0,
      });
    }
  });

  it('have ids and times that fit each other', () => {
    const objects = everyAnswer().flatMap(({ id, answer }) => objectsIn(answer?.example, id));
    const faults = objects.flatMap(({ place, value }) => {
      const { id, createdAt } = value;
      if (typeof createdAt !== 'string') return [];
      const later = Object.entries(value).filter(
        ([name, at]) => TIME.test(String(at)) && name !== 'currentPeriodStart' && String(at) < createdAt,
      );
      const made = typeof id === 'string' && UUID.test(id) ? timeOfId(id) : createdAt;
      return [
        ...later.map(
          ([name, at]) => `${place}.${name} is ${String(at)}, before its creation at ${createdAt}`,
        ),
        ...(made === createdAt ? [] : [`${place}.id is of ${made}, and created at ${createdAt}`]),
      ];
    });
    expect(faults).toEqual([]);
  });

  it('have figures that add up', () => {
    const figures = answerOf<z.output<typeof campaignStatisticsView>>('getCampaignStatistics');
    const { totalSent, totalDelivered, totalBounced, uniqueOpens, uniqueClicks } = figures;
    expect(figures).toMatchObject({
      totalDelivered: totalSent - totalBounced,
      totalBounced: figures.hardBounced + figures.softBounced,
      deliveryRate: totalDelivered / totalSent,
      openRate: uniqueOpens / totalDelivered,
      clickThroughRate: uniqueClicks / totalDelivered,
      clickToOpenRate: uniqueClicks / uniqueOpens,
      unsubscribeRate: figures.totalUnsubscribed / totalDelivered,
      bounceRate: totalBounced / totalSent,
    });
    const totals = [totalSent, totalDelivered, totalBounced, uniqueOpens, uniqueClicks];
    const { languages } = answerOf<{ languages: Record<string, number>[] }>('getCampaignLanguages');
    for (const parts of [languages, answerOf<Record<string, number>[]>('getCampaignTimeline')])
      expect(['sent', 'delivered', 'bounced', 'opened', 'clicked'].map((name) => sumOf(parts, name))).toEqual(
        totals,
      );

    const { counts } = answerOf<{ counts: Record<string, number> }>('getImport');
    const { total, ...kinds } = counts;
    expect(Object.values(kinds).reduce((sum, count) => sum + count)).toBe(total);
    const { audience } = answerOf<{ audience: Record<string, number> }>('analyseCampaign');
    const { matched, ...groups } = audience;
    expect(Object.values(groups).reduce((sum, count) => sum + count)).toBe(matched);
    expect(audience['willReceive']).toBe(answerOf('getCampaign')['estimatedRecipientCount']);

    const usage = answerOf<Record<string, number>>('getUsage');
    for (const name of ['subscribers', 'campaigns', 'aiCredits', 'emails']) {
      const current = usage[`${name}CurrentMonth`] ?? usage[`${name}Current`] ?? 0;
      const percent = Math.round((current / (usage[`${name}Limit`] ?? 1)) * 10_000) / 100;
      expect([name, usage[`${name}Percent`]]).toEqual([name, percent]);
    }
    const { data } = answerOf<{ data: { amount: number; balanceAfter: number }[] }>('listCreditTransactions');
    let balance = 0;
    for (const { amount, balanceAfter } of data.toReversed()) expect(balanceAfter).toBe((balance += amount));
    expect(answerOf('getCreditBalance')['balance']).toBe(balance);
  });

  it('are what the program answers, from a domain to a campaign', async () => {
    const project = await system.project('APIT');
    const story = new Story(await project.client('TEST'), of);
    // While no mail is written from it.
    await story.tell('createSendingDomain', 'dnsRecords', 'projectId');
    await story.tell('updateSendingDomain', 'dnsRecords', 'projectId');
    await story.tell('updateProject', 'environment', 'description', 'brand', 'trackingHostStatus');
    await story.tell('updateProjectTexts');
    await story.tell('createTopic');
    await story.tell('updateTopic', 'subscriberCount', 'activeSubscriberCount');
    await story.client.post('/topics', { name: 'Events' });
    await story.tell('createCustomField');
    await story.tell('updateCustomFieldDetails');
    await story.tell('updateCustomFieldConfig');

    await story.tell('createSubscriber');
    const id = await eventually('a mail asks Ada to confirm', async () => {
      const list = await story.client.get('/test-inbox/messages?to=ada@example.com');
      return list.at<string | undefined>('data', 0, 'id');
    });
    story.know(answerOf('getTestInboxMessage')['id'], id);
    const opened = await story.tell('getTestInboxMessage', 'links', 'html', 'text');
    await story.tell('listTestInboxMessages', 'links');
    const { confirm = '' } = opened['links'] as { confirm?: string };
    expect((await fetch(confirm, { method: 'POST' })).status).toBe(200);
    await story.tell('grantConsent');
    await story.tell('getConsents');
    await story.tell('updateSubscriber');

    await story.tell('importSubscribers');
    await eventually('the import is complete', async () => {
      const found = await story.client.get(story.actual(pathOf(of('getImport'))));
      return found.at('status') === 'COMPLETED';
    });
    await story.tell('getImport');
    await story.tell('listImportErrors');
    await story.tell('recordSubscriberEvent');
    await story.tell('recordSubscriberEvents');

    await story.tell('createSegment');
    await story.tell('updateSegment');
    await story.tell('previewSegment');
    const beta = await story.client.post('/segments', { name: 'Beta testers' });
    story.know(of('listSegmentMembers').parameters[0]?.example, beta.at('id'));
    await story.tell('addSegmentMembers');
    await story.tell('listSegmentMembers');
    await story.tell('listSegments');
    await story.tell('suppress');
    await story.tell('listSuppressions');

    await story.tell('createAutomation');
    await story.tell('updateAutomationContent');
    await story.tell('updateAutomation');
    await story.tell('activateAutomation');
    await story.tell('enterAutomation');
    await eventually('Ada waits', async () => {
      const list = await story.client.get(story.actual(pathOf(of('listAutomationExecutions'))));
      return list.at<unknown>('data', 0, 'steps', 1) !== undefined;
    });
    await story.tell('listAutomationExecutions');
    await story.tell('pauseAutomation', 'totalEntered', 'totalCompleted', 'currentlyActive');

    const counted = ['estimatedRecipientCount', 'preSendScore', 'preSendStatus'];
    await story.tell('createCampaign');
    await story.tell('updateCampaign');
    await story.tell('previewCampaign', 'html', 'text');
    await story.tell('testCampaign');
    await story.tell('scheduleCampaign', ...counted);
    await story.tell('cancelCampaign', ...counted);

    await story.tell('createRelay', 'feedbackUrl');
    await story.tell('updateRelay', 'feedbackUrl', 'lastUsedAt', 'lastFeedbackAt');
  });

  it('are what the program answers the operator, from a tenant to its suspended domain', async () => {
    const asked = ['operator-key:create', '--name', 'Examples', '--scopes', 'all'];
    const { key } = await runCliForJson(system.variables, asked);
    const story = new Story(new ApiClient(system.baseUrl, String(key), '/operator/v1'), of);
    const made = ['key', 'lastFour'];
    await story.tell('createTenant');
    await story.tell('getTenant');
    const ids = ['liveEnvironmentId', 'testEnvironmentId'];
    const project = await story.tell('createProject', ...ids);
    for (const name of ['id', ...ids]) story.know(answerOf('createProject')[name], String(project[name]));
    await story.tell('getOperatedProject', ...ids);
    await story.tell('changeProject', ...ids);
    await story.tell('changeProjectRetention');
    await story.tell('createProjectKey', ...made);
    await story.tell('getProjectKey', ...made);
    await story.tell('rotateProjectKey', ...made);
    await story.tell('changeTenantSubscription', 'planVersion');
    await story.tell('getTenantSubscription', 'planVersion');
    const invoices = await story.tell('listTenantInvoices', 'invoiceUrl', 'invoiceNumber');
    const [invoice] = invoices['data'] as { invoiceNumber: string }[];
    story.know(of('payInvoice').parameters[0]?.example, invoice?.invoiceNumber ?? '');
    await story.tell('payInvoice');
    await story.tell('addTenantCredits', 'balance');
    await story.tell('cancelTenantSubscription', 'planVersion', 'openInvoices');
    const owner = await story.client.post('/api-keys', {
      environmentId: Number(story.actual(String(answerOf('createProject')['liveEnvironmentId']))),
      name: 'Owner',
      scopes: ['sending_domains:write'],
    });
    const { domainName } = answerOf<{ domainName: string }>('suspendDomain');
    const theirs = new ApiClient(system.baseUrl, owner.at('key'));
    expect((await theirs.post('/sending-domain', { domainName })).status).toBe(201);
    const checked = ['dnsRecords', 'verifiedAt', 'lastHealthCheckAt', 'verificationAttempts', 'healthScore'];
    await story.tell('suspendDomain', ...checked, 'projectId', 'expiresAt');
    await story.tell('runCheck');
  });
});

/** Makes the requests of the reference, and holds the program's answers against its examples. */
class Story {
  /** Ids of the examples → those that the program gave. */
  readonly #ids = new Map<string, string>();

  constructor(
    readonly client: ApiClient,
    private readonly of: (id: string) => Shown,
  ) {}

  know(example: unknown, actual: string): void {
    this.#ids.set(String(example), actual);
  }

  /** A text with ids of the program. */
  actual(text: string): string {
    return [...this.#ids].reduce((result, [example, id]) => result.replaceAll(example, id), text);
  }

  /** Compares what the example has, but for `others`: fields that depend on more than the request. */
  async tell(id: string, ...others: readonly string[]): Promise<Json> {
    const shown = this.of(id);
    const body = shown.body === undefined ? undefined : this.#given(shown.body.example);
    const answer = await this.client.request(shown.method, this.actual(pathOf(shown)), { body });
    expect([id, answer.status < 300, answer.text]).toEqual([id, true, answer.text]);
    this.#learn(shown.answer?.example, answer.body);
    const without = ([name]: [string, unknown]) => !others.includes(name);
    const strip = (value: unknown): unknown =>
      JSON.parse(JSON.stringify(value ?? null), (_, part: unknown) =>
        typeof part === 'object' && part !== null && !Array.isArray(part)
          ? Object.fromEntries(Object.entries(part).filter(without))
          : part,
      );
    const wanted = strip(shown.answer?.example);
    if (wanted !== null)
      expect({ id, answer: plain(strip(answer.body)) }).toMatchObject({ id, answer: plain(wanted) });
    return (answer.body ?? {}) as Json;
  }

  /** A body with the program's ids, and with times that have not come. */
  #given(example: unknown): string {
    const body = JSON.parse(JSON.stringify(example), (name, value: unknown) =>
      name === 'scheduledAt' ? new Date(Date.now() + 86_400_000).toISOString() : value,
    ) as unknown;
    return this.actual(JSON.stringify(body));
  }

  #learn(example: unknown, actual: unknown): void {
    if (typeof example === 'string' && UUID.test(example) && typeof actual === 'string')
      this.know(example, actual);
    if (typeof example !== 'object' || example === null || typeof actual !== 'object' || actual === null)
      return;
    for (const [name, value] of Object.entries(example)) this.#learn(value, (actual as Json)[name]);
  }
}

function shownOf(
  path: string,
  method: string,
  { operationId, parameters = [], ...operation }: Operation,
): Omit<Shown, 'document'> {
  const success = Object.entries(operation.responses).find(([status]) => status.startsWith('2'))?.[1];
  return {
    id: operationId,
    method: method.toUpperCase(),
    path,
    parameters: parameters.filter((parameter) => parameter.in === 'path'),
    body: operation.requestBody?.content?.['application/json'],
    answer: success?.content?.['application/json'],
  };
}

/** Below /api/v1 or /operator/v1. */
function pathOf({ path, parameters }: Shown): string {
  return parameters
    .reduce(
      (filled, { name, example = '' }) => filled.replace(`{${name}}`, encodeURIComponent(example)),
      path,
    )
    .replace(/^\/\w+\/v1/, '');
}

/** Ids and times, which no two runs share, by their kind. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, part: unknown) => {
    if (name === 'id' && typeof part === 'number') return 'a number';
    if (typeof part !== 'string') return part;
    return part
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'an id')
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, 'a time');
  });
}

/** True if the answer repeats what was said; members of objects that `said` lacks are not compared. */
function repeats(answered: unknown, said: unknown): boolean {
  if (typeof said !== 'object' || said === null || Array.isArray(said))
    return JSON.stringify(answered) === JSON.stringify(said);
  return Object.entries(said).every(([name, value]) => repeats((answered as Json | null)?.[name], value));
}

function objectsIn(value: unknown, place: string): { place: string; value: Json }[] {
  if (typeof value !== 'object' || value === null) return [];
  const inside = Object.entries(value).flatMap(([name, part]) => objectsIn(part, `${place}.${name}`));
  return Array.isArray(value) ? inside : [{ place, value: value as Json }, ...inside];
}

/** The time in a UUID of version 7 (RFC 9562 §5.7). */
function timeOfId(id: string): string {
  return new Date(Number.parseInt(id.replace('-', '').slice(0, 12), 16)).toISOString();
}

function sumOf(parts: readonly Record<string, number>[], name: string): number {
  return parts.reduce((sum, part) => sum + (part[name] ?? 0), 0);
}
