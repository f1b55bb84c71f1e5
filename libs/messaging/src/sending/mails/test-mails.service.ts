import { Injectable } from '@nestjs/common';
import { type Insertable, sql } from 'kysely';
import { SuppressionsService } from '#audience';
import type { CheckCode, PreSendCheck } from '#deliverability';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  newId,
  NotFoundError,
  parseEmailAddress,
  type ProjectScope,
} from '#kernel';
import { Database } from '#platform';
import { PreSendAnalysisService } from '../../campaigns/pre-send-analysis.service.js';
import { PreSendRejectedError, TooManyTestMailsError } from '../../campaigns/campaign.errors.js';
import { refuseUnlessVariant } from '../../campaigns/campaign-variants.js';
import { CampaignRepository } from '../../campaigns/campaign.repository.js';
import { newDelivery, wakeSenders } from '../../deliveries/delivery-queue.query.js';
import type { MessagingTables } from '../../messaging-tables.js';
import type { ComposedMail, DeliveryWork } from '../delivery-work.js';
import { CompiledMailsService, type MailChoice } from './compiled-mails.service.js';
import { MailRenderingService } from './mail-rendering.service.js';

/** Checks that count for a test mail; recipients, topics and quota do not. */
const CHECKED: readonly CheckCode[] = [
  'sender-domain-verified',
  'subscription-active',
  'content-empty',
  'merge-tags',
];
const HOUR_MS = 3_600_000;
/** Limit of one project environment: enough for an author, useless for sending mail past the quota. */
const TEST_MAILS_AN_HOUR = 100;

type NewTest = Omit<Insertable<MessagingTables['messaging.campaign_tests']>, 'environmentId'>;

/** Test mails of a campaign: requested, queued, and composed from the campaign as it then is, with sample data. */
@Injectable()
export class TestMailsService {
  constructor(
    private readonly database: Database,
    private readonly campaigns: CampaignRepository,
    private readonly analysis: PreSendAnalysisService,
    private readonly suppressions: SuppressionsService,
    private readonly mails: CompiledMailsService,
    private readonly rendering: MailRenderingService,
    private readonly clock: Clock,
  ) {}

  /**
   * Queues a mail to each address: of this variant, in the translation for readers with this language. `DomainValidationError` for an address that
   * is suppressed, `PreSendRejectedError` when the campaign cannot become a mail; `TooManyTestMailsError`.
   */
  async send(
    scope: ProjectScope,
    campaignKey: string,
    addresses: readonly EmailAddress[],
    choice: MailChoice = { locale: null, variant: null },
  ): Promise<void> {
    const campaign = await this.campaigns.named(scope, campaignKey);
    refuseUnlessVariant(campaign, choice.variant);
    await this.#refuseSuppressed(scope, addresses);
    campaign.refuseUnlessAllowed('test');
    const { checks } = await this.analysis.of(scope, campaignKey);
    refuseFailed(checks);
    const recipients = [...new Map(addresses.map((address) => [address.key, address])).values()];
    await this.#queue(scope, campaign.id, recipients, choice);
  }

  async compose({ scope, delivery }: DeliveryWork, now: Date): Promise<ComposedMail> {
    const parsed = parseEmailAddress(delivery.address);
    if ('address' in parsed && (await this.suppressions.isSuppressed(scope, parsed.address.key)))
      return { skipped: 'suppressed' };
    const campaignId = await this.#campaignOf(scope, delivery.sourceId);
    if (campaignId === null) return { skipped: 'campaign-deleted' };
    const compiled = await this.mails.compile(scope, campaignId, delivery);
    const recipient = await this.rendering.sampleRecipient(compiled, delivery.address);
    const { id: deliveryId, messageId, kind, locale } = delivery;
    // Its links lead to nobody.
    const one = { deliveryId, messageId, recipient, locale, date: now, returnPathHost: null };
    const mail = { ...(await this.rendering.compose(compiled, one)), kind };
    return { mail, senderDomain: compiled.sender.domain };
  }

  async #refuseSuppressed(scope: ProjectScope, addresses: readonly EmailAddress[]): Promise<void> {
    const errors: Record<string, string> = {};
    for (const [index, { key }] of addresses.entries()) {
      if (await this.suppressions.isSuppressed(scope, key)) errors[`emails[${index}]`] = 'is suppressed';
    }
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
  }

  async #queue(
    scope: ProjectScope,
    campaignId: string,
    addresses: readonly EmailAddress[],
    choice: MailChoice,
  ): Promise<void> {
    const { sender } = await this.mails.compile(scope, campaignId);
    await this.database.transaction(scope, async () => {
      const now = this.clock.now();
      const testId = newId();
      await this.#refuseTooMany(scope, addresses.length, now);
      await this.#addTest(scope, { id: testId, campaignId, emails: addresses.length, createdAt: now });
      const of = { kind: 'TEST', sourceId: testId, subscriberId: null, ...choice, now } as const;
      const deliveries = addresses.map((address) =>
        newDelivery(scope, { ...of, address, domain: sender.messageIdDomain }),
      );
      await this.#tables.insertInto('messaging.deliveries').values(deliveries).execute();
      wakeSenders(this.database);
    });
  }

  get #tables() {
    return this.database.tables<MessagingTables>();
  }

  /** There is room again an hour after the oldest of the last hour. */
  async #refuseTooMany(scope: ProjectScope, asked: number, now: Date): Promise<void> {
    const { sent, oldest } = await this.#tables
      .selectFrom('messaging.campaign_tests')
      .select(({ fn }) => [
        fn.coalesce(fn.sum<number>('emails'), sql<number>`0`).as('sent'),
        fn.min('createdAt').as('oldest'),
      ])
      .where('environmentId', '=', scope.environmentId)
      .where('createdAt', '>', new Date(now.getTime() - HOUR_MS))
      .executeTakeFirstOrThrow();
    if (sent + asked <= TEST_MAILS_AN_HOUR) return;
    const freeAt = (oldest ?? now).getTime() + HOUR_MS;
    const seconds = Math.max(1, Math.ceil((freeAt - now.getTime()) / 1_000));
    throw new TooManyTestMailsError(TEST_MAILS_AN_HOUR, seconds);
  }

  /** `NotFoundError` when the campaign was deleted meanwhile. */
  async #addTest({ environmentId }: ProjectScope, test: NewTest): Promise<void> {
    const campaign = await this.#tables
      .selectFrom('messaging.campaigns')
      .select('id')
      .where('id', '=', test.campaignId)
      .where('environmentId', '=', environmentId)
      .forKeyShare()
      .executeTakeFirst();
    if (campaign === undefined) throw new NotFoundError();
    await this.#tables
      .insertInto('messaging.campaign_tests')
      .values({ ...test, environmentId })
      .execute();
  }

  /** Null when the campaign was deleted. */
  async #campaignOf(scope: ProjectScope, testId: string): Promise<string | null> {
    const test = await this.database.transaction(scope, () =>
      this.#tables
        .selectFrom('messaging.campaign_tests as t')
        .innerJoin('messaging.campaigns as c', (join) =>
          join.onRef('c.id', '=', 't.campaignId').onRef('c.environmentId', '=', 't.environmentId'),
        )
        .select('t.campaignId')
        .where('t.id', '=', testId)
        .where('t.environmentId', '=', scope.environmentId)
        .where('c.deletedAt', 'is', null)
        .executeTakeFirst(),
    );
    return test?.campaignId ?? null;
  }
}

function refuseFailed(checks: readonly PreSendCheck[]): void {
  const made = checks.filter(({ code }) => CHECKED.includes(code));
  if (made.some(({ result }) => result === 'FAIL')) throw new PreSendRejectedError(made);
}
