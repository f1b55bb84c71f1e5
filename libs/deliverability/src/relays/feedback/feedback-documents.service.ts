import { Injectable } from '@nestjs/common';
import { Clock, UnavailableError } from '#kernel';
import { OutgoingHttp, postOutcome } from '#platform';

const MAX_CHARACTERS = 65_536;
const MAX_KEPT = 100;
const RETRY_AFTER_S = 30;
const KEPT_MS = 24 * 60 * 60_000;

interface KeptText {
  readonly text: Promise<string>;
  readonly until: number;
}

/** Documents by which providers prove their events. Kept for a day, a hundred at most; asked for once at a time. */
@Injectable()
export class FeedbackDocuments {
  readonly #kept = new Map<string, KeptText>();

  constructor(
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** Throws `UnavailableError` when there is no such document, so that the provider posts again. */
  text(url: string): Promise<string> {
    const now = this.clock.now().getTime();
    const known = this.#kept.get(url);
    if (known !== undefined && known.until > now) return known.text;
    const text = this.get(url);
    this.#kept.delete(url);
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size >= MAX_KEPT) this.#kept.delete(oldest);
    this.#kept.set(url, { text, until: now + KEPT_MS });
    text.catch(() => this.#kept.delete(url));
    return text;
  }

  /** The same, asked anew. Of this host alone, which the format has checked: a redirect is not followed. */
  async get(url: string): Promise<string> {
    const { answer, fault } = await postOutcome(this.http.request({ method: 'GET', url, redirects: 0 }));
    if (answer?.status === 200 && answer.body.length <= MAX_CHARACTERS) return answer.body;
    const why = fault?.message ?? `It answered ${answer?.status} with ${answer?.body.length} characters.`;
    throw new UnavailableError(`What the provider refers to could not be read. ${why}`, RETRY_AFTER_S);
  }
}
