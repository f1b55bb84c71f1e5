import { Injectable } from '@nestjs/common';
import { type Insertable, sql } from 'kysely';
import { Clock, type EmailAddress, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { TooManyTestMailsError } from '../../campaigns/campaign.errors.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { newDelivery } from '../../deliveries/new-delivery.js';
import type { MessagingTables } from '../../messaging-tables.js';

const HOUR_MS = 3_600_000;
/** Of one project environment: enough for an author, useless for sending mail past the quota. */
export const TEST_MAILS_AN_HOUR = 100;

type NewTest = Omit<Insertable<MessagingTables['messaging.campaign_tests']>, 'environmentId'>;

/** Queues test mails. */
@Injectable()
export class TestDeliveriesService {
  constructor(
    private readonly database: Database,
    private readonly mails: CampaignMailsService,
    private readonly clock: Clock,
  ) {}

  /** One delivery an address, in the translation for readers with this language; `TooManyTestMailsError` when the hour has no room for all of them. */
  async add(
    scope: ProjectScope,
    campaignId: string,
    addresses: readonly EmailAddress[],
    locale: string | null,
  ): Promise<void> {
    const { sender } = await this.mails.compile(scope, campaignId);
    await this.database.transaction(scope, async () => {
      const now = this.clock.now();
      const testId = newId();
      await this.#refuseTooMany(scope, addresses.length, now);
      await this.#addTest(scope, { id: testId, campaignId, emails: addresses.length, createdAt: now });
      const of = { kind: 'TEST', sourceId: testId, subscriberId: null, locale, now } as const;
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

  /** The oldest of the last hour tells when there is room again. */
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
}
