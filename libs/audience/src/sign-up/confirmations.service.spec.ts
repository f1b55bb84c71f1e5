import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { rowsOf } from '#platform';
import { address, AudienceFixture, ConfirmationPages, HOUR, MINUTE, PROOF } from '../audience.fixture.js';
import { consentProof } from '../consents/consent.js';
import { ConsentsService } from './consents.service.js';
import { PersonalDataService } from '../personal-data.service.js';
import { PreferencesService } from './preferences.service.js';
import { UnsubscribeService } from './unsubscribe.service.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { ConfirmationsService } from './confirmations.service.js';

const ADA = 'Ada@example.com';
const PERSON = { ipAddress: '198.51.100.3', userAgent: 'Browser/1' };

const topicsNamed = (...names: string[]) =>
  names.map((name) => ({
    topicKey: expect.stringMatching(/^\w+-\d+$/),
    name,
    description: null,
    translations: {},
    optInTemplateKey: null,
  }));

describe('confirmations', () => {
  let audience: AudienceFixture;
  let service: ConfirmationsService;
  let pages: ConfirmationPages;
  let consents: ConsentsService;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(ConfirmationsService);
    pages = new ConfirmationPages(audience);
    consents = audience.get(ConsentsService);
  });
  afterAll(() => audience.close());

  /** Ada, asked to confirm two topics. */
  async function asked() {
    const scope = await audience.scope();
    const news = await audience.topic(scope, { name: 'News', doubleOptInEnabled: true });
    const art = await audience.topic(scope, { name: 'Art', doubleOptInEnabled: true });
    const ada = await audience.subscribe(scope, ADA, news, art);
    const [confirmationId = ''] = await audience.requestedMails(scope);
    return { scope, news, art, ada, confirmationId };
  }

  const statuses = async (scope: ProjectScope) =>
    [...(await audience.consentsOf(scope, ADA)).values()].map(({ status }) => status);

  it('say what to send for all topics of one request', async () => {
    const { scope, ada, confirmationId } = await asked();
    expect(await service.forMail(scope, confirmationId)).toEqual({
      confirmationId,
      subscriberId: ada.id,
      email: 'Ada@example.com',
      emailKey: 'ada@example.com',
      firstName: null,
      locale: null,
      timeZone: null,
      topics: topicsNamed('Art', 'News'),
      expiresAt: new Date(audience.clock.now().getTime() + 48 * HOUR),
    });
  });

  it('make all their topics stand, once, and record who confirmed', async () => {
    const { scope, ada, confirmationId } = await asked();
    expect(await pages.describe(scope, confirmationId)).toEqual({
      state: 'open',
      email: 'Ada@example.com',
      locale: null,
      topics: topicsNamed('Art', 'News'),
    });
    expect(await statuses(scope)).toEqual(['PENDING_CONFIRMATION', 'PENDING_CONFIRMATION']);
    audience.clock.advance(HOUR);
    const person = { ...PERSON, wording: { locale: 'de', version: 3 } };
    const outcomes = await Promise.all([1, 2, 3].map(() => pages.confirm(scope, confirmationId, person)));
    expect(outcomes.sort()).toEqual(['already-confirmed', 'already-confirmed', 'confirmed']);
    for (const consent of (await audience.consentsOf(scope, ADA)).values()) {
      expect(consent).toMatchObject({
        status: 'SUBSCRIBED',
        confirmedAt: audience.clock.now(),
        revokedAt: null,
      });
    }
    expect(await audience.statusOf(scope, ADA)).toBe('ACTIVE');
    expect(await pages.describe(scope, confirmationId)).toMatchObject({
      state: 'confirmed',
      locale: null,
      topics: topicsNamed('Art', 'News'),
    });
    expect(await service.forMail(scope, confirmationId)).toBeNull();
    expect(await pages.requestAnother(scope, confirmationId)).toBe('not-needed');
    const recorded = await audience.test.query(
      `select actor, actor_id, ip_address, user_agent, text_locale, text_version from audience.consent_ledger
       where subscriber_id = $1 and to_status = 'SUBSCRIBED'`,
      [ada.id],
    );
    const entry = {
      actor: 'SUBSCRIBER_PAGE',
      actor_id: confirmationId,
      ip_address: '198.51.100.3',
      user_agent: 'Browser/1',
      text_locale: 'de',
      text_version: 3,
    };
    expect(recorded).toEqual([entry, entry]);
  });

  it('show in which wording a person agreed last, and null where that was no page of ours', async () => {
    const { scope, ada, art, confirmationId } = await asked();
    const wordings = async () => {
      const { consents: shown } = await audience.get(ConsentsService).preferences(scope, address(ADA));
      return Object.fromEntries(
        shown.map(({ topicName, textLocale, textVersion }) => [topicName, [textLocale, textVersion]]),
      );
    };
    expect(await wordings()).toEqual({ Art: [null, null], News: [null, null] });
    await pages.confirm(scope, confirmationId, { ...PERSON, wording: { locale: 'de', version: 3 } });
    expect(await wordings()).toEqual({ Art: ['de', 3], News: ['de', 3] });

    const preferences = audience.get(PreferencesService);
    const by = (locale: string) =>
      consentProof('SUBSCRIBER_PAGE', null, { wording: { locale, version: null } });
    await audience.get(UnsubscribeService).leave(scope, ada.id, art.topicKey, by('fr'));
    expect(await wordings()).toEqual({ Art: ['de', 3], News: ['de', 3] });
    await preferences.join(scope, ada.id, art.topicKey, by('fr'));
    expect(await wordings()).toEqual({ Art: ['fr', null], News: ['de', 3] });
    const { consentRecord } = await audience.get(PersonalDataService).of(scope, address(ADA));
    const record = await rowsOf(consentRecord);
    expect(record.map(({ to, textLocale, textVersion }) => [to, textLocale, textVersion])).toEqual([
      ['PENDING_CONFIRMATION', null, null],
      ['PENDING_CONFIRMATION', null, null],
      ['SUBSCRIBED', 'de', 3],
      ['SUBSCRIBED', 'de', 3],
      ['UNSUBSCRIBED', 'fr', null],
      ['SUBSCRIBED', 'fr', null],
    ]);
  });

  it('leave out what was revoked in between', async () => {
    const { scope, news, confirmationId } = await asked();
    await consents.revoke(scope, address(ADA), news.topicKey, PROOF);
    expect((await service.forMail(scope, confirmationId))?.topics).toEqual(topicsNamed('Art'));
    expect(await pages.confirm(scope, confirmationId, PERSON)).toBe('confirmed');
    expect((await statuses(scope)).sort()).toEqual(['SUBSCRIBED', 'UNSUBSCRIBED']);
  });

  it('do not confirm what was revoked and granted anew since: that has a mail of its own', async () => {
    const { scope, news, art, confirmationId } = await asked();
    for (const { topicKey } of [news, art]) await consents.revoke(scope, address(ADA), topicKey, PROOF);
    expect(await pages.describe(scope, confirmationId)).toEqual({
      state: 'gone',
      email: '',
      locale: null,
      topics: [],
    });
    audience.clock.advance(1);
    await consents.grant(scope, address(ADA), news.topicKey, PROOF);
    expect(await pages.confirm(scope, confirmationId, PERSON)).toBe('gone');
    const [, second = ''] = await audience.requestedMails(scope);
    expect(await pages.confirm(scope, second, PERSON)).toBe('confirmed');
    expect(await pages.confirm(scope, confirmationId, PERSON)).toBe('gone');
  });

  it('work from the first mail or the resent one, whichever the person opens', async () => {
    for (const opened of [0, 1]) {
      const { scope, news } = await asked();
      audience.clock.advance(MINUTE);
      await service.resend(scope, address(ADA), news.topicKey, PROOF);
      const mails = await audience.requestedMails(scope);
      expect(await pages.confirm(scope, mails[opened] ?? '', PERSON)).toBe('confirmed');
      expect((await audience.consentsOf(scope, ADA)).get(news.topicKey)?.status).toBe('SUBSCRIBED');
    }
  });

  it('are gone when they never were, belong to others or the address is suppressed', async () => {
    const { scope, confirmationId } = await asked();
    const gone = { state: 'gone', email: '', locale: null, topics: [] };
    const stranger = await audience.scope();
    expect(await pages.describe(scope, newId())).toEqual(gone);
    expect(await pages.describe(scope, 'not an id')).toEqual(gone);
    expect(await pages.describe(stranger, confirmationId)).toEqual(gone);
    expect(await pages.confirm(stranger, confirmationId, PERSON)).toBe('gone');
    expect(await service.forMail(stranger, confirmationId)).toBeNull();
    await audience.get(SuppressionsService).suppress(scope, address(ADA), 'HARD_BOUNCE', PROOF);
    expect(await service.forMail(scope, confirmationId)).toBeNull();
    expect(await pages.confirm(scope, confirmationId, PERSON)).toBe('gone');
    expect(await pages.requestAnother(scope, confirmationId)).toBe('not-needed');
  });

  describe('after 48 hours', () => {
    it('expire with their consents, in all projects, recorded as nobody’s doing', async () => {
      const [first, second] = [await asked(), await asked()];
      const { scope } = first;
      const single = await audience.topic(scope);
      await consents.grant(scope, address(ADA), single.topicKey, PROOF);
      audience.clock.advance(48 * HOUR - 1);
      const confirmations = audience.get(ConfirmationsService);
      await confirmations.expire();
      expect(await statuses(scope)).toEqual(['SUBSCRIBED', 'PENDING_CONFIRMATION', 'PENDING_CONFIRMATION']);
      audience.clock.advance(1);
      await Promise.all([confirmations.expire(), confirmations.expire()]);
      await confirmations.expire();
      expect(await statuses(scope)).toEqual(['SUBSCRIBED', 'EXPIRED', 'EXPIRED']);
      expect(await audience.statusOf(scope, ADA)).toBe('ACTIVE');
      expect(await statuses(second.scope)).toEqual(['EXPIRED', 'EXPIRED']);
      expect(await audience.statusOf(second.scope, ADA)).toBe('UNSUBSCRIBED');
      expect((await audience.ledger(second.ada.id)).slice(2)).toEqual([
        'PENDING_CONFIRMATION → EXPIRED (EXPIRY)',
        'PENDING_CONFIRMATION → EXPIRED (EXPIRY)',
      ]);
    });

    it('confirm nothing, whether or not the expiry was noted yet', async () => {
      const { scope, confirmationId } = await asked();
      audience.clock.advance(48 * HOUR);
      const expired = {
        state: 'expired',
        email: 'Ada@example.com',
        locale: null,
        topics: topicsNamed('Art', 'News'),
      };
      for (const note of [() => Promise.resolve(), () => audience.get(ConfirmationsService).expire()]) {
        await note();
        expect(await pages.describe(scope, confirmationId)).toEqual(expired);
        expect(await pages.confirm(scope, confirmationId, PERSON)).toBe('expired');
        expect(await service.forMail(scope, confirmationId)).toBeNull();
      }
      expect(await statuses(scope)).toEqual(['EXPIRED', 'EXPIRED']);
    });

    it('can be granted anew by the API', async () => {
      const { scope, ada, news } = await asked();
      audience.clock.advance(48 * HOUR);
      const again = await consents.grant(scope, address(ADA), news.topicKey, PROOF);
      expect(again).toMatchObject({ status: 'PENDING_CONFIRMATION', grantedAt: audience.clock.now() });
      expect((await audience.ledger(ada.id)).slice(2)).toEqual([
        'PENDING_CONFIRMATION → EXPIRED (EXPIRY)',
        'EXPIRED → PENDING_CONFIRMATION (API_KEY)',
      ]);
    });

    it('let the person ask for a new mail, at most once a minute, and confirm from that one', async () => {
      const { scope, art, confirmationId } = await asked();
      await consents.revoke(scope, address(ADA), art.topicKey, PROOF);
      audience.clock.advance(50 * HOUR);
      await audience.get(ConfirmationsService).expire();
      expect(await pages.requestAnother(scope, confirmationId)).toBe('sent');
      expect(await pages.requestAnother(scope, confirmationId)).toBe('too-soon');
      const [, second = '', ...others] = await audience.requestedMails(scope);
      expect(others).toEqual([]);
      expect(await service.forMail(scope, second)).toMatchObject({ topics: topicsNamed('News') });
      expect(await audience.statusOf(scope, ADA)).toBe('PENDING_CONFIRMATION');
      expect(await pages.confirm(scope, confirmationId, PERSON)).toBe('expired');
      expect(await pages.confirm(scope, second, PERSON)).toBe('confirmed');
      expect((await statuses(scope)).sort()).toEqual(['SUBSCRIBED', 'UNSUBSCRIBED']);
      expect(await pages.describe(scope, confirmationId)).toMatchObject({
        state: 'confirmed',
        locale: null,
        topics: topicsNamed('News'),
      });
    });
  });
});
