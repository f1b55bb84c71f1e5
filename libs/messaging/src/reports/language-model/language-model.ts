/** What a model is asked. */
export interface ModelRequest {
  readonly instructions: string;
  readonly question: string;
  /** How long the answer may be. */
  readonly mostTokens: number;
}

export interface ModelAnswer {
  readonly text: string;
  /** Null when the endpoint does not say. */
  readonly usage: TokenUsage | null;
}

export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Something that answers in words for money. */
export abstract class LanguageModel {
  /** What reports say they were written by. */
  abstract readonly id: string;
  /** How long one `answer` can take at most, tries and waits together, ms. */
  abstract readonly longestMs: number;
  /** Throws a `LanguageModelError` when there will be no answer, or the signal's reason when it is aborted. */
  abstract answer(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
}

/** Why a model did not answer, in words for the tenant: nothing of what the endpoint said. */
export class LanguageModelError extends Error {}
