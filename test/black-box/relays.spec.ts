import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

const PASSWORD = 'a password that is never shown';

describe('relays over HTTP', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  let sink: SmtpSink;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('LIVE');
    sink = await startSmtpSink({ tls: 'starttls', credentials: { user: 'mailwright', pass: PASSWORD } });
  });
  afterAll(async () => {
    await sink?.stop();
    await system?.stop();
  });

  const ofSink = () => ({
    name: 'Our own',
    kind: 'SMTP',
    host: '127.0.0.1',
    port: sink.port,
    tls: 'OPPORTUNISTIC',
    username: 'mailwright',
    password: PASSWORD,
  });

  it('are twenty of a project at most', async () => {
    const other = await (await system.project()).client('LIVE');
    const answers: number[] = [];
    for (let n = 0; n < 20; n += 1) answers.push((await other.post('/relays', ofSink())).status);
    expect(answers).toEqual(answers.map(() => 201));
    expect((await other.post('/relays', ofSink())).body).toMatchObject({
      status: 422,
      errors: { relays: 'must be at most 20 in an environment' },
    });
  });

  it('are set up with what their kind says of what was left out, and never show their password', async () => {
    const created = await client.post('/relays', ofSink());
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      relayKey: expect.stringMatching(/^APIT-\d+$/),
      kind: 'SMTP',
      streams: ['OPT_IN', 'CAMPAIGN', 'AUTOMATION', 'TRANSACTIONAL', 'TEST'],
      priority: 1,
      weight: 1,
      connections: 5,
      ratePerSecond: null,
      signing: 'OWN',
      status: 'ACTIVE',
      options: {},
    });
    expect(created.text).not.toContain(PASSWORD);
    const { relayKey } = created.body as { relayKey: string };
    expect(created.headers.get('location')).toBe(`/api/v1/relays/${relayKey}`);
    expect((await client.get(`/relays/${relayKey}`)).body).toEqual(created.body);
    const [stored] = await system.database.query<{ password_box: string }>(
      'select password_box from deliverability.relays where environment_id = $1 and relay_key = $2',
      [project.live.environmentId, relayKey],
    );
    expect(stored?.password_box).not.toContain(PASSWORD);
  });

  it('are listed in the order in which they are tried', async () => {
    const second = await client.post('/relays', { ...ofSink(), name: 'Second', priority: 2 });
    const first = await client.post('/relays', { ...ofSink(), name: 'First' });
    const { data } = (await client.get('/relays')).body as { data: { relayKey: string }[] };
    const keys = data.map(({ relayKey }) => relayKey);
    const keyOf = ({ body }: { body: unknown }) => (body as { relayKey: string }).relayKey;
    expect(keys.indexOf(keyOf(first))).toBeLessThan(keys.indexOf(keyOf(second)));
  });

  it('say what is wrong with every field', async () => {
    const answer = await client.post('/relays', {
      name: '',
      kind: 'SMTP',
      host: 'no host',
      port: 0,
      streams: [],
      weight: 101,
      ratePerSecond: 0,
      unknown: 1,
    });
    expect(answer.status).toBe(400);
    expect(Object.keys((answer.body as { errors: object }).errors).sort()).toEqual([
      'host',
      'name',
      'port',
      'ratePerSecond',
      'streams',
      'unknown',
      'weight',
    ]);
    const unknownKind = await client.post('/relays', { name: 'x', kind: 'PIGEON' });
    expect(unknownKind.body).toMatchObject({ status: 400, errors: { kind: expect.any(String) } });
    const nowhere = await client.post('/relays', { name: 'x', kind: 'SMTP' });
    expect(nowhere.body).toMatchObject({ status: 422, errors: { host: 'is required', port: 'is required' } });
    const half = await client.post('/relays', { ...ofSink(), password: undefined });
    expect(half.body).toMatchObject({
      status: 422,
      errors: { password: expect.stringContaining('required') },
    });
    const option = await client.post('/relays', { ...ofSink(), options: { region: 'eu-west-1' } });
    expect(option.body).toMatchObject({
      status: 422,
      errors: { 'options.region': 'is no option of SMTP' },
    });
  });

  it.each([
    ['SENDGRID', { password: 'SG.key' }, '-----BEGIN PUBLIC KEY-----'],
    ['SES', { options: { region: 'eu-west-1' } }, 'mailwright'],
    ['SMTP', { host: '127.0.0.1', port: 2525 }, 'whsec_no base64'],
  ])(
    'of the kind %s say so when nothing could be proved by their feedbackKey',
    async (kind, needed, feedbackKey) => {
      const relay = { name: 'x', kind, ...needed };
      const fault = { status: 422, errors: { feedbackKey: expect.stringMatching(/^must be /) } };
      expect((await client.post('/relays', { ...relay, feedbackKey })).body).toMatchObject(fault);
      const created = await client.post('/relays', relay);
      const path = `/relays/${created.at('relayKey')}`;
      expect((await client.patch(path, { feedbackKey })).body).toMatchObject(fault);
      // Everybody can make the proof of an empty secret.
      const empty = { status: 400, errors: { feedbackKey: 'must not be empty' } };
      expect((await client.patch(path, { feedbackKey: '' })).body).toMatchObject(empty);
      expect((await client.patch(path, { feedbackKey: null })).status).toBe(200);
    },
  );

  it.each([
    ['SES', { username: 'AKIA', options: { region: 'eu-west-1' } }, 'email-smtp.eu-west-1.amazonaws.com'],
    ['POSTMARK', { username: 'a server token' }, 'smtp.postmarkapp.com'],
    ['SENDGRID', {}, 'smtp.sendgrid.net'],
    ['MAILGUN', { username: 'postmaster@mg.shop.example' }, 'smtp.mailgun.org'],
    ['BREVO', { username: '8f00@smtp-brevo.com' }, 'smtp-relay.brevo.com'],
  ])('of %s need no host', async (kind, least, host) => {
    const { status, body } = await client.post('/relays', {
      name: kind,
      kind,
      password: PASSWORD,
      ...least,
    });
    expect([status, body]).toEqual([
      201,
      expect.objectContaining({ username: 'apikey', ...least, kind, host, port: 587, tls: 'REQUIRED' }),
    ]);
  });

  it('have what their kind says of their options, and go where it says when these change', async () => {
    const create = (kind: string, options: object) => client.post('/relays', { name: kind, kind, options });
    const kept = await create('SES', { region: 'eu-west-1', configurationSet: 'a' });
    const path = `/relays/${kept.at('relayKey')}`;
    const optionsAfter = async (options: object) => (await client.patch(path, { options })).at('options');
    expect(await optionsAfter({ configurationSet: 'b' })).toEqual({
      region: 'eu-west-1',
      configurationSet: 'b',
    });
    expect(await optionsAfter({})).toEqual({ region: 'eu-west-1', configurationSet: 'b' });
    expect(await optionsAfter({ configurationSet: null })).toEqual({ region: 'eu-west-1' });
    await client.delete(path);
    const refused = [
      await create('SES', { region: 'mars', configurationSet: 'all news' }),
      await create('SENDGRID', { region: 'us' }),
      await create('MAILGUN', { region: 'global', messageStream: 'news' }),
      await create('POSTMARK', { messageStream: 'my news' }),
      await create('SES', {}),
    ].map(({ status, body }) => [status, (body as { errors: object }).errors]);
    expect(refused).toEqual([
      [
        422,
        expect.objectContaining({
          'options.region': 'must be an AWS region, as eu-west-1',
          'options.configurationSet': expect.stringContaining('must be the name of a configuration set'),
        }),
      ],
      [422, expect.objectContaining({ 'options.region': 'must be global or eu' })],
      [
        422,
        expect.objectContaining({
          'options.region': 'must be us or eu',
          'options.messageStream': 'is no option of Mailgun',
        }),
      ],
      [422, { 'options.messageStream': expect.stringContaining('must be the id of a message stream') }],
      [422, expect.objectContaining({ 'options.region': 'is required where host and port are left out' })],
    ]);
    const { relayKey } = (await create('SENDGRID', {})).body as { relayKey: string };
    const change = async (patch: object) => (await client.patch(`/relays/${relayKey}`, patch)).body;
    expect(await change({ options: { region: 'mars' } })).toMatchObject({ status: 422 });
    expect(await change({ options: { region: 'eu' } })).toMatchObject({ host: 'smtp.eu.sendgrid.net' });
    expect(await change({ password: PASSWORD })).toMatchObject({ username: 'apikey' });
    expect(await change({ host: '127.0.0.1' })).toMatchObject({ host: '127.0.0.1' });
    const without = await client.patch(`/relays/${relayKey}`, { options: { region: null } });
    expect([without.at('host'), without.at('options')]).toEqual(['127.0.0.1', {}]);
  });

  it('of Postmark never carry our signature, which it would break', async () => {
    const own = { name: 'x', kind: 'POSTMARK', signing: 'OWN' };
    const refusal = {
      status: 422,
      errors: { signing: expect.stringContaining('must be RELAY with Postmark') },
    };
    expect((await client.post('/relays', own)).body).toMatchObject(refusal);
    const { body } = await client.post('/relays', { ...own, signing: undefined });
    expect(body).toMatchObject({ signing: 'RELAY' });
    const { relayKey } = body as { relayKey: string };
    expect((await client.patch(`/relays/${relayKey}`, { signing: 'OWN' })).body).toMatchObject(refusal);
    expect((await client.get(`/relays/${relayKey}`)).body).toMatchObject({ signing: 'RELAY' });
  });

  it('say whether they would take mail, or what is wrong', async () => {
    const { body } = await client.post('/relays', ofSink());
    const { relayKey } = body as { relayKey: string };
    expect((await client.post(`/relays/${relayKey}/check`)).body).toMatchObject({
      isReady: true,
      capabilities: { pipelining: true },
    });
    expect(sink.messages).toEqual([]);
    await client.patch(`/relays/${relayKey}`, { password: 'wrong' });
    expect((await client.post(`/relays/${relayKey}/check`)).body).toMatchObject({
      isReady: false,
      stage: 'auth',
      detail: expect.stringContaining('535'),
    });
    await client.patch(`/relays/${relayKey}`, { password: PASSWORD, tls: 'REQUIRED' });
    expect((await client.post(`/relays/${relayKey}/check`)).body).toMatchObject({
      isReady: false,
      stage: 'tls',
    });
  });

  it('are changed, paused and deleted', async () => {
    const { body } = await client.post('/relays', ofSink());
    const { relayKey, feedbackUrl } = body as { relayKey: string; feedbackUrl: string };
    const changed = await client.patch(`/relays/${relayKey}`, {
      name: 'Renamed',
      status: 'PAUSED',
      username: null,
      password: null,
    });
    expect(changed.body).toMatchObject({ name: 'Renamed', status: 'PAUSED', username: null });
    const rotated = await client.post(`/relays/${relayKey}/rotate-feedback-token`);
    expect((rotated.body as { feedbackUrl: string }).feedbackUrl).not.toBe(feedbackUrl);
    expect((await client.delete(`/relays/${relayKey}`)).status).toBe(204);
    expect((await client.get(`/relays/${relayKey}`)).status).toBe(404);
    expect((await client.delete(`/relays/${relayKey}`)).status).toBe(404);
  });

  it('are nobody’s but the project’s, and need their scopes', async () => {
    const { body } = await client.post('/relays', ofSink());
    const { relayKey } = body as { relayKey: string };
    const stranger = await (await system.project()).client('LIVE');
    const inTest = await project.client('TEST');
    for (const other of [stranger, inTest]) {
      expect((await other.get(`/relays/${relayKey}`)).status).toBe(404);
      expect((await other.patch(`/relays/${relayKey}`, { name: 'Mine' })).status).toBe(404);
      expect((await other.post(`/relays/${relayKey}/check`)).status).toBe(404);
    }
    const reader = await project.client('LIVE', { scopes: ['relays:read'] });
    expect((await reader.get(`/relays/${relayKey}`)).status).toBe(200);
    expect((await reader.post('/relays', ofSink())).status).toBe(403);
  });
});
