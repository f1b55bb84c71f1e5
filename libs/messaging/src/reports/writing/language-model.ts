/** Question to a model. */
export interface ModelRequest {
  readonly instructions: string;
  readonly question: string;
  /** Longest answer. */
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

/** A service that answers in words for money. */
export abstract class LanguageModel {
  /** Name of the author in reports. */
  abstract readonly id: string;
  /** Longest time of one `answer`, tries and waits together, ms. */
  abstract readonly longestMs: number;
  /** Throws a `LanguageModelError` when there will be no answer, or the signal's reason when it is aborted. */
  abstract answer(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
}

/** Reason why a model did not answer, in words for the tenant: nothing of the endpoint's own. */
export class LanguageModelError extends Error {}

/** AI credits for 1 000 tokens. */
interface TokenPrice {
  /** Beginning of the models' names; the longest match counts. */
  readonly model: string;
  readonly prompt: number;
  readonly completion: number;
}

/** Prices by model; docs/credits.md shows them. The last line is for all that are not named. */
const PRICES: readonly TokenPrice[] = [{ model: '', prompt: 1, completion: 4 }];

/** A token is two bytes or more of the texts that we send: more would be reserved for nothing. */
const BYTES_OF_TOKEN = 2;

/** Whole credits, 1 at least. */
export function creditsFor(modelId: string, { promptTokens, completionTokens }: TokenUsage): number {
  const { prompt, completion } = priceOf(modelId);
  return Math.max(1, Math.ceil((promptTokens * prompt + completionTokens * completion) / 1_000));
}

/** Upper bound of a request's tokens: reserved before it is sent, and charged when the endpoint does not say. */
export function mostTokensOf({ instructions, question, mostTokens }: ModelRequest): TokenUsage {
  const bytes = Buffer.byteLength(instructions) + Buffer.byteLength(question);
  return { promptTokens: Math.ceil(bytes / BYTES_OF_TOKEN), completionTokens: mostTokens };
}

function priceOf(modelId: string): TokenPrice {
  const [price] = PRICES.filter(({ model }) => modelId.startsWith(model)).toSorted(
    (a, b) => b.model.length - a.model.length,
  );
  if (price === undefined) throw new Error('There is no price for all models.');
  return price;
}
