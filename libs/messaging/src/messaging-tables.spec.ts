import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Automation } from './automations/automation.js';
import { Campaign } from './campaigns/campaign.js';
import { MessagingFixture } from './messaging.fixture.js';
import { ReportExport } from './reports/exports/report-export.schema.js';
import { CampaignReport } from './reports/writing/campaign-report.schema.js';

const NOW = new Date('2026-03-01T10:20:30.456Z');
const LATER = new Date('2027-03-01T10:20:30.456Z');

describe('What is written of messaging is read as it was', () => {
  let messaging: MessagingFixture;
  let scope: ProjectScope;
  let campaign: Campaign;

  beforeAll(async () => {
    messaging = await MessagingFixture.open();
    scope = await messaging.scope();
    campaign = await messaging.draft(scope, 0);
  });

  afterAll(() => messaging?.close());

  /** Writes it and reads it again. */
  async function expectKept<Entity extends { readonly id: string }>(
    type: new (...given: never[]) => Entity,
    entity: Entity,
  ): Promise<void> {
    const database = messaging.get<Database>(Database);
    await database.transaction(scope, () => database.em.persist(entity).flush());
    const read = await database.transaction(scope, () => database.em.findOneOrFail(type, { id: entity.id }));
    expect(read).not.toBe(entity);
    expect(read).toEqual(entity);
  }

  it('a campaign', async () => {
    const { environmentId } = scope;
    const draft = {
      name: 'News',
      subject: 'Hello',
      previewText: 'What is new',
      contentJson: '{"blocks":[]}',
      contentText: 'Hello.',
      translations: {
        'pt-BR': { subject: 'Olá', previewText: null, contentJson: null, contentText: 'Olá.' },
        de: { subject: 'Hallo', previewText: 'Neues', contentJson: '{"blocks":[]}', contentText: null },
      },
      fromEmail: 'ada@acme.example',
      fromName: 'Ada',
      replyTo: 'team@acme.example',
      topicIds: [newId(), newId()],
      segmentIds: [newId()],
      sendStrategy: 'SCHEDULED',
      scheduledAt: LATER,
      scheduledAtLocal: null,
    } as const;
    const written = new Campaign({ id: newId(), environmentId, campaignKey: 'ACME-777' }, draft, NOW);
    written.judge({ score: 90, status: 'WARNING', recipients: 12 }, NOW);
    written.queue({ recipients: 12, usagePeriod: NOW }, NOW, 'HOLD');
    Object.assign(written, {
      scheduledAtLocal: '2027-01-05T09:00',
      expansionCursor: newId(),
      expandedAt: NOW,
      expandedEmails: 3,
      retryFrom: LATER,
      retryEmails: 4,
      closingSince: NOW,
      failureReason: 'the domain is gone',
      completedAt: LATER,
      deletedAt: LATER,
      updatedAt: LATER,
    });
    await expectKept(Campaign, written);
  });

  it('an automation, also after all that can be done with it', () => {
    const database = messaging.get<Database>(Database);
    return database.transaction(scope, async () => {
      const identity = { id: newId(), environmentId: scope.environmentId, automationKey: 'APIT-1' };
      const fields = { name: 'Welcome', description: null, triggerType: null, triggerTopicId: null };
      const automation = new Automation(identity, fields, NOW);
      await database.em.persist(automation).flush();
      automation.describe({ description: 'Hello', triggerType: 'manual', triggerTopicId: newId() }, LATER);
      automation.replaceContent({ nodes: '[{}]', edges: '[]', nodeCount: 1 }, LATER);
      automation.activate(5_000_000_000, LATER);
      automation.pause(LATER);
      automation.archive(LATER);
      automation.delete(0, LATER);
      await database.em.flush();
      database.em.clear();
      expect(await database.em.find(Automation, {})).toEqual([automation]);
      expect(automation.number).toBeGreaterThan(0);
    });
  });

  it('a report in words', async () => {
    const { environmentId } = scope;
    const of = { environmentId, campaignId: campaign.id, locale: 'de' };
    const taken = new CampaignReport({ ...of, id: newId(), version: 7 }, NOW);
    taken.take(LATER);
    taken.reservationId = newId();
    await expectKept(CampaignReport, taken);
    const generated = new CampaignReport({ ...of, id: newId(), version: 8 }, NOW);
    generated.end({ status: 'GENERATED', content: '## Summary', aiModelId: 'stand-in' }, LATER);
    await expectKept(CampaignReport, generated);
    const failed = new CampaignReport({ ...of, id: newId(), version: 9 }, NOW);
    failed.end({ status: 'FAILED', failureReason: 'credits depleted', aiModelId: null }, LATER);
    await expectKept(CampaignReport, failed);
  });

  it('a report’s file', async () => {
    const { environmentId } = scope;
    const file = new ReportExport(
      { id: newId(), environmentId, campaignId: campaign.id, kind: 'DELIVERIES', isMasked: false },
      NOW,
    );
    file.advance({ cursor: 'ada@example.com', isLast: false }, NOW);
    file.advance({ cursor: null, isLast: true }, LATER);
    file.takenAt = LATER;
    await expectKept(ReportExport, file);
  });
});
