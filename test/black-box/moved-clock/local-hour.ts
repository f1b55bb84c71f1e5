import { beforeAll, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import type { RunningSystem, SystemProject } from '#testing/programs/system';

const HOUR_MS = 3_600_000;
/** Hours ahead of UTC, by reader; the last one's zone is not known, and the project's is this. */
const ZONES = [
  ['Pacific/Kiritimati', 14],
  ['Asia/Kolkata', 5.5],
  [null, -7],
] as const;
const PROJECT_ZONE = 'America/Phoenix';
const FORM = 'must be a local time such as 2027-01-05T09:00';

export function localHour(running: () => { system: RunningSystem }): void {
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicId: string;
  /** Milliseconds by which the system's clock is ahead of ours; from here on only `goTo` moves it. */
  let ahead = 0;

  beforeAll(async () => {
    ({ system } = running());
    const [clock] = await system.database.query<{ now: Date }>('select platform.now() as now');
    ahead = clock!.now.getTime() - Date.now();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicId = topic.at('id');
    await client.patch('/project', { timeZone: PROJECT_ZONE });
    const consent = { source: 'form' };
    for (const [at, [timeZone]] of ZONES.entries()) {
      const reader = { email: `reader-${at + 1}@example.com`, timeZone, topicKeys: [topic.at('topicKey')] };
      expect((await client.post('/subscribers', { ...reader, consent })).status).toBe(201);
    }
  });

  const now = () => Date.now() + ahead;
  const localIn = (hours: number) => new Date(now() + hours * HOUR_MS).toISOString().slice(0, 16);
  const momentAt = (local: string, hoursAhead: number) => Date.parse(`${local}Z`) - hoursAhead * HOUR_MS;
  async function goTo(moment: number): Promise<void> {
    const by = moment - now();
    ahead += by;
    await system.advanceClock(by);
  }

  const draft = (fields: object): Promise<ApiAnswer> =>
    client.post('/campaigns', {
      name: 'News',
      subject: 'Hello',
      contentText: 'News.',
      topicIds: [topicId],
      ...fields,
    });
  const pathOf = (campaign: ApiAnswer) => `/campaigns/${campaign.at('campaignKey')}`;
  const times = (campaign: ApiAnswer) => [
    campaign.at('status'),
    campaign.at('scheduledAt'),
    campaign.at('scheduledAtLocal'),
  ];
  const errorsOf = (answer: ApiAnswer, status: 400 | 422) =>
    expectProblem(answer, status, status === 400 ? 'validation-error' : 'domain-validation', {
      errors: expect.any(Object),
    })['errors'];

  it('is refused what is no local time, one beside scheduledAt, and one that has passed everywhere', async () => {
    const local = localIn(48);
    for (const wrong of [
      '2027-01-05',
      '2027-01-05 09:00',
      `${local}Z`,
      `${local}+01:00`,
      '2027-02-30T09:00',
      '',
    ])
      expect(errorsOf(await draft({ scheduledAtLocal: wrong }), 400)).toEqual({ scheduledAtLocal: FORM });
    expect(Object.keys(errorsOf(await draft({ scheduledAtLocal: 9 }), 400) as object)).toEqual([
      'scheduledAtLocal',
    ]);
    const both = { scheduledAt: new Date(now() + HOUR_MS).toISOString(), scheduledAtLocal: local };
    const together = { scheduledAtLocal: 'must not be given together with scheduledAt' };
    expect(errorsOf(await draft(both), 400)).toEqual(together);
    const path = pathOf(await draft({ scheduledAtLocal: local }));
    expect(errorsOf(await client.patch(path, both), 400)).toEqual(together);
    const late = { scheduledAtLocal: localIn(-12.1) };
    const past = { scheduledAtLocal: 'must be in the future' };
    expect(errorsOf(await draft(late), 422)).toEqual(past);
    expect(errorsOf(await client.patch(path, late), 422)).toEqual(past);
    expect((await draft({ scheduledAtLocal: localIn(-11.9) })).status).toBe(201);
  });

  it('is moved, becomes one at a moment and back, a draft again, and is cancelled', async () => {
    const [local, other] = [localIn(48), localIn(72)];
    const first = (time: string) => new Date(`${time}+14:00`).toISOString();
    const created = await draft({ scheduledAtLocal: `${local}:00`, scheduledAt: null });
    const path = pathOf(created);
    expect(times(created)).toEqual(['DRAFT', first(local), local]);
    expect(times(await client.post(`${path}/schedule`))).toEqual(['SCHEDULED', first(local), local]);
    expect(times(await client.patch(path, { scheduledAtLocal: other }))).toEqual([
      'SCHEDULED',
      first(other),
      other,
    ]);
    const scheduledAt = new Date(now() + HOUR_MS).toISOString();
    expect(times(await client.patch(path, { scheduledAt }))).toEqual(['SCHEDULED', scheduledAt, null]);
    expect(times(await client.patch(path, { scheduledAtLocal: null }))).toEqual([
      'SCHEDULED',
      scheduledAt,
      null,
    ]);
    expect(times(await client.patch(path, { scheduledAtLocal: local }))).toEqual([
      'SCHEDULED',
      first(local),
      local,
    ]);
    expect(times(await client.get(path))).toEqual(['SCHEDULED', first(local), local]);
    const listed = (await client.get('/campaigns')).at<{ scheduledAtLocal: string }[]>('data');
    expect(listed.map(({ scheduledAtLocal }) => scheduledAtLocal)).toContain(local);
    expect(times(await client.patch(path, { scheduledAtLocal: null }))).toEqual(['DRAFT', null, null]);
    expectProblem(await client.post(`${path}/schedule`), 409, 'schedule-missing');
    await client.patch(path, { scheduledAtLocal: local });
    expect((await client.post(`${path}/schedule`)).status).toBe(200);
    expect((await client.post(`${path}/cancel`)).at('status')).toBe('CANCELLED');
  });

  it('reaches each when it is that time where they are, or in the project’s zone, and is sent after the last', async () => {
    const local = localIn(48);
    const campaign = await draft({ scheduledAtLocal: local });
    const path = pathOf(campaign);
    expect((await client.post(`${path}/schedule`)).at('status')).toBe('SCHEDULED');
    const received = async () =>
      (await client.get('/test-inbox/messages?kind=CAMPAIGN&size=100')).at<
        { to: string; receivedAt: string }[]
      >('data');
    for (const [at, [, hoursAhead]] of ZONES.entries()) {
      expect(await received()).toHaveLength(at);
      await goTo(momentAt(local, hoursAhead));
      await eventually('it is received', async () => (await received()).length > at);
      if (at < ZONES.length - 1) expect((await client.get(path)).at('status')).toBe('SENDING');
    }
    await eventually('it is sent', async () => (await client.get(path)).at('status') === 'SENT');
    const byReader = new Map((await received()).map(({ to, receivedAt }) => [to, Date.parse(receivedAt)]));
    expect(byReader.size).toBe(ZONES.length);
    for (const [at, [, hoursAhead]] of ZONES.entries())
      expect(byReader.get(`reader-${at + 1}@example.com`)).toBeGreaterThanOrEqual(
        momentAt(local, hoursAhead),
      );
  });
}
