import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { CreditsService } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';

/** A version that one try has in hand. */
export interface ReportDraft {
  readonly id: string;
  readonly campaignId: string;
  readonly locale: string;
  /** Grows with each try: what an earlier one brings is too late. */
  readonly attempt: number;
}

/** How a version ended. */
export type ReportEnding =
  | { readonly status: 'GENERATED'; readonly content: string; readonly aiModelId: string }
  | { readonly status: 'FAILED'; readonly failureReason: string; readonly aiModelId: string | null };

/** Credits that a try has set aside, and what of them it used. */
export interface ReportCost {
  readonly reservationId: string;
  readonly credits: number;
}

/** Hands a report from one state to the next, together with the credits that it holds. */
@Injectable()
export class ReportDrafts {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(CreditsService) private readonly credits: CreditsService,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Takes the version in hand; null when it is gone or finished. Credits of a try that died go back. */
  take(scope: ProjectScope, id: string): Promise<ReportDraft | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const held = await sql<{ reservationId: string | null }>`
        select reservation_id as "reservationId" from messaging.campaign_reports
        where environment_id = ${scope.environmentId} and id = ${id} and status in ('PENDING', 'GENERATING') for update
      `.execute(db);
      const [before] = held.rows;
      if (before === undefined) return null;
      if (before.reservationId !== null) await this.credits.settle(scope, before.reservationId, 0);
      const { rows } = await sql<ReportDraft>`
        update messaging.campaign_reports set status = 'GENERATING', attempt = attempt + 1, reservation_id = null,
          updated_at = ${this.clock.now()}
        where id = ${id}
        returning id, campaign_id as "campaignId", locale, attempt
      `.execute(db);
      return rows[0] ?? null;
    });
  }

  /** Sets credits aside and notes it on the version, so that the next try knows. */
  reserve(
    scope: ProjectScope,
    draft: ReportDraft,
    request: { readonly credits: number; readonly heldForMs: number },
  ): Promise<{ readonly reservationId: string } | { readonly failureReason: string }> {
    return this.database.transaction(scope, async ({ db }) => {
      // The version before the credits, here as everywhere: one order of locks.
      const { rows } = await sql`
        select from messaging.campaign_reports
        where id = ${draft.id} and attempt = ${draft.attempt} and status = 'GENERATING' for update
      `.execute(db);
      if (rows.length === 0) return { failureReason: 'another try has it' };
      const reservation = await this.credits.reserve(scope, {
        ...request,
        referenceId: draft.id,
        description: 'Campaign report',
      });
      if (!reservation.reserved) {
        const isLimit = reservation.lacking === 'requests';
        return { failureReason: isLimit ? 'AI requests of the month used up' : 'credits depleted' };
      }
      await sql`
        update messaging.campaign_reports set reservation_id = ${reservation.id} where id = ${draft.id}
      `.execute(db);
      return { reservationId: reservation.id };
    });
  }

  /**
   * Ends the version and settles its credits in one transaction. When another try has it by now, nothing is written and
   * nothing charged. False then.
   */
  finish(
    scope: ProjectScope,
    draft: ReportDraft,
    ending: ReportEnding,
    cost: ReportCost | null,
  ): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const now = this.clock.now();
      const isGenerated = ending.status === 'GENERATED';
      const { numAffectedRows } = await sql`
        update messaging.campaign_reports set status = ${ending.status}, ai_model_id = ${ending.aiModelId},
          content = ${isGenerated ? ending.content : null}, failure_reason = ${isGenerated ? null : ending.failureReason},
          generated_at = ${isGenerated ? now : null}, updated_at = ${now}, reservation_id = null
        where id = ${draft.id} and attempt = ${draft.attempt} and status = 'GENERATING'
      `.execute(db);
      const isOurs = numAffectedRows === 1n;
      if (cost !== null) await this.credits.settle(scope, cost.reservationId, isOurs ? cost.credits : 0);
      return isOurs;
    });
  }
}
