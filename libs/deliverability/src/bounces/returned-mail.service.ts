import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { type Config, CONFIG, LOGGER } from '#platform';
import { readReport } from './report.js';
import { ReportsService } from './reports.service.js';
import { type ReturnPathClaims, ReturnPaths, UnsubscribeAddresses } from './return-path.js';

/** A mail that came to one or more of our addresses. */
export interface IncomingMail {
  /** The envelope's sender; empty for what a machine sends about a mail (RFC 5321 §4.5.5). */
  readonly from: string;
  readonly to: readonly string[];
  readonly raw: Uint8Array;
}

/** The local part, at `BOUNCE_HOST`, that mailbox providers are told to send all complaints to. */
const FEEDBACK_LOCAL_PART = 'fbl';
/** Anything in a complaint that looks like one of our addresses. */
const OURS = /[bu]\+[a-z2-7]{36}\.[a-z2-7]{21}@/gi;
/** As many of them are tried; a mail of ours has two. */
const TRIED = 20;

/** Knows what mail is for us and sees to what it says. */
@Injectable()
export class ReturnedMail {
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

  /** Whether mail to this address is taken: one that we made, or the one for feedback loops. */
  knows(address: string): boolean {
    return (
      this.paths.read(address) !== null ||
      this.unsubscribes.read(address) !== null ||
      this.#isFeedback(address)
    );
  }

  /** Writes down what the mail says, for each of its recipients. */
  async take(mail: IncomingMail): Promise<void> {
    for (const address of mail.to) {
      const unsubscribing = this.unsubscribes.read(address);
      if (unsubscribing !== null) await this.#unsubscribe(unsubscribing, mail);
      const returned = this.paths.read(address);
      if (returned !== null) await this.#report(returned, mail);
      if (this.#isFeedback(address)) await this.#feedback(mail);
    }
  }

  #isFeedback(address: string): boolean {
    return address.toLowerCase() === this.#feedbackAddress;
  }

  /** What the mail says in words does not matter; one without a sender is no person's. */
  async #unsubscribe(claims: ReturnPathClaims, { from }: IncomingMail): Promise<void> {
    const { deliveryId } = claims;
    const isPersons = from !== '';
    if (isPersons) await this.reports.unsubscribe(claims);
    this.logger.info({ deliveryId, taken: isPersons }, 'mail to an unsubscribe address');
  }

  async #report(claims: ReturnPathClaims, { from, raw }: IncomingMail): Promise<void> {
    const report = await readReport(raw, from);
    const isNew = await this.reports.take(claims, report);
    const outcome = report.kind === 'nothing' ? report.why : report.kind;
    this.logger.info({ deliveryId: claims.deliveryId, outcome, isNew }, 'mail to a return path');
  }

  /** A complaint is about the mail whose return path or unsubscribe address the returned message carries. */
  async #feedback({ raw }: IncomingMail): Promise<void> {
    const report = await readReport(raw);
    const claims = report.kind === 'complaint' ? this.#claimsIn(raw) : null;
    const isNew = claims !== null && (await this.reports.take(claims, report));
    this.logger.info({ deliveryId: claims?.deliveryId, isNew }, 'mail to the feedback address');
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
