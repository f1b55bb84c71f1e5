import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CONFIG, Database } from '#platform';
import { CreditsQuery, CreditsService } from '#billing';
import { InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { eventually } from '#testing/time/eventually';
import { ModelServer } from '#testing/servers/model-server';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SmtpSink } from '#testing/mail/sink-rules';
import type { Campaign } from '../../campaigns/campaign.js';
import { type DeliveryRow, MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import { DeliveryFeedbackService } from '../../engagement/delivery-feedback.service.js';
import { TrackedEventsService } from '../../engagement/tracked-events.service.js';
import { CampaignReportsService } from './campaign-reports.service.js';
import { ReportDrafts, ReportWritingService } from './report-writing.service.js';
import { reportFacts } from './report-facts.query.js';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';

const READERS = 40;
const contentJson = JSON.stringify({
  blocks: ['one', 'two', 'three'].map((name) => ({
    type: 'button',
    label: name,
    url: `https://acme.example/${name}`,
  })),
});

describe('Reports on campaigns', () => {
  let server: ModelServer;
  let sink: SmtpSink;
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let campaign: Campaign;
  let first: Campaign;

  beforeAll(async () => {
    server = await ModelServer.start();
    sink = await startRawSmtpSink();
    fixture = await MessagingFixture.open({
      SMTP_URL: sink.url,
      AI_BASE_URL: server.baseUrl,
      AI_MODEL: 'stand-in',
      AI_TIMEOUT_MS: '300000',
    });
    scope = await fixture.scope();
    fixture.engine.start();
    first = await sent({ name: 'First', contentJson });
    await fixture.test.query(
      `update audience.subscribers set first_name = 'Adalbert', last_name = 'Lovelace'`,
    );
    fixture.clock.advance(MINUTE);
    campaign = await sent({ name: 'Second', subject: 'Hello {{ subscriber.first_name }}', contentJson });
    await readersReact();
  });

  beforeEach(async () => {
    await fixture.test.query('truncate messaging.campaign_reports, platform.jobs');
    server.behave({ answer: '## Summary\n\nGood.' });
  });

  afterAll(async () => {
    await fixture?.close();
    await sink?.stop();
    await server?.stop();
  });

  const service = () => fixture.get(CampaignReportsService);
  const writing = () => fixture.get(ReportWritingService);
  const latest = (of = campaign) => service().latest(scope, of.campaignKey);

  /** A campaign to the same people each time. */
  async function sent(draft: Partial<Campaign>): Promise<Campaign> {
    const made = await (first === undefined
      ? fixture.queuedCampaign(scope, READERS, draft)
      : fixture.queuedCampaign(scope, 0, { ...draft, topicIds: first.topicIds }));
    fixture.engine.wake();
    await eventually('the campaign is sent', async () => {
      fixture.engine.wake();
      return (await fixture.campaign(made.id)).status === 'SENT';
    });
    return made;
  }

  const mailsOf = (of: Campaign) =>
    fixture.test.query<DeliveryRow & { sent_at: Date; day: string }>(
      `select *, queued_on::text as day from messaging.deliveries where source_id = $1 order by address`,
      [of.id],
    );

  /** Thirty open, twenty-four follow the first link, four the second, one the third is a scanner's; one mail comes back. */
  async function readersReact(): Promise<void> {
    const mails = await mailsOf(campaign);
    const linkSet = await fixture.linkSetOf(campaign.id);
    const event = (reader: number, linkNumber: number | null, hours: number) => {
      const mail = mails[reader];
      if (mail === undefined) throw new Error('There is no such reader.');
      return {
        environmentId: scope.environmentId,
        campaignId: campaign.id,
        queuedOn: mail.day,
        deliveryId: mail.id,
        linkSet,
        type: linkNumber === null ? ('OPENED' as const) : ('CLICKED' as const),
        linkNumber,
        at: new Date(mail.sent_at.getTime() + hours * 60 * MINUTE + 10_000),
        known: linkNumber === 3 ? ('scanner' as const) : null,
        agent: 'other' as const,
      };
    };
    const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index);
    await fixture
      .get(TrackedEventsService)
      .write([
        ...range(0, 30).map((reader) => event(reader, null, 1)),
        ...range(0, 24).map((reader) => event(reader, 1, 2)),
        ...range(20, 24).map((reader) => event(reader, 2, 3)),
        event(39, 3, 1),
      ]);
    await fixture.get(DeliveryFeedbackService).bounced(scope, mails[38]?.id ?? '', 'mailbox');
  }

  /** Has a version asked for and gives its id. */
  async function requested(of = campaign): Promise<string> {
    await service().request(scope, of.campaignKey);
    const rows = await fixture.test.query<{ id: string }>(
      `select payload->>'reportId' as id from platform.jobs where name = 'reports.write'
       order by id desc limit 1`,
    );
    return rows[0]?.id ?? '';
  }
  const write = (id: string, signal = new AbortController().signal) => writing().write(scope, id, signal);
  const ledger = async () => {
    const { items } = await fixture.get(CreditsQuery).transactions(scope, { page: 0, size: 100 });
    return items.map(({ type, amount }) => [type, amount]).toReversed();
  };
  const balance = async () => (await fixture.get(CreditsQuery).balance(scope)).balance;
  const setBalance = async (wanted: number) => {
    const change = wanted - (await balance());
    if (change !== 0)
      await fixture.get(CreditsService).add(scope.tenantId, { type: 'ADJUSTMENT', credits: change });
  };

  it('are made from the counts of the campaign and of those before it', async () => {
    const facts = await reportFacts(fixture.get(Database), scope, campaign.id, {
      now: fixture.clock.now(),
      canTrack: true,
    });
    const [mail] = await mailsOf(campaign);
    const hourAfter = (hours: number) =>
      new Date((mail?.sent_at.getTime() ?? 0) + hours * 60 * MINUTE + 10_000).getUTCHours();
    expect(facts).toEqual({
      campaign: { name: 'Second', subject: 'Hello {{ subscriber.first_name }}' },
      isTracked: true,
      isEarly: true,
      areOpensDue: false,
      counts: expect.objectContaining({ totalSent: 40, softBounced: 1, uniqueOpens: 30, uniqueClicks: 24 }),
      history: [
        {
          name: 'First',
          isTracked: true,
          counts: expect.objectContaining({ totalSent: 40, uniqueOpens: 0 }),
        },
      ],
      links: [
        { url: 'https://acme.example/one', clickers: 24 },
        { url: 'https://acme.example/two', clickers: 4 },
        { url: 'https://acme.example/three', clickers: 0 },
      ],
      clickers: 24,
      hours: [
        { hour: hourAfter(1), opens: 30 },
        { hour: hourAfter(2), opens: 24 },
        { hour: hourAfter(3), opens: 4 },
      ].toSorted((a, b) => a.hour - b.hour),
      domains: [{ domain: 'example.com', mails: 40, undelivered: 1 }],
      arrivals: { mails: 40, undelivered: 1 },
    });
    expect(
      (
        await reportFacts(fixture.get(Database), scope, first.id, {
          now: fixture.clock.now(),
          canTrack: true,
        })
      )?.history,
    ).toEqual([]);
  });

  it('are written by the built-in analyst without a model, for nothing', async () => {
    const builtIn = new ReportWritingService(
      fixture.get(ReportDrafts),
      fixture.get(Database),
      fixture.clock,
      fixture.get(CONFIG),
      null,
    );
    const before = await ledger();
    const id = await requested();
    await builtIn.write(scope, id, new AbortController().signal);
    expect(await latest()).toMatchObject({
      campaignId: campaign.id,
      status: 'GENERATED',
      aiModelId: 'builtin/analyst-1',
      locale: 'en',
      version: 2,
      failureReason: null,
      content: expect.stringContaining(
        'Best link: `https://acme.example/one`, followed from 24 of the 24 mails',
      ),
    });
    expect((await latest()).content).toContain('Open rate: 76.9% against 0% before, significantly better.');
    expect(await ledger()).toEqual(before);
    expect(server.calls).toEqual([]);
  });

  it('are not there before the campaign was sent, and cannot be asked for', async () => {
    const draft = await fixture.draft(scope, 0);
    await expect(latest(draft)).rejects.toThrow(NotFoundError);
    await expect(service().request(scope, draft.campaignKey)).rejects.toThrow(InvalidStateError);
    await expect(service().latest(scope, 'APIT-999')).rejects.toThrow(NotFoundError);
    await expect(service().request(scope, 'nonsense')).rejects.toThrow(NotFoundError);
  });

  it('wait for their hour, and are asked for once then', async () => {
    expect(await latest()).toMatchObject({ status: 'PENDING', version: 1, content: null });
    const reports = fixture.get(CampaignReportsService);
    await reports.requestDue();
    const rows = () =>
      fixture.test.query<{ version: number }>('select version from messaging.campaign_reports');
    expect(await rows()).toEqual([]);
    fixture.clock.advance(59 * MINUTE);
    await reports.requestDue();
    expect(await rows()).toHaveLength(1);
    fixture.clock.advance(MINUTE);
    await Promise.all([reports.requestDue(), reports.requestDue()]);
    await reports.requestDue();
    expect(await rows()).toEqual([{ version: 1 }, { version: 1 }]);
    const events = await fixture.test.query(`select 1 from platform.jobs where name = 'reports.write'`);
    expect(events).toHaveLength(2);
  });

  it('get a new version with each request, which takes the place of one that waits', async () => {
    expect((await service().request(scope, campaign.campaignKey)).version).toBe(2);
    const versions = await Promise.all(
      Array.from({ length: 4 }, async () => (await service().request(scope, campaign.campaignKey)).version),
    );
    expect(versions.sort((a, b) => a - b)).toEqual([3, 4, 5, 6]);
    expect(await fixture.test.query('select version, status from messaging.campaign_reports')).toEqual([
      { version: 6, status: 'PENDING' },
    ]);
    expect(await latest()).toMatchObject({ status: 'PENDING', version: 6 });
  });

  it('compare a young campaign with what the others had at its age, and a grown-up one with all that they have', async () => {
    fixture.clock.advance(10 * MINUTE);
    const third = await sent({ name: 'Third', contentJson });
    const history = async () => {
      const facts = await reportFacts(fixture.get(Database), scope, third.id, {
        now: fixture.clock.now(),
        canTrack: true,
      });
      return facts?.history.map(({ name, counts: { totalSent, uniqueOpens, uniqueClicks, softBounced } }) => [
        name,
        totalSent,
        uniqueOpens,
        uniqueClicks,
        softBounced,
      ]);
    };
    // The readers of the second one opened it after an hour and clicked from the second hour on.
    fixture.clock.advance(30 * MINUTE);
    expect(await history()).toEqual([
      ['Second', 40, 0, 0, 1],
      ['First', 40, 0, 0, 0],
    ]);
    fixture.clock.advance(60 * MINUTE);
    expect((await history())?.[0]).toEqual(['Second', 40, 30, 0, 1]);
    fixture.clock.advance(72 * 60 * MINUTE);
    expect((await history())?.[0]).toEqual(['Second', 40, 30, 24, 1]);
    await fixture.test.query('update messaging.campaigns set deleted_at = now() where id = $1', [third.id]);
  });

  describe('by a model', () => {
    beforeEach(() => setBalance(100));

    it('cost what the tokens cost; the rest of what was set aside comes back', async () => {
      server.behave({ answer: '## Summary\n\nPut link 1 first. <script>x</script>' });
      const before = await ledger();
      await write(await requested());
      expect(await latest()).toMatchObject({
        status: 'GENERATED',
        aiModelId: 'stand-in',
        content: '## Summary\n\nPut link 1 first.\n\n---\n\n- link 1: `https://acme.example/one`\n',
      });
      // 1 000 tokens asked, 500 answered: 1 + 2.
      expect(await balance()).toBe(97);
      const [reserved, returned] = (await ledger()).slice(before.length);
      expect([reserved?.[0], returned?.[0]]).toEqual(['CONSUMPTION', 'REFUND']);
      await write(await requested());
      expect(await latest()).toMatchObject({ version: 3 });
      expect(await balance()).toBe(94);
    });

    it('tell it of no person', async () => {
      await write(await requested());
      const asked = server.calls.map(({ body }) => body).join();
      const people = await fixture.test.query<{ email: string; first_name: string; last_name: string }>(
        'select email, first_name, last_name from audience.subscribers where environment_id = $1',
        [scope.environmentId],
      );
      expect(people.length).toBe(READERS);
      for (const secret of people.flatMap(({ email, first_name, last_name }) => [
        email,
        first_name,
        last_name,
      ]))
        expect(asked).not.toContain(secret);
      expect(asked).not.toMatch(/@|https?:/);
      expect(asked).toContain('Second');
      expect(asked).toContain('\\"totalSent\\":40');
    });

    it.each([
      ['refuses the key', { status: 401 }, 'the model refused the request (401)'],
      ['talks nonsense', { status: 200, body: '{"choices":' }, 'the model’s answer could not be read'],
      ['says nothing', { answer: '' }, 'the model’s answer was empty'],
      ['says nothing harmless', { answer: '<img src="x">' }, 'the model’s answer was empty'],
      ['talks for ever', { answer: 'word '.repeat(500_000) }, 'the model’s answer was too long'],
    ] as const)('fail and cost nothing when it %s', async (_, behaviour, failureReason) => {
      server.behave(behaviour);
      await write(await requested());
      expect(await latest()).toMatchObject({
        status: 'FAILED',
        failureReason,
        content: null,
        generatedAt: null,
      });
      expect(await balance()).toBe(100);
    });

    it('are bounded in length', async () => {
      server.behave({ answer: 'A line of a report.\n'.repeat(5_000) });
      await write(await requested());
      const { status, content } = await latest();
      expect(status).toBe('GENERATED');
      expect(content?.length).toBeLessThanOrEqual(12_001);
    });

    it('fail when there are no credits left, without asking it', async () => {
      await setBalance(1);
      await write(await requested());
      expect(await latest()).toMatchObject({ status: 'FAILED', failureReason: 'credits depleted' });
      expect(server.calls).toEqual([]);
      expect(await balance()).toBe(1);
    });

    it('are charged once when the worker dies while it writes', async () => {
      const id = await requested();
      server.behave('silent');
      const dying = new AbortController();
      const died = write(id, dying.signal);
      await eventually('the model is asked', () => server.calls.length > 0);
      expect(await latest()).toMatchObject({ status: 'GENERATING' });
      expect(await balance()).toBeLessThan(100);
      dying.abort(new Error('The worker stops.'));
      await expect(died).rejects.toThrow('The worker stops.');
      server.behave({ answer: 'Good.' });
      await write(id);
      expect(await latest()).toMatchObject({ status: 'GENERATED' });
      expect(await balance()).toBe(97);
      await write(id);
      expect(server.calls).toHaveLength(1);
    });

    it('are not overwritten by a try that comes too late, which costs nothing', async () => {
      const drafts = fixture.get(ReportDrafts);
      const id = await requested();
      const slow = await drafts.take(scope, id);
      if (slow === null) throw new Error('There is no draft.');
      const held = await drafts.reserve(scope, slow, { credits: 10, heldForMs: MINUTE });
      await write(id);
      const content = 'Too late.';
      const cost = { reservationId: 'reservationId' in held ? held.reservationId : '', credits: 10 };
      const ending = { status: 'GENERATED', content, aiModelId: 'stand-in' } as const;
      expect(await drafts.finish(scope, slow, ending, cost)).toBe(false);
      expect((await latest()).content).toBe('## Summary\n\nGood.\n');
      expect(await balance()).toBe(97);
    });

    it('are given up after too many failures', async () => {
      const id = await requested();
      await writing().giveUp(scope, id);
      expect(await latest()).toMatchObject({ status: 'FAILED', failureReason: 'it failed again and again' });
      await write(id);
      expect(await latest()).toMatchObject({ status: 'FAILED' });
    });
  });

  it('are made of a campaign that was archived before its time, and can be read', async () => {
    await setBalance(100);
    const archived = await sent({ name: 'Put away', subject: 'Put away', contentJson });
    await fixture.get(CampaignLifecycleService).archive(scope, archived.campaignKey);
    expect(await latest(archived)).toMatchObject({ status: 'PENDING', version: 1 });
    await expect(service().request(scope, archived.campaignKey)).rejects.toThrow(InvalidStateError);
    fixture.clock.advance(60 * MINUTE);
    await fixture.get(CampaignReportsService).requestDue();
    const [report] = await fixture.test.query<{ id: string }>(
      'select id from messaging.campaign_reports where campaign_id = $1',
      [archived.id],
    );
    await write(report?.id ?? '');
    expect(await latest(archived)).toMatchObject({ status: 'GENERATED', version: 1 });
  });
});
