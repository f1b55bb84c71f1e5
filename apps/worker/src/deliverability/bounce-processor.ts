import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import {
  addressMark,
  FeedbackEventsService,
  findReportedMessages,
  kindRules,
  LOOK_AGAIN_MS,
  readReport,
  recordBounces,
  recordComplaint,
  ReportsService,
  type ReturnPathClaims,
  ReturnPaths,
  UnsubscribeAddresses,
  unsubscribeByMail,
} from '#deliverability';
import { Clock, type ProjectScope } from '#kernel';
import { DeliveryFeedbackService, DeliveryPacingService, MailPagesService } from '#messaging';
import { CONFIG, type Config, Database, done, enqueue, Job, type JobResult, LOGGER, snooze } from '#platform';

/** A mail to one or more of our addresses. */
export interface IncomingMail {
  /** The envelope's sender; empty for what a machine sends about a mail (RFC 5321 §4.5.5). */
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: Uint8Array;
}

/** Local part at `BOUNCE_HOST` that mailbox providers send all complaints to. */
const FEEDBACK_LOCAL_PART = 'fbl';
/** Anything in a complaint that looks like one of our addresses. */
const OURS = /[bu]\+[a-z2-7]{36}\.[a-z2-7]{21}@/gi;
/** Most of them that are tried; a mail of ours has two. */
const TRIED = 20;

/**
 * The bounce journey up to the stored report, whose event is written in the same transaction; the jobs below continue it.
 * Events that a provider posts (`RelayFeedbackService`) join it there.
 */
@Injectable()
export class BounceProcessor {
  readonly #feedbackAddress: string;

  constructor(
    private readonly paths: ReturnPaths,
    private readonly unsubscribes: UnsubscribeAddresses,
    private readonly reports: ReportsService,
    @Inject(CONFIG) { BOUNCE_HOST }: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#feedbackAddress = `${FEEDBACK_LOCAL_PART}@${BOUNCE_HOST}`.toLowerCase();
  }

  /** True for addresses that we made, and the one for feedback loops. */
  knows(address: string): boolean {
    return (
      this.paths.read(address) !== null ||
      this.unsubscribes.read(address) !== null ||
      this.#isFeedback(address)
    );
  }

  /** Stores the content of a mail, for each of its recipients. */
  async take(mail: IncomingMail): Promise<void> {
    for (const address of mail.to) {
      const unsubscribing = this.unsubscribes.read(address);
      if (unsubscribing !== null) await this.#unsubscribe(unsubscribing, mail);
      const returned = this.paths.read(address);
      if (returned !== null) await this.#report(returned, mail);
      if (this.#isFeedback(address)) await this.#complaint(mail);
    }
  }

  async #report(claims: ReturnPathClaims, { from, raw }: IncomingMail): Promise<void> {
    const report = await readReport(raw, from);
    const isNew = await this.reports.take(claims, report);
    const outcome = report.kind === 'nothing' ? report.why : report.kind;
    this.logger.info({ deliveryId: claims.deliveryId, outcome, isNew }, 'mail to a return path');
  }

  /** A complaint is about the mail whose return path or unsubscribe address the returned message carries. */
  async #complaint({ raw }: IncomingMail): Promise<void> {
    const report = await readReport(raw);
    const claims = report.kind === 'complaint' ? this.#claimsIn(raw) : null;
    const isNew = claims !== null && (await this.reports.take(claims, report));
    this.logger.info({ deliveryId: claims?.deliveryId, isNew }, 'mail to the feedback address');
  }

  /** The text of the mail does not matter; one without a sender is no person's. */
  async #unsubscribe(claims: ReturnPathClaims, { from }: IncomingMail): Promise<void> {
    const { deliveryId } = claims;
    const isPersons = from !== '';
    if (isPersons) await this.reports.unsubscribe(claims);
    this.logger.info({ deliveryId, taken: isPersons }, 'mail to an unsubscribe address');
  }

  #isFeedback(address: string): boolean {
    return address.toLowerCase() === this.#feedbackAddress;
  }

  #claimsIn(raw: Uint8Array): ReturnPathClaims | null {
    const found = Buffer.from(raw).toString('latin1').match(OURS) ?? [];
    for (const address of found.slice(0, TRIED)) {
      const claims = this.paths.read(`${address}-`) ?? this.unsubscribes.read(`${address}-`);
      if (claims !== null) return claims;
    }
    return null;
  }
}

/** Ids are written with the outcome of their mail: one that is missing by then is not ours. */
const GIVE_UP_AFTER_MS = 5 * 60_000;

type ReportedMessages = Parameters<typeof findReportedMessages>[0];
type Found = Awaited<ReturnType<DeliveryFeedbackService['named']>>[number];

/** Acts on what came back: in the deliveries, in the statistics, for the addresses and for their destinations. */
@Injectable()
export class BounceJobs {
  constructor(
    private readonly database: Database,
    private readonly feedback: DeliveryFeedbackService,
    private readonly pacing: DeliveryPacingService,
    private readonly pages: MailPagesService,
    private readonly events: FeedbackEventsService,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  @Job(recordBounces)
  async record(scope: ProjectScope, { bounces }: Parameters<typeof recordBounces>[0]): Promise<JobResult> {
    const outcome = await this.feedback.allBounced(scope, bounces);
    const [taken, early] = [new Set(outcome.taken), new Set(outcome.early)];
    for (const { deliveryId, isDistrust } of bounces)
      if (isDistrust === true && taken.has(deliveryId)) await this.pacing.reported(scope, deliveryId);
    if (early.size === 0) return done;
    const again = new Date(this.clock.now().getTime() + LOOK_AGAIN_MS);
    if (early.size === bounces.length) return snooze(again);
    // The early ones become a job of their own.
    const left = bounces.filter(({ deliveryId }) => early.has(deliveryId));
    await enqueue(this.database, scope, recordBounces({ bounces: left }));
    return done;
  }

  @Job(recordComplaint)
  async complaint(scope: ProjectScope, { deliveryId }: { deliveryId: string }): Promise<JobResult> {
    await this.feedback.complained(scope, deliveryId);
    return done;
  }

  @Job(unsubscribeByMail)
  async unsubscribe(scope: ProjectScope, { deliveryId }: { deliveryId: string }): Promise<JobResult> {
    // The client's address is a mail server's and says nothing about the person.
    const by = { how: 'ONE_CLICK', ipAddress: null, userAgent: null } as const;
    await this.pages.unsubscribe(scope, { id: deliveryId }, 'topics', by);
    return done;
  }

  @Job(findReportedMessages)
  async find(scope: ProjectScope, reported: ReportedMessages): Promise<JobResult> {
    const ids = new Set(reported.reports.map(({ messageId }) => messageId));
    const known = Map.groupBy(await this.feedback.named(scope, [...ids]), ({ messageId }) => messageId);
    const idIsUnique = reported.idIsUnique ?? kindRules(reported.kind).idIsUnique;
    const found = reported.reports.map((report) => ({
      report,
      mail: mailOf(report, known.get(report.messageId) ?? [], idIsUnique),
    }));
    await this.events.record(
      scope,
      found.flatMap(({ report: { facts }, mail }) =>
        mail === null ? [] : [{ deliveryId: mail.deliveryId, facts }],
      ),
    );
    const missing = found.filter(({ mail }) => mail === null).map(({ report }) => report);
    const now = this.clock.now().getTime();
    const age = now - Date.parse(reported.receivedAt);
    if (missing.length === 0) return done;
    if (age >= GIVE_UP_AFTER_MS) {
      const { kind } = reported;
      this.logger.warn(
        { environmentId: scope.environmentId, kind, missing: missing.length },
        'a provider reported mails that are not known here',
      );
      return done;
    }
    const again = new Date(now + Math.max(LOOK_AGAIN_MS, age));
    await enqueue(this.database, scope, findReportedMessages({ ...reported, reports: missing }, again));
    return done;
  }
}

/** A provider may name the address that a mail was forwarded to: a unique id is enough. */
function mailOf(
  { addressMark: mark }: ReportedMessages['reports'][number],
  mails: readonly Found[],
  idIsUnique: boolean,
): Found | null {
  const sameAddress = mark === null ? undefined : mails.find(({ address }) => addressMark(address) === mark);
  if (sameAddress !== undefined) return sameAddress;
  return idIsUnique && mails.length === 1 ? (mails[0] ?? null) : null;
}
