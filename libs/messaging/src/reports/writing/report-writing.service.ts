import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LockMode } from '@mikro-orm/postgresql';
import { Inject, Injectable } from '@nestjs/common';
import { CreditsService } from '#billing';
import { Clock, type ProjectScope } from '#kernel';
import {
  cancel,
  type Config,
  CONFIG,
  ConfigurationError,
  Database,
  done,
  type JobContext,
  type JobResult,
  projectRoot,
  ResumableJob,
  retry,
} from '#platform';
import {
  BUILT_IN_ANALYST,
  CampaignReport,
  writeCampaignReport,
  type CampaignReportStatus,
  type ReportEnding,
} from './campaign-report.schema.js';
import { analyse } from '../analyst/analysis.js';
import { parseReportMessages, type ReportLocale, reportText } from '../analyst/report-text.js';
import {
  creditsFor,
  LanguageModel,
  LanguageModelError,
  type ModelRequest,
  mostTokensOf,
} from './language-model.js';
import { reportContent, reportPrompt } from './report-prompt.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import { reportFacts } from './report-facts.query.js';

/** A version that one try has in hand. */
type ReportDraft = Pick<CampaignReport, 'id' | 'campaignId' | 'locale' | 'attempt'>;

/** Credits that a try holds, and the number that it used. */
interface ReportCost {
  readonly reservationId: string;
  readonly credits: number;
}

/**
 * Moves a report from one state to the next, together with the credits that it holds. The report is locked before the
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

  /** Ends the version and settles its credits. False when another try has it by now: nothing is written or charged then. */
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

/** Injects the `LanguageModel` of this installation, or null: then the built-in analyst writes. */
export const REPORT_MODEL = Symbol('mailwright.report-model');

/** Credits stay set aside a little longer than the model can take. */
const MARGIN_MS = 60_000;

/** Tries of about an hour, with the backoff. */
const TRIES = 12;

/** Writes the reports that were asked for. */
@Injectable()
export class ReportWritingService {
  readonly #locales = new Map<string, ReportLocale>();

  constructor(
    private readonly drafts: ReportDrafts,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(REPORT_MODEL) private readonly model: LanguageModel | null,
  ) {}

  @ResumableJob(writeCampaignReport)
  async writeOrGiveUp(
    scope: ProjectScope,
    { reportId }: { reportId: string },
    { failures, signal }: JobContext,
  ): Promise<JobResult> {
    if (failures >= TRIES) {
      await this.giveUp(scope, reportId);
      return cancel('It failed again and again.');
    }
    try {
      await this.write(scope, reportId, signal);
      return done;
    } catch (error) {
      if (!signal.aborted) throw error;
      return retry('The worker stopped.');
    }
  }

  /**
   * Writes one version to its end; nothing to do when it has ended. May be killed and run again at any point: credits are
   * charged once, for the text that is kept. Rejects with the signal's reason when it is aborted; then it waits to be run again.
   */
  async write(scope: ProjectScope, reportId: string, signal: AbortSignal): Promise<void> {
    const draft = await this.drafts.take(scope, reportId);
    if (draft === null) return;
    const facts = await reportFacts(this.database, scope, draft.campaignId, {
      now: this.clock.now(),
      canTrack: this.config.TRACKING,
    });
    if (facts === null) await this.#fail(scope, draft, 'the campaign is gone');
    // Mail of the test environment goes to nobody: an analysis of it is worth no money.
    else if (this.model === null || scope.environment === 'TEST') await this.#analyse(scope, draft, facts);
    else await this.#ask(this.model, scope, draft, facts, signal);
  }

  /** Gives up on a version that fails again and again. */
  async giveUp(scope: ProjectScope, reportId: string): Promise<void> {
    const draft = await this.drafts.take(scope, reportId);
    if (draft !== null) await this.#fail(scope, draft, 'it failed again and again');
  }

  async #analyse(scope: ProjectScope, draft: ReportDraft, facts: ReportFacts): Promise<void> {
    const content = reportText(analyse(facts), this.#locale(draft.locale));
    const ending = { status: 'GENERATED', content, aiModelId: BUILT_IN_ANALYST } as const;
    await this.drafts.finish(scope, draft, ending, null);
  }

  async #ask(
    model: LanguageModel,
    scope: ProjectScope,
    draft: ReportDraft,
    facts: ReportFacts,
    signal: AbortSignal,
  ): Promise<void> {
    const prompt = reportPrompt(facts, this.#locale(draft.locale));
    const credits = creditsFor(model.id, mostTokensOf(prompt));
    const heldForMs = model.longestMs + MARGIN_MS;
    const held = await this.drafts.reserve(scope, draft, { credits, heldForMs });
    if ('failureReason' in held) return this.#fail(scope, draft, held.failureReason);
    const { ending, used } = await answered(model, prompt, facts, signal);
    await this.drafts.finish(scope, draft, ending, { reservationId: held.reservationId, credits: used });
  }

  async #fail(scope: ProjectScope, draft: ReportDraft, failureReason: string): Promise<void> {
    const aiModelId = this.model?.id ?? null;
    await this.drafts.finish(scope, draft, { status: 'FAILED', failureReason, aiModelId }, null);
  }

  #locale(tag: string): ReportLocale {
    const locale = this.#locales.get(tag) ?? loadReportLocale(tag);
    this.#locales.set(tag, locale);
    return locale;
  }
}

/** The model's answer as the end of a version, and its credits: none when it is of no use. */
async function answered(
  model: LanguageModel,
  prompt: ModelRequest,
  facts: ReportFacts,
  signal: AbortSignal,
): Promise<{ readonly ending: ReportEnding; readonly used: number }> {
  try {
    const { text, usage } = await model.answer(prompt, signal);
    const content = reportContent(text, facts);
    if (content === null) throw new LanguageModelError('the model’s answer was empty');
    const ending = { status: 'GENERATED', content, aiModelId: model.id } as const;
    return { ending, used: creditsFor(model.id, usage ?? mostTokensOf(prompt)) };
  } catch (error) {
    if (!(error instanceof LanguageModelError)) throw error;
    return { ending: { status: 'FAILED', failureReason: error.message, aiModelId: model.id }, used: 0 };
  }
}

const DIRECTORY = join(projectRoot(), 'locales/campaign-report');
const FILE = /^(?<tag>[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.json$/;

/** The locales that there is a file of messages for: `locales/campaign-report/<tag>.json`. */
export function reportLocaleTags(): string[] {
  return readdirSync(DIRECTORY)
    .map((file) => FILE.exec(file)?.groups?.['tag'])
    .filter((tag) => tag !== undefined)
    .sort();
}

/** Reads one locale. Throws a `ConfigurationError` that names the known ones, when there is none of that tag. */
export function loadReportLocale(tag: string): ReportLocale {
  const known = reportLocaleTags();
  if (!known.includes(tag)) {
    throw new ConfigurationError([`AI_REPORT_LOCALE must be one of ${known.join(', ')}, there is no ${tag}`]);
  }
  return { tag, messages: parseReportMessages(readFileSync(join(DIRECTORY, `${tag}.json`), 'utf8')) };
}
