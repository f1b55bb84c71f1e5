import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { SmtpClient } from '#testing/mail/smtp-client';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const HOUR = 3_600_000;
const CONSENT = { source: 'form' };
const ONE_CLICK = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' });
const COMMENT = {
  purpose: 'Somebody answered the person.',
  subject: 'New in {{ topic.name }}: {{ data.title }}',
  text: 'Read it: https://acme.example/1',
  data: { title: 'Stars' },
};

describe('a message about a topic', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;
  let otherTopicKey: string;
  let count = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topicOf = async (name: string) =>
      (await client.post('/topics', { name, doubleOptInEnabled: false })).at('topicKey');
    topicKey = await topicOf('Answers');
    otherTopicKey = await topicOf('News');
  });
  afterAll(async () => {
    await system?.stop();
  });

  const somebody = () => `person${(count += 1)}@example.com`;
  async function subscriber(more: object = {}, email = somebody()): Promise<string> {
    const person = { email, topicKeys: [topicKey, otherTopicKey], consent: CONSENT, ...more };
    expect((await client.post('/subscribers', person)).status).toBe(201);
    return email;
  }
  const notify = (to: string, more: object = {}) =>
    client.post('/messages', { to, topicKey, ...COMMENT, ...more });
  const expectNotSubscribed = (answer: ApiAnswer, topic = topicKey) =>
    expectProblem(answer, 409, 'not-subscribed', { recipients: { to: `is not subscribed to ${topic}` } });
  const ended = (id: string) =>
    eventually(`message ${id} has ended`, async () => {
      const message = await client.get(`/messages/${id}`);
      return ['SCHEDULED', 'QUEUED'].includes(message.at('status')) ? null : message;
    });
  async function openedMail(email: string) {
    const id = await eventually(`a mail to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=MESSAGE&to=${encodeURIComponent(email)}`);
      return list.at<string | undefined>('data', 0, 'id') ?? null;
    });
    return client.get(`/test-inbox/messages/${id}`);
  }
  async function mailTo(email: string) {
    const opened = await openedMail(email);
    const raw = await client.get(`/test-inbox/messages/${opened.at('id')}/raw`);
    const mail = await PostalMime.parse(raw.text);
    const headers = Object.fromEntries(mail.headers.map(({ key, value }) => [key, value]));
    const links = opened.at<{ unsubscribe: string; preferences: string }>('links');
    return { ...mail, headers, links, shown: opened };
  }
  async function statusesOf(email: string) {
    const consents = await client.get(`/subscribers/${encodeURIComponent(email)}/consents`);
    const found = consents.at<{ topicKey: string; status: string }[]>('consents');
    return Object.fromEntries(found.map((consent) => [consent.topicKey, consent.status]));
  }

  it('can be left by one click, which ends the consent to its topic and says by which mail', async () => {
    const email = await subscriber();
    const sent = await notify(email);
    expect([sent.status, sent.at('topicKey'), sent.at('status')]).toEqual([202, topicKey, 'QUEUED']);
    expect((await ended(sent.at('id'))).body).toMatchObject({ status: 'SENT', topicKey });
    const { subject, headers, links, text = '', messageId } = await mailTo(email);
    expect(subject).toBe('New in Answers: Stars');
    expect(headers).toMatchObject({
      'list-unsubscribe': expect.stringContaining(`<${links.unsubscribe}>, <mailto:`),
      'list-unsubscribe-post': 'List-Unsubscribe=One-Click',
      'list-id': expect.stringMatching(/^Answers <[^>]+>$/),
      'feedback-id': `${topicKey}:${project.projectKey}:message:mailwright`,
      'auto-submitted': 'auto-generated',
    });
    expect(text).toContain(links.unsubscribe);
    expect(text).toContain(links.preferences);
    expect(text).not.toContain('/v/');
    expect((await fetch(links.unsubscribe)).status).toBe(200);
    expect((await statusesOf(email))[topicKey]).toBe('SUBSCRIBED');

    const left = await fetch(links.unsubscribe, { method: 'POST', body: ONE_CLICK });
    expect(left.status).toBe(200);
    expect(await statusesOf(email)).toEqual({ [topicKey]: 'UNSUBSCRIBED', [otherTopicKey]: 'SUBSCRIBED' });
    const record = await client.get(`/subscribers/${email}/consent-records`);
    expect(record.at<object[]>('data')).toContainEqual(
      expect.objectContaining({ topicKey, toStatus: 'UNSUBSCRIBED', messageId }),
    );
    expectNotSubscribed(await notify(email));
    expect((await notify(email, { topicKey: otherTopicKey })).status).toBe(202);
    expect((await notify(email, { topicKey: null, subject: 'Receipt' })).status).toBe(202);
  });

  it('can be left by a mail to its unsubscribe address, too', async () => {
    const email = await subscriber();
    expect((await notify(email)).status).toBe(202);
    const { headers } = await mailTo(email);
    const [, address = ''] = /<mailto:([^>]+)>/.exec(headers['list-unsubscribe'] ?? '') ?? [];
    const smtp = await SmtpClient.open(system.bouncePort);
    expect(await smtp.send(email, [address], 'Subject: unsubscribe\r\n\r\n')).toMatch(/^250 /);
    smtp.close();
    await eventually('the person has left', async () => {
      const statuses = await statusesOf(email);
      return statuses[topicKey] === 'UNSUBSCRIBED' && statuses[otherTopicKey] === 'SUBSCRIBED';
    });
  });

  it('is one of a batch as it is by itself', async () => {
    const [ada, nobody] = [await subscriber(), somebody()];
    const messages = [ada, nobody, nobody].map((to, index) => ({
      ...COMMENT,
      to,
      topicKey: index === 2 ? otherTopicKey : topicKey,
    }));
    const each = await client.post('/messages/batch', { messages, mode: 'EACH' });
    expect(each.at('results')).toMatchObject([
      { message: { to: ada, topicKey } },
      { problem: { recipients: { 'messages[1].to': `is not subscribed to ${topicKey}` } } },
      { problem: { recipients: { 'messages[2].to': `is not subscribed to ${otherTopicKey}` } } },
    ]);
    expectProblem(await client.post('/messages/batch', { messages }), 422, 'domain-validation', {
      errors: {
        'messages[1].to': `is not subscribed to ${topicKey}`,
        'messages[2].to': `is not subscribed to ${otherTopicKey}`,
      },
    });
  });

  it('has its footer in the language of its reader, and blocks with links of their own', async () => {
    const email = await subscriber({ locale: 'de' });
    const html =
      '<p>{{ topic.name }}</p><p><a href="{{ links.unsubscribe }}">Genug davon</a> <a href="{{ links.preferences }}">Mehr</a></p>';
    const contentJson = JSON.stringify({ blocks: [{ type: 'text', html }] });
    expect((await notify(email, { text: null, contentJson })).status).toBe(202);
    const mail = await mailTo(email);
    expect(mail.html).toContain('Genug davon');
    expect(mail.html).toContain(mail.links.preferences);
    expect(mail.html).not.toContain('abbestellen');

    const other = await subscriber({ locale: 'de' });
    expect((await notify(other)).status).toBe(202);
    expect((await mailTo(other)).text).toMatch(/\n--\n[^]*E-Mails abbestellen: http/);

    const third = await subscriber({ locale: 'de' });
    const page = '<!doctype html><html><body><p>{{ data.title }} in {{ topic.name }}</p></body></html>';
    expect((await notify(third, { text: null, html: page })).status).toBe(202);
    const { html: shown, links } = await mailTo(third);
    expect(shown).toContain('Stars in Answers');
    const [, href] = /href="([^"]+)"[^>]*>E-Mails abbestellen/.exec(shown ?? '') ?? [];
    expect(href).toBe(links.unsubscribe);
  });

  it('goes to nobody who is not subscribed, and has no copies', async () => {
    expectNotSubscribed(await notify(somebody()));
    const asked = await client.post('/topics', { name: 'Asked', doubleOptInEnabled: true });
    const pending = await subscriber({ topicKeys: [asked.at('topicKey')] });
    expectNotSubscribed(await notify(pending, { topicKey: asked.at('topicKey') }), asked.at('topicKey'));

    const email = await subscriber();
    for (const field of ['cc', 'bcc'])
      expectProblem(await notify(email, { [field]: [somebody()] }), 400, 'validation-error', {
        errors: { [field]: 'must be empty with topicKey: only the reader in to may leave the topic' },
      });
    const elsewhere = await (await system.project('ELSE')).client('TEST');
    const foreign = (await elsewhere.post('/topics', { name: 'Foreign' })).at('topicKey');
    for (const unknown of [foreign, 'NONE-1', 'no key'])
      expectProblem(await notify(email, { topicKey: unknown }), 422, 'domain-validation', {
        errors: { topicKey: 'is not a known topic' },
      });
    const off = await client.post('/topics', { name: 'Off' });
    await client.patch(`/topics/${off.at('topicKey')}`, { status: 'INACTIVE' });
    expectProblem(await notify(email, { topicKey: off.at('topicKey') }), 422, 'domain-validation', {
      errors: { topicKey: 'is an inactive topic' },
    });
  });

  it('alone may name its topic and its links, and none has a page on the web', async () => {
    const email = await subscriber();
    const faultOf = async (message: object) => {
      const { status, body } = await notify(email, message);
      return [status, (body as { errors?: unknown }).errors];
    };
    for (const name of ['topic.name', 'links.unsubscribe', 'links.preferences'])
      expect(await faultOf({ topicKey: null, subject: `A {{ ${name} }}` })).toEqual([
        422,
        { subject: `has {{ ${name} }}, which only messages with topicKey have` },
      ]);
    for (const name of ['links.view', 'campaign.name'])
      expect(await faultOf({ subject: `A {{ ${name} }}` })).toEqual([
        422,
        { subject: `has {{ ${name} }}, which messages do not have` },
      ]);
    const hidden = JSON.stringify({
      blocks: [
        { type: 'html', html: '<p>Hi <a href="{{ links.unsubscribe }}" style="color:#fff">leave</a></p>' },
      ],
    });
    expect(await faultOf({ text: null, contentJson: hidden })).toEqual([
      422,
      { contentJson: 'has no unsubscribe link that a reader can see' },
    ]);
  });

  it('is marketing: who left everything gets none, and gets receipts still', async () => {
    const [left, blocked] = [await subscriber(), await subscriber()];
    await client.post('/suppressions', { email: left });
    await client.post('/suppressions', { email: blocked, reason: 'BLOCKED' });
    for (const email of [left, blocked])
      expectProblem(await notify(email), 409, 'suppressed', { recipients: { to: 'is suppressed' } });
    expect((await notify(left, { topicKey: null, subject: 'Receipt' })).status).toBe(202);
  });

  it.each([
    [
      'leaves its topic',
      'unsubscribed',
      (email: string) => client.delete(`/subscribers/${email}/consents/${topicKey}`),
    ],
    ['leaves everything', 'suppressed', (email: string) => client.post('/suppressions', { email })],
    [
      'moves to another address',
      'unsubscribed',
      (email: string) => client.patch(`/subscribers/${email}`, { email: somebody() }),
    ],
  ])('is not sent to a person who %s between call and wire', async (_, reason, leave) => {
    const email = await subscriber();
    const sent = await notify(email, { scheduledAt: new Date(Date.now() + HOUR).toISOString() });
    expect(sent.at('status')).toBe('SCHEDULED');
    expect((await leave(email)).status).toBeLessThan(300);
    await client.patch(`/messages/${sent.at('id')}`, {
      scheduledAt: new Date(Date.now() - 1_000).toISOString(),
    });
    expect((await ended(sent.at('id'))).body).toMatchObject({ status: 'SUPPRESSED', failureReason: reason });
    const inbox = await client.get(`/test-inbox/messages?to=${encodeURIComponent(email)}`);
    expect(inbox.at('data')).toEqual([]);
  });

  it('is not sent about a topic that was deleted meanwhile, whose key it keeps', async () => {
    const topic = (await client.post('/topics', { name: 'Short', doubleOptInEnabled: false })).at('topicKey');
    const email = await subscriber({ topicKeys: [topic] });
    const scheduledAt = new Date(Date.now() + HOUR).toISOString();
    const sent = await notify(email, { topicKey: topic, scheduledAt });
    expect((await client.delete(`/topics/${topic}`)).status).toBe(204);
    await client.patch(`/messages/${sent.at('id')}`, {
      scheduledAt: new Date(Date.now() - 1_000).toISOString(),
    });
    expect((await ended(sent.at('id'))).body).toMatchObject({
      status: 'SUPPRESSED',
      failureReason: 'unsubscribed',
      topicKey: topic,
    });
  });

  it('is sent or not, and never by a call after its reader left, when both happen at once', async () => {
    const people = await Promise.all(Array.from({ length: 40 }, () => subscriber()));
    await Promise.all(
      people.map(async (email, index) => {
        const leaving = async () => {
          for (let turn = 0; turn < index % 5; turn += 1) await client.get('/project');
          return client.delete(`/subscribers/${email}/consents/${topicKey}`);
        };
        const [sent, left] = await Promise.all([notify(email), leaving()]);
        expect(left.status).toBeLessThan(300);
        expect([202, 409]).toContain(sent.status);
        expectNotSubscribed(await notify(email));
        if (sent.status === 202)
          expect(['SENT', 'SUPPRESSED']).toContain((await ended(sent.at('id'))).at('status'));
      }),
    );
    const mails = await system.database.query<{ mails: number }>(
      `select count(*)::int as mails from messaging.test_inbox_messages
       where environment_id = $1 and to_address = any($2) group by to_address having count(*) > 1`,
      [project.test.environmentId, people],
    );
    expect(mails).toEqual([]);
  });

  it('is exported with its topic, and erased with its reader, whose link still leads to a page', async () => {
    const email = await subscriber();
    const sent = await notify(email);
    await ended(sent.at('id'));
    const { links } = await mailTo(email);
    const exported = await client.get(`/subscribers/${email}/export`);
    expect(exported.at('messages')).toMatchObject([{ id: sent.at('id'), to: email, topicKey }]);

    const erased = await client.delete(`/subscribers/${email}`);
    expect(erased.status).toBeLessThan(300);
    await eventually('the message is erased', async () => {
      const message = await client.get(`/messages/${sent.at('id')}`);
      return message.at('to') === '' ? message : null;
    });
    expect((await fetch(links.unsubscribe)).status).toBe(200);
    expect((await fetch(links.unsubscribe, { method: 'POST', body: ONE_CLICK })).status).toBe(200);
  });
});
