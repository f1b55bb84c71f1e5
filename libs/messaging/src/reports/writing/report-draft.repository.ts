import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { CreditsService } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { CampaignReport, type CampaignReportStatus, type ReportEnding } from './campaign-report.js';

/** A version that one try has in hand. */
export type ReportDraft = Pick<CampaignReport, 'id' | 'campaignId' | 'locale' | 'attempt'>;

/** Credits that a try has set aside, and what of them it used. */
export interface ReportCost {
  readonly reservationId: string;
  readonly credits: number;
}

/**
 * Hands a report from one state to the next, together with the credits that it holds. The report is locked before the
 * credits, here as everywhere.
 */
@Injectable()
export class ReportDrafts {
  constructor(
    private readonly database: Database,
    private readonly credits: CreditsService,
    private readonly clock: Clock,
  ) {}

  /** Takes the version in hand; null when it is gone or finished. Credits of a try that died go back. */
  take(scope: ProjectScope, id: string): Promise<ReportDraft | null> {
    return this.database.transaction(scope, async () => {
      const report = await this.#lock(scope, id, 'PENDING', 'GENERATING');
      if (report === null) return null;
      if (report.reservationId !== null) await this.credits.settle(scope, report.reservationId, 0);
      report.take(this.clock.now());
      return report;
    });
  }

  /** Sets credits aside and notes it on the version, so that the next try knows. */
  reserve(
    scope: ProjectScope,
    draft: ReportDraft,
    request: { readonly credits: number; readonly heldForMs: number },
  ): Promise<{ readonly reservationId: string } | { readonly failureReason: string }> {
    return this.database.transaction(scope, async () => {
      const report = await this.#lockOwn(scope, draft);
      if (report === null) return { failureReason: 'another try has it' };
      const reservation = await this.credits.reserve(scope, {
        ...request,
        referenceId: draft.id,
        description: 'Campaign report',
      });
      if (!reservation.reserved) {
        const isLimit = reservation.lacking === 'requests';
        return { failureReason: isLimit ? 'AI requests of the month used up' : 'credits depleted' };
      }
      report.reservationId = reservation.id;
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
    return this.database.transaction(scope, async () => {
      const report = await this.#lockOwn(scope, draft);
      report?.end(ending, this.clock.now());
      const isOurs = report !== null;
      if (cost !== null) await this.credits.settle(scope, cost.reservationId, isOurs ? cost.credits : 0);
      return isOurs;
    });
  }

  /** The version, unless another try has it or it has ended. */
  async #lockOwn(scope: ProjectScope, { id, attempt }: ReportDraft): Promise<CampaignReport | null> {
    const report = await this.#lock(scope, id, 'GENERATING');
    return report?.attempt === attempt ? report : null;
  }

  #lock({ environmentId }: ProjectScope, id: string, ...status: CampaignReportStatus[]) {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    return this.database.em.findOne(CampaignReport, { environmentId, id, status }, { lockMode });
  }
}
