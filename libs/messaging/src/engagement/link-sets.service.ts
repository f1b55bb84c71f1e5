import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, type TrackedMail, TrackingTokens } from '#platform';
import type { LinkSetsTable, MessagingTables } from '../messaging-tables.js';

/** The owner of the mails that lead there: a campaign, or a step of a version of an automation. */
export type LinkSetOwner =
  | { readonly campaignId: string }
  | { readonly campaignId: null; readonly versionId: number; readonly place: number };

/** The targets of the places of mails that have their content and the day of their deliveries in common. */
export type LinkSet = LinkSetOwner & {
  readonly environmentId: number;
  /** The partition of its deliveries, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  /** The locale of the campaign's translation that leads there; null: its own content, or an automation's. */
  readonly translation: string | null;
  readonly urls: readonly string[];
};

/** A set that is to be kept, or found again. */
export interface LinkSetContent {
  readonly owner: LinkSetOwner;
  readonly queuedOn: string;
  readonly translation: string | null;
  readonly urls: readonly string[];
}

/** A link set by its number, which a token gives together with the environment. */
type LinkSetNumber = Pick<TrackedMail, 'linkSet' | 'environmentId'>;

const KEPT = 2_000;

/** Condition that the mails of the campaign `c` had pixel and tracked links. */
export const IS_TRACKED = sql`exists (
  select 1 from messaging.link_sets l where l.campaign_id = c.id and l.environment_id = c.environment_id
)`;

/** The targets of the tracked links of campaigns and automations. A set never changes, so it is read once a process. */
@Injectable()
export class LinkSetsService {
  readonly #sets = new LRUCache<string, LinkSet, LinkSetNumber>({
    max: KEPT,
    fetchMethod: async (_key, _stale, { context }) => (await this.#read(context)) ?? undefined,
  });

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly tokens: TrackingTokens,
  ) {}

  /** The set's number; the same again for the same addresses of the same owner. */
  async register(scope: ProjectScope, { owner, urls, ...of }: LinkSetContent): Promise<number> {
    const { environmentId } = scope;
    const { campaignId } = owner;
    const [versionId, place] = campaignId === null ? [owner.versionId, owner.place] : [null, null];
    const signature = this.tokens.signTargets(nameOf({ ...owner, ...of, environmentId, urls }), urls);
    return this.database.transaction(scope, async () => {
      const sets = this.database.tables<MessagingTables>();
      const name = { ...of, environmentId, campaignId, versionId, place, signature };
      await sets
        .insertInto('messaging.link_sets')
        .values({ ...name, urls: [...urls], createdAt: sql<Date>`now()` })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const { id } = await sets
        .selectFrom('messaging.link_sets')
        .select('id')
        .where((eb) => eb.and(name))
        .executeTakeFirstOrThrow();
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
    const row = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.link_sets')
        .select(['campaignId', 'versionId', 'place', 'queuedOn', 'translation', 'urls', 'signature'])
        .where('id', '=', linkSet)
        .where('environmentId', '=', environmentId)
        .executeTakeFirst(),
    );
    const owner = row === undefined ? null : ownerOf(row);
    if (row === undefined || owner === null) return null;
    const { queuedOn, translation, urls } = row;
    const set = { ...owner, environmentId, queuedOn, translation, urls };
    return this.tokens.verifyTargets(nameOf(set), row.urls, row.signature) ? set : null;
  }
}

const keyOf = ({ environmentId, linkSet }: LinkSetNumber): string => `${environmentId}/${linkSet}`;

function ownerOf({
  campaignId,
  versionId,
  place,
}: Pick<LinkSetsTable, 'campaignId' | 'versionId' | 'place'>): LinkSetOwner | null {
  if (campaignId !== null) return { campaignId };
  return versionId === null || place === null ? null : { campaignId, versionId, place };
}

/** True for a set of which a click needs no more than the link's number to tell where it led. */
export const isNumbered = ({
  campaignId,
  translation,
}: Pick<LinkSet, 'campaignId' | 'translation'>): boolean => campaignId !== null && translation === null;

/** The part of the signature's subject beside the addresses. */
function nameOf(set: LinkSet): string {
  const owner = set.campaignId ?? `automation:${set.versionId}:${set.place}`;
  const name = `${set.environmentId}/${owner}/${set.queuedOn}`;
  return set.translation === null ? name : `${name}/${set.translation}`;
}
