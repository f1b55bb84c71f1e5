import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { eventually } from '#testing/time/eventually';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { describeWith } from './parts.js';
import { promtool, type RunningPrometheus, startPrometheus } from './support/prometheus.js';

const RULES = 'docs/alerts.yml';

interface Targets {
  readonly activeTargets: readonly {
    readonly health: string;
    readonly lastError: string;
    readonly labels: { readonly job: string };
  }[];
}
interface Alerts {
  readonly alerts: readonly { readonly state: string; readonly labels: { readonly alertname: string } }[];
}

describeWith(['prometheus'], 'the rules for Prometheus', () => {
  it('are rules, and tell what they are to tell', () => {
    const root = projectRoot();
    expect(promtool(['check', 'rules', join(root, RULES)])).toMatchObject({ isFine: true });
    const tested = promtool(['test', 'rules', join(root, 'test/real/alerts.test.yml')]);
    expect(tested).toEqual({ isFine: true, text: expect.stringContaining('SUCCESS') });
  });
});

describeWith(['prometheus'], 'a Prometheus that asks the api and the worker', () => {
  let system: RunningSystem;
  let prometheus: RunningPrometheus;

  beforeAll(async () => {
    system = await startSystem();
    const rules = await readFile(join(projectRoot(), RULES), 'utf8');
    prometheus = await startPrometheus(
      { 'mailwright-api': system.api.port, 'mailwright-worker': system.worker.port },
      // So that nobody has to wait for minutes: how long each waits is for promtool above.
      rules.replaceAll(/for: \d+m/g, 'for: 0s'),
    );
  });

  afterAll(async () => {
    await prometheus?.stop();
    await system?.stop();
  });

  it('reaches both', async () => {
    const targets = await eventually('both are up', async () => {
      const { activeTargets } = await prometheus.get<Targets>('/targets');
      return activeTargets.filter(({ health }) => health === 'up').length === 2 ? activeTargets : null;
    });
    expect(targets.map(({ labels, lastError }) => `${labels.job} ${lastError}`).toSorted()).toEqual([
      'mailwright-api ',
      'mailwright-worker ',
    ]);
  });

  it('is told metrics that promtool finds nothing to say about, but for those of Node', async () => {
    for (const { port } of [system.api, system.worker]) {
      const metrics = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      const { text } = promtool(['check', 'metrics'], metrics);
      expect(text.split('\n').filter((line) => line.startsWith('mailwright'))).toEqual([]);
      expect(text).not.toContain('error while linting');
    }
  });

  it('raises the alarm when the worker is gone', async () => {
    await system.worker.kill();
    const firing = await eventually('alerts fire', async () => {
      const { alerts } = await prometheus.get<Alerts>('/alerts');
      const names = alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname);
      return names.length >= 2 ? names.sort() : null;
    });
    expect(firing).toEqual(['MailwrightDown', 'MailwrightNoWorker']);
  });
});
