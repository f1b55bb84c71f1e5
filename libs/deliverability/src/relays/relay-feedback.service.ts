import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { EnvironmentsQuery } from '#access';
import { Clock, UnavailableError } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  LinkTokens,
  OutgoingHttp,
  postOutcome,
  SecretBox,
  named,
} from '#platform';
import { FeedbackEventsService, FeedbackMetrics, type ReportingRelay } from './feedback-events.service.js';
import {
  type FeedbackFormat,
  type FeedbackRequest,
  type ReadFeedback,
  UnreadableFeedbackError,
} from './kinds/kind.js';
import { kindRules, type RelayKind } from './kinds/kinds.js';
import { type Relay, relaySecret } from './relay.js';

/** Addresses to which providers post their events: each is one relay's, until it is rotated. */
@Injectable()
export class FeedbackAddresses {
  constructor(
    private readonly tokens: LinkTokens,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  addressOf({ kind, environmentId, feedbackId }: Relay): string {
    const token = this.tokens.sign({ kind: 'feedback', environmentId, id: feedbackId, expiresAt: null });
    return `${this.config.PUBLIC_URL}/feedback/${this.pathOf(kind)}/${token}`;
  }

  /** The kind, as addresses have it. */
  pathOf(kind: RelayKind): string {
    return kind === 'SMTP' ? 'generic' : kind.toLowerCase();
  }

  /** Null if the token is not ours. */
  read(token: string): { readonly environmentId: number; readonly feedbackId: string } | null {
    const claims = this.tokens.verify(token, 'feedback');
    return claims && { environmentId: claims.environmentId, feedbackId: claims.id };
  }
}

const MAX_CHARACTERS = 65_536;
const MAX_KEPT = 100;
const RETRY_AFTER_S = 30;
const KEPT_MS = 24 * 60 * 60_000;

/** Documents by which providers prove their events: cached for a day, a hundred at most; fetched once at a time. */
@Injectable()
export class FeedbackDocuments {
  readonly #kept = new LRUCache<string, { readonly text: Promise<string>; readonly until: number }>({
    max: MAX_KEPT,
  });

  constructor(
    private readonly http: OutgoingHttp,
    private readonly clock: Clock,
  ) {}

  /** Throws `UnavailableError` if there is no such document, so that the provider posts again. */
  text(url: string): Promise<string> {
    const now = this.clock.now().getTime();
    const known = this.#kept.get(url);
    if (known !== undefined && known.until > now) return known.text;
    const text = this.get(url);
    this.#kept.set(url, { text, until: now + KEPT_MS });
    text.catch(() => this.#kept.delete(url));
    return text;
  }

  /** Fetches it anew, from this host alone, which the format has checked: redirects are not followed. */
  async get(url: string): Promise<string> {
    const { answer, fault } = await postOutcome(this.http.request({ method: 'GET', url, redirects: 0 }));
    if (answer?.status === 200 && answer.body.length <= MAX_CHARACTERS) return answer.body;
    const why = fault?.message ?? `It answered ${answer?.status} with ${answer?.body.length} characters.`;
    throw new UnavailableError(`What the provider refers to could not be read. ${why}`, RETRY_AFTER_S);
  }
}

/** The relay of a feedback address. */
interface FeedbackRelay extends ReportingRelay {
  /** Proves its events; null if not set. */
  readonly feedbackKey: string | null;
  readonly lastFeedbackAt: Date | null;
}

interface RelayRow extends Pick<FeedbackRelay, 'id' | 'kind' | 'lastFeedbackAt'> {
  readonly feedbackKeyBox: string | null;
}

/** Shortest interval between two writes of `last_feedback_at`. */
const SHOWN_EVERY_MS = 10_000;

/** A provider's post to a feedback address. */
export interface PostedFeedback {
  /** The kind, as the address has it. */
  readonly path: string;
  readonly token: string;
  readonly request: Omit<FeedbackRequest, 'receivedAt'>;
}

/** Reason why nothing was taken. */
export type FeedbackRefusal = 'no-address' | 'no-proof' | 'unreadable';

/** Takes providers' posts about the mail of a project's relays. */
@Injectable()
export class RelayFeedbackService {
  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly addresses: FeedbackAddresses,
    private readonly box: SecretBox,
    private readonly documents: FeedbackDocuments,
    private readonly events: FeedbackEventsService,
    private readonly metrics: FeedbackMetrics,
    private readonly clock: Clock,
  ) {}

  /** Resolves once all of it is stored, or to the reason why nothing is. Throws `UnavailableError`. */
  async receive({ path, token, request }: PostedFeedback): Promise<'taken' | FeedbackRefusal> {
    const relay = await this.#find(path, token);
    if (relay === null) return 'no-address';
    const format = kindRules(relay.kind).feedback;
    const received = { ...request, receivedAt: this.clock.now() };
    const proof = { key: relay.feedbackKey, fetchText: (url: string) => this.documents.text(url) };
    if (!(await format.isGenuine(received, proof))) {
      this.metrics.refused(relay.kind);
      return 'no-proof';
    }
    const read = readBy(format, received);
    if (read === null) return 'unreadable';
    if (read.confirmUrl !== undefined) await this.documents.get(read.confirmUrl);
    await this.events.take(relay, read, received.receivedAt);
    await this.#heard(relay, received.receivedAt);
    return 'taken';
  }

  /** Null if the address is not ours, was rotated away, or is of another kind or a relay that is gone. */
  async #find(path: string, token: string): Promise<FeedbackRelay | null> {
    const address = this.addresses.read(token);
    const scope = address && (await this.environments.find(address.environmentId));
    if (address === null || scope === null) return null;
    const [row] = await this.database.statement<RelayRow>(
      scope,
      sql`${named('relay_of_feedback')}
        select id, kind, feedback_key_box, last_feedback_at from deliverability.relays
        where environment_id = ${scope.environmentId} and feedback_id = ${address.feedbackId}
      `,
    );
    if (row === undefined || this.addresses.pathOf(row.kind) !== path) return null;
    const { feedbackKeyBox: box, ...relay } = row;
    return { ...relay, scope, feedbackKey: box === null ? null : this.box.open(box, relaySecret(scope)) };
  }

  /** Records that its provider's events come in. */
  async #heard({ scope, id, lastFeedbackAt }: FeedbackRelay, now: Date): Promise<void> {
    const before = new Date(now.getTime() - SHOWN_EVERY_MS);
    if (lastFeedbackAt !== null && lastFeedbackAt > before) return;
    await this.database.statement(
      scope,
      sql`${named('note_relay_feedback')}
        update deliverability.relays set last_feedback_at = ${now}
        where environment_id = ${scope.environmentId} and id = ${id}
          and (last_feedback_at is null or last_feedback_at <= ${before})
      `,
      { flushed: false },
    );
  }
}

function readBy(format: FeedbackFormat, request: FeedbackRequest): ReadFeedback | null {
  try {
    return format.read(request);
  } catch (error) {
    if (error instanceof UnreadableFeedbackError) return null;
    throw error;
  }
}
