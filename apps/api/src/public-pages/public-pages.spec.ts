import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import {
  AddressDigestsService,
  audienceEntities,
  AudienceModule,
  AudiencePortsModule,
  consentProof,
  PersonalDataService,
  UnsubscriptionRepository,
  SignUpService,
  SuppressionsService,
  TopicsService,
} from '#audience';
import { newId, parseEmailAddress, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import {
  MailPersonalDataService,
  messagingEntities,
  OptInMailQueue,
  OptInMailsModule,
  LinkedMailsService,
} from '#messaging';
import { Database, type LinkKind, LinkTokens, loadConfig, PlatformModule } from '#platform';
import { createHttpAdapter, HttpKitModule, useHttpKit } from '#platform/http';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { tracesOf } from '#testing/postgres/traces';
import { AccessApiModule } from '../access/access-api.module.js';
import { registerFormParsers } from './form-body.js';
import { PublicPagesModule } from './public-pages.module.js';

const NOW = new Date('2026-03-01T00:00:00.000Z');
const HOUR_MS = 3_600_000;
const FORM = 'application/x-www-form-urlencoded';

describe('public pages', () => {
  let test: TestDatabase;
  let app: NestFastifyApplication;
  let clock: ManualClock;
  let scope: ProjectScope;

  beforeAll(async () => {
    test = await createTestDatabase();
    clock = new ManualClock(NOW);
    scope = (await createProject(test)).live;
    await test.query(`update access.projects set reply_to = 'news@acme.test' where id = $1`, [
      scope.projectId,
    ]);
    const config = loadConfig({ NODE_ENV: 'test', DATABASE_URL: test.url });
    const logger = pino({ level: 'silent' });
    const entities = [...audienceEntities, ...messagingEntities];
    const platform = PlatformModule.register({ config, logger, entities, applicationName: 'spec', clock });
    const ports = AudiencePortsModule.by([OptInMailsModule], { optInMails: OptInMailQueue });
    const imports = [platform, HttpKitModule, AccessApiModule, ports, AudienceModule, PublicPagesModule];
    // MailPersonalDataService is a provider of the worker.
    @Module({ imports, providers: [MailPersonalDataService] })
    class PagesModule {}
    const adapter = createHttpAdapter({ config, clock, logger });
    app = await NestFactory.create<NestFastifyApplication>(PagesModule, adapter, {
      bodyParser: false,
      logger: false,
      abortOnError: false,
    });
    useHttpKit(app);
    registerFormParsers(app.getHttpAdapter().getInstance());
    await app.init();
  });
  afterAll(async () => {
    await app.close();
    await test.drop();
  });

  const tokenOf = (kind: LinkKind, id: string) =>
    app.get(LinkTokens).sign({ kind, environmentId: scope.environmentId, id, expiresAt: null });
  const get = (url: string) => app.inject({ url });
  const post = (url: string, payload = '', type = FORM) =>
    app.inject({ method: 'POST', url, payload, headers: { 'content-type': type, 'user-agent': 'Spec/1' } });

  /** Someone new who consented to both topics: “Plain”, and “Careful” with double opt-in. */
  async function subscribe() {
    const topics = [
      await app.get(TopicsService).create(scope, { name: 'Plain', doubleOptInEnabled: false }),
      await app.get(TopicsService).create(scope, { name: 'Careful & <b>', doubleOptInEnabled: true }),
    ];
    const parsed = parseEmailAddress(`jane-${newId()}@example.org`);
    if (!('address' in parsed)) throw new Error(parsed.fault);
    const { address } = parsed;
    const topicKeys = topics.map(({ topicKey }) => topicKey);
    const { id } = await app
      .get(SignUpService)
      .create(scope, { address, topicKeys, source: 'API' }, consentProof('API_KEY', null));
    const [request] = await test.query<{ id: string }>(
      `select id from audience.confirmations where subscriber_id = $1`,
      [id],
    );
    return { id, address, topics, request: request!.id, confirm: `/c/${tokenOf('confirm', request!.id)}` };
  }

  const statusesOf = async (subscriberId: string) =>
    Object.fromEntries(
      (
        await test.query<{ name: string; status: string }>(
          `select t.name, c.status from audience.consents c join audience.topics t on t.id = c.topic_id where c.subscriber_id = $1`,
          [subscriberId],
        )
      ).map(({ name, status }) => [name, status]),
    );
  const confirmationsOf = (subscriberId: string) =>
    test.query(`select id from audience.confirmations where subscriber_id = $1`, [subscriberId]);

  describe('languages', () => {
    const inLanguages = (url: string, accept: string) =>
      app.inject({ url, headers: { 'accept-language': accept } });
    const languageOf = async (url: string, accept = 'pl;q=0.5, he;q=0.9, tlh') => {
      const { headers, body } = await inLanguages(url, accept);
      expect(body).toContain(`<html lang="${String(headers['content-language'])}"`);
      expect(headers['vary']).toMatch(/accept-language/i);
      return headers['content-language'];
    };
    const setLocale = (id: string, locale: string | null) =>
      test.query('update audience.subscribers set locale = $2 where id = $1', [id, locale]);

    it('are the chosen, the subscriber’s, the mail’s, the browser’s, the project’s, in this order', async () => {
      const { id, address, topics } = await subscribe();
      const deliveryId = await deliver(id, address, [topics[0]!.id]);
      const link = `/u/${tokenOf('unsubscribe', deliveryId)}`;
      await test.query(`update access.projects set default_locale = 'sv' where id = $1`, [scope.projectId]);
      expect(await languageOf(link, 'tlh')).toBe('sv');
      expect(await languageOf(link, '*')).toBe('sv');
      await test.query(`update access.projects set default_locale = 'en' where id = $1`, [scope.projectId]);
      expect(await languageOf(link)).toBe('he');
      await test.query(`update messaging.deliveries set locale = 'fr-CA' where id = $1`, [deliveryId]);
      expect(await languageOf(link)).toBe('fr');
      await setLocale(id, 'ja');
      expect(await languageOf(link)).toBe('ja');
      expect(await languageOf(`/p/${tokenOf('preferences', id)}`)).toBe('ja');
      expect(await languageOf(`${link}?lang=de`)).toBe('de');
      expect(await languageOf(`${link}?lang=<b>`)).toBe('ja');
      expect(await languageOf('/u/nobodys?lang=ar', 'pl')).toBe('ar');
      expect(await languageOf('/u/nobodys', 'pl')).toBe('pl');
    });

    it('have the names of topics, and the project’s own words, which the record of a consent names', async () => {
      const { id, topics, confirm } = await subscribe();
      const translations = { 'de-CH': { name: 'Sorgfältig' } };
      await test.query('update audience.topics set translations = $2 where id = $1', [
        topics[1]!.id,
        translations,
      ]);
      await test.query(
        `insert into access.project_texts (project_id, locale, version, texts, created_at) values ($1, 'de', 7, $2, now())`,
        [scope.projectId, { 'confirm.button': 'Ja, gern' }],
      );
      await setLocale(id, 'de-CH');
      const page = await get(confirm);
      expect(page.body).toContain('<bdi>Sorgfältig<');
      expect(page.body).toContain('Ja, gern');
      expect((await get(`/p/${tokenOf('preferences', id)}`)).body).toContain('<bdi>Sorgfältig<');
      expect((await post(confirm)).statusCode).toBe(200);
      await post(`/p/${tokenOf('preferences', id)}`, `leave=${topics[1]!.topicKey}`);
      await post(`/p/${tokenOf('preferences', id)}`, `join=${topics[1]!.topicKey}`);
      const records = await test.query(
        `select text_locale, text_version, consent_text from audience.consent_ledger
         where subscriber_id = $1 and actor = 'SUBSCRIBER_PAGE' and to_status = 'SUBSCRIBED' order by position`,
        [id],
      );
      const inGerman = { text_locale: 'de', text_version: 7 };
      expect(records).toEqual([
        {
          ...inGerman,
          consent_text: expect.stringMatching(
            /j•••@example\.org.*\nSorgfältig\nSie können sich jederzeit .*\nJa, gern$/,
          ),
        },
        { ...inGerman, consent_text: expect.stringContaining('Sorgfältig') },
      ]);
    });

    it('are those of the line that a one-click unsubscribe answers with', async () => {
      const { id, address, topics } = await subscribe();
      await setLocale(id, 'de');
      const deliveryId = await deliver(id, address, [topics[0]!.id]);
      const done = await post(`/u/${tokenOf('unsubscribe', deliveryId)}`, 'List-Unsubscribe=One-Click');
      expect(done.headers).toMatchObject({ 'content-language': 'de', vary: 'Accept-Language' });
    });
  });

  describe('confirming', () => {
    it('takes a press of the button: neither GET nor HEAD confirms', async () => {
      const { id, confirm } = await subscribe();
      const page = await get(confirm);
      expect(page.statusCode).toBe(200);
      expect(page.body).toContain('Careful &amp; &lt;b&gt;');
      expect(page.body).toContain('j•••@example.org');
      expect(page.body).not.toContain('Plain');
      expect((await app.inject({ method: 'HEAD', url: confirm })).statusCode).toBe(200);
      expect(await statusesOf(id)).toMatchObject({ 'Careful & <b>': 'PENDING_CONFIRMATION' });

      const done = await post(confirm);
      expect(done.statusCode).toBe(200);
      expect(done.body).toContain('You’re subscribed');
      expect(await statusesOf(id)).toEqual({ Plain: 'SUBSCRIBED', 'Careful & <b>': 'SUBSCRIBED' });
      const [record] = await test.query(
        `select actor, user_agent, ip_address from audience.consent_ledger where subscriber_id = $1 and to_status = 'SUBSCRIBED' and from_status is not null`,
        [id],
      );
      expect(record).toEqual({ actor: 'SUBSCRIBER_PAGE', user_agent: 'Spec/1', ip_address: '127.0.0.1' });
    });

    it('is friendly to whoever comes again', async () => {
      const { confirm } = await subscribe();
      await post(confirm);
      for (const page of [await get(confirm), await post(confirm)]) {
        expect(page.statusCode).toBe(200);
        expect(page.body).toContain('Already confirmed');
      }
      const { body } = await post(confirm, 'action=resend');
      expect(body).toContain('Nothing to confirm');
      expect(body).toMatch(/j•••@example\.org.* is subscribed already[^]*<bdi>Careful/);
      expect(body).not.toContain('sign up again');
    });

    it('says when the link has expired, and sends a new one, though not again and again', async () => {
      const { id, confirm } = await subscribe();
      clock.advance(49 * HOUR_MS);
      expect((await get(confirm)).statusCode).toBe(410);
      expect((await post(confirm)).statusCode).toBe(410);
      expect(await statusesOf(id)).toMatchObject({ 'Careful & <b>': 'PENDING_CONFIRMATION' });
      expect((await post(confirm, 'action=resend')).body).toContain('Check your inbox');
      expect(await confirmationsOf(id)).toHaveLength(2);
      expect((await post(confirm, 'action=resend')).body).toContain('An email was sent already');
      expect(await confirmationsOf(id)).toHaveLength(2);
    });

    it('is over when the time in the link itself is, whatever is left of the request’s', async () => {
      const { id, request } = await subscribe();
      const { environmentId } = scope;
      const sign = (expiresAt: Date) =>
        `/c/${app.get(LinkTokens).sign({ kind: 'confirm', environmentId, id: request, expiresAt })}`;
      const old = sign(new Date(clock.now().getTime() - 120_000));
      for (const page of [await get(old), await post(old)]) {
        expect(page.statusCode).toBe(410);
        expect(page.body).toContain('action');
      }
      expect(await statusesOf(id)).toMatchObject({ 'Careful & <b>': 'PENDING_CONFIRMATION' });
      expect((await post(old, 'action=resend')).body).toContain('Check your inbox');
      expect((await post(sign(new Date(clock.now().getTime() + HOUR_MS)))).statusCode).toBe(200);
      expect((await get(old)).body).toContain('Already confirmed');
    });

    it('is over when the subscription was withdrawn', async () => {
      const { id, confirm } = await subscribe();
      await post(`/p/${tokenOf('preferences', id)}`, 'confirm=everything');
      for (const page of [await get(confirm), await post(confirm)]) {
        expect(page.statusCode).toBe(404);
        expect(page.body).toContain('This link is no longer valid');
        expect(page.body).not.toContain('example.org');
      }
    });
  });

  describe('unsubscribing', () => {
    let reader: Awaited<ReturnType<typeof subscribe>>;
    let deliveryId: string;
    let link: string;

    beforeEach(async () => {
      reader = await subscribe();
      deliveryId = await deliver(reader.id, reader.address, [reader.topics[0]!.id]);
      link = `/u/${tokenOf('unsubscribe', deliveryId)}`;
    });

    it('takes a press of a button: GET unsubscribes from nothing', async () => {
      const page = await get(link);
      expect(page.statusCode).toBe(200);
      expect(page.body).toContain('Unsubscribe from <bdi>Plain</bdi>');
      expect(page.body).not.toContain('Careful');
      expect(await statusesOf(reader.id)).toMatchObject({ Plain: 'SUBSCRIBED' });
    });

    it.each([
      [FORM, 'List-Unsubscribe=One-Click'],
      [
        'multipart/form-data; boundary=b',
        '--b\r\ncontent-disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
      ],
      [FORM, ''],
    ])('is done at once by a one-click post, as often as it comes (RFC 8058, %s, %#)', async (type, body) => {
      for (let time = 0; time < 2; time += 1) {
        const reply = await post(link, body, type);
        expect(reply.statusCode).toBe(200);
        expect(reply.headers).not.toHaveProperty('set-cookie');
        expect(reply.headers).not.toHaveProperty('location');
        expect(reply.body).toBe('You have been unsubscribed.\n');
      }
      expect(await statusesOf(reader.id)).toMatchObject({
        Plain: 'UNSUBSCRIBED',
        'Careful & <b>': 'PENDING_CONFIRMATION',
      });
      const records = await test.query(
        `select actor, actor_id from audience.consent_ledger where subscriber_id = $1 and to_status = 'UNSUBSCRIBED'`,
        [reader.id],
      );
      expect(records).toEqual([{ actor: 'ONE_CLICK', actor_id: deliveryId }]);
    });

    it('leaves the topics of the mail by the one button and everything by the other', async () => {
      expect((await post(link, 'scope=topics')).body).toContain('won’t send you emails any more about');
      expect(await statusesOf(reader.id)).toMatchObject({ 'Careful & <b>': 'PENDING_CONFIRMATION' });
      expect((await post(link, 'scope=everything')).body).toContain('unsubscribed from everything');
      expect(await statusesOf(reader.id)).toEqual({ Plain: 'UNSUBSCRIBED', 'Careful & <b>': 'UNSUBSCRIBED' });
      const suppressed = await test.query(`select reason from audience.suppressions where email_key = $1`, [
        reader.address.key,
      ]);
      expect(suppressed).toEqual([{ reason: 'GLOBAL_UNSUBSCRIBE' }]);
    });

    it('says that receipts still come, unless the address gets no mail at all', async () => {
      const stillCome = 'Only emails about your account or your orders may still come.';
      for (const ask of [() => get(link), () => post(link, 'scope=everything'), () => get(link)])
        expect((await ask()).body).toContain(stillCome);
      const proof = consentProof('API_KEY', 'key-1');
      await app.get(SuppressionsService).suppress(scope, reader.address, 'BLOCKED', proof);
      for (const ask of [() => get(link), () => post(link, 'scope=everything')]) {
        const { body } = await ask();
        expect(body).toContain('You’re unsubscribed from everything');
        expect(body).not.toContain(stillCome);
      }
    });

    it('says to whoever comes again that it is done', async () => {
      await post(link, 'List-Unsubscribe=One-Click');
      const left = await get(link);
      expect(left.body).toContain('You’re unsubscribed');
      expect(left.body).not.toContain('You get emails from');
      expect(left.body).toContain('Unsubscribe from everything');
      await post(link, 'scope=everything');
      expect((await get(link)).body).toContain('You’re unsubscribed from everything');
    });

    it('says so as well where the topic is not active any more', async () => {
      await post(link, 'scope=topics');
      await app.get(TopicsService).update(scope, reader.topics[0]!.topicKey, { status: 'INACTIVE' });
      expect((await get(link)).body).toContain('You’re unsubscribed');
    });

    describe('by mistake', () => {
      const undoIn = ({ body }: { readonly body: string }) =>
        /name="undo" value="([^"]*)"/.exec(body)?.[1] ?? null;
      const consentsOf = (id: string) =>
        test.query('select * from audience.consents where subscriber_id = $1 order by topic_id', [id]);
      const recordsOf = (id: string) =>
        test.query(
          `select from_status, to_status, actor, actor_id, source, consent_text, text_locale from audience.consent_ledger
           where subscriber_id = $1 and source = 'undo' order by position`,
          [id],
        );
      const mailsAsked = async () =>
        (
          await test.query<{ mails: number }>(
            `select count(*)::int as mails from messaging.deliveries where kind = 'OPT_IN'`,
          )
        )[0]?.mails;

      it('is undone on the page that follows, exactly and once, which the record tells', async () => {
        const before = await consentsOf(reader.id);
        clock.advance(60_000);
        const left = await post(link, 'scope=topics');
        const id = undoIn(left);
        expect(left.body).toContain('That was a mistake: keep me subscribed');
        expect((await get(link)).body).toContain(`name="undo" value="${id}"`);
        expect(await consentsOf(reader.id)).not.toEqual(before);
        const undone = await post(link, `undo=${id}`);
        expect(undone.statusCode).toBe(200);
        expect(undone.body).toContain('Your unsubscription is undone');
        expect(undone.body).toContain('<bdi>Plain</bdi>');
        expect(await consentsOf(reader.id)).toEqual(before);
        expect(await recordsOf(reader.id)).toEqual([
          {
            from_status: 'UNSUBSCRIBED',
            to_status: 'SUBSCRIBED',
            actor: 'SUBSCRIBER_PAGE',
            actor_id: deliveryId,
            source: 'undo',
            consent_text: 'That was a mistake: keep me subscribed',
            text_locale: 'en',
          },
        ]);
        // A double click.
        const again = await post(link, `undo=${id}`);
        expect(again.statusCode).toBe(200);
        expect(again.body).toBe(undone.body);
        expect(await recordsOf(reader.id)).toHaveLength(1);
        await post(link, 'scope=topics');
        const stale = await post(link, `undo=${id}`);
        expect(stale.statusCode).toBe(410);
        expect(stale.body).toContain('can’t be undone any more');
        expect(await recordsOf(reader.id)).toHaveLength(1);
      });

      it('is undone for everything with its suppression, and asks for no confirmation anew', async () => {
        const before = await consentsOf(reader.id);
        const asked = await mailsAsked();
        const id = undoIn(await post(link, 'scope=everything'));
        expect(undoIn(await post(link, 'scope=everything'))).toBe(id);
        const undone = await post(link, `undo=${id}`);
        expect(undone.body).toContain('<bdi>Plain</bdi>');
        expect(undone.body).not.toContain('Careful');
        expect(await consentsOf(reader.id)).toEqual(before);
        expect(await mailsAsked()).toBe(asked);
        const [now] = await test.query('select status from audience.subscribers where id = $1', [reader.id]);
        expect(now).toEqual({ status: 'ACTIVE' });
        expect(
          await test.query('select 1 from audience.suppressions where email_key = $1', [reader.address.key]),
        ).toEqual([]);
        expect((await post(reader.confirm)).statusCode).toBe(200);
        expect(await statusesOf(reader.id)).toEqual({ Plain: 'SUBSCRIBED', 'Careful & <b>': 'SUBSCRIBED' });
      });

      it('brings back only what this unsubscription took', async () => {
        const preferences = `/p/${tokenOf('preferences', reader.id)}`;
        const first = undoIn(await post(link, 'scope=topics'));
        await post(preferences, `leave=${reader.topics[1]!.topicKey}`);
        expect((await post(link, `undo=${first}`)).statusCode).toBe(200);
        expect(await statusesOf(reader.id)).toEqual({ Plain: 'SUBSCRIBED', 'Careful & <b>': 'UNSUBSCRIBED' });
        // Left again since: that is no part of the first one.
        const second = undoIn(await post(link, 'scope=topics'));
        await post(preferences, `join=${reader.topics[0]!.topicKey}`);
        clock.advance(1_000);
        await post(preferences, `leave=${reader.topics[0]!.topicKey}`);
        await post(link, `undo=${second}`);
        expect(await statusesOf(reader.id)).toEqual({
          Plain: 'UNSUBSCRIBED',
          'Careful & <b>': 'UNSUBSCRIBED',
        });
      });

      it('is not undone a day later, by the link of another mail, or by opening a page', async () => {
        const other = await deliver(reader.id, reader.address, [reader.topics[0]!.id]);
        const id = undoIn(await post(link, 'scope=topics'));
        for (const foreign of [
          `/u/${tokenOf('unsubscribe', other)}`,
          `/p/${tokenOf('preferences', reader.id)}`,
        ])
          expect((await post(foreign, `undo=${id}`)).statusCode).toBe(410);
        for (const wrong of ['', 'x', newId()])
          expect((await post(link, `undo=${wrong}`)).statusCode).toBe(410);
        await get(`${link}?undo=${id}`);
        expect(await statusesOf(reader.id)).toMatchObject({ Plain: 'UNSUBSCRIBED' });
        clock.advance(24 * HOUR_MS);
        expect(undoIn(await get(link))).toBeNull();
        expect((await post(link, `undo=${id}`)).statusCode).toBe(410);
        await app.get(UnsubscriptionRepository).removeOld();
        expect(await test.query('select 1 from audience.unsubscriptions')).toEqual([]);
      });

      it('stays as it is once somebody else has suppressed the address', async () => {
        const id = undoIn(await post(link, 'scope=everything'));
        const proof = consentProof('COMPLAINT', deliveryId);
        await app.get(SuppressionsService).suppress(scope, reader.address, 'SPAM_COMPLAINT', proof);
        expect(undoIn(await get(link))).toBeNull();
        expect((await post(link, `undo=${id}`)).statusCode).toBe(410);
        expect(await statusesOf(reader.id)).toMatchObject({ Plain: 'UNSUBSCRIBED' });
      });

      it('is undone on the page of preferences as well, a topic and everything', async () => {
        const preferences = `/p/${tokenOf('preferences', reader.id)}`;
        const before = await consentsOf(reader.id);
        for (const choice of [`leave=${reader.topics[0]!.topicKey}`, 'confirm=everything']) {
          const id = undoIn(await post(preferences, choice));
          const undone = await post(preferences, `undo=${id}`);
          expect(undone.body).toContain('Your unsubscription is undone');
          expect(undoIn(undone)).toBeNull();
          expect(await consentsOf(reader.id)).toEqual(before);
          const records = await recordsOf(reader.id);
          const again = await post(preferences, `undo=${id}`);
          expect([again.statusCode, again.body]).toEqual([200, undone.body]);
          expect(await recordsOf(reader.id)).toEqual(records);
        }
        await post(preferences, 'confirm=everything');
        expect(undoIn(await get(preferences))).not.toBeNull();
        expect((await post(preferences, `undo=${newId()}`)).statusCode).toBe(410);
      });

      it('goes with the subscriber who is deleted', async () => {
        await post(link, 'scope=topics');
        await app.get(PersonalDataService).erase(scope, reader.address, consentProof('API_KEY', null));
        expect(
          await test.query('select 1 from audience.unsubscriptions where subscriber_id = $1', [reader.id]),
        ).toEqual([]);
      });
    });

    describe('by an older mail, after the subscriber was deleted', () => {
      /** As the request and then the worker's job do it. */
      const erase = async (isSettled: boolean) => {
        const { id, address } = reader;
        await app.get(PersonalDataService).erase(scope, address, consentProof('API_KEY', null));
        if (!isSettled) return;
        const addressDigest = app.get(AddressDigestsService).of(scope, address.key).toString('hex');
        await app
          .get(Database)
          .transaction(scope, () =>
            app.get(MailPersonalDataService).erase(scope, { subscriberId: id, addressDigest }),
          );
      };
      const signUpAgain = async () => {
        const topicKeys = reader.topics.map(({ topicKey }) => topicKey);
        const input = { address: reader.address, topicKeys, source: 'API' } as const;
        return (await app.get(SignUpService).create(scope, input, consentProof('API_KEY', null))).id;
      };

      it.each([
        ['the button', 'scope=topics', true],
        ['the button, a second after the deletion', 'scope=topics', false],
        ['one-click', 'List-Unsubscribe=One-Click', true],
        ['one-click, a second after the deletion', 'List-Unsubscribe=One-Click', false],
      ])('takes off who has the address now: %s', async (_, form, isSettled) => {
        await erase(isSettled);
        const id = await signUpAgain();
        const page = await get(link);
        expect(page.body).toContain('j•••@example.org');
        expect(page.body).toContain('Unsubscribe from <bdi>Plain</bdi>');
        expect((await post(link, form)).body).toMatch(/unsubscribed/);
        expect(await statusesOf(id)).toEqual({
          Plain: 'UNSUBSCRIBED',
          'Careful & <b>': 'PENDING_CONFIRMATION',
        });
        const records = await test.query(
          `select actor_id from audience.consent_ledger where subscriber_id = $1 and to_status = 'UNSUBSCRIBED'`,
          [id],
        );
        expect(records).toEqual([{ actor_id: deliveryId }]);
        expect((await get(link)).body).toContain('You’re unsubscribed');
      });

      it('suppresses who has the address now, when they leave everything, also after it was deleted again', async () => {
        await erase(true);
        await signUpAgain();
        await erase(true);
        const id = await signUpAgain();
        expect((await post(link, 'scope=everything')).body).toContain('unsubscribed from everything');
        const [now] = await test.query('select status from audience.subscribers where id = $1', [id]);
        expect(now).toEqual({ status: 'SUPPRESSED' });
      });

      it.each([true, false])(
        'claims nothing where nobody has the address, and says what to do (%s)',
        async (isSettled) => {
          await erase(isSettled);
          for (const page of [
            await get(link),
            await post(link, 'scope=topics'),
            await post(link, 'scope=everything'),
            await post(link, 'List-Unsubscribe=One-Click'),
          ]) {
            expect(page.statusCode).toBe(200);
            expect(page.body).not.toMatch(/you’re unsubscribed|have been unsubscribed|won’t send/i);
            expect(page.body).toContain('no longer on the list of');
            expect(page.body).toContain('news@');
            expect(page.body).not.toContain('example.org');
          }
          expect(
            await test.query('select 1 from audience.suppressions where email_key = $1', [
              reader.address.key,
            ]),
          ).toEqual([]);
        },
      );

      it('says that it cannot tell any more whose address it was, 60 days later', async () => {
        await erase(true);
        const id = await signUpAgain();
        clock.advance(61 * 24 * HOUR_MS);
        await app.get(LinkedMailsService).removeErased();
        const done = await post(link, 'List-Unsubscribe=One-Click');
        expect(done.statusCode).toBe(404);
        expect(done.body).toContain('no longer on the list of');
        expect(await statusesOf(id)).toMatchObject({ Plain: 'SUBSCRIBED' });
      });

      it('keeps no trace of the address', async () => {
        await erase(true);
        expect(await tracesOf(test, reader.address.key)).toEqual([]);
      });
    });

    it('shows the mail itself in a sandbox', async () => {
      const page = await get(`/v/${tokenOf('view', deliveryId)}`);
      expect(page.statusCode).toBe(200);
      expect(page.body).toContain('Spring is here');
      expect(page.body).not.toContain('data of today');
      expect(page.headers['content-security-policy']).toMatch(/^sandbox /);
    });

    it('says above a mail, in its reader’s language, that it shows the data of today, where the link does not say what was sent', async () => {
      const page = (sealed = '') => get(`/v/${tokenOf('view', deliveryId)}${sealed}`);
      await test.query(`update messaging.deliveries set locale = 'de' where id = $1`, [deliveryId]);
      await test.query(
        `update messaging.campaigns set content_json = '{"blocks":[{"type":"heading","level":1,"text":"Spring, {{ subscriber.email }}"}]}'
         where id = (select source_id from messaging.deliveries where id = $1)`,
        [deliveryId],
      );
      for (const sealed of ['', '?d=AAAA', '?d=a&d=b', '?d[x]=1']) {
        const { body } = await page(sealed);
        expect(body).toMatch(/<body[^>]*><p lang="de" dir="ltr" [^>]*>Diese Seite zeigt die Daten von heute/);
      }
    });

    it('says of a mail whose reader is erased that it cannot be shown any more', async () => {
      await app.get(PersonalDataService).erase(scope, reader.address, consentProof('OPERATOR', null));
      await test.query('update messaging.deliveries set subscriber_id = null where id = $1', [deliveryId]);
      const page = await get(`/v/${tokenOf('view', deliveryId)}`);
      expect([page.statusCode, page.body.includes('can’t be shown any more')]).toEqual([404, true]);
      expect(page.body).not.toContain('Spring');
    });
  });

  describe('preferences', () => {
    const DAY_MS = 24 * HOUR_MS;
    const linkOf = (id: string) => `/p/${tokenOf('preferences', id)}`;
    const recordsOf = (id: string) =>
      test.query(
        `select from_status, to_status, actor, source, ip_address, user_agent from audience.consent_ledger
         where subscriber_id = $1 and actor <> 'API_KEY' order by position`,
        [id],
      );
    const pausedUntil = async (id: string) =>
      (
        await test.query<{ paused_until: Date | null }>(
          'select paused_until from audience.subscribers where id = $1',
          [id],
        )
      )[0]?.paused_until;

    it('let a topic be left and joined again, which the record tells', async () => {
      const { id, topics } = await subscribe();
      const { topicKey } = topics[0]!;
      expect((await get(linkOf(id))).body).toMatch(/Plain[^]*Subscribed/);
      for (const [choice, status] of [
        ['leave', 'UNSUBSCRIBED'],
        ['leave', 'UNSUBSCRIBED'],
        ['join', 'SUBSCRIBED'],
        ['join', 'SUBSCRIBED'],
      ]) {
        const saved = await post(linkOf(id), `${choice}=${topicKey}`);
        expect([saved.statusCode, saved.body.includes('Your choice is saved')]).toEqual([200, true]);
        expect(await statusesOf(id)).toEqual({ Plain: status, 'Careful & <b>': 'PENDING_CONFIRMATION' });
      }
      const by = {
        actor: 'SUBSCRIBER_PAGE',
        source: 'preferences',
        ip_address: '127.0.0.1',
        user_agent: 'Spec/1',
      };
      expect(await recordsOf(id)).toEqual([
        { from_status: 'SUBSCRIBED', to_status: 'UNSUBSCRIBED', ...by },
        { from_status: 'UNSUBSCRIBED', to_status: 'SUBSCRIBED', ...by },
      ]);
    });

    it('confirm a double opt-in topic, pending or new, since the link came to the mailbox', async () => {
      const { id, topics } = await subscribe();
      const other = await app.get(TopicsService).create(scope, { name: 'Other', doubleOptInEnabled: true });
      await post(linkOf(id), `join=${topics[1]!.topicKey}`);
      await post(linkOf(id), `join=${other.topicKey}`);
      const consents = await test.query(
        `select status, granted_at, confirmed_at, token_expires_at from audience.consents
         where subscriber_id = $1 and topic_id = any($2)`,
        [id, [topics[1]!.id, other.id]],
      );
      const standing = { status: 'SUBSCRIBED', confirmed_at: clock.now(), token_expires_at: null };
      expect(consents).toEqual([expect.objectContaining(standing), expect.objectContaining(standing)]);
      expect(await confirmationsOf(id)).toHaveLength(1);
    });

    it('pause all mail for the days that they offer, and resume', async () => {
      const { id } = await subscribe();
      for (const days of [7, 30, 90]) {
        expect((await post(linkOf(id), `pause=${days}`)).body).toContain('Your emails are paused');
        expect(await pausedUntil(id)).toEqual(new Date(clock.now().getTime() + days * DAY_MS));
      }
      expect((await get(linkOf(id))).body).toContain('Get emails again now');
      expect((await post(linkOf(id), 'resume=yes')).body).toContain('Need a break?');
      expect(await pausedUntil(id)).toBeNull();
      for (const days of ['8', '-7', '1e9', '']) await post(linkOf(id), `pause=${days}`);
      expect(await pausedUntil(id)).toBeNull();
      await post(linkOf(id), 'pause=7');
      clock.advance(7 * DAY_MS);
      expect((await get(linkOf(id))).body).toContain('Need a break?');
      expect(await statusesOf(id)).toMatchObject({ Plain: 'SUBSCRIBED' });
    });

    it('leave everything after asking once more', async () => {
      const { id, topics, address } = await subscribe();
      const asked = await post(linkOf(id), 'scope=everything');
      expect(asked.body).toContain('Unsubscribe from everything?');
      expect(await statusesOf(id)).toMatchObject({ Plain: 'SUBSCRIBED' });
      expect((await post(linkOf(id), 'confirm=everything')).body).toContain('sends no emails to');
      expect(await statusesOf(id)).toEqual({ Plain: 'UNSUBSCRIBED', 'Careful & <b>': 'UNSUBSCRIBED' });
      const suppressed = await test.query(`select reason from audience.suppressions where email_key = $1`, [
        address.key,
      ]);
      expect(suppressed).toEqual([{ reason: 'GLOBAL_UNSUBSCRIBE' }]);
      // Nothing lifts that silently.
      for (const choice of [`join=${topics[0]!.topicKey}`, 'pause=7', 'resume=yes', 'scope=everything']) {
        expect((await post(linkOf(id), choice)).body).toContain('Your email preferences');
      }
      expect(await statusesOf(id)).toMatchObject({ Plain: 'UNSUBSCRIBED' });
    });

    it('let a topic be left that is not active for now: it may be again', async () => {
      const { id, topics } = await subscribe();
      for (const [index, status] of (['INACTIVE', 'ARCHIVED'] as const).entries())
        await app.get(TopicsService).update(scope, topics[index]!.topicKey, { status });
      for (const { topicKey } of topics) {
        expect((await get(linkOf(id))).body).toContain(`name="leave" value="${topicKey}"`);
        const { body } = await post(linkOf(id), `leave=${topicKey}`);
        expect(body).toContain('Your choice is saved');
        expect(body).not.toContain(`value="${topicKey}"`);
      }
      expect(await statusesOf(id)).toEqual({ Plain: 'UNSUBSCRIBED', 'Careful & <b>': 'UNSUBSCRIBED' });
    });

    it('show no other topic that is not active, and never a deleted one', async () => {
      const { id, topics } = await subscribe();
      const [hidden, gone] = [
        await app.get(TopicsService).create(scope, { name: 'Hidden', status: 'INACTIVE' }),
        await app.get(TopicsService).create(scope, { name: 'Gone' }),
      ];
      await app.get(TopicsService).delete(scope, gone.topicKey, null);
      const { body } = await get(linkOf(id));
      expect(body).toContain(topics[0]!.topicKey);
      for (const { topicKey } of [hidden, gone]) {
        expect(body).not.toContain(`value="${topicKey}"`);
        expect((await post(linkOf(id), `join=${topicKey}`)).statusCode).toBe(404);
      }
    });

    it('offer a private topic to nobody but who is in it', async () => {
      const { id, topics } = await subscribe();
      const [own] = topics;
      const secret = await app.get(TopicsService).create(scope, { name: 'Members', visibility: 'PRIVATE' });
      await app.get(TopicsService).update(scope, own!.topicKey, { visibility: 'PRIVATE' });
      const { body } = await get(linkOf(id));
      expect(body).toContain(`name="leave" value="${own!.topicKey}"`);
      expect(body).not.toContain(`value="${secret.topicKey}"`);
      expect((await post(linkOf(id), `join=${secret.topicKey}`)).statusCode).toBe(404);
      expect((await post(linkOf(id), `leave=${own!.topicKey}`)).body).not.toContain(
        `value="${own!.topicKey}"`,
      );
      expect((await post(linkOf(id), `join=${own!.topicKey}`)).statusCode).toBe(404);
    });

    it('change nothing on a post that asks for nothing', async () => {
      const { id } = await subscribe();
      expect((await post(linkOf(id))).body).toContain('Your email preferences');
      expect(await statusesOf(id)).toMatchObject({ Plain: 'SUBSCRIBED' });
    });

    it('show what there is to choose when the chosen topic went in the meantime', async () => {
      const { id, topics } = await subscribe();
      const [gone, stays] = topics as [(typeof topics)[0], (typeof topics)[0]];
      await app.get(TopicsService).delete(scope, gone.topicKey, null);
      for (const choice of ['leave', 'join']) {
        const { statusCode, body } = await post(linkOf(id), `${choice}=${gone.topicKey}`);
        expect(statusCode).toBe(404);
        expect(body).toContain('Your email preferences');
        expect(body).not.toContain(`value="${gone.topicKey}"`);
        expect(body).toContain(`value="${stays.topicKey}"`);
      }
    });

    it('know no topic of others', async () => {
      const { id } = await subscribe();
      for (const choice of ['leave', 'join'])
        expect((await post(linkOf(id), `${choice}=APIT-99999`)).statusCode).toBe(404);
    });

    it('are nowhere when the subscriber is erased', async () => {
      const { id, address, topics, confirm } = await subscribe();
      await app.get(PersonalDataService).erase(scope, address, consentProof('OPERATOR', null));
      for (const page of [
        await get(linkOf(id)),
        await post(linkOf(id), `join=${topics[0]!.topicKey}`),
        await get(confirm),
      ]) {
        expect(page.statusCode).toBe(404);
        expect(page.body).not.toContain('example.org');
      }
    });
  });

  it('tell nothing to a forged link, one of another kind, or one to nowhere', async () => {
    const { id } = await subscribe();
    const elsewhere = app.get(LinkTokens).sign({ kind: 'view', environmentId: 999_999, id, expiresAt: null });
    const old = app
      .get(LinkTokens)
      .sign({ kind: 'view', environmentId: scope.environmentId, id, expiresAt: NOW });
    const urls = [
      '/c/x',
      '/u/x',
      '/v/x',
      '/p/x',
      `/u/${tokenOf('view', id)}`,
      `/u/${tokenOf('unsubscribe', id)}`,
      `/v/${elsewhere}`,
      `/v/${old}`,
    ];
    const [first, ...others] = await Promise.all(urls.map(get));
    expect(first!.statusCode).toBe(404);
    expect(first!.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(first!.body).not.toContain('Acme');
    for (const other of others) expect([other.statusCode, other.body]).toEqual([404, first!.body]);
    for (const path of ['/c/x', '/u/x', '/p/x']) expect((await post(path)).body).toBe(first!.body);
  });

  it('say sorry when something fails, and no more', async () => {
    const { confirm } = await subscribe();
    await test.query(`alter table audience.confirmations rename to mislaid`);
    const page = await get(confirm);
    await test.query(`alter table audience.mislaid rename to confirmations`);
    expect(page.statusCode).toBe(500);
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(page.body).toContain('Something went wrong');
    expect(page.body).not.toContain('confirmations');
  });

  /** A campaign’s mail as the worker would have sent it. Returns the delivery’s id. */
  async function deliver(
    subscriberId: string,
    { value, key }: { value: string; key: string },
    topicIds: string[],
  ) {
    const [campaignId, id] = [newId(), newId()];
    const content = JSON.stringify({ blocks: [{ type: 'heading', level: 1, text: 'Spring is here' }] });
    await test.query(
      `insert into messaging.campaigns (id, environment_id, campaign_key, name, subject, content_json, topic_ids, status, queued_at, created_at, updated_at)
       values ($1::uuid, $2, 'APIT-' || $1, 'Spring', 'Spring', $3, $4, 'SENT', $5, $5, $5)`,
      [campaignId, scope.environmentId, content, topicIds, NOW],
    );
    await test.query(
      `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, message_id, state, next_attempt_at, created_at)
       values ($1::uuid, $2::timestamptz::date, $3, 'CAMPAIGN', $4, $5, $6, $7, '<' || $1 || '@example.net>', 'SENT', $2::timestamptz, $2::timestamptz)`,
      [id, NOW, scope.environmentId, campaignId, subscriberId, value, key],
    );
    return id;
  }
});
