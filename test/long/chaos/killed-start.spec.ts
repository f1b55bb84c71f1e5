import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '#testing/http/api-client';
import { NpmStart, topicsOf } from '#testing/programs/npm-start';

describe('npm start', () => {
  let npm: NpmStart;

  beforeAll(async () => {
    npm = await NpmStart.prepare();
  });

  afterAll(() => npm?.remove());

  it('keeps all data when every process is killed at once', async () => {
    const before = await npm.start();
    const [topic] = await topicsOf(before);
    const created = await new ApiClient(before.baseUrl, before.testKey).post('/subscribers', {
      email: 'ada@example.com',
      topicKeys: [topic?.topicKey],
      consent: { source: 'test' },
    });
    expect(created.status).toBe(201);
    expect(await npm.kill()).toBeGreaterThan(3);

    const after = await npm.start();
    expect([after.testKey, after.liveKey]).toEqual([before.testKey, before.liveKey]);
    const kept = await new ApiClient(after.baseUrl, after.testKey).get('/subscribers/ada%40example.com');
    expect(kept.at('id')).toBe(created.at('id'));
    await npm.pressCtrlC();
  });
});
