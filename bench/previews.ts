import { loadavg } from 'node:os';
import { startSystemOn } from '#testing/programs/system';
import { startBenchServer } from './support/bench-server.js';
import { spread } from './support/figures.js';
import { sampleContent } from './support/sample-mail.js';

/**
 * Previews of a campaign with every block there is, over HTTP: the first after the api started, then one after the other with a change
 * in each, as an author makes them, by `POST …/preview`; and the same change again.
 */
const TIMES = Number(process.env['TIMES'] ?? 100);

const say = (line: string) => process.stdout.write(`${line}\n`);
const server = await startBenchServer();
const system = await startSystemOn(server.database, {});

try {
  const client = await (await system.project()).client('TEST');
  const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
  const draft = { name: 'Spring', subject: 'Spring', contentText: 'Spring', topicIds: [topic.at('id')] };
  const path = `/campaigns/${(await client.post('/campaigns', draft)).at('campaignKey')}/preview`;
  const preview = async (title: string): Promise<number> => {
    const [heading, ...others] = sampleContent.blocks;
    const contentJson = JSON.stringify({ blocks: [{ ...heading, text: title }, ...others] });
    const begun = performance.now();
    const answer = await client.post(path, { contentJson });
    if (answer.status !== 200) throw new Error(answer.text);
    return performance.now() - begun;
  };
  say(`first: ${(await preview('Cold')).toFixed(0)} ms`);
  const changed: number[] = [];
  const same: number[] = [];
  for (let time = 0; time < TIMES; time += 1) {
    changed.push(await preview(`Spring, take ${time}`));
    same.push(await preview(`Spring, take ${time}`));
  }
  say(`changed: ${spread(changed.slice(TIMES / 10), 1)} ms, load ${loadavg()[0]?.toFixed(1)}`);
  say(`the same again: ${spread(same.slice(TIMES / 10), 1)} ms`);
} finally {
  await system.stop();
  await server.stop();
}
