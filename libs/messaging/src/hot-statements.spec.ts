import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { newId } from '#kernel';
import { Database } from '#platform';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { AutomationsFixture, chain, delay, trigger } from './automations/automations.fixture.js';
import { CampaignLifecycleService } from './campaigns/campaign-lifecycle.service.js';
import { DeliveryClaimsQuery } from './sending/engine/delivery-claims.query.js';
import { outcomeBatch } from './sending/engine/outcome-batch.query.js';
import { outcomeOf } from './sending/delivery-outcome.js';

const DELIVERY = {
  id: newId(),
  queuedOn: '2026-03-02',
  kind: 'CAMPAIGN',
  sourceId: newId(),
  subscriberId: newId(),
  address: 'ada@example.com',
  locale: null,
  variant: null,
  messageId: '<1@example.com>',
  leaseToken: newId(),
  leaseEpoch: null,
  attempt: 0,
  interrupted: false,
  possibleDuplicate: false,
  relayKey: 'own',
  traceparent: null,
} as const;

describe('a hot statement of messaging', () => {
  let fixture: AutomationsFixture;
  let texts: readonly string[];

  beforeAll(async () => {
    fixture = await AutomationsFixture.open({}, 'LIVE');
    texts = await textsCompiledBy(async () => {
      await sendAndCancel();
      await enterAndMove();
      endAttempts();
    });
  });
  afterAll(() => fixture?.close());

  async function sendAndCancel(): Promise<void> {
    const { messaging, scope } = fixture;
    const campaign = await messaging.queuedCampaign(scope, 2);
    const claims = messaging.get(DeliveryClaimsQuery);
    const owner = { environment: 'LIVE', scope } as const;
    const [underWay] = await claims.campaignsUnderWay(owner);
    expect(await claims.claimCampaign(underWay!, 1, newId())).toHaveLength(1);
    await claims.claimSingles(owner, ['AUTOMATION'], 1, newId());
    await messaging.get(CampaignLifecycleService).cancel(scope, campaign.campaignKey);
    await messaging.closed(scope, campaign.id);
  }

  async function enterAndMove(): Promise<void> {
    const id = await fixture.active(chain(trigger(), delay('wait', 'P1D')));
    const { email } = await fixture.person();
    await fixture.enter(id, email);
    await fixture.later(24 * 3_600_000);
  }

  /** One that the relay took, and one without a relay. */
  function endAttempts(): void {
    const { messaging, scope } = fixture;
    const now = messaging.clock.now();
    const delivery = { ...DELIVERY, dueSince: now, createdAt: now };
    const reply = { code: 250, enhancedCode: null, text: 'Taken' };
    const outcomes = [
      outcomeOf(delivery, { kind: 'accepted', reply }, 'RESEND', now, () => 0.5),
      outcomeOf(
        delivery,
        { kind: 'route-unavailable', stage: 'connect', detail: 'no route' },
        'RESEND',
        now,
        () => 0.5,
      ),
    ];
    const statement = outcomeBatch(
      scope,
      { outcomes, starting: [delivery], usagePeriod: null },
      { now, returnsSent: true },
      { recipients: messaging.get(RecipientsQuery), quota: messaging.get(EmailQuotaService) },
    );
    messaging.get(Database).compile(statement);
  }

  it.each([
    'claim_campaign',
    'claim_singles',
    'outcome_batch',
    'expand_campaign',
    'close_campaign',
    'enter_automation',
    'claim_runs',
    'save_runs',
  ])('is the one of its file (%s)', async (name) => {
    const { now, committed } = await statementText(name, texts);
    expect(now).toBe(committed);
  });
});
