import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { LanguageModel, LanguageModelError, type ModelAnswer, type ModelRequest } from './language-model.js';

export interface OpenAiCompatibleOptions {
  /** Without `/chat/completions`. */
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly model: string;
  /** Time-out of one try. */
  readonly timeoutMs: number;
  /** Replaces the wait between tries. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** Waits before the second and the third try. */
const WAITS_MS = [1_000, 5_000] as const;
/** A longer Retry-After is not waited for. */
const LONGEST_WAIT_MS = 30_000;
const MOST_BYTES = 1024 * 1024;

/** Part of a chat completion that is read (OpenAI API reference, "The chat completion object"). */
const completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string().nullish() }) })).min(1),
  usage: z
    .object({ prompt_tokens: z.int().min(0), completion_tokens: z.int().min(0) })
    .nullish()
    .catch(null),
});

interface Refusal {
  readonly error: LanguageModelError;
  /** Null when another try would be refused as well. */
  readonly retryAfterMs: number | null;
}

const refusal = (message: string, retryAfterMs: number | null = null): Refusal => ({
  error: new LanguageModelError(message),
  retryAfterMs,
});

/** A model behind an endpoint that speaks OpenAI's chat completions. */
export class OpenAiCompatibleModel extends LanguageModel {
  override readonly id: string;
  override readonly longestMs: number;
  readonly #wait: (ms: number, signal: AbortSignal) => Promise<void>;

  constructor(private readonly options: OpenAiCompatibleOptions) {
    super();
    this.id = options.model;
    this.longestMs = (WAITS_MS.length + 1) * options.timeoutMs + WAITS_MS.length * LONGEST_WAIT_MS;
    this.#wait = options.wait ?? ((ms, signal) => delay(ms, undefined, { signal, ref: false }));
  }

  override async answer(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer> {
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#try(request, signal);
      if (!('error' in outcome)) return outcome;
      const wait = WAITS_MS[attempt];
      if (outcome.retryAfterMs === null || wait === undefined) throw outcome.error;
      await this.#wait(Math.min(Math.max(wait, outcome.retryAfterMs), LONGEST_WAIT_MS), signal);
    }
  }

  async #try(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer | Refusal> {
    const timeout = AbortSignal.timeout(this.options.timeoutMs);
    try {
      const response = await this.#post(request, AbortSignal.any([signal, timeout]));
      if (!response.ok) {
        await response.body?.cancel();
        return refusalOf(response);
      }
      return answerOf(await boundedText(response));
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof LanguageModelError) return { error, retryAfterMs: null };
      // A model that was too slow has been paid for by then: it is not asked again.
      if (timeout.aborted) return refusal('the model did not answer in time');
      return refusal('the model cannot be reached', 0);
    }
  }

  #post({ instructions, question, mostTokens }: ModelRequest, signal: AbortSignal): Promise<Response> {
    const { baseUrl, apiKey, model } = this.options;
    return fetch(`${baseUrl.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      redirect: 'error',
      signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json',
        ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
      },
      body: JSON.stringify({
        model,
        max_tokens: mostTokens,
        messages: [
          { role: 'system', content: instructions },
          { role: 'user', content: question },
        ],
      }),
    });
  }
}

function refusalOf({ status, headers }: Response): Refusal {
  if (status === 429) return refusal('the model is busy (429)', retryAfterOf(headers));
  if (status >= 500) return refusal(`the model failed (${status})`, retryAfterOf(headers));
  return refusal(`the model refused the request (${status})`);
}

/** In seconds (RFC 9110 §10.2.3); a date is not worked out. */
function retryAfterOf(headers: Headers): number {
  const seconds = Number(headers.get('retry-after') ?? 0);
  return Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : 0;
}

async function boundedText(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const part of response.body ?? []) {
    bytes += part.length;
    if (bytes > MOST_BYTES) throw new LanguageModelError('the model’s answer was too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}

function answerOf(body: string): ModelAnswer {
  const parsed = completion.safeParse(jsonOf(body));
  if (!parsed.success) throw new LanguageModelError('the model’s answer could not be read');
  const { choices, usage } = parsed.data;
  const text = choices[0]?.message.content?.trim() ?? '';
  if (text === '') throw new LanguageModelError('the model’s answer was empty');
  if (usage === null || usage === undefined) return { text, usage: null };
  return { text, usage: { promptTokens: usage.prompt_tokens, completionTokens: usage.completion_tokens } };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
