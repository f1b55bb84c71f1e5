import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { Clock, type ProjectScope } from '#kernel';
import { before, Database, enqueue, jobType, type NewJob, Periodic, removeOldRows } from '#platform';
import type { BounceClass } from './bounce-class.js';
import { factsOf, type Report, type ReportFacts } from './report.js';
import type { ReturnPathClaims } from './return-path.js';

/** A mail that came back. */
export interface ReportedBounce {
  readonly deliveryId: string;
  readonly bounceClass: BounceClass;
  /** Its destination refuses it for who we are, so that it should get less of our mail; not said when it does not. */
  readonly isDistrust?: true;
}

/** Records bounces, by reports that only recipients could send, or by what a relay's provider tells. */
export const recordBounces = jobType<{ bounces: readonly ReportedBounce[] }>('bounces.record', 'bounces');

/** Unsubscribes a reader from the topics of a mail, after a mail to its unsubscribe address, which only they know. */
export const unsubscribeByMail = jobType<{ deliveryId: string }>('bounces.unsubscribe', 'bounces');

/** Records that a reader called a mail spam. */
export const recordComplaint = jobType<{ deliveryId: string }>('bounces.complaint', 'bounces');

/** The facts of a report, and the delivery that they are about. */
export type DeliveryReport = ReportFacts & Pick<ReturnPathClaims, 'deliveryId'>;

const KEPT_MS = 180 * 24 * 60 * 60_000;

/** Takes down what came back, for a delivery whose return path has been checked. */
@Injectable()
export class ReportsService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly clock: Clock,
  ) {}

  /** Tells that a mail's reader wants no more of the kind. */
  async unsubscribe({ environmentId, deliveryId }: ReturnPathClaims): Promise<void> {
    const scope = await this.environments.find(environmentId);
    if (scope !== null) await this.unsubscribeAll(scope, [deliveryId]);
  }

  /** The same for readers of several mails. */
  async unsubscribeAll(scope: ProjectScope, deliveryIds: readonly string[]): Promise<void> {
    const jobs = deliveryIds.map((deliveryId) => unsubscribeByMail({ deliveryId }));
    if (jobs.length > 0) await this.database.transaction(scope, () => enqueue(this.database, scope, ...jobs));
  }

  /**
   * Keeps the facts of a report and tells of it, both in one transaction. The first bounce and the first complaint of a
   * delivery count: true when this was one, false when there is nothing new.
   */
  async take({ environmentId, deliveryId }: ReturnPathClaims, report: Report): Promise<boolean> {
    if (report.kind === 'nothing') return false;
    const scope = await this.environments.find(environmentId);
    if (scope === null) return false;
    return (await this.takeAll(scope, [{ ...factsOf(report, deliveryId), deliveryId }])) === 1;
  }

  /** The same for many, of which earlier ones come first; how many were new. */
  takeAll(scope: ProjectScope, reports: readonly DeliveryReport[]): Promise<number> {
    if (reports.length === 0) return Promise.resolve(0);
    // In one order, so that writers cannot lock each other out.
    const firsts = [...firstsOf(reports).entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Parameters<typeof keyOf>[0]>`
        insert into deliverability.reports (delivery_id, kind, environment_id, bounce_class, basic_code, enhanced_code, excerpt,
          names_message, reported_at)
        select r."deliveryId", r.kind, ${scope.environmentId}, r."bounceClass", r."basicCode", r."enhancedCode", r.excerpt,
          r."namesMessage", ${this.clock.now()}
        from jsonb_to_recordset(${JSON.stringify(firsts.map(([, report]) => report))}::jsonb) as r("deliveryId" uuid, kind text,
          "bounceClass" text, "basicCode" int, "enhancedCode" text, excerpt text, "namesMessage" boolean)
        on conflict (delivery_id, kind, environment_id) do nothing
        returning delivery_id as "deliveryId", kind
      `.execute(this.database.tables());
      const isNew = new Set(rows.map(keyOf));
      const told = firsts.filter(([key]) => isNew.has(key)).map(([, report]) => report);
      await enqueue(this.database, scope, ...jobsOf(told));
      return rows.length;
    });
  }

  /**
   * Removes what reports told half a year ago, and tokens of feedback that are too old to be good. What followed from them stays
   * with the deliveries.
   */
  @Periodic('remove-old-reports', { everyMs: 60 * 60_000 })
  removeOld(): Promise<void> {
    const now = this.clock.now();
    return removeOldRows(
      this.database,
      { table: 'deliverability.reports', where: sql`reported_at < ${before(now, KEPT_MS)}` },
      { table: 'deliverability.feedback_tokens', where: sql`good_until < ${now}` },
    );
  }
}

/** Bounces that one job records. */
const BOUNCES_A_JOB = 100;

const keyOf = ({ deliveryId, kind }: Pick<DeliveryReport, 'deliveryId' | 'kind'>) => `${deliveryId} ${kind}`;

function firstsOf(reports: readonly DeliveryReport[]): Map<string, DeliveryReport> {
  return new Map(reports.toReversed().map((report) => [keyOf(report), report]));
}

function jobsOf(reports: readonly DeliveryReport[]): NewJob[] {
  const bounces = reports.flatMap(({ deliveryId, bounceClass, isDistrust }) =>
    bounceClass === null ? [] : [{ deliveryId, bounceClass, ...(isDistrust ? { isDistrust } : {}) }],
  );
  const complaints = reports.filter(({ bounceClass }) => bounceClass === null);
  return [
    ...inSets(bounces, BOUNCES_A_JOB).map((set) => recordBounces({ bounces: set })),
    ...complaints.map(({ deliveryId }) => recordComplaint({ deliveryId })),
  ];
}

/** Items in sets of `size`, the last one smaller. */
export function inSets<Item>(items: readonly Item[], size: number): Item[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, n) => n * size);
  return starts.map((start) => items.slice(start, start + size));
}
