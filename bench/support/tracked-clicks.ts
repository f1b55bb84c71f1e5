import { newId } from '#kernel';
import { TrackingTokens } from '#platform';
import type { TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { prepareProject, SECRETS } from '#testing/programs/system';

/** So many that at 60 000 clicks/s nobody follows three links of a mail in a second, as only scanners do. */
const DELIVERIES = 60_000;
const LINKS = 12;

/** Server that answers clicks. */
export interface ClickServer {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
}

/** A sent campaign with its link set; the paths of its mails' links. */
export async function prepareClicks(
  database: TestDatabase,
): Promise<{ nextPath: () => string; campaignId: string }> {
  const { environmentId } = (await prepareProject(database, '')).live;
  const campaignId = newId();
  const urls = Array.from(
    { length: LINKS },
    (_, index) => `https://acme.example/news/${index}?utm_source=mail`,
  );
  const tokens = new TrackingTokens(SECRETS.TOKEN_SECRET);
  const [day] = await database.query<{ today: string }>(
    `select (now() at time zone 'UTC')::date::text as today`,
  );
  const queuedOn = day!.today;
  const signature = tokens.signTargets(`${environmentId}/${campaignId}/${queuedOn}`, urls);
  const [set] = await database.query<{ id: string }>(
    `insert into messaging.link_sets (environment_id, campaign_id, queued_on, urls, signature, created_at)
     values ($1, $2, $3, $4, $5, now()) returning id`,
    [environmentId, campaignId, queuedOn, urls, signature],
  );
  const deliveries = await database.query<{ id: string }>(
    `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
       message_id, state, next_attempt_at, sent_at, created_at, finished_at)
     select platform.new_id(), $1, $2, 'CAMPAIGN', $3, platform.new_id(), 'r' || n || '@example.com', 'r' || n || '@example.com',
       '<' || n || '@example.com>', 'SENT', now(), now() - interval '1 hour', now(), now()
     from generate_series(1, $4::int) n returning id`,
    [queuedOn, environmentId, campaignId, DELIVERIES],
  );
  const paths = deliveries.flatMap(({ id }) =>
    tokens
      .sign({ environmentId, linkSet: Number(set!.id), deliveryId: id }, LINKS + 1)
      .slice(1)
      .map((token) => `/l/${token}`),
  );
  let clicks = 0;
  // From one mail to the next, as it is when many people read: three links of a mail in a second are a scanner's.
  const nextPath = () => {
    const path =
      paths[((clicks % DELIVERIES) * LINKS + (Math.floor(clicks / DELIVERIES) % LINKS)) % paths.length] ?? '';
    clicks += 1;
    return path;
  };
  return { nextPath, campaignId };
}

/** The api and what was asked of it. */
export class Clicks {
  answered = 0;

  constructor(
    readonly api: ClickServer,
    readonly nextPath: () => string,
    private readonly database: TestDatabase,
  ) {}

  /** Resolves when each click that was answered is a row; throws when one is lost. */
  async written(): Promise<void> {
    await eventually(
      `all of ${this.answered} clicks are counted`,
      // Counting rows again and again would be a third of what PostgreSQL does meanwhile.
      async () =>
        (await this.#ask('select coalesce(sum(clicked), 0) as n from messaging.campaign_counters')) >=
        this.answered,
      120_000,
    );
    // Requests that were on the wire when the time was over are written and not counted.
    const rows = await this.#ask('select count(*) as n from messaging.delivery_events');
    if (rows < this.answered) throw new Error(`${this.answered} clicks were answered, and ${rows} are rows.`);
  }

  async #ask(question: string): Promise<number> {
    const [row] = await this.database.query<{ n: string }>(question);
    return Number(row?.n);
  }
}
