import { type RawBuilder, sql } from 'kysely';
import { ArrayColumn } from '#platform';
import { AGENT_KINDS, type AgentKind, type Classification } from './classification.js';

/** An open or a click, as it came. */
export interface TrackedEvent {
  readonly environmentId: number;
  /** Null for the mail of an automation or a message. */
  readonly campaignId: string | null;
  /** The version and the place of the node that sent an automation's mail. */
  readonly versionId?: number | null;
  readonly place?: number | null;
  /** The message whose mail it is; events of messages have batches of their own. */
  readonly messageId?: string | null;
  /** The partition of the delivery, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly deliveryId: string;
  /** The set of the mail's links. */
  readonly linkSet: number;
  readonly type: 'OPENED' | 'CLICKED';
  /** The number of the link in the mail; null for opens. */
  readonly linkNumber: number | null;
  /** The target of the link, kept where no campaign's link set has it: with clicks of automations and messages. */
  readonly url?: string | null;
  readonly at: Date;
  /** The classification by the request alone; null when the delivery has to be asked. */
  readonly known: Classification | null;
  readonly agent: AgentKind;
}

/** Mails of one campaign, of automations, or of a message, that were queued on one day and have a set of links in common. */
export type Mailing = Pick<TrackedEvent, 'campaignId' | 'versionId' | 'place' | 'queuedOn' | 'linkSet'>;

/** The facts of an event beside its mail. */
export type EventFacts = Pick<TrackedEvent, 'type' | 'linkNumber' | 'url' | 'known' | 'agent'> & {
  /** ms since 1970. */
  readonly at: number;
};

const CLASSES: readonly Classification[] = ['human', 'proxy', 'scanner'];
/** The parts of an event's code: its link from the first bit on, then these; the highest bit is set for a click. */
const AGENT = 2 ** 16;
const KNOWN = 2 ** 24;
const CLICK = 2 ** 28;
const LINKS = sql.lit(AGENT - 1);

/** The number of turns; see `takeTurns`. */
const TURNS = 64;

/**
 * Events of one environment as the statements take them: in columns, with a value for each event in PostgreSQL's binary form. No
 * event is an object here, and none is a text that PostgreSQL has to parse (bench/history/tracking.md).
 */
export class EventBatch {
  readonly #deliveryIds: ArrayColumn;
  readonly #mailingOfEach: ArrayColumn;
  readonly #codes: ArrayColumn;
  readonly #times: ArrayColumn;
  readonly #urlOfEach: ArrayColumn;
  readonly #mailings: Mailing[] = [];
  readonly #places = new Map<string, number>();
  readonly #urls = new Map<string, number>();
  readonly #turns = new Set<number>();
  #length = 0;
  #hasClicks = false;
  #earliest = Number.POSITIVE_INFINITY;
  #latest = Number.NEGATIVE_INFINITY;

  constructor(
    readonly environmentId: number,
    room: number,
    /** True for mails of messages alone, false for all others. */
    readonly isOfMessages = false,
  ) {
    this.#deliveryIds = new ArrayColumn('uuid', room);
    this.#mailingOfEach = new ArrayColumn('int4', room);
    this.#codes = new ArrayColumn('int4', room);
    this.#times = new ArrayColumn('timestamptz', room);
    this.#urlOfEach = new ArrayColumn('int4', room);
  }

  static of(environmentId: number, events: readonly TrackedEvent[]): EventBatch {
    const batch = new EventBatch(environmentId, events.length, events.some(isOfMessage));
    for (const event of events) {
      const id = Buffer.from(event.deliveryId.replaceAll('-', ''), 'hex');
      batch.add(batch.mailing(event), id, 0, { ...event, at: event.at.getTime() });
    }
    return batch;
  }

  get length(): number {
    return this.#length;
  }

  get hasClicks(): boolean {
    return this.#hasClicks;
  }

  /** The number of a mailing in this batch. */
  mailing({ campaignId, versionId = null, place = null, queuedOn, linkSet }: Mailing): number {
    const name = `${campaignId}/${queuedOn}/${linkSet}`;
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    this.#places.set(name, this.#mailings.push({ campaignId, versionId, place, queuedOn, linkSet }));
    return this.#mailings.length;
  }

  /** `deliveryId` has the id's bytes from `begin` on. */
  add(mailing: number, deliveryId: Buffer, begin: number, event: EventFacts): void {
    const { at, url = null } = event;
    this.#deliveryIds.addUuid(deliveryId, begin);
    this.#mailingOfEach.addInt4(mailing);
    this.#codes.addInt4(codeOf(event));
    this.#times.addTimestamp(at);
    this.#urlOfEach.addInt4(url === null ? 0 : this.#urlNumber(url));
    if (event.type === 'CLICKED') this.#hasClicks = true;
    if (at < this.#earliest) this.#earliest = at;
    if (at > this.#latest) this.#latest = at;
    if (!this.isOfMessages) this.#turns.add(this.#turnOf(mailing));
    this.#length += 1;
  }

  /** The turns of its campaigns and of versions of automations, in order. */
  get turns(): readonly number[] {
    return [...this.#turns].sort((a, b) => a - b);
  }

  /** True with events of campaigns' mails; the other: of automations'. */
  get hasCampaigns(): boolean {
    return this.#mailings.some(({ campaignId }) => campaignId !== null);
  }

  get hasAutomations(): boolean {
    return !this.isOfMessages && this.#mailings.some(({ campaignId }) => campaignId === null);
  }

  /**
   * The rows, `k`, in an unspecified order: `position`, which begins with 1, and the facts of an event.
   */
  get rows(): RawBuilder<unknown> {
    const of = <Key extends keyof Mailing>(key: Key) => this.#mailings.map((mailing) => mailing[key]);
    return sql`(
      select position, delivery_id, mailing, (${of('queuedOn')}::date[])[mailing] as queued_on,
        ${this.environmentId}::bigint as environment_id, (${of('campaignId')}::uuid[])[mailing] as campaign_id,
        (${of('linkSet')}::bigint[])[mailing] as link_set, ${this.#nodes},
        case when code >= ${sql.lit(CLICK)} then 'CLICKED' else 'OPENED' end as type,
        nullif(code & ${LINKS}, 0) as link_number, at,
        (${CLASSES}::text[])[code / ${sql.lit(KNOWN)} & 15] as known,
        (${AGENT_KINDS}::text[])[code / ${sql.lit(AGENT)} & 255] as agent,
        (${[...this.#urls.keys()]}::text[])[url] as url
      from unnest(${this.#deliveryIds.bytes}::uuid[], ${this.#mailingOfEach.bytes}::int[],
        ${this.#codes.bytes}::int[], ${this.#times.bytes}::timestamptz[],
        ${this.#urls.size === 0 ? [] : this.#urlOfEach.bytes}::int[]
      ) with ordinality u(delivery_id, mailing, code, at, url, position)
    ) k`;
  }

  /** The node that sent each mail. */
  get #nodes(): RawBuilder<unknown> {
    if (!this.hasAutomations) return sql`null::bigint as version_id, null::smallint as place`;
    const versionIds = this.#mailings.map(({ versionId }) => versionId);
    const places = this.#mailings.map(({ place }) => place);
    return sql`(${versionIds}::bigint[])[mailing] as version_id, (${places}::smallint[])[mailing] as place`;
  }

  /** The days of its mails, as literals: a plan for any values then has no partitions outside. */
  get days(): { readonly first: RawBuilder<string>; readonly last: RawBuilder<string> } {
    const days = this.#mailings.map(({ queuedOn }) => queuedOn).sort();
    return { first: sql.lit(days[0] ?? ''), last: sql.lit(days.at(-1) ?? '') };
  }

  /** From so long before the first of them until so long after the last. */
  timesAround(ms: number): { readonly earliest: Date; readonly latest: Date } {
    return { earliest: new Date(this.#earliest - ms), latest: new Date(this.#latest + ms) };
  }

  #urlNumber(url: string): number {
    const known = this.#urls.get(url) ?? this.#urls.size + 1;
    this.#urls.set(url, known);
    return known;
  }

  #turnOf(mailing: number): number {
    const { campaignId = null, versionId = null } = this.#mailings[mailing - 1] ?? {};
    return (campaignId === null ? (versionId ?? 0) : Number.parseInt(campaignId.slice(-4), 16)) % TURNS;
  }
}

/** True for an event of a message's mail. */
export const isOfMessage = ({ messageId }: TrackedEvent): boolean => messageId != null;

function codeOf({ type, linkNumber, known, agent }: EventFacts): number {
  return (
    (linkNumber ?? 0) +
    (AGENT_KINDS.indexOf(agent) + 1) * AGENT +
    (known === null ? 0 : CLASSES.indexOf(known) + 1) * KNOWN +
    (type === 'CLICKED' ? CLICK : 0)
  );
}
