import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AddressChangesService,
  consentProof,
  ErasedAddressesRepository,
  PersonalDataService,
  SignUpService,
  SuppressionsService,
} from '#audience';
import { EnvironmentsQuery } from '#access';
import { type BounceClass, ReportsService } from '#deliverability';
import { newId, parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { MailPersonalDataService } from '../mail-personal-data.service.js';
import { MessagingFixture } from '../messaging.fixture.js';
import { statisticsDiscrepancies } from '../reports/statistics/statistics-check.query.js';
import { DeliveryFeedbackService } from './delivery-feedback.service.js';

const DAY = 24 * 60 * 60_000;

describe('what comes back of a mail', () => {
  let messaging: MessagingFixture;
  let feedback: DeliveryFeedbackService;
  let scope: ProjectScope;

  beforeAll(async () => {
    messaging = await MessagingFixture.open();
    feedback = messaging.get(DeliveryFeedbackService);
    scope = await messaging.scope();
  });
  afterAll(async () => {
    await messaging.close();
  });

  /** A subscriber of the project. */
  async function reader(): Promise<{ readonly id: string; readonly email: string }> {
    const email = `reader-${newId()}@example.com`;
    const parsed = parseEmailAddress(email);
    if ('fault' in parsed) throw new Error(parsed.fault);
    const person = { address: parsed.address, topicKeys: [], source: 'API' } as const;
    const { id } = await messaging.get(SignUpService).create(scope, person, consentProof('API_KEY', null));
    return { id, email };
  }

  /** A mail of a campaign of its own to the reader, in this state since the clock's time. */
  async function mail(
    to: { readonly id: string; readonly email: string },
    { state = 'SENT', reason = null as string | null, kind = 'CAMPAIGN', campaign = newId() } = {},
  ): Promise<string> {
    const id = newId();
    const now = messaging.clock.now();
    const isOpen = state === 'SENDING';
    await messaging.test.query(
      `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
         message_id, state, reason, next_attempt_at, sent_at, created_at, finished_at)
       values ($1, $2::timestamptz::date, $3, $4, $5, $6, $7, $7, $8, $9, $10, $2, $11, $2, $12)`,
      [
        id,
        now,
        scope.environmentId,
        kind,
        campaign,
        to.id,
        to.email,
        `<${id}@example.com>`,
        state,
        reason,
        state === 'SENT' ? now : null,
        isOpen ? null : now,
      ],
    );
    if (state === 'SENT' && kind === 'CAMPAIGN') {
      await messaging.test.query(
        `insert into messaging.campaign_counters (campaign_id, writer, environment_id, sent) values ($1, 40, $2, 1)
         on conflict (campaign_id, writer, environment_id) do update set sent = campaign_counters.sent + 1`,
        [campaign, scope.environmentId],
      );
      await messaging.test.query(
        `insert into messaging.campaign_minutes (campaign_id, minute, writer, environment_id, sent, delivered)
         values ($1, date_trunc('minute', $2::timestamptz), 40, $3, 1, 1)
         on conflict (campaign_id, minute, writer, environment_id) do update set sent = campaign_minutes.sent + 1, delivered = campaign_minutes.delivered + 1`,
        [campaign, now, scope.environmentId],
      );
    }
    if (state === 'SENT' && kind !== 'OPT_IN') {
      await messaging.test.query(
        `insert into messaging.mail_hours as h (environment_id, hour, campaign_id, provider, writer, sent, delivered)
         values ($3, date_trunc('hour', $2::timestamptz, 'UTC'), $1, 'other', 40, 1, 1)
         on conflict (environment_id, hour, campaign_id, relay_key, provider, writer) do update
         set sent = h.sent + 1, delivered = h.delivered + 1`,
        [kind === 'CAMPAIGN' ? campaign : '00000000-0000-0000-0000-000000000000', now, scope.environmentId],
      );
    }
    return id;
  }

  const suppressionOf = async ({ email }: { readonly email: string }) =>
    (
      await messaging.test.query<{ reason: string }>(
        'select reason from audience.suppressions where environment_id = $1 and email_key = $2',
        [scope.environmentId, email],
      )
    )[0]?.reason ?? null;

  const streamsOf = async ({ email }: { readonly email: string }) =>
    (await messaging.get(SuppressionsService).of(scope, { key: email, value: email })).streams;

  /** Mails of so many days after each other, each of which came back so ('' for one that stayed). */
  async function history(classes: readonly (BounceClass | '')[], everyDays: number) {
    const to = await reader();
    for (const bounceClass of classes) {
      const id = await mail(to);
      if (bounceClass !== '') await feedback.bounced(scope, id, bounceClass);
      messaging.clock.advance(everyDays * DAY);
    }
    return suppressionOf(to);
  }

  it('is found by the Message-ID that we gave the mail, where the provider gave it no id', async () => {
    const person = await reader();
    const deliveryId = await mail(person);
    const messageId = `${deliveryId}@example.com`;
    expect(await feedback.named(scope, [messageId, `${newId()}@example.com`, 'another'])).toEqual([
      { deliveryId, address: person.email, messageId },
    ]);
    expect(await feedback.named(scope, [`${deliveryId}@elsewhere.example`])).toEqual([]);
    expect(await feedback.named(await messaging.scope(), [messageId])).toEqual([]);
  });

  it('is recorded with its report; a job has it when the mail is not known to be sent, or the report is of many', async () => {
    const { clock, test } = messaging;
    const database = messaging.get(Database);
    const reports = new ReportsService(database, new EnvironmentsQuery(database), clock, feedback);
    const jobs = (deliveryId: string) =>
      test.query<{ wait: number }>(
        `select extract(epoch from run_at - $2)::int as wait from platform.jobs where name = 'bounces.record' and payload::text like $1`,
        [`%${deliveryId}%`, clock.now()],
      );
    const report = (deliveryId: string) => ({
      deliveryId,
      kind: 'BOUNCE' as const,
      bounceClass: 'hard' as const,
      isDistrust: false,
      basicCode: 550,
      enhancedCode: null,
      excerpt: null,
      namesMessage: null,
    });
    const [known, open] = [await reader(), await reader()];
    const [sent, sending] = [await mail(known), await mail(open, { state: 'SENDING' })];
    const taken = [sent, sending, sent].map((id) => reports.takeTogether(scope, [report(id)]));
    expect(await Promise.all(taken)).toEqual([1, 1, 0]);
    expect([await suppressionOf(known), await suppressionOf(open)]).toEqual(['HARD_BOUNCE', null]);
    expect([await jobs(sent), await jobs(sending)]).toEqual([[], [{ wait: 5 }]]);

    const many = Array.from({ length: 101 }, () => report(newId()));
    expect(await reports.takeTogether(scope, many)).toBe(101);
    expect(await jobs(many[100]!.deliveryId)).toHaveLength(1);
  });

  it('hard: suppresses the address and counts once, also when several reports come at once', async () => {
    const to = await reader();
    const id = await mail(to);
    const outcomes = await Promise.all(
      (['hard', 'hard', 'mailbox'] as const).map((bounceClass) => feedback.bounced(scope, id, bounceClass)),
    );
    expect(outcomes.toSorted()).toEqual(['nothing-new', 'nothing-new', 'taken']);
    expect(await feedback.bounced(scope, id, 'hard')).toBe('nothing-new');
    expect(await statisticsDiscrepancies(messaging.get(Database))).toEqual([]);
    const bounced = await messaging.test.query(
      `select d.bounce_class, e.bounce_type from messaging.deliveries d
       join messaging.delivery_events e on e.delivery_id = d.id where d.id = $1`,
      [id],
    );
    expect(bounced).toHaveLength(1);
  });

  it('of many at once is one change for each mail, and leaves those alone that are being sent', async () => {
    const [one, two, campaign] = [await reader(), await reader(), newId()];
    const sent = [await mail(one, { campaign }), await mail(two), await mail(one, { kind: 'AUTOMATION' })];
    const open = await mail(two, { state: 'SENDING' });
    const bounces = [...sent, open, newId(), ...sent].map((deliveryId, n) => {
      return { deliveryId, bounceClass: n < 2 ? ('hard' as const) : ('mailbox' as const) };
    });
    const first = await feedback.allBounced(scope, bounces);
    expect({ taken: first.taken.toSorted(), early: first.early }).toEqual({
      taken: sent.toSorted(),
      early: [open],
    });
    expect(await feedback.allBounced(scope, bounces)).toEqual({ taken: [], early: [open] });
    const events = await messaging.test.query<{ bounce_type: string }>(
      'select bounce_type from messaging.delivery_events where delivery_id = any($1) order by bounce_type',
      [sent],
    );
    expect(events.map(({ bounce_type }) => bounce_type)).toEqual(['HARD', 'HARD', 'SOFT']);
    expect(await Promise.all([one, two].map(suppressionOf))).toEqual(['HARD_BOUNCE', 'HARD_BOUNCE']);
    expect(await statisticsDiscrepancies(messaging.get(Database))).toEqual([]);
  });

  it.each([
    ['hard', 'HARD_BOUNCE'],
    ['mailbox', null],
    ['policy', null],
    ['sender', null],
    ['content', null],
    ['network', null],
    ['unknown', null],
  ] as const)(
    'of the class %s leaves the address with the suppression %s',
    async (bounceClass, suppression) => {
      expect(await history([bounceClass], 0)).toBe(suppression);
    },
  );

  it.each<[string, (BounceClass | '')[], number, string | null]>([
    ['three campaigns over 14 days', ['mailbox', 'mailbox', 'mailbox'], 7, 'HARD_BOUNCE'],
    ['three campaigns over 12 days', ['mailbox', 'mailbox', 'mailbox'], 6, null],
    ['two campaigns over 20 days', ['mailbox', 'mailbox'], 20, null],
    ['three campaigns with one between that stayed', ['mailbox', 'mailbox', '', 'mailbox'], 7, null],
    ['three after one that stayed', ['mailbox', '', 'mailbox', 'mailbox', 'mailbox'], 7, 'HARD_BOUNCE'],
    [
      'three with other bounces between',
      ['mailbox', 'policy', 'mailbox', 'network', 'mailbox'],
      7,
      'HARD_BOUNCE',
    ],
    ['three for reputation', ['policy', 'policy', 'policy', 'policy'], 7, null],
  ])('a mailbox that turned away %s is suppressed or not', async (_, classes, everyDays, suppression) => {
    expect(await history(classes, everyDays)).toBe(suppression);
  });

  it('may come in another order than the mails were sent', async () => {
    const to = await reader();
    const ids: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      ids.push(await mail(to));
      messaging.clock.advance(8 * DAY);
    }
    const [first = '', second = '', third = ''] = ids;
    await feedback.bounced(scope, second, 'mailbox');
    await feedback.bounced(scope, first, 'mailbox');
    expect(await suppressionOf(to)).toBeNull();
    await feedback.bounced(scope, third, 'mailbox');
    expect(await suppressionOf(to)).toBe('HARD_BOUNCE');
  });

  it('counts refusals of full mailboxes by the next hop, too', async () => {
    const to = await reader();
    for (let n = 0; n < 2; n += 1) {
      await mail(to, { state: 'FAILED', reason: 'mailbox' });
      messaging.clock.advance(8 * DAY);
    }
    await feedback.bounced(scope, await mail(to), 'mailbox');
    expect(await suppressionOf(to)).toBe('HARD_BOUNCE');
  });

  it('waits until it is written down that the mail was sent', async () => {
    const id = await mail(await reader(), { state: 'SENDING' });
    expect(await feedback.bounced(scope, id, 'hard')).toBe('too-early');
  });

  it('of a mail of which nobody knew whether it was accepted suppresses, and is not counted', async () => {
    const to = await reader();
    const id = await mail(to, { state: 'AMBIGUOUS', reason: 'no-reply' });
    expect(await feedback.bounced(scope, id, 'hard')).toBe('taken');
    expect(await suppressionOf(to)).toBe('HARD_BOUNCE');
    expect(await statisticsDiscrepancies(messaging.get(Database))).toEqual([]);
  });

  it('of a confirmation suppresses the address and is in no statistics', async () => {
    const [one, two] = [await reader(), await reader()];
    await feedback.bounced(scope, await mail(one, { kind: 'OPT_IN' }), 'hard');
    await feedback.complained(scope, await mail(two, { kind: 'OPT_IN' }));
    expect([await suppressionOf(one), await suppressionOf(two)]).toEqual(['HARD_BOUNCE', 'SPAM_COMPLAINT']);
    expect(await statisticsDiscrepancies(messaging.get(Database))).toEqual([]);
  });

  it.each([
    ['CAMPAIGN', 'MARKETING'],
    ['AUTOMATION', 'MARKETING'],
    ['OPT_IN', 'MARKETING'],
    ['MESSAGE', 'ALL'],
  ])('about a %s bars by a complaint %s, by a bounce all', async (kind, streams) => {
    const [returned, complaining] = [await reader(), await reader()];
    await feedback.bounced(scope, await mail(returned, { kind }), 'hard');
    await feedback.complained(scope, await mail(complaining, { kind }));
    expect([await streamsOf(returned), await streamsOf(complaining)]).toEqual(['ALL', streams]);
  });

  it('bars all mail where a complaint and a bounce come at once, for the first reason', async () => {
    const people = await Promise.all(Array.from({ length: 6 }, reader));
    const reasons = await Promise.all(
      people.map(async (to) => {
        const [one, other] = [await mail(to), await mail(to)];
        await Promise.all([feedback.complained(scope, one), feedback.bounced(scope, other, 'hard')]);
        return suppressionOf(to);
      }),
    );
    for (const reason of reasons) expect(['HARD_BOUNCE', 'SPAM_COMPLAINT']).toContain(reason);
    expect(await Promise.all(people.map(streamsOf))).toEqual(people.map(() => 'ALL'));
  });

  it('does not bring the address back of a person who was erased meanwhile', async () => {
    const to = await reader();
    const [first, second] = [await mail(to), await mail(to)];
    await messaging
      .get(PersonalDataService)
      .erase(scope, { key: to.email, value: to.email }, consentProof('API_KEY', null));
    await feedback.bounced(scope, first, 'hard');
    await feedback.complained(scope, second);
    expect(await suppressionOf(to)).toBeNull();
  });

  it('suppresses who came back after an erasure and calls an older mail spam, but not for its bounce', async () => {
    const signUp = (email: string) => {
      const parsed = parseEmailAddress(email);
      if ('fault' in parsed) throw new Error(parsed.fault);
      const person = { address: parsed.address, topicKeys: [], source: 'API' } as const;
      return messaging.get(SignUpService).create(scope, person, consentProof('API_KEY', null));
    };
    const to = await reader();
    const [bounced, complained, opened] = [
      await mail(to),
      await mail(to),
      await mail(to, { kind: 'AUTOMATION' }),
    ];
    await messaging
      .get(PersonalDataService)
      .erase(scope, { key: to.email, value: to.email }, consentProof('API_KEY', null));
    await signUp(to.email);
    await feedback.bounced(scope, bounced, 'hard');
    expect(await suppressionOf(to)).toBeNull();
    // Before the mails are depersonalised, and after.
    await feedback.complained(scope, complained);
    expect(await suppressionOf(to)).toBe('SPAM_COMPLAINT');
    await messaging.get(SuppressionsService).lift(scope, { key: to.email, value: to.email });
    const addressDigest = messaging.get(ErasedAddressesRepository).digestOf(scope, to.email).toString('hex');
    await messaging
      .get(Database)
      .transaction(scope, () =>
        messaging.get(MailPersonalDataService).erase(scope, { subscriberId: to.id, addressDigest }),
      );
    await feedback.complained(scope, opened);
    expect(await suppressionOf(to)).toBe('SPAM_COMPLAINT');
  });

  it('is about the address that the mail went to; a complaint also about the person, whatever address that is now', async () => {
    const people = [await reader(), await reader(), await reader(), await reader()] as const;
    const mails = await Promise.all(people.map((person) => mail(person)));
    const moved = people.map(({ email }) => ({ email: `new-${email}` }));
    for (const [index, { id }] of people.entries()) {
      const parsed = parseEmailAddress(moved[index]!.email);
      if ('fault' in parsed) throw new Error(parsed.fault);
      const wanted = { address: parsed.address, emailConfirmed: null, patch: {} };
      await messaging
        .get(AddressChangesService)
        .change(scope, { by: 'id', id }, wanted, consentProof('API_KEY', null));
    }
    await feedback.bounced(scope, mails[0]!, 'hard');
    await feedback.complained(scope, mails[1]!);
    const [old, present] = [people, moved].map((all) => Promise.all(all.map(suppressionOf)));
    expect(await old).toEqual(['HARD_BOUNCE', 'SPAM_COMPLAINT', null, null]);
    expect(await present).toEqual([null, 'SPAM_COMPLAINT', null, null]);
    await messaging
      .get(PersonalDataService)
      .erase(scope, { by: 'id', id: people[2].id }, consentProof('API_KEY', null));
    await feedback.bounced(scope, mails[2]!, 'hard');
    await feedback.complained(scope, mails[2]!);
    expect(await suppressionOf(people[2])).toBeNull();
    // Turned away at the old address: the new one has no such history.
    for (const [to, days] of [
      [people[3], 10],
      [people[3], 10],
      [moved[3]!, 10],
    ] as const) {
      await feedback.bounced(scope, await mail({ id: people[3].id, email: to.email }), 'mailbox');
      messaging.clock.advance(days * DAY);
    }
    expect(await Promise.all([people[3], moved[3]!].map(suppressionOf))).toEqual([null, null]);
  });

  it('is nothing for another project, and for a mail that is not there', async () => {
    const to = await reader();
    const id = await mail(to);
    const stranger = { ...scope, environmentId: scope.environmentId + 1_000 };
    expect(await feedback.bounced(stranger, id, 'hard')).toBe('nothing-new');
    expect(await feedback.bounced(scope, newId(), 'hard')).toBe('nothing-new');
    expect(await suppressionOf(to)).toBeNull();
  });
});
