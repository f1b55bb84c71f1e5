import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DomainValidationError, InvalidStateError, NotFoundError } from '#kernel';
import { address, AudienceFixture, HOUR, MINUTE, PROOF } from '../audience.fixture.js';
import { SuppressedError } from '../suppressions/suppression.js';
import { SuppressionsService } from '../suppressions/suppressions.service.js';
import { ConsentExistsError, consentProof } from '../consents/consent.js';
import { ResendTooSoonError } from './confirmation.js';
import { ConfirmationsService } from './confirmations.service.js';
import { ConsentsService } from './consents.service.js';

const ADA = 'ada@example.com';

describe('consents', () => {
  let audience: AudienceFixture;
  let service: ConsentsService;
  let confirmations: ConfirmationsService;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(ConsentsService);
    confirmations = audience.get(ConfirmationsService);
  });
  afterAll(() => audience.close());

  async function subscriber(doubleOptInEnabled = false) {
    const scope = await audience.scope();
    const topic = await audience.topic(scope, { doubleOptInEnabled });
    const ada = await audience.subscribe(scope, ADA, topic);
    return { scope, topic, ada };
  }

  it('are granted to one topic at a time and stand at once without double opt-in', async () => {
    const { scope } = await subscriber();
    const offers = await audience.topic(scope);
    expect(await service.grant(scope, address('ADA@example.com'), offers.topicKey, PROOF)).toEqual({
      topicKey: offers.topicKey,
      status: 'SUBSCRIBED',
      requiresConfirmation: false,
      grantedAt: audience.clock.now(),
      confirmedAt: null,
      tokenExpiresAt: null,
    });
    expect(await audience.requestedMails(scope)).toEqual([]);
  });

  it('ask for a confirmation mail on a double opt-in topic', async () => {
    const { scope } = await subscriber();
    const offers = await audience.topic(scope, { doubleOptInEnabled: true });
    expect(await service.grant(scope, address(ADA), offers.topicKey, PROOF)).toMatchObject({
      status: 'PENDING_CONFIRMATION',
      requiresConfirmation: true,
      tokenExpiresAt: new Date(audience.clock.now().getTime() + 48 * HOUR),
    });
    expect(await audience.requestedMails(scope)).toHaveLength(1);
    expect(await audience.statusOf(scope, ADA)).toBe('ACTIVE');
  });

  it('are refused for whom or what is not there, not open, suppressed or granted already', async () => {
    const { scope, topic } = await subscriber();
    const archived = await audience.topic(scope, { status: 'ARCHIVED' });
    const free = await audience.topic(scope);
    const grant = (email: string, topicKey: string) => service.grant(scope, address(email), topicKey, PROOF);
    await expect(grant('nobody@example.com', 'APIT-999')).rejects.toThrow(NotFoundError);
    for (const key of ['APIT-999', archived.topicKey]) {
      await expect(grant(ADA, key)).rejects.toThrow(DomainValidationError);
    }
    await expect(grant(ADA, topic.topicKey)).rejects.toThrow(ConsentExistsError);
    await audience.get(SuppressionsService).suppress(scope, address(ADA), 'HARD_BOUNCE', PROOF);
    await expect(grant(ADA, free.topicKey)).rejects.toThrow(SuppressedError);
    expect(await audience.consentsOf(scope, ADA)).toEqual(new Map([[topic.topicKey, expect.anything()]]));
  });

  it('are granted once when two ask at the same moment', async () => {
    const { scope } = await subscriber();
    const offers = await audience.topic(scope, { doubleOptInEnabled: true });
    const grant = () => service.grant(scope, address(ADA), offers.topicKey, PROOF);
    const outcomes = await Promise.allSettled([grant(), grant(), grant()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    expect(await audience.requestedMails(scope)).toHaveLength(1);
  });

  it('are revoked for one topic only, and again without effect', async () => {
    const { scope, topic, ada } = await subscriber();
    const offers = await audience.topic(scope);
    await service.grant(scope, address(ADA), offers.topicKey, PROOF);
    const revoke = (topicKey: string) => service.revoke(scope, address(ADA), topicKey, PROOF);
    await revoke(topic.topicKey);
    await revoke(topic.topicKey);
    expect((await audience.consentsOf(scope, ADA)).get(topic.topicKey)).toMatchObject({
      status: 'UNSUBSCRIBED',
      revokedAt: audience.clock.now(),
    });
    expect(await audience.statusOf(scope, ADA)).toBe('ACTIVE');
    await revoke(offers.topicKey);
    expect(await audience.statusOf(scope, ADA)).toBe('UNSUBSCRIBED');
    const never = await audience.topic(scope);
    await revoke(never.topicKey);
    expect((await audience.consentsOf(scope, ADA)).has(never.topicKey)).toBe(false);
    await expect(revoke('APIT-999')).rejects.toThrow(NotFoundError);
    expect((await audience.ledger(ada.id)).filter((entry) => entry.includes('UNSUBSCRIBED'))).toHaveLength(2);
  });

  it('leave all that a regulator may ask for in the consent record', async () => {
    const { scope, ada } = await subscriber();
    const topic = await audience.topic(scope);
    const proof = consentProof('API_KEY', 'key-7', {
      source: 'checkout',
      sourceUrl: 'https://shop.example/checkout',
      ipAddress: '2001:db8::7',
      userAgent: 'Browser/1',
      consentText: 'Yes, send me\nyour news.',
      formVersion: 'v3',
    });
    await service.grant(scope, address(ADA), topic.topicKey, proof);
    const rows = await audience.test.query(
      `select from_status, to_status, actor, actor_id, source, source_url, ip_address, user_agent, consent_text, form_version,
         message_id, occurred_at
       from audience.consent_ledger where subscriber_id = $1 and topic_id = $2`,
      [ada.id, topic.id],
    );
    expect(rows).toEqual([
      {
        from_status: null,
        to_status: 'SUBSCRIBED',
        actor: 'API_KEY',
        actor_id: 'key-7',
        source: 'checkout',
        source_url: 'https://shop.example/checkout',
        ip_address: '2001:db8::7',
        user_agent: 'Browser/1',
        consent_text: 'Yes, send me\nyour news.',
        form_version: 'v3',
        message_id: null,
        occurred_at: audience.clock.now(),
      },
    ]);
  });

  it('have their mail resent only while they are pending', async () => {
    const { scope, topic } = await subscriber(true);
    const resend = (topicKey: string) => confirmations.resend(scope, address(ADA), topicKey, PROOF);
    await resend(topic.topicKey);
    expect(await audience.requestedMails(scope)).toHaveLength(2);
    await expect(resend('APIT-999')).rejects.toThrow(NotFoundError);
    await expect(resend((await audience.topic(scope)).topicKey)).rejects.toThrow(NotFoundError);
    await service.revoke(scope, address(ADA), topic.topicKey, PROOF);
    const refusal = await resend(topic.topicKey).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(InvalidStateError);
    expect(refusal).toMatchObject({
      members: { currentState: 'UNSUBSCRIBED', allowedStates: ['PENDING_CONFIRMATION'] },
    });
    expect(await audience.requestedMails(scope)).toHaveLength(2);
  });

  it('have their mail resent once a minute and five times a day', async () => {
    const { scope, topic } = await subscriber(true);
    const resend = () => confirmations.resend(scope, address(ADA), topic.topicKey, PROOF);
    const outcomes = await Promise.allSettled([resend(), resend(), resend()]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected']);
    await expect(resend()).rejects.toMatchObject({
      code: 'rate-limited',
      members: { retryAfterSeconds: 60 },
    });
    for (let time = 2; time <= 5; time += 1) {
      audience.clock.advance(MINUTE);
      await resend();
    }
    audience.clock.advance(HOUR);
    await expect(resend()).rejects.toThrow(ResendTooSoonError);
    audience.clock.advance(23 * HOUR);
    await resend();
    expect(await audience.requestedMails(scope)).toHaveLength(7);
  });

  it('of a suppressed address get no mail again', async () => {
    const { scope, topic } = await subscriber(true);
    await audience.get(SuppressionsService).suppress(scope, address(ADA), 'SPAM_COMPLAINT', PROOF);
    await expect(confirmations.resend(scope, address(ADA), topic.topicKey, PROOF)).rejects.toThrow(
      SuppressedError,
    );
  });

  it('cannot be reached from another project or environment', async () => {
    const { live, test } = await audience.project('ONE');
    const topic = await audience.topic(test, { doubleOptInEnabled: true });
    await audience.subscribe(test, ADA, topic);
    for (const stranger of [live, await audience.scope('TWO')]) {
      await expect(service.grant(stranger, address(ADA), topic.topicKey, PROOF)).rejects.toThrow(
        NotFoundError,
      );
      await expect(service.revoke(stranger, address(ADA), topic.topicKey, PROOF)).rejects.toThrow(
        NotFoundError,
      );
      await expect(confirmations.resend(stranger, address(ADA), topic.topicKey, PROOF)).rejects.toThrow(
        NotFoundError,
      );
      await expect(audience.consentsOf(stranger, ADA)).rejects.toThrow(NotFoundError);
    }
    expect((await audience.consentsOf(test, ADA)).get(topic.topicKey)?.status).toBe('PENDING_CONFIRMATION');
  });
});
