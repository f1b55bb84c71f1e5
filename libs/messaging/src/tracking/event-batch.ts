import { type RawBuilder, sql } from 'kysely';
import type { TrackedEvent } from './tracked-event.js';

/** How many turns there are. */
const TURNS = 64;

/** Events as the statements take them. */
export class EventBatch {
  readonly #json: string;

  constructor(private readonly events: readonly TrackedEvent[]) {
    this.#json = JSON.stringify(
      events.map((event, index) => ({
        position: index + 1,
        delivery_id: event.deliveryId,
        queued_on: event.queuedOn,
        environment_id: event.environmentId,
        campaign_id: event.campaignId,
        type: event.type,
        link_number: event.linkNumber,
        at: event.at,
        known: event.known,
        agent: event.agent,
        url: event.url,
      })),
    );
  }

  get hasClicks(): boolean {
    return this.events.some(({ type }) => type === 'CLICKED');
  }

  /** The turns of its campaigns and of automations' mails, in order. */
  get turns(): readonly number[] {
    return [...new Set(this.events.map(turnOf))].sort((a, b) => a - b);
  }

  /** Whether there are events of campaigns' mails, and of automations'. */
  get hasCampaigns(): boolean {
    return this.events.some(({ campaignId }) => campaignId !== null);
  }

  get hasAutomations(): boolean {
    return this.events.some(({ campaignId }) => campaignId === null);
  }

  /** The rows, `k`, in an unspecified order: `position`, which begins with 1, and what an event has. */
  get rows(): RawBuilder<unknown> {
    return sql`jsonb_to_recordset(${this.#json}::jsonb) as k(position bigint, delivery_id uuid, queued_on date,
      environment_id bigint, campaign_id uuid, type text, link_number int, at timestamptz, known text, agent text, url text)`;
  }

  /** The days of its mails: what is outside is no partition to look at. */
  get days(): { readonly first: string; readonly last: string } {
    const days = this.events.map(({ queuedOn }) => queuedOn).sort();
    return { first: days[0] ?? '', last: days.at(-1) ?? '' };
  }

  /** From so long before the first of them until so long after the last. */
  timesAround(ms: number): { readonly earliest: Date; readonly latest: Date } {
    const times = this.events.map(({ at }) => at.getTime()).sort((a, b) => a - b);
    return { earliest: new Date((times[0] ?? 0) - ms), latest: new Date((times.at(-1) ?? 0) + ms) };
  }
}

const turnOf = ({ campaignId, deliveryId }: TrackedEvent): number =>
  Number.parseInt((campaignId ?? deliveryId).slice(-4), 16) % TURNS;
