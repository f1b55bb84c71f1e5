import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Browser } from '#testing/servers/browser';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { takePort } from '#testing/programs/ports';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { describeWith, executableOf } from './parts.js';
import { pageFaults } from './support/page-faults.js';

describeWith(['chromium'], 'the operator’s page in a browser', () => {
  let system: RunningSystem;
  let browser: Browser;
  let page: string;

  beforeAll(async () => {
    const taken = await takePort();
    await taken.release();
    system = await startSystem({ OPERATIONS_PORT: String(taken.port) });
    page = `http://127.0.0.1:${taken.port}/operator`;
    browser = await Browser.start(executableOf('chromium'));
  });
  afterAll(async () => {
    await browser?.stop();
    await system?.stop();
  });

  const makeKey = async (scopes: string) => {
    const asked = ['operator-key:create', '--name', 'Page', '--scopes', scopes];
    return (await runCliForJson(system.variables, asked)) as { readonly id: string; readonly key: string };
  };
  const give = (key: string) =>
    browser.run(
      `document.getElementById('key').value = ${JSON.stringify(key)}; document.querySelector('form button').click()`,
    );
  const shows = (words: string) =>
    eventually(`the page shows ${words}`, async () =>
      (await browser.run<string>('document.body.innerText')).includes(words),
    );
  const faultless = async (name: string) =>
    expect({ name, faults: await pageFaults(browser, { locale: 'en' }) }).toEqual({ name, faults: [] });

  it('is on the port of operations alone, and asks for a key that may see it', async () => {
    expect((await fetch(`${system.baseUrl}/operator`)).status).toBe(404);
    await browser.open(page);
    await faultless('without a key');
    await give('mw_op_nothing');
    await shows('Send a valid operator key');
    await give((await makeKey('tenants:read')).key);
    await shows('This operation needs the scope system:read.');
    await faultless('refused');
  });

  it('shows live what waits and why, keeps the key in memory, and ends with it', async () => {
    const { id, key } = await makeKey('system:read');
    await give(key);
    await shows('Quiet: no mail is due');
    await faultless('empty');
    expect(await browser.run('localStorage.length + sessionStorage.length + document.cookie.length')).toBe(0);

    const { live } = await system.project('NEWS');
    await system.database.query(
      `insert into messaging.deliveries (id, source_id, environment_id, created_at, next_attempt_at, queued_on, kind, address,
         address_key, message_id, state)
       values (gen_random_uuid(), gen_random_uuid(), $1, now(), now(), current_date, 'MESSAGE', 'eve@gmail.com', 'eve@gmail.com', 'm',
         'PENDING')`,
      [live.environmentId],
    );
    await shows('Mail has become due');
    await shows('SMTP_URL is not set: live mail waits.');
    await faultless('due for a moment');
    await system.advanceClock(360_000);
    await shows('Mail is due, and none has left for 5 minutes');

    await system.database.query(
      `insert into messaging.deliveries (id, source_id, environment_id, created_at, next_attempt_at, queued_on, kind, address,
         address_key, message_id, state, last_error)
       select gen_random_uuid(), gen_random_uuid(), $1, now(), now() + interval '1 day', current_date, 'TEST', a, a, 'm',
         'DEFERRED', '452 4.2.2 <' || a || '> is full <b>'
       from unnest(array['ada@gmail.com', 'bob@gmx.de']) a`,
      [live.environmentId],
    );
    await system.database.query(
      `insert into platform.jobs (environment_id, name, queue, payload, run_at, last_error)
       values ($1, 'nobody.takes', 'nobody', '{}', now() - interval '1 hour', 'no <i>handler</i>')`,
      [live.environmentId],
    );
    await shows('452 4.2.2 … is full <b>');
    await shows('nobody.takes');
    await shows('google, united-internet');
    await shows('The installation’s');
    await faultless('full');

    await system.worker.stop();
    await system.advanceClock(600_000);
    await shows('Something is broken');
    await shows('No worker since');
    await faultless('without a worker');
    await runCliForJson(system.variables, ['operator-key:revoke', '--id', id]);
    await shows('Operator key');
    expect(await browser.run(`document.getElementById('overview').childElementCount`)).toBe(0);
  });
});
