import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import type { SystemProject } from '#testing/programs/system';
import { CampaignOnItsWay, CampaignRun, DEADLINE_MS, inForm, RECIPIENTS } from './campaign-run.fixture.js';

const CONNECTIONS = 5;
/** The hours that each is ahead of UTC; all have as many recipients. */
const ZONES = (
  [
    ['Pacific/Kiritimati', 14],
    ['Asia/Kolkata', 5.5],
    ['Africa/Abidjan', 0],
    ['America/Phoenix', -7],
  ] as const
).slice(0, inForm(2, 4));
const IN_A_ZONE = Math.floor(RECIPIENTS / ZONES.length);
const ALL = IN_A_ZONE * ZONES.length;
/** At its beginning, and in each zone one in the middle of it and one after it. */
const MOST_IN_DOUBT = CONNECTIONS * (1 + 2 * ZONES.length);
const HOUR_MS = 3_600_000;

interface Reached {
  readonly zone: string;
  readonly sent: number;
}

describe('two workers that are killed between and within the hours of a campaign at the recipients’ own hour', () => {
  let run: CampaignRun;
  let project: SystemProject;
  let campaign: CampaignOnItsWay;
  /** Numbers sent to in each zone, at the end of each zone's hour. */
  const progress: Reached[][] = [];
  let ahead = 0;

  beforeAll(async () => {
    run = await CampaignRun.open(CONNECTIONS);
    await run.addWorker();
    project = await run.system.project('HOURS');
    const local = new Date(Date.now() + 48 * HOUR_MS).toISOString().slice(0, 16);
    campaign = await scheduled(await project.client('LIVE'), local);
    for (const [at, [, hoursAhead]] of ZONES.entries()) {
      await goTo(Date.parse(`${local}Z`) - hoursAhead * HOUR_MS);
      if (at === 0) await killOne();
      await killWithin(at);
      await eventually('the zone is reached', () => isReached(at + 1), DEADLINE_MS);
      progress.push(await reached());
      await killOne();
    }
    await campaign.isSent();
  }, DEADLINE_MS * 2);

  afterAll(() => run?.close());

  async function scheduled(client: ApiClient, scheduledAtLocal: string): Promise<CampaignOnItsWay> {
    const { database } = run.system;
    await database.query(`update billing.subscriptions set plan_tier = 'PRO'`);
    const topicId = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('id');
    await insertSubscribers(database, project.live, topicId, ALL);
    await database.query(
      `update audience.subscribers set time_zone = ($1::text[])[1 + substring(email from '\\d+')::int % $2]`,
      [ZONES.map(([zone]) => zone), ZONES.length],
    );
    const draft = {
      name: 'News',
      subject: 'Hello',
      contentText: 'News.',
      topicIds: [topicId],
      scheduledAtLocal,
    };
    const path = `/campaigns/${(await client.post('/campaigns', draft)).at('campaignKey')}`;
    expect((await client.post(`${path}/schedule`)).at('status')).toBe('SCHEDULED');
    return new CampaignOnItsWay(run, project, client, path);
  }

  async function goTo(moment: number): Promise<void> {
    const by = moment - Date.now() - ahead;
    ahead += by;
    await run.system.advanceClock(by);
    await Promise.all(run.workers.map((worker) => worker.readClock()));
  }

  const killOne = () => run.replaceWorker(randomInt(run.workers.length));

  /** When some of the zone have been sent, nobody knows how many. */
  async function killWithin(at: number): Promise<void> {
    const some = at * IN_A_ZONE + randomInt(1, Math.floor(IN_A_ZONE * 0.8));
    await eventually('some more are sent', () => run.sink.count() >= some, DEADLINE_MS);
    await killOne();
  }

  /** Number sent to in each zone, by its name. */
  const reached = () =>
    run.system.database.query<{ zone: string; sent: number }>(
      `select s.time_zone as zone, count(*) filter (where d.state <> 'PENDING')::int as sent
       from messaging.deliveries d join audience.subscribers s on s.id = d.subscriber_id
       where d.environment_id = $1 group by 1`,
      [project.live.environmentId],
    );
  const isReached = async (zones: number) =>
    (await campaign.rows()).filter(({ state }) => state === 'SENT').length >= zones * IN_A_ZONE;

  it('reach nobody before their hour', () => {
    const inOrder = progress.map((zones) =>
      ZONES.map(([name]) => zones.find(({ zone }) => zone === name)?.sent),
    );
    const expected = ZONES.map((_, at) => ZONES.map((_zone, other) => (other <= at ? IN_A_ZONE : 0)));
    expect(inOrder).toEqual(expected);
  });

  it('lose nobody', async () => {
    const rows = await campaign.rows();
    expect(rows).toHaveLength(ALL);
    expect((await campaign.received()).size).toBe(ALL);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['SENT']));
    expect(await campaign.usage()).toEqual({ used: ALL, reserved: 0 });
  });

  it('repeat at most what was on their connections, and say so', async () => {
    const received = await campaign.received();
    const repeated = [...received].flatMap(([messageId, times]) => (times > 1 ? [messageId] : []));
    const marked = (await campaign.rows()).filter((row) => row.possible_duplicate);
    expect(Math.max(...received.values())).toBeLessThanOrEqual(2);
    expect(marked.length).toBeLessThanOrEqual(MOST_IN_DOUBT);
    expect(marked.map((row) => row.message_id)).toEqual(expect.arrayContaining(repeated));
  });
});
