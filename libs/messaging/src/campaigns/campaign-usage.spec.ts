import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CustomFieldsService, CustomFieldsQuery, SegmentsService, TopicsService } from '#audience';
import { InUseError, type ProjectScope } from '#kernel';
import { startRawSmtpSink } from '#testing/mail/raw-smtp-sink';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { MessagingFixture, MINUTE } from '../messaging.fixture.js';
import type { CampaignDraft } from './campaign.js';
import { CampaignsService } from './campaigns.service.js';
import { PreSendAnalysisService } from './pre-send-analysis.service.js';
import { CampaignLifecycleService } from './campaign-lifecycle.service.js';

const json = (html: string) => JSON.stringify({ blocks: [{ type: 'text', html }] });
const rulesOf = (where: object) => JSON.stringify({ version: 1, where });
const GOLD = rulesOf({ field: 'custom.plan', op: 'eq', value: 'Gold' });
const TRANSLATION = { subject: 'Hallo', previewText: null, contentJson: null, contentText: null };

describe('what a campaign uses', () => {
  let sink: SmtpSink;
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    sink = await startRawSmtpSink();
    fixture = await MessagingFixture.open({ SMTP_URL: sink.url, THROTTLE: 'false' });
  });
  afterAll(async () => {
    await fixture?.close();
    await sink?.stop();
  });
  beforeEach(async () => {
    await fixture.clear();
    scope = await fixture.scope();
    topicIds = [];
    const options = ['gold', 'silver'].map((value) => ({ value, label: value }));
    const field = {
      key: 'plan',
      displayName: 'Plan',
      defaultValue: 'silver',
      type: 'SELECT',
      options,
    } as const;
    await fixture.get(CustomFieldsService).create(scope, field);
  });

  const archive = (key = 'plan') => fixture.get(CustomFieldsService).archive(scope, key);
  const removeGold = () =>
    fixture
      .get(CustomFieldsService)
      .updateConfig(scope, 'plan', { options: [{ value: 'silver', label: 'Silver' }] });
  const segment = (rules: string, name = 'Gold') =>
    fixture.get(SegmentsService).create(scope, { name, rules });
  let topicIds: readonly string[];
  const draft = async (fields: Partial<CampaignDraft>) => {
    const isFirst = topicIds.length === 0;
    const campaign = await fixture.draft(scope, isFirst ? 1 : 0, {
      ...(isFirst ? {} : { topicIds }),
      ...fields,
    });
    topicIds = isFirst ? campaign.topicIds : topicIds;
    return campaign;
  };
  const inAnHour = () => new Date(fixture.clock.now().getTime() + 60 * MINUTE);
  const schedule = (key: string) => fixture.get(CampaignLifecycleService).schedule(scope, key);
  const scheduled = async (fields: Partial<CampaignDraft>) => {
    const { campaignKey } = await draft({ scheduledAt: inAnHour(), ...fields });
    return schedule(campaignKey);
  };
  const failures = async (key: string) => {
    const { checks } = await fixture.get(PreSendAnalysisService).of(scope, key);
    const refusing = checks.filter(({ severity, result }) => severity === 'CRITICAL' && result === 'FAIL');
    return refusing.map(({ code, message }) => `${code}: ${message}`);
  };
  /** As a field could be archived under them before, and still by an operator's SQL. */
  const archiveAsBefore = () =>
    fixture.test.query(`update audience.custom_fields set status = 'ARCHIVED', archived_at = now()`);

  it.each<[string, Partial<CampaignDraft>]>([
    ['its document', { contentJson: json('<p>{% if custom.plan == "gold" %}Gold{% endif %}</p>') }],
    ['its text', { contentText: 'Your plan: {{ custom.plan }}' }],
    ['its subject', { subject: '{{ custom["plan"] }}' }],
    ['its preview text', { previewText: '{{ custom.plan | upcase }}', contentJson: json('<p>x</p>') }],
    ['a link', { contentJson: json('<p><a href="https://acme.example/?p={{ custom.plan }}">x</a></p>') }],
    ['a translation', { translations: { de: { ...TRANSLATION, contentText: '{{ custom.plan }}' } } }],
    [
      'the subject of a translation',
      { translations: { de: { ...TRANSLATION, subject: '{{ custom.plan }}' } } },
    ],
  ])(
    'a custom field in %s cannot be archived while it is scheduled, and the refusal names it',
    async (_, fields) => {
      const { campaignKey } = await scheduled({ name: 'Autumn', ...fields });
      const users = [{ kind: 'campaign', key: campaignKey, name: 'Autumn' }] as const;
      await expect(archive()).rejects.toThrow(new InUseError('The custom field', users));
      await expect(archive()).rejects.toMatchObject({ members: { usedBy: users, usedByCount: 1 } });
      await fixture.get(CampaignLifecycleService).cancel(scope, campaignKey);
      await archive();
      expect(await fixture.get(CustomFieldsQuery).byKey(scope, 'plan')).toMatchObject({ status: 'ARCHIVED' });
    },
  );

  it('keeps the default that those without a value are shown, which may become another one', async () => {
    const setDefault = (defaultValue: string | null, key = 'plan') =>
      fixture.get(CustomFieldsService).updateConfig(scope, key, { defaultValue });
    await fixture
      .get(CustomFieldsService)
      .create(scope, { key: 'city', displayName: 'City', type: 'TEXT', defaultValue: 'Here' });
    await segment(GOLD);
    const { campaignKey } = await scheduled({
      name: 'Autumn',
      contentText: '{{ custom.plan }} {{ custom.city }}',
    });
    const users = [{ kind: 'campaign', key: campaignKey, name: 'Autumn' }] as const;
    await expect(setDefault(null)).rejects.toThrow(new InUseError('The default of plan', users));
    await expect(setDefault('', 'city')).rejects.toThrow(new InUseError('The default of city', users));
    await setDefault('gold');
    await fixture.get(CampaignLifecycleService).cancel(scope, campaignKey);
    expect(await setDefault(null)).toMatchObject({ defaultValue: null });
    await scheduled({ contentText: '{{ custom.plan }}' });
    expect(await setDefault(null)).toMatchObject({ defaultValue: null });
  });

  it('stays until it is sent, and everybody gets the mail with its value', async () => {
    const { id } = await fixture.queuedCampaign(scope, 5, { contentText: 'Plan: {{ custom.plan }}.' });
    await expect(archive()).rejects.toThrow(InUseError);
    await fixture.test.query(`update messaging.campaigns set status = 'PAUSED' where id = $1`, [id]);
    await expect(archive()).rejects.toThrow(InUseError);
    await fixture.test.query(`update messaging.campaigns set status = 'SENDING' where id = $1`, [id]);
    fixture.engine.start();
    await fixture.settled('all are sent', ({ state }) => state === 'SENT');
    expect(sink.messages.filter(({ raw }) => raw.includes('silver'))).toHaveLength(5);
  });

  it('may go from under a draft, whose merge tags then fail', async () => {
    const { campaignKey } = await draft({ scheduledAt: inAnHour(), contentText: '{{ custom.plan }}' });
    await archive();
    expect(await failures(campaignKey)).toContain('merge-tags: Merge tags: {{ custom.plan }} is not known.');
    await expect(schedule(campaignKey)).rejects.toMatchObject({ code: 'pre-send-rejected' });
  });

  it('is either scheduled or loses its field, whichever came first, and never both', async () => {
    for (let round = 0; round < 6; round += 1) {
      const key = `race_${round}`;
      await fixture.get(CustomFieldsService).create(scope, { key, type: 'TEXT', displayName: key });
      const { campaignKey } = await draft({ scheduledAt: inAnHour(), contentText: `{{ custom.${key} }}` });
      const tries = [() => schedule(campaignKey), () => archive(key)];
      const outcomes = await Promise.allSettled(
        (round % 2 === 0 ? tries : tries.toReversed()).map((act) => act()),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const reasons = outcomes.flatMap((outcome) =>
        outcome.status === 'rejected' ? [(outcome.reason as { code?: string }).code] : [],
      );
      expect(['in-use', 'pre-send-rejected']).toContain(reasons[0]);
    }
  });

  it('is either scheduled or loses its segment or topic, whichever came first, and never both', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { id } = await segment(rulesOf({ field: 'email', op: 'exists' }), `Race ${round}`);
      const other = await fixture.get(TopicsService).create(scope, { name: 'Other' });
      const campaign = await draft({ scheduledAt: inAnHour(), segmentIds: [id] });
      const both = { topicIds: [...campaign.topicIds, other.id] };
      await fixture.get(CampaignsService).revise(scope, campaign.campaignKey, both);
      const remove = () =>
        round % 2 === 0
          ? fixture.get(SegmentsService).delete(scope, id)
          : fixture.get(TopicsService).delete(scope, other.topicKey, null);
      const outcomes = await Promise.allSettled([remove(), schedule(campaign.campaignKey)]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });

  it('names ten users at most, and how many more there are', async () => {
    const first = await scheduled({ name: 'First', contentText: '{{ custom.plan }}' });
    for (let more = 0; more < 11; more += 1) {
      const { id } = await draft({ name: `No ${more}`, contentText: '{{ custom.plan }}' });
      await fixture.test.query(`update messaging.campaigns set status = 'SCHEDULED' where id = $1`, [id]);
    }
    const refusal: unknown = await archive().catch((error: unknown) => error);
    expect(refusal).toMatchObject({ members: { usedByCount: 12 } });
    expect(String(refusal)).toMatch(
      new RegExp(`the campaign ${first.campaignKey} “First”, .* and 2 more\\.$`),
    );
    expect((refusal as InUseError).members['usedBy']).toHaveLength(10);
  });

  it('a custom field and an option in the rules of a segment stay, also of one that nobody uses yet', async () => {
    const { id, segmentKey } = await segment(GOLD);
    const users = [{ kind: 'segment', key: segmentKey, name: 'Gold' }] as const;
    await expect(archive()).rejects.toThrow(new InUseError('The custom field', users));
    await expect(removeGold()).rejects.toThrow(new InUseError('The option gold', users));
    await fixture.get(SegmentsService).delete(scope, id);
    await removeGold();
    await archive();
  });

  it('a segment whose rules name a field that was archived before is refused now, not only at its time', async () => {
    const inner = await segment(GOLD);
    const outer = await segment(
      rulesOf({ segment: { segmentKey: inner.segmentKey, member: false } }),
      'Others',
    );
    await archiveAsBefore();
    const { campaignKey } = await draft({ scheduledAt: inAnHour(), segmentIds: [outer.id] });
    const finding =
      'recipients: Segments whose rules are no longer valid: Gold (rules.where.field is an archived field).';
    expect(await failures(campaignKey)).toContain(finding);
    await expect(schedule(campaignKey)).rejects.toMatchObject({ code: 'pre-send-rejected' });
  });

  it('a topic that the rules of its segment name stays, as it would no longer find anybody', async () => {
    const topic = await fixture.get(TopicsService).create(scope, { name: 'Asked for' });
    const inner = await segment(
      rulesOf({ not: { consent: { topicKey: topic.topicKey, status: ['SUBSCRIBED'] } } }),
      'Not yet',
    );
    const outer = await segment(
      rulesOf({ segment: { segmentKey: inner.segmentKey, member: true } }),
      'Outer',
    );
    const remove = () => fixture.get(TopicsService).delete(scope, topic.topicKey, null);
    const { campaignKey } = await scheduled({ segmentIds: [outer.id] });
    await expect(remove()).rejects.toThrow(
      new InUseError('The topic', [
        { kind: 'segment', key: inner.segmentKey, name: 'Not yet' },
        { kind: 'campaign', key: campaignKey, name: 'News' },
      ]),
    );
    await fixture.get(CampaignLifecycleService).cancel(scope, campaignKey);
    await remove();
    const next = await draft({ scheduledAt: inAnHour(), segmentIds: [outer.id] });
    expect(await failures(next.campaignKey)).toEqual(
      expect.arrayContaining([expect.stringMatching(/Not yet \(rules.*is not a known topic\)/)]),
    );
  });

  it('topics and segments that a draft lost are found, also when others are left', async () => {
    const lost = await fixture.get(TopicsService).create(scope, { name: 'Lost' });
    const [kept, gone] = [
      await segment(rulesOf({ field: 'email', op: 'exists' })),
      await segment(GOLD, 'Gone'),
    ];
    const campaign = await draft({ segmentIds: [kept.id, gone.id] });
    const both = { topicIds: [...campaign.topicIds, lost.id] };
    await fixture.get(CampaignsService).revise(scope, campaign.campaignKey, both);
    await fixture.get(TopicsService).delete(scope, lost.topicKey, null);
    await fixture.get(SegmentsService).delete(scope, gone.id);
    expect(await failures(campaign.campaignKey)).toEqual([
      'topic: It names 1 topic deleted since: set topicIds anew.',
      'recipients: It names 1 segment deleted since: set segmentIds anew.',
    ]);
  });

  it('mails nobody a blank where a field was archived before, but fails and says why', async () => {
    const { id } = await fixture.queuedCampaign(scope, 3, { contentText: 'Plan: {{ custom.plan }}.' });
    await archiveAsBefore();
    const before = sink.count();
    fixture.engine.start();
    await fixture.settled('all are ended', ({ state }) => state === 'FAILED' || state === 'SKIPPED');
    expect(await fixture.campaign(id)).toMatchObject({
      status: 'FAILED',
      failure_reason: '{{ custom.plan }} names a custom field that is archived.',
    });
    expect(sink.count()).toBe(before);
  });

  it('is not tried again for those who failed when its field was archived since', async () => {
    const { id, campaignKey } = await fixture.queuedCampaign(scope, 2, { contentText: '{{ custom.plan }}' });
    await fixture.test.query(
      `update messaging.deliveries set state = 'FAILED', reason = 'mailbox', attempt = 1 where source_id = $1`,
      [id],
    );
    await fixture.test.query(
      `update messaging.campaigns set status = 'SENT', completed_at = now() where id = $1`,
      [id],
    );
    await archive();
    const retry = () => fixture.get(CampaignLifecycleService).retryFailed(scope, campaignKey);
    await expect(retry()).rejects.toMatchObject({
      code: 'pre-send-rejected',
      checks: [{ code: 'merge-tags', message: 'Merge tags: {{ custom.plan }} is not known.' }],
    });
    const field = { key: 'plan', type: 'TEXT', displayName: 'Plan' } as const;
    await fixture.get(CustomFieldsService).create(scope, field);
    const subscription = (status: string) =>
      fixture.test.query('update billing.subscriptions set status = $2 where tenant_id = $1', [
        scope.tenantId,
        status,
      ]);
    await subscription('CANCELLED');
    await expect(retry()).rejects.toMatchObject({
      checks: [{ code: 'subscription-active', message: 'The subscription does not allow sending.' }],
    });
    await subscription('ACTIVE');
    expect(await retry()).toMatchObject({ status: 'SENDING' });
  });
});
