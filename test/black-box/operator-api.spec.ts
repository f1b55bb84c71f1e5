import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OPERATOR_SCOPES } from '#kernel';
import { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { openApiDocument, type OperationObject } from '#testing/http/openapi-validation';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { sharedSystem, type SharedSystem } from '#testing/programs/system';

interface Made {
  readonly id: string;
  readonly key: string;
}

interface Entry {
  readonly action: string;
  readonly actor: { readonly type: string; readonly keyName: string | null };
  readonly requestId: string | null;
  readonly target: { readonly type: string; readonly id: string | null };
  readonly outcome: string;
  readonly before: Readonly<Record<string, unknown>> | null;
  readonly after: Readonly<Record<string, unknown>> | null;
}

const PROJECT = { name: 'News', senderName: 'Globex', postalAddress: '1 Main Street' };

/** Each month. */
const CREDITS_OF_STANDARD = 500;

describe('The operator’s API', () => {
  let system: SharedSystem;
  let operator: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    operator = await client('all');
  });
  afterAll(() => system?.stop());

  const variables = () => system.variables;
  const makeKey = async (scopes: string, ...more: readonly string[]) =>
    (await runCliForJson(variables(), [
      'operator-key:create',
      '--name',
      `Ops ${scopes.slice(0, 40)}`,
      '--scopes',
      scopes,
      ...more,
    ])) as unknown as Made;
  const client = async (scopes: string, ...more: readonly string[]) =>
    new ApiClient(system.baseUrl, (await makeKey(scopes, ...more)).key, '/operator/v1');
  const anybody = (key: string | null) => new ApiClient(system.baseUrl, key, '/operator/v1');
  const makeTenant = async (tenantKey: string) => {
    const answer = await operator.post('/tenants', { tenantKey, name: `${tenantKey} Ltd` });
    expect(answer.status).toBe(201);
    return tenantKey;
  };
  const entries = async (action: string) =>
    ((await operator.get(`/audit-log?action=${action}`)).body as { readonly data: readonly Entry[] }).data;

  it('makes a tenant, a project and a key that works, as the commands do', async () => {
    const tenant = await operator.post('/tenants', { tenantKey: 'GLOBEX', name: 'Globex Ltd' });
    expect([tenant.status, tenant.headers.get('location')]).toEqual([201, '/operator/v1/tenants/GLOBEX']);
    expect(tenant.body).toMatchObject({
      tenantKey: 'GLOBEX',
      planTier: 'FREE',
      subscriptionStatus: 'ACTIVE',
      updatedAt: tenant.at('createdAt'),
    });
    expectProblem(await operator.post('/tenants', { tenantKey: 'GLOBEX', name: 'x' }), 409, 'already-exists');
    expectProblem(await operator.post('/tenants', { tenantKey: 'g', name: ' ' }), 400, 'validation-error', {
      errors: { tenantKey: expect.stringContaining('capital letters'), name: 'must not be empty' },
    });

    const wanted = { tenantKey: 'GLOBEX', projectKey: 'NEWS', ...PROJECT, fromEmail: 'news@globex.example' };
    const project = await operator.post('/projects', wanted);
    expect(project.status).toBe(201);
    const { id, liveEnvironmentId } = project.body as { id: number; liveEnvironmentId: number };
    expect(project.body).toMatchObject({
      tenantKey: 'GLOBEX',
      projectKey: 'NEWS',
      fromEmail: 'news@globex.example',
    });
    const listed = await runCli(variables(), ['project:list', '--tenant', 'GLOBEX']);
    expect(listed.stdout).toContain('GLOBEX/NEWS');
    expectProblem(
      await operator.post('/projects', { ...wanted, tenantKey: 'NOBODY' }),
      422,
      'domain-validation',
      {
        errors: { tenantKey: 'is not a known tenant' },
      },
    );
    const unnamed = await operator.post('/projects', { ...wanted, projectKey: 'news', name: '' });
    expectProblem(unnamed, 400, 'validation-error', {
      errors: { projectKey: expect.stringContaining('capital letters'), name: 'must not be empty' },
    });
    // The free plan has room for three.
    for (const projectKey of ['TWO', 'THREE'])
      expect((await operator.post('/projects', { ...wanted, projectKey })).status).toBe(201);
    expectProblem(
      await operator.post('/projects', { ...wanted, projectKey: 'MORE' }),
      422,
      'domain-validation',
      {
        errors: { plan: expect.stringContaining('limit of 3 projects') },
      },
    );

    const changed = await operator.patch(`/projects/${id}`, {
      name: 'Weekly',
      aiSegmentSuggestionsEnabled: true,
    });
    expect([changed.status, changed.body]).toMatchObject([200, { name: 'Weekly', senderName: 'Globex' }]);
    expect((await operator.get(`/projects/${id}`)).body).toEqual(changed.body);
    const kept = { deliveriesDays: 90, eventsDays: null };
    expect((await operator.patch(`/projects/${id}/retention`, { deliveriesDays: 90 })).body).toEqual(kept);
    expect((await operator.get(`/projects/${id}`)).body).toMatchObject({ retention: kept });
    expectProblem(
      await operator.patch(`/projects/${id}/retention`, { deliveriesDays: 5 }),
      422,
      'domain-validation',
      { errors: { deliveriesDays: 'must be none, or from 60 to 36500 days' } },
    );
    expectProblem(await operator.post(`/projects/${id}/resume-sending`), 409, 'invalid-state', {
      currentState: 'SENDING',
      allowedStates: ['STOPPED'],
    });
    expectProblem(await operator.get('/projects/999999999'), 404, 'not-found');
    expectProblem(await operator.get('/projects/none'), 404, 'not-found');

    const key = await operator.post('/api-keys', {
      environmentId: liveEnvironmentId,
      name: 'Website',
      scopes: ['topics:read'],
    });
    expect([key.status, key.body]).toMatchObject([201, { createdBy: 'OPERATOR', status: 'ACTIVE' }]);
    const made = key.body as Made;
    const theirs = new ApiClient(system.baseUrl, made.key);
    expect((await theirs.get('/project')).body).toMatchObject({ projectKey: 'NEWS', environment: 'LIVE' });
    const rotated = await operator.post(`/api-keys/${made.id}/rotate`, { overlapHours: 0 });
    expect(rotated.status).toBe(201);
    await eventually('the key before is refused', async () => (await theirs.get('/project')).status === 401);
    const next = rotated.body as Made;
    expect((await operator.delete(`/api-keys/${next.id}`)).status).toBe(204);
    const keys = await operator.get(`/api-keys?projectId=${id}`);
    expect(keys.body).toMatchObject({
      data: [
        { id: next.id, status: 'REVOKED', tenantKey: 'GLOBEX', projectKey: 'NEWS' },
        { id: made.id, status: 'EXPIRED' },
      ],
      pagination: { totalElements: 2 },
    });
    expectProblem(
      await operator.post('/api-keys', { environmentId: 999_999_999, name: 'x', scopes: ['topics:read'] }),
      422,
      'domain-validation',
      { errors: { environmentId: 'is not a known environment' } },
    );
  });

  it('lists tenants and projects in pages', async () => {
    const keys = ['PAGED1', 'PAGED2', 'PAGED3'];
    for (const key of keys) await makeTenant(key);
    const seen: string[] = [];
    for (let after: string | null = ''; after !== null;) {
      const page = (await operator.get(`/tenants?size=2&after=${after}`)).body as {
        readonly data: readonly { readonly tenantKey: string }[];
        readonly pagination: { readonly next: string | null };
      };
      seen.push(...page.data.map(({ tenantKey }) => tenantKey));
      after = page.pagination.next;
    }
    expect(seen.filter((key) => keys.includes(key))).toEqual(keys);
    expect(new Set(seen).size).toBe(seen.length);
    await operator.post('/projects', { tenantKey: 'PAGED1', projectKey: 'ONE', ...PROJECT });
    const projects = await operator.get('/projects?tenantKey=PAGED1');
    expect(projects.body).toMatchObject({ data: [{ projectKey: 'ONE' }], pagination: { totalElements: 1 } });
    expectProblem(await operator.get('/projects?tenantKey=NOBODY'), 404, 'not-found');
  });

  it('takes keys of the operator alone, as the API of projects takes none of them, and says so', async () => {
    const project = await system.project();
    const { key } = await project.client('TEST');
    const wrong = expectProblem(await anybody(key).get('/tenants'), 401, 'unauthorized');
    expect(wrong['detail']).toContain('takes operator keys (mw_op_…) alone');
    const other = await new ApiClient(system.baseUrl, operator.key).get('/project');
    expect(expectProblem(other, 401, 'unauthorized')['detail']).toContain('which are for /operator/v1');
    for (const none of [null, 'x', 'mw_op_x', `${operator.key}x`])
      expect(expectProblem(await anybody(none).get('/tenants'), 401, 'unauthorized')['detail']).toContain(
        'operator key',
      );
    expectProblem(await anybody(key).get('/nothing'), 401, 'unauthorized');
    expectProblem(await operator.get('/nothing'), 404, 'not-found');
  });

  it('needs for each operation the scope that its document names', async () => {
    const document = await openApiDocument(system.baseUrl, '/operator/v1');
    const own = await openApiDocument(system.baseUrl);
    expect(Object.keys(own.paths).filter((path) => path.includes('operator'))).toEqual([]);
    const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]): [string, string, OperationObject] => [
        path,
        method.toUpperCase(),
        operation,
      ]),
    );
    expect(operations.length).toBeGreaterThan(10);
    const clients = new Map<string, ApiClient>();
    for (const [path, method, operation] of operations) {
      const scope = String(operation['x-required-scope']);
      expect(OPERATOR_SCOPES).toContain(scope);
      const others = OPERATOR_SCOPES.filter((one) => one !== scope).join(',');
      const lacking = clients.get(others) ?? (await client(others));
      clients.set(others, lacking);
      const target = path.replace('/operator/v1', '').replaceAll(/\{\w+\}/g, '1');
      const refused = await lacking.request(method, target, {});
      expectProblem(refused, 403, 'insufficient-scope', { requiredScope: scope });
      expectProblem(await anybody(null).request(method, target, {}), 401, 'unauthorized');
    }
  });

  it('refuses a key from other networks, after its end, and once it is revoked', async () => {
    const elsewhere = await client('all', '--networks', '203.0.113.0/24');
    expectProblem(await elsewhere.get('/tenants'), 403, 'network-not-allowed');
    const { id, key } = await makeKey('tenants:read');
    expect((await anybody(key).get('/tenants')).status).toBe(200);
    await runCliForJson(variables(), ['operator-key:revoke', '--id', id]);
    await eventually('it is refused', async () => (await anybody(key).get('/tenants')).status === 401);
    const ended = await makeKey('tenants:read', '--expires-in-days', '1');
    await system.database.query('update access.operator_keys set expires_at = created_at where id = $1', [
      ended.id,
    ]);
    expectProblem(await anybody(ended.key).get('/tenants'), 401, 'unauthorized');
    const list = (await runCliForJson(variables(), ['operator-key:list'])) as unknown as readonly {
      readonly id: string;
      readonly status: string;
    }[];
    const statuses = new Map(list.map((one) => [one.id, one.status]));
    expect([statuses.get(id), statuses.get(ended.id)]).toEqual(['REVOKED', 'EXPIRED']);
    expect(JSON.stringify(list)).not.toContain(key);
    const nobody = await runCli(variables(), ['operator-key:revoke', '--id', 'nothing']);
    expect([nobody.exitCode, nobody.stderr]).toEqual([1, expect.stringContaining('no operator key nothing')]);
  });

  it('answers a repeated request once more', async () => {
    const headers = { 'idempotency-key': 'tenant-again' };
    const first = await operator.post('/tenants', { tenantKey: 'AGAIN', name: 'Again' }, { headers });
    const second = await operator.post('/tenants', { tenantKey: 'AGAIN', name: 'Again' }, { headers });
    expect([second.status, second.text]).toEqual([201, first.text]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
  });

  it('keeps what the operator did in its own log, and in that of the environment', async () => {
    await makeTenant('AUDITED');
    const { body } = await operator.post('/projects', {
      tenantKey: 'AUDITED',
      projectKey: 'NEWS',
      ...PROJECT,
    });
    const { id, liveEnvironmentId } = body as { readonly id: number; readonly liveEnvironmentId: number };
    await operator.patch(`/projects/${id}`, { name: 'Other' });
    expect(await entries('changeProject')).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          actor: expect.objectContaining({ type: 'KEY', keyName: 'Ops all' }),
          target: { type: 'project', id: String(id) },
          outcome: 'SUCCEEDED',
          before: expect.objectContaining({ name: 'News' }),
          after: expect.objectContaining({ name: 'Other' }),
        }),
      ]),
    );
    const scopes = ['audit:read', 'keys:manage'];
    const made = await operator.post('/api-keys', {
      environmentId: liveEnvironmentId,
      name: 'Auditor',
      scopes,
    });
    const { key } = made.body as Made;
    const log = await new ApiClient(system.baseUrl, key).get('/audit-log?action=createProjectKey');
    const [entry] = (log.body as { readonly data: readonly Entry[] }).data;
    expect(entry).toMatchObject({
      actor: { type: 'OPERATOR' },
      outcome: 'SUCCEEDED',
      after: { name: 'Auditor' },
    });
    const own = await entries('createProjectKey');
    expect(own.map(({ requestId }) => requestId)).toContain(entry?.requestId);
    // Commands have entries, too: the key of the beginning was made by one.
    const [command] = await entries('operator-key%3Acreate');
    expect(command).toMatchObject({ actor: { type: 'OPERATOR' }, requestId: null, outcome: 'SUCCEEDED' });
    expectProblem(
      await operator.post('/tenants', { tenantKey: 'AUDITED', name: 'x' }),
      409,
      'already-exists',
    );
    const tenants = await entries('createTenant');
    expect(tenants.map(({ outcome }) => outcome)).toContain('REFUSED');
    expect(tenants.map(({ after }) => after)).toContainEqual({ tenantKey: 'AUDITED', name: 'AUDITED Ltd' });
    await operator.patch(`/projects/${id}/retention`, { eventsDays: 90 });
    expect((await entries('changeProjectRetention'))[0]).toMatchObject({
      before: { eventsDays: null },
      after: { eventsDays: 90 },
    });
    const ended = await makeKey('tenants:read');
    await runCliForJson(variables(), ['operator-key:revoke', '--id', ended.id]);
    expect((await entries('operator-key%3Arevoke'))[0]).toMatchObject({
      before: { keyId: ended.id },
      after: { keyId: ended.id, revokedAt: expect.any(String) },
    });
    const { exitCode, stdout } = await runCli(variables(), ['check:audit']);
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^0 {2}/m)]);
  });

  it('changes subscriptions, settles invoices and books credits', async () => {
    const tenant = `/tenants/${await makeTenant('BILLED')}`;
    const plans = await operator.get('/plans');
    expect((plans.body as readonly { readonly tier: string }[]).map(({ tier }) => tier)).toContain('PRO');
    expect((await operator.get(`${tenant}/subscription`)).body).toMatchObject({
      planTier: 'FREE',
      provider: 'MANUAL',
    });
    const changed = await operator.patch(`${tenant}/subscription`, {
      tier: 'STANDARD',
      currency: 'eur',
      buyer: { name: 'Billed AG', address: 'Main Street 1' },
    });
    expect([changed.status, changed.body]).toMatchObject([
      200,
      { planTier: 'STANDARD', currency: 'EUR', openInvoices: 1 },
    ]);
    const buyer = { name: 'Nobody' };
    for (const terms of [{}, { tier: 'PRO' }])
      expectProblem(
        await operator.patch(`${tenant}/subscription`, { provider: 'STRIPE', buyer, ...terms }),
        422,
        'domain-validation',
        { errors: { provider: expect.stringContaining('STRIPE_SECRET_KEY') } },
      );
    expectProblem(
      await operator.patch(`${tenant}/subscription`, { trialDays: 999 }),
      422,
      'domain-validation',
      {
        errors: { trialDays: expect.any(String) },
      },
    );
    // A project: its key is in the addresses of the invoices' pages.
    await operator.post('/projects', { tenantKey: 'BILLED', projectKey: 'NEWS', ...PROJECT });
    const list = await operator.get(`${tenant}/invoices?status=OPEN`);
    const { data } = list.body as { readonly data: readonly Readonly<Record<string, string>>[] };
    expect(data).toMatchObject([
      { status: 'OPEN', currency: 'EUR', invoiceUrl: expect.stringContaining('http') },
    ]);
    expect((await entries('listTenantInvoices'))[0]).toMatchObject({
      outcome: 'SUCCEEDED',
      target: { type: 'tenant', id: 'BILLED' },
    });
    const invoice = `/invoices/${data[0]?.['invoiceNumber']}`;
    expect((await operator.post(`${invoice}/pay`)).status).toBe(204);
    expectProblem(await operator.post(`${invoice}/void`), 409, 'invalid-state', {
      currentState: 'PAID',
      allowedStates: expect.any(Array),
    });
    expectProblem(await operator.post('/invoices/NONE-1/pay'), 404, 'not-found');
    const before = await eventually('the worker grants the credits of the plan', async () => {
      const credits = (await operator.get(`${tenant}/credits`)).body as { readonly balance: number };
      return credits.balance >= CREDITS_OF_STANDARD && credits;
    });
    const headers = { 'idempotency-key': 'grant-once' };
    for (const _ of [1, 2]) {
      const granted = await operator.post(`${tenant}/credits`, { type: 'GRANT', credits: 50 }, { headers });
      expect([granted.status, granted.body]).toMatchObject([200, { balance: before.balance + 50 }]);
    }
    expectProblem(
      await operator.post(`${tenant}/credits`, { type: 'ADJUSTMENT', credits: -1_000_000, description: 'x' }),
      422,
      'domain-validation',
      { errors: { credits: expect.stringContaining('more than there is') } },
    );
    const changes = await entries('changeTenantSubscription');
    const isOurs = ({ target, outcome }: Entry) => target.id === 'BILLED' && outcome === 'SUCCEEDED';
    expect(changes.find(isOurs)).toMatchObject({
      before: { planTier: 'FREE' },
      after: { planTier: 'STANDARD', currency: 'EUR', buyerName: 'changed', buyerAddress: 'changed' },
    });
    expect((await entries('addTenantCredits')).map(({ after }) => after)).toContainEqual({
      balance: before.balance + 50,
    });
    const cancelled = await operator.post(`${tenant}/subscription/cancel`, { reason: 'Moved' });
    expect(cancelled.body).toMatchObject({ cancelAtPeriodEnd: true, cancellationReason: 'Moved' });
    const shown = await runCli(variables(), ['subscription:show', '--tenant', 'BILLED']);
    expect(shown.stdout).toContain('Moved');
  });

  it('suspends and resumes a sending domain', async () => {
    const project = await system.project();
    const owner = await project.client('LIVE');
    const { environmentId } = project.live;
    expectProblem(await operator.get(`/sending-domains/${environmentId}`), 404, 'not-found');
    const domainName = `suspended-${environmentId}.example`;
    expect((await owner.post('/sending-domain', { domainName })).status).toBe(201);
    const suspended = await operator.post(`/sending-domains/${environmentId}/suspend`, {
      reason: 'Spam traps',
    });
    expect([suspended.status, suspended.body]).toMatchObject([
      200,
      { status: 'SUSPENDED', suspensionReason: 'Spam traps' },
    ]);
    expect((await owner.get('/sending-domain')).body).toMatchObject({ suspensionReason: 'Spam traps' });
    expect((await owner.get('/audit-log?action=suspendDomain')).body).toMatchObject({
      data: [{ actor: { type: 'OPERATOR' }, target: { type: 'sending-domain' }, outcome: 'SUCCEEDED' }],
    });
    const list = await operator.get('/sending-domains?status=SUSPENDED&size=100');
    expect(list.body).toMatchObject({
      data: expect.arrayContaining([expect.objectContaining({ domainName, environmentId })]),
    });
    // The overview may be three seconds old.
    const shown = await eventually('the overview has the domain', async () =>
      (await operator.get('/overview'))
        .at<{ domainName: string }[]>('domains')
        .find((one) => one.domainName === domainName),
    );
    expect(shown).toMatchObject({ status: 'SUSPENDED', reason: 'Spam traps' });
    expect((await operator.post(`/sending-domains/${environmentId}/resume`)).status).toBe(200);
    const again = await operator.post(`/sending-domains/${environmentId}/resume`);
    expectProblem(again, 409, 'invalid-state', {
      currentState: expect.any(String),
      allowedStates: ['SUSPENDED'],
    });
  });

  it('runs the checks that the commands run', async () => {
    for (const name of ['audit', 'credits', 'stripe']) {
      const checked = await operator.post(`/checks/${name}`);
      expect([checked.status, checked.body]).toEqual([
        200,
        { name, isCorrect: true, discrepancyCount: 0, discrepancies: [] },
      ]);
    }
    for (const name of ['automations', 'counters', 'statistics'])
      expect((await operator.post(`/checks/${name}`)).body).toMatchObject({
        name,
        isCorrect: expect.any(Boolean),
      });
    expectProblem(await operator.post('/checks/nothing'), 404, 'not-found');
  });

  it('tells at a glance what mail waits and why, and goes on telling until the key ends', async () => {
    const project = await system.project('OPSDEF');
    const { environmentId } = project.test;
    const mail = (state: string, error: string | null) =>
      system.database.query(
        `insert into messaging.deliveries (id, source_id, environment_id, created_at, next_attempt_at, queued_on, kind, address,
           address_key, message_id, state, last_error)
         values (gen_random_uuid(), gen_random_uuid(), $1, now(), now() + interval '1 hour', current_date, 'TEST', 'ada@gmail.com',
           'ada@gmail.com', 'm', $2, $3)`,
        [environmentId, state, error],
      );
    await mail('DEFERRED', '452 4.2.2 <ada@gmail.com> mailbox full 1A2B3C4D5E6F');
    await mail('DEFERRED', '452 4.2.2 <ada@gmail.com> mailbox full 9A8B7C6D5E4F');
    await mail('PENDING', null);
    const seen = (await eventually('it is counted', async () => {
      const { body } = await operator.get('/overview');
      const { projects } = body as {
        readonly projects: readonly { readonly projectKey: string; readonly deferred: number }[];
      };
      return (
        projects.some(({ deferred, projectKey }) => projectKey === project.projectKey && deferred === 2) &&
        body
      );
    })) as Readonly<Record<string, unknown>>;
    expect(seen).toMatchObject({
      deferrals: expect.arrayContaining([
        expect.objectContaining({ reason: '452 4.2.2 … mailbox full …', mails: 2, providers: ['google'] }),
      ]),
      checks: expect.arrayContaining([{ name: 'database', state: 'ok', reason: null }]),
    });
    expect((seen['minutes'] as readonly unknown[]).length).toBe(16);
    expect(JSON.stringify(seen)).not.toContain('ada@');

    const { id, key } = await makeKey('system:read');
    const stream = await fetch(`${system.baseUrl}/operator/v1/overview/stream`, {
      headers: { 'x-api-key': key },
    });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader();
    const first = String((await reader.read()).value);
    expect(first).toMatch(/^event: overview\ndata: \{"at":/);
    await runCliForJson(variables(), ['operator-key:revoke', '--id', id]);
    for (let step = await reader.read(); !step.done; step = await reader.read())
      expect(step.value).toMatch(/^event: overview/);
  });
});
