import { Inject, Injectable } from '@nestjs/common';
import type { ProjectScope } from '#kernel';
import { analyse } from '../analyst/analysis.js';
import type { ReportLocale } from '../analyst/report-messages.js';
import { reportText } from '../analyst/report-text.js';
import { BUILT_IN_ANALYST, type ReportEnding } from './campaign-report.js';
import { creditsFor, mostTokensOf } from '../language-model/credit-price.js';
import { LanguageModel, LanguageModelError, type ModelRequest } from '../language-model/language-model.js';
import { reportContent, reportPrompt } from './report-prompt.js';
import { type ReportDraft, ReportDrafts } from './report-draft.repository.js';
import type { ReportFacts } from '../statistics/report-facts.js';
import { ReportFactsQuery } from './report-facts.query.js';
import { loadReportLocale } from './report-locales.query.js';

/** Injects the `LanguageModel` of this installation, or null: then the built-in analyst writes. */
export const REPORT_MODEL = Symbol('mailwright.report-model');

/** Credits stay set aside a little longer than the model can take. */
const MARGIN_MS = 60_000;

/** Writes the reports that were asked for. */
@Injectable()
export class ReportWritingService {
  readonly #locales = new Map<string, ReportLocale>();

  constructor(
    private readonly drafts: ReportDrafts,
    private readonly facts: ReportFactsQuery,
    @Inject(REPORT_MODEL) private readonly model: LanguageModel | null,
  ) {}

  /**
   * Writes one version to its end; nothing to do when it has ended. May be killed and run again at any point: credits
   * are charged for what is kept, once. Rejects with the signal's reason when it is aborted; then it waits to be run again.
   */
  async write(scope: ProjectScope, reportId: string, signal: AbortSignal): Promise<void> {
    const draft = await this.drafts.take(scope, reportId);
    if (draft === null) return;
    const facts = await this.facts.of(scope, draft.campaignId);
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
    await this.drafts.finish(
      scope,
      draft,
      { status: 'GENERATED', content, aiModelId: BUILT_IN_ANALYST },
      null,
    );
  }

  async #ask(
    model: LanguageModel,
    scope: ProjectScope,
    draft: ReportDraft,
    facts: ReportFacts,
    signal: AbortSignal,
  ): Promise<void> {
    const prompt = reportPrompt(facts, this.#locale(draft.locale));
    const most = creditsFor(model.id, mostTokensOf(prompt));
    const held = await this.drafts.reserve(scope, draft, {
      credits: most,
      heldForMs: model.longestMs + MARGIN_MS,
    });
    if ('failureReason' in held) return this.#fail(scope, draft, held.failureReason);
    const { ending, credits } = await answered(model, prompt, facts, signal);
    await this.drafts.finish(scope, draft, ending, { reservationId: held.reservationId, credits });
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

/** What the model made of it, and what that costs: nothing when it is of no use. */
async function answered(
  model: LanguageModel,
  prompt: ModelRequest,
  facts: ReportFacts,
  signal: AbortSignal,
): Promise<{ readonly ending: ReportEnding; readonly credits: number }> {
  try {
    const { text, usage } = await model.answer(prompt, signal);
    const content = reportContent(text, facts);
    if (content === null) throw new LanguageModelError('the model’s answer was empty');
    const ending = { status: 'GENERATED', content, aiModelId: model.id } as const;
    return { ending, credits: creditsFor(model.id, usage ?? mostTokensOf(prompt)) };
  } catch (error) {
    if (!(error instanceof LanguageModelError)) throw error;
    return {
      ending: { status: 'FAILED', failureReason: error.message, aiModelId: model.id },
      credits: 0,
    };
  }
}
