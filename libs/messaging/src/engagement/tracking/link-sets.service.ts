import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, type TrackedMail, TrackingTokens } from '#platform';

/** Whose mails lead there: a campaign's, or those of a step of a version of an automation. */
export type LinkSetOwner =
  | { readonly campaignId: string }
  | { readonly campaignId: null; readonly versionId: number; readonly place: number };

/** What the places of mails lead to that have their content and the day of their deliveries in common. */
export type LinkSet = LinkSetOwner & {
  readonly environmentId: number;
  /** The partition of its deliveries, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly urls: readonly string[];
};

/** A set that is to be kept, or found again. */
export interface LinkSetContent {
  readonly owner: LinkSetOwner;
  readonly queuedOn: string;
  readonly urls: readonly string[];
}

interface LinkSetRow {
  readonly campaign_id: string | null;
  readonly version_id: number | null;
  readonly place: number | null;
  readonly queued_on: string;
  readonly urls: string[];
  readonly signature: Buffer;
}

/** A link set by its number, which a token gives together with the environment. */
type LinkSetNumber = Pick<TrackedMail, 'linkSet' | 'environmentId'>;

const KEPT = 2_000;

/** Keeps where the tracked links of campaigns and automations lead. A set never changes, so it is read once a process. */
@Injectable()
export class LinkSets {
  readonly #sets = new LRUCache<string, LinkSet, LinkSetNumber>({
    max: KEPT,
    fetchMethod: async (_key, _stale, { context }) => (await this.#read(context)) ?? undefined,
  });

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(EnvironmentsQuery) private readonly environments: EnvironmentsQuery,
    @Inject(TrackingTokens) private readonly tokens: TrackingTokens,
  ) {}

  /** The set's number; the same again for the same addresses of the same owner. */
  async register(scope: ProjectScope, { owner, queuedOn, urls }: LinkSetContent): Promise<number> {
    const { environmentId } = scope;
    const { campaignId } = owner;
    const [versionId, place] = campaignId === null ? [owner.versionId, owner.place] : [null, null];
    const signature = this.tokens.signTargets(nameOf({ ...owner, environmentId, queuedOn, urls }), urls);
    const isTheirs =
      campaignId === null
        ? sql`version_id = ${versionId} and place = ${place}`
        : sql`campaign_id = ${campaignId}`;
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        insert into messaging.link_sets (environment_id, campaign_id, version_id, place, queued_on, urls, signature, created_at)
        values (${environmentId}, ${campaignId}, ${versionId}, ${place}, ${queuedOn}::date, ${[...urls]}::text[],
          ${signature}, now())
        on conflict do nothing
      `.execute(db);
      const { rows } = await sql<{ id: number }>`
        select id from messaging.link_sets
        where environment_id = ${environmentId} and ${isTheirs} and queued_on = ${queuedOn}::date
          and signature = ${signature}
      `.execute(db);
      const id = rows[0]?.id;
      if (id === undefined) throw new Error('The link set was not written.');
      return id;
    });
  }

  /** The set of that number, if this process has it at hand. */
  atHand(mail: LinkSetNumber): LinkSet | undefined {
    return this.#sets.get(keyOf(mail));
  }

  /** The set of a verified token; null when it is not there, or was not signed by us. */
  async find(mail: LinkSetNumber): Promise<LinkSet | null> {
    return (await this.#sets.fetch(keyOf(mail), { context: mail })) ?? null;
  }

  async #read({ linkSet, environmentId }: LinkSetNumber): Promise<LinkSet | null> {
    const scope = await this.environments.find(environmentId);
    if (scope === null) return null;
    const { rows } = await this.database.transaction(scope, ({ db }) =>
      sql<LinkSetRow>`
        select campaign_id, version_id, place, queued_on, urls, signature from messaging.link_sets
        where id = ${linkSet} and environment_id = ${environmentId}
      `.execute(db),
    );
    const [row] = rows;
    if (row === undefined) return null;
    const owner = ownerOf(row);
    if (owner === null) return null;
    const set = { ...owner, environmentId, queuedOn: row.queued_on, urls: row.urls };
    return this.tokens.verifyTargets(nameOf(set), row.urls, row.signature) ? set : null;
  }
}

const keyOf = ({ environmentId, linkSet }: LinkSetNumber): string => `${environmentId}/${linkSet}`;

function ownerOf({ campaign_id: campaignId, version_id: versionId, place }: LinkSetRow): LinkSetOwner | null {
  if (campaignId !== null) return { campaignId };
  return versionId === null || place === null ? null : { campaignId, versionId, place };
}

/** What the signature speaks of beside the addresses. */
function nameOf(set: LinkSet): string {
  const owner = set.campaignId ?? `automation:${set.versionId}:${set.place}`;
  return `${set.environmentId}/${owner}/${set.queuedOn}`;
}
