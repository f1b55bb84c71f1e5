import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { type Recipient, RecipientsQuery } from '#audience';
import { EmailQuotaService } from '#billing';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { Senders } from '../../campaigns/senders/senders.service.js';
import { wakeSenders } from '../../deliveries/deliveries.channel.js';
import { onwards, type PersonAtStep, type StepContext, type StepResult, type StepTaker } from './step.js';
import type { PlannedStep } from './version-plan.js';

/** When the plan's e-mails of the month are used up, the step is tried again after this time. */
const QUOTA_LOOK_AGAIN_MS = 15 * 60_000;

interface Addressee {
  readonly runId: string;
  readonly subscriberId: string;
  readonly email: string;
  readonly key: string;
  readonly locale: string | null;
}

/**
 * Creates one delivery for each run; its `source_id` leads to the run and the step. Subscribers who may get no mail skip
 * the step. Live mail counts against the plan when its delivery is created.
 */
@Injectable()
export class EmailStep implements StepTaker<'email'> {
  constructor(
    private readonly database: Database,
    private readonly recipients: RecipientsQuery,
    private readonly senders: Senders,
    private readonly quota: EmailQuotaService,
  ) {}

  async take(
    step: PlannedStep<'email'>,
    people: readonly PersonAtStep[],
    { plan, now }: StepContext,
  ): Promise<readonly StepResult[]> {
    const { scope, mailTopicIds } = plan;
    const topicId = mailTopicIds[step.place] ?? null;
    const ids = people.map(({ subscriberId }) => subscriberId);
    const found = await this.recipients.lookUp(scope, topicId === null ? [] : [topicId], ids, now);
    const wanted = people.filter(({ subscriberId }) => found.get(subscriberId)?.obstacle === null);
    const allowed = new Set(wanted.slice(0, await this.#allowance(scope, wanted.length, now)));
    await this.#write(
      step,
      [...allowed].map((person) => addresseeOf(person, found)),
      scope,
      now,
    );
    const later = new Date(now.getTime() + QUOTA_LOOK_AGAIN_MS);
    return people.map((person) => {
      const recipient = found.get(person.subscriberId);
      if (recipient === undefined) return onwards('erased', 'SKIPPED');
      if (recipient.obstacle !== null) return onwards(recipient.obstacle, 'SKIPPED');
      return allowed.has(person) ? onwards() : { kind: 'postpone', until: later };
    });
  }

  /** How many of the mails the month has left. Test mail is not counted. */
  async #allowance(scope: ProjectScope, wanted: number, now: Date): Promise<number> {
    if (scope.environment === 'TEST' || wanted === 0) return wanted;
    const all = await this.quota.reserve(scope, wanted, now);
    if (all.granted) return await this.#use(scope, all.periodStart, wanted);
    const rest = Math.min(wanted, all.remaining);
    const some = rest === 0 ? all : await this.quota.reserve(scope, rest, now);
    return some.granted ? await this.#use(scope, some.periodStart, rest) : 0;
  }

  async #use(scope: ProjectScope, periodStart: Date, emails: number): Promise<number> {
    await this.quota.settle(scope, periodStart, { used: emails, released: 0 });
    return emails;
  }

  async #write(
    { config, place }: PlannedStep<'email'>,
    addressees: readonly Addressee[],
    scope: ProjectScope,
    now: Date,
  ): Promise<void> {
    if (addressees.length === 0) return;
    const from = await this.senders.of(scope, config);
    if (from === null) throw new Error('The project of this scope is gone.');
    const column = (field: keyof Addressee) => addressees.map((addressee) => addressee[field]);
    await this.database.transaction(scope, async () => {
      await sql`
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
          address_key, locale, message_id, state, next_attempt_at, created_at)
        select p.delivery_id, (${now}::timestamptz at time zone 'UTC')::date, ${scope.environmentId}, 'AUTOMATION',
          messaging.step_id(p.run_id, ${place}), p.subscriber_id, p.email, p.key, p.locale,
          '<' || p.delivery_id || '@' || ${from.sender.messageIdDomain}::text || '>', 'PENDING', ${now}, ${now}
        from (
          select platform.new_id() as delivery_id, a.*
          from unnest(${column('runId')}::uuid[], ${column('subscriberId')}::uuid[], ${column('email')}::text[],
            ${column('key')}::text[], ${column('locale')}::text[]) a(run_id, subscriber_id, email, key, locale)
        ) p
        returning id
      `.execute(this.database.tables());
      wakeSenders(this.database);
    });
  }
}

function addresseeOf(
  { runId, subscriberId }: PersonAtStep,
  found: ReadonlyMap<string, Recipient>,
): Addressee {
  const { email = '', locale = null } = found.get(subscriberId) ?? {};
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new Error(`The address of a subscriber ${parsed.fault}.`);
  return { runId, subscriberId, email, key: parsed.address.key, locale };
}
