import { Injectable } from '@nestjs/common';
import { addressMark, FeedbackEvents, MessagesReported } from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { RelayedDeliveries } from '#messaging';
import { Database, done, type JobResult, publish, snooze, TransactionalJob } from '#platform';

type Reported = Parameters<typeof MessagesReported>[0];
type Found = Awaited<ReturnType<RelayedDeliveries['find']>>[number];

const LOOK_AGAIN_MS = 5_000;
/** An id is written with the outcome of its mail. One that is not there by then is not ours. */
const GIVE_UP_AFTER_MS = 5 * 60_000;

/** Finds the mails that a provider names by its own ids, and records what it says of them. */
@Injectable()
export class FindReportedMessages extends TransactionalJob<Reported> {
  override readonly name = 'find-reported-messages';
  override readonly queue = 'bounces';
  override readonly on = MessagesReported;

  constructor(
    private readonly database: Database,
    private readonly deliveries: RelayedDeliveries,
    private readonly feedback: FeedbackEvents,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async handle(scope: ProjectScope, reported: Reported): Promise<JobResult> {
    const now = this.clock.now().getTime();
    const lookAt = reported.lookAt === undefined ? now : Date.parse(reported.lookAt);
    if (lookAt > now) return snooze(new Date(lookAt));
    const ids = new Set(reported.reports.map(({ messageId }) => messageId));
    const known = Map.groupBy(await this.deliveries.find(scope, [...ids]), ({ messageId }) => messageId);
    const found = reported.reports.map((report) => ({
      report,
      mail: mailOf(report, known.get(report.messageId) ?? [], reported.idIsUnique),
    }));
    await this.feedback.record(
      scope,
      found.flatMap(({ report: { facts }, mail }) =>
        mail === null ? [] : [{ deliveryId: mail.deliveryId, facts }],
      ),
    );
    const missing = found.filter(({ mail }) => mail === null).map(({ report }) => report);
    const age = now - Date.parse(reported.receivedAt);
    if (missing.length === 0 || age >= GIVE_UP_AFTER_MS) return done;
    const again = new Date(now + Math.max(LOOK_AGAIN_MS, age));
    await publish(
      this.database,
      scope,
      MessagesReported({ ...reported, reports: missing, lookAt: again.toISOString() }),
    );
    return done;
  }
}

/** Some providers name the address that a mail was forwarded to: it need not be ours where the id tells enough. */
function mailOf(
  { addressMark: mark }: Reported['reports'][number],
  mails: readonly Found[],
  idIsUnique: boolean,
): Found | null {
  const sameAddress = mark === null ? undefined : mails.find(({ address }) => addressMark(address) === mark);
  if (sameAddress !== undefined) return sameAddress;
  return idIsUnique && mails.length === 1 ? (mails[0] ?? null) : null;
}
