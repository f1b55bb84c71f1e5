import type { ModelRequest, TokenUsage } from './language-model.js';

/** AI credits for 1 000 tokens. */
interface TokenPrice {
  /** Which models: those whose name begins so; the longest match counts. */
  readonly model: string;
  readonly prompt: number;
  readonly completion: number;
}

/** What tokens cost, by model; docs/credits.md shows it. The last line is for all that are not named. */
const PRICES: readonly TokenPrice[] = [{ model: '', prompt: 1, completion: 4 }];

/** A token is two bytes or more of the texts that we send: more would be reserved for nothing. */
const BYTES_OF_TOKEN = 2;

/** Whole credits, 1 at least. */
export function creditsFor(modelId: string, { promptTokens, completionTokens }: TokenUsage): number {
  const { prompt, completion } = priceOf(modelId);
  return Math.max(1, Math.ceil((promptTokens * prompt + completionTokens * completion) / 1_000));
}

/** What a request may use at most: reserved before it is sent, and charged when the endpoint does not say. */
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
