import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { EnvironmentsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { Database, type TrackedMail, TrackingTokens } from '#platform';
import type { LinkSetsTable, MessagingTables } from '../messaging-tables.js';

/** The owner of the mails that lead there: a campaign, a step of a version of an automation, or a message, which has one mail. */
export type LinkSetOwner =
  | { readonly campaignId: string }
  | { readonly campaignId: null; readonly versionId: number; readonly place: number }
  | { readonly campaignId: null; readonly messageId: string };

/** The targets of the places of mails that have their content and the day of their deliveries in common. */
export type LinkSet = LinkSetOwner & {
  readonly environmentId: number;
  /** The partition of its deliveries, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  /** The locale of the translation that leads there, of the campaign or the step's template; null: its own content. */
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
/** Sets of messages are forgotten so soon: they are deleted when their reader is erased. */
const OF_MESSAGES_KEPT_MS = 60_000;

/** Condition that the mails of the campaign `c` had pixel and tracked links. */
export const IS_TRACKED = sql`exists (
  select 1 from messaging.link_sets l where l.campaign_id = c.id and l.environment_id = c.environment_id
)`;

/** The targets of tracked links. A set never changes, so it is read once a process. */
@Injectable()
export class LinkSetsService {
  readonly #sets = new LRUCache<string, LinkSet, LinkSetNumber>({
    max: KEPT,
    fetchMethod: async (_key, _stale, { context, options }) => {
      const [set] = await this.#read(context.environmentId, [context.linkSet]);
      if (set !== undefined && 'messageId' in set) options.ttl = OF_MESSAGES_KEPT_MS;
      return set;
    },
  });

  constructor(
    private readonly database: Database,
    private readonly environments: EnvironmentsQuery,
    private readonly tokens: TrackingTokens,
  ) {}

  /** The set's number; the same again for the same addresses of the same owner. */
  async register(scope: ProjectScope, { owner, urls, ...of }: LinkSetContent): Promise<number> {
    const { environmentId } = scope;
    const name = { ...of, environmentId, ...columnsOf(owner) };
    const signature = this.tokens.signTargets(nameOf({ ...owner, ...of, environmentId, urls }), urls);
    return this.database.transaction(scope, async () => {
      const sets = this.database.tables<MessagingTables>();
      await sets
        .insertInto('messaging.link_sets')
        .values({ ...name, signature, urls: [...urls], createdAt: sql<Date>`now()` })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const { id } = await sets
        .selectFrom('messaging.link_sets')
        .select('id')
        .where((eb) => eb.and({ ...name, signature }))
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

  /** The sets of verified tokens, by number; without those that are not there, or were not signed by us. */
  async findAll(mails: readonly LinkSetNumber[]): Promise<Map<number, LinkSet>> {
    const found = new Map<number, LinkSet>();
    const missing = mails.filter((mail) => {
      const set = this.atHand(mail);
      if (set !== undefined) found.set(mail.linkSet, set);
      return set === undefined;
    });
    for (const [environmentId, ofOne] of Map.groupBy(missing, (mail) => mail.environmentId)) {
      const numbers = ofOne.map(({ linkSet }) => linkSet);
      for (const set of await this.#read(environmentId, numbers)) found.set(set.number, set);
    }
    return found;
  }

  async #read(
    environmentId: number,
    numbers: readonly number[],
  ): Promise<readonly (LinkSet & { readonly number: number })[]> {
    const scope = await this.environments.find(environmentId);
    if (scope === null) return [];
    const rows = await this.database.transaction(scope, () =>
      this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.link_sets')
        .select(['id', 'campaignId', 'messageId', 'versionId', 'place', 'queuedOn', 'translation', 'urls'])
        .select('signature')
        .where('id', '=', sql<number>`any(${[...numbers]}::bigint[])`)
        .where('environmentId', '=', environmentId)
        .execute(),
    );
    return rows.flatMap(({ id, signature, queuedOn, translation, urls, ...columns }) => {
      const owner = ownerOf(columns);
      if (owner === null) return [];
      const set = { ...owner, environmentId, queuedOn, translation, urls, number: id };
      return this.tokens.verifyTargets(nameOf(set), urls, signature) ? [set] : [];
    });
  }
}

const keyOf = ({ environmentId, linkSet }: LinkSetNumber): string => `${environmentId}/${linkSet}`;

type OwnerColumns = Pick<LinkSetsTable, 'campaignId' | 'messageId' | 'versionId' | 'place'>;

function columnsOf(owner: LinkSetOwner): OwnerColumns {
  return { messageId: null, versionId: null, place: null, ...owner };
}

function ownerOf({ campaignId, messageId, versionId, place }: OwnerColumns): LinkSetOwner | null {
  if (campaignId !== null) return { campaignId };
  if (messageId !== null) return { campaignId, messageId };
  return versionId === null || place === null ? null : { campaignId, versionId, place };
}

/** True for a set of which a click needs no more than the link's number to tell where it led. */
export const isNumbered = ({
  campaignId,
  translation,
}: Pick<LinkSet, 'campaignId' | 'translation'>): boolean => campaignId !== null && translation === null;

/** The part of the signature's subject beside the addresses. */
function nameOf(set: LinkSet): string {
  const owner =
    set.campaignId ??
    ('messageId' in set ? `message:${set.messageId}` : `automation:${set.versionId}:${set.place}`);
  const name = `${set.environmentId}/${owner}/${set.queuedOn}`;
  return set.translation === null ? name : `${name}/${set.translation}`;
}
