import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, type TrackedMail, TrackingTokens } from '#platform';

/** What the places of a campaign's mails lead to. */
export interface LinkSet {
  readonly campaignId: string;
  readonly environmentId: number;
  /** The partition of its deliveries, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly urls: readonly string[];
}

interface LinkSetRow {
  readonly campaign_id: string;
  readonly queued_on: string;
  readonly urls: string[];
  readonly signature: Buffer;
}

const KEPT = 2_000;

/** Keeps where the tracked links of campaigns lead. A set never changes, so it is read once a process. */
@Injectable()
export class LinkSets {
  readonly #loaded = new Map<number, Promise<LinkSet | null>>();
  readonly #known = new Map<number, LinkSet>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(TrackingTokens) private readonly tokens: TrackingTokens,
  ) {}

  /** The set's number; the same again for the same addresses of the same campaign. */
  async register(scope: ProjectScope, campaign: Omit<LinkSet, 'environmentId'>): Promise<number> {
    const { campaignId, queuedOn, urls } = campaign;
    const { environmentId } = scope;
    const signature = this.tokens.signTargets(ownerOf({ ...campaign, environmentId }), urls);
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
        values (${environmentId}, ${campaignId}, ${queuedOn}::date, ${[...urls]}::text[], ${signature}, now())
        on conflict (campaign_id, queued_on, signature) do nothing
      `.execute(db);
      const { rows } = await sql<{ id: number }>`
        select id from messaging.link_sets
        where environment_id = ${environmentId} and campaign_id = ${campaignId} and queued_on = ${queuedOn}::date
          and signature = ${signature}
      `.execute(db);
      const id = rows[0]?.id;
      if (id === undefined) throw new Error('The link set was not written.');
      return id;
    });
  }

  /** The set of a verified token, if this process has it at hand. */
  atHand({ linkSet }: TrackedMail): LinkSet | undefined {
    return this.#known.get(linkSet);
  }

  /** The set of a verified token; null when it is not there, or was not signed by us. */
  find(mail: Pick<TrackedMail, 'linkSet' | 'environmentId'>): Promise<LinkSet | null> {
    const loading = this.#loaded.get(mail.linkSet) ?? this.#load(mail);
    // The one used last comes last: the first is the one to forget.
    this.#loaded.delete(mail.linkSet);
    this.#loaded.set(mail.linkSet, loading);
    for (const oldest of this.#loaded.keys()) {
      if (this.#loaded.size <= KEPT) break;
      this.#forget(oldest);
    }
    return loading;
  }

  #load(mail: Pick<TrackedMail, 'linkSet' | 'environmentId'>): Promise<LinkSet | null> {
    const loading = this.#read(mail);
    loading.then(
      (set) => (set === null ? this.#forget(mail.linkSet) : this.#known.set(mail.linkSet, set)),
      () => this.#forget(mail.linkSet),
    );
    return loading;
  }

  #forget(linkSet: number): void {
    this.#loaded.delete(linkSet);
    this.#known.delete(linkSet);
  }

  async #read({
    linkSet,
    environmentId,
  }: Pick<TrackedMail, 'linkSet' | 'environmentId'>): Promise<LinkSet | null> {
    const scope = await this.environments.find(environmentId);
    if (scope === null) return null;
    const { rows } = await this.database.transaction(scope, ({ db }) =>
      sql<LinkSetRow>`
        select campaign_id, queued_on, urls, signature from messaging.link_sets
        where id = ${linkSet} and environment_id = ${environmentId}
      `.execute(db),
    );
    const [row] = rows;
    if (row === undefined) return null;
    const set = { campaignId: row.campaign_id, environmentId, queuedOn: row.queued_on, urls: row.urls };
    return this.tokens.verifyTargets(ownerOf(set), row.urls, row.signature) ? set : null;
  }
}

function ownerOf({ environmentId, campaignId, queuedOn }: LinkSet): string {
  return `${environmentId}/${campaignId}/${queuedOn}`;
}
