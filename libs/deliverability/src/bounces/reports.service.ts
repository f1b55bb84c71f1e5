import { Inject, Injectable, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import { Clock, Gathered, type ProjectScope } from '#kernel';
import { before, Database, enqueue, jobType, named, Periodic, removeOldRows } from '#platform';
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

/** Recording of what became of mail, in the open transaction: a port of the context that sends mail. */
export abstract class BounceRecorder {
  /** False where nothing follows from it that mails arrived, so that they need not be found. */
  abstract hearsDelivered(scope: ProjectScope): Promise<boolean>;

  /** Tells that mails arrived; safe to repeat. */
  abstract delivered(scope: ProjectScope, deliveryIds: readonly string[]): Promise<void>;

  /** `early`: the ids of deliveries of which it is not recorded yet that they were sent. */
  abstract allBounced(
    scope: ProjectScope,
    bounces: readonly ReportedBounce[],
  ): Promise<{ readonly early: readonly string[] }>;
}

/** Delay before another look: a report may precede the record of its mail, or be about the first of two attempts. */
export const LOOK_AGAIN_MS = 5_000;

/** Bounces that are recorded in one transaction. */
const MOST_BOUNCES = 100;

/** Reports of a post that waits for others. */
const FEW = 10;

interface Told {
  readonly scope: ProjectScope;
  readonly reports: readonly DeliveryReport[];
}

/** Takes down what came back, for a delivery whose return path has been checked. */
@Injectable()
export class ReportsService {
  readonly #told = new Gathered(
    (_environmentId: number, told: readonly Told[]) => this.#takeTold(told),
    MOST_BOUNCES,
  );

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly clock: Clock,
    @Optional() @Inject(BounceRecorder) private readonly recorder?: BounceRecorder,
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

  /** False where nothing follows from it that mails arrived. */
  async hearsDelivered(scope: ProjectScope): Promise<boolean> {
    return (await this.recorder?.hearsDelivered(scope)) ?? false;
  }

  /** Tells that mails arrived; safe to repeat. */
  async delivered(scope: ProjectScope, deliveryIds: readonly string[]): Promise<void> {
    if (deliveryIds.length > 0) await this.recorder?.delivered(scope, deliveryIds);
  }

  /**
   * Keeps the facts of a report and tells of it, both in one transaction. The first bounce and the first complaint of a
   * delivery count: true when this was one, false when there is nothing new.
   */
  async take({ environmentId, deliveryId }: ReturnPathClaims, report: Report): Promise<boolean> {
    if (report.kind === 'nothing') return false;
    const scope = await this.environments.find(environmentId);
    if (scope === null) return false;
    return (await this.takeTogether(scope, [{ ...factsOf(report, deliveryId), deliveryId }])) === 1;
  }

  /**
   * The same for those of one post, of which earlier ones come first; how many were new. Those of several posts that come at once
   * are one transaction: each by itself would wait for the others' counters.
   */
  async takeTogether(scope: ProjectScope, reports: readonly DeliveryReport[]): Promise<number> {
    if (reports.length > FEW) return (await this.takeAll(scope, reports)).size;
    return this.#told.add(scope.environmentId, { scope, reports });
  }

  /** The same in the open transaction; resolves to those that were new. */
  async takeAll(
    scope: ProjectScope,
    reports: readonly DeliveryReport[],
  ): Promise<ReadonlySet<DeliveryReport>> {
    if (reports.length === 0) return new Set();
    // In one order, so that writers cannot lock each other out.
    const firsts = [...firstsOf(reports).entries()].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Parameters<typeof keyOf>[0]>`${named('note_reports')}
        insert into deliverability.reports (delivery_id, kind, environment_id, bounce_class, basic_code, enhanced_code, excerpt,
          names_message, reported_at)
        select r."deliveryId", r.kind, ${scope.environmentId}, r."bounceClass", r."basicCode", r."enhancedCode", r.excerpt,
          r."namesMessage", ${this.clock.now()}
        from jsonb_to_recordset(${JSON.stringify(firsts.map(([, report]) => report))}::jsonb) as r("deliveryId" uuid, kind text,
          "bounceClass" text, "basicCode" int, "enhancedCode" text, excerpt text, "namesMessage" boolean)
        on conflict (delivery_id, kind, environment_id) do nothing
        returning delivery_id, kind
      `.execute(this.database.tables());
      const isNew = new Set(rows.map(keyOf));
      const told = firsts.filter(([key]) => isNew.has(key)).map(([, report]) => report);
      await this.#follow(scope, told);
      return new Set(told);
    });
  }

  async #takeTold(told: readonly Told[]): Promise<readonly number[]> {
    const taken = await this.takeAll(
      told[0]!.scope,
      told.flatMap(({ reports }) => reports),
    );
    return told.map(({ reports }) => reports.filter((report) => taken.has(report)).length);
  }

  /**
   * Records bounces at once where they are few, since a job for each would cost more than all that follows. Jobs have the others,
   * and those that the pacing of mail is told of.
   */
  async #follow(scope: ProjectScope, told: readonly DeliveryReport[]): Promise<void> {
    const complaints = told.filter(({ bounceClass }) => bounceClass === null);
    const bounces = told.flatMap(({ deliveryId, bounceClass, isDistrust }) =>
      bounceClass === null ? [] : [{ deliveryId, bounceClass, ...(isDistrust ? { isDistrust } : {}) }],
    );
    const isForJobs = (bounce: ReportedBounce) =>
      this.recorder === undefined || bounces.length > MOST_BOUNCES || bounce.isDistrust === true;
    const atOnce = bounces.filter((bounce) => !isForJobs(bounce));
    const early = new Set(atOnce.length > 0 ? (await this.recorder?.allBounced(scope, atOnce))?.early : []);
    const again = new Date(this.clock.now().getTime() + LOOK_AGAIN_MS);
    const left = atOnce.filter(({ deliveryId }) => early.has(deliveryId));
    await enqueue(
      this.database,
      scope,
      ...inSets(bounces.filter(isForJobs), MOST_BOUNCES).map((set) => recordBounces({ bounces: set })),
      ...(left.length > 0 ? [recordBounces({ bounces: left }, again)] : []),
      ...complaints.map(({ deliveryId }) => recordComplaint({ deliveryId })),
    );
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

const keyOf = ({ deliveryId, kind }: Pick<DeliveryReport, 'deliveryId' | 'kind'>) => `${deliveryId} ${kind}`;

function firstsOf(reports: readonly DeliveryReport[]): Map<string, DeliveryReport> {
  return new Map(reports.toReversed().map((report) => [keyOf(report), report]));
}

/** Items in sets of `size`, the last one smaller. */
export function inSets<Item>(items: readonly Item[], size: number): Item[][] {
  const starts = Array.from({ length: Math.ceil(items.length / size) }, (_, n) => n * size);
  return starts.map((start) => items.slice(start, start + size));
}
