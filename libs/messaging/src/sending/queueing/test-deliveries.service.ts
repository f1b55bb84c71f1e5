import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type EmailAddress, newId, NotFoundError, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { TooManyTestMailsError } from '../../campaigns/campaign.errors.js';
import { CampaignMailsService } from '../mails/campaign-mails.service.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';

const HOUR_MS = 3_600_000;
/** Of one project environment: enough for an author, useless for sending mail past the quota. */
export const TEST_MAILS_AN_HOUR = 100;

/** Writes down that test mails are to be sent. */
@Injectable()
export class TestDeliveriesService {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CampaignMailsService) private readonly mails: CampaignMailsService,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** One delivery an address; `TooManyTestMailsError` when the hour has no room for all of them. */
  async add(scope: ProjectScope, campaignId: string, addresses: readonly EmailAddress[]): Promise<void> {
    const { sender } = await this.mails.compile(scope, campaignId);
    await this.database.transaction(scope, async ({ db }) => {
      const now = this.clock.now();
      const testId = newId();
      await refuseTooMany(scope, db, addresses.length, now);
      // Nothing is inserted when the campaign was deleted meanwhile.
      const { numAffectedRows } = await sql`
        insert into messaging.campaign_tests (id, environment_id, campaign_id, emails, created_at)
        select ${testId}::uuid, c.environment_id, c.id, ${addresses.length}::int, ${now}::timestamptz
        from messaging.campaigns c where c.id = ${campaignId} and c.environment_id = ${scope.environmentId} for key share
      `.execute(db);
      if (numAffectedRows !== 1n) throw new NotFoundError();
      await insertDeliveries(scope, db, { testId, addresses, domain: sender.messageIdDomain, now });
      await wakeSenders(db);
    });
  }
}

/** The oldest of the last hour tells when there is room again. */
async function refuseTooMany(scope: ProjectScope, db: Sql, asked: number, now: Date): Promise<void> {
  const since = new Date(now.getTime() - HOUR_MS);
  const { rows } = await sql<{ sent: number; oldest: Date | null }>`
    select coalesce(sum(emails), 0)::bigint as sent, min(created_at) as oldest from messaging.campaign_tests
    where environment_id = ${scope.environmentId} and created_at > ${since}
  `.execute(db);
  const { sent = 0, oldest = null } = rows[0] ?? {};
  if (sent + asked <= TEST_MAILS_AN_HOUR) return;
  const freeAt = (oldest ?? now).getTime() + HOUR_MS;
  const seconds = Math.max(1, Math.ceil((freeAt - now.getTime()) / 1_000));
  throw new TooManyTestMailsError(TEST_MAILS_AN_HOUR, seconds);
}

interface TestRequest {
  readonly testId: string;
  readonly addresses: readonly EmailAddress[];
  readonly domain: string;
  readonly now: Date;
}

async function insertDeliveries(
  scope: ProjectScope,
  db: Sql,
  { testId, addresses, domain, now }: TestRequest,
): Promise<void> {
  const rows = addresses.map(({ value, key }) => ({ id: newId(), address: value, address_key: key }));
  await sql`
    insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
      address_key, message_id, state, next_attempt_at, created_at)
    select r.id, (${now}::timestamptz at time zone 'UTC')::date, ${scope.environmentId}, 'TEST', ${testId}::uuid, null,
      r.address, r.address_key, '<' || r.id || '@' || ${domain}::text || '>', 'PENDING', ${now}::timestamptz, ${now}::timestamptz
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as r(id uuid, address text, address_key text)
  `.execute(db);
}
