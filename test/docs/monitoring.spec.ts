import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parser } from '@prometheus-io/lezer-promql';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets: readonly { readonly expr: string }[];
}

const read = (file: string) => readFileSync(join(projectRoot(), 'docs', file), 'utf8');
const dashboard = JSON.parse(read('grafana-dashboard.json')) as { readonly panels: readonly Panel[] };
const alerts = read('alerts.yml');
const alertNames = [...alerts.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name = '']) => name);
/** The text of each `expr`, on its line or folded below it. */
const alertExpressions = [...alerts.matchAll(/^ +expr: (?:>-\n((?: {10}.*\n)+)|(.+)\n)/gm)].map(
  ([, folded, inline]) => folded ?? inline ?? '',
);
const expressions = [
  ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...alertExpressions,
];

/** Metrics and labels that Prometheus itself records about each target. */
const OF_PROMETHEUS = ['up', 'job', 'instance'];

function metricsIn(expression: string): string[] {
  return [...expression.matchAll(/\b(?:mailwright|nodejs|process)_\w+/g)].map(([name]) => name);
}

/** The selectors of an expression: `metric{label="value"}`. */
function selectorsIn(expression: string): { metric: string; label: string; values: string[] }[] {
  return [...expression.matchAll(/(\w+)\{([^}]*)\}/g)].flatMap(([, metric = '', matchers = '']) =>
    [...matchers.matchAll(/(\w+)(?:=~|!=|=)"([^"]*)"/g)].map(([, label = '', value = '']) => ({
      metric,
      label,
      values: value.split('|'),
    })),
  );
}

/** Faults that Prometheus' own grammar finds in it, once Grafana has put its interval in. */
function faultsOf(template: string): string[] {
  const expression = template.replaceAll('$__rate_interval', '1m');
  const faults: string[] = [];
  parser.parse(expression).iterate({
    enter: ({ type, from }) => {
      if (type.isError) faults.push(`${expression.slice(0, from)} ⚡ ${expression.slice(from)}`);
    },
  });
  return faults;
}

describe('the dashboard and the alert rules', () => {
  let system: SharedSystem;
  let metrics: string;

  beforeAll(async () => {
    system = await sharedSystem();
    const client = await (await system.project('DEMO')).client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: true });
    const consent = { source: 'test' };
    await client.post('/subscribers', {
      email: 'ada@example.com',
      topicKeys: [topic.at('topicKey')],
      consent,
    });
    metrics = await eventually('a mail and a job to be counted', async () => {
      const [api, worker] = await Promise.all(
        system.ports.map(async (port) => (await fetch(`http://127.0.0.1:${port}/metrics`)).text()),
      );
      // A job is counted when it has ended, which may be after the mail that it began.
      const isCounted = [
        /mailwright_mails_total\{.*outcome="SENT".*\} [1-9]/,
        /mailwright_job_duration_seconds_bucket\{/,
      ].every((count) => count.test(worker ?? ''));
      return isCounted ? `${api}\n${worker}` : null;
    });
  });

  afterAll(() => system?.stop());

  it('ask for metrics that the programs have', () => {
    const names = new Set(expressions.flatMap(metricsIn));
    expect(names.size).toBeGreaterThan(8);
    expect([...names].filter((name) => !new RegExp(`^${name}[{ ]`, 'm').test(metrics))).toEqual([]);
  });

  it('by labels that they have', () => {
    const labels = expressions
      .flatMap(selectorsIn)
      .filter(({ metric, label }) => metric.startsWith('mailwright_') && !OF_PROMETHEUS.includes(label));
    expect(labels.length).toBeGreaterThan(5);
    const unknown = labels.filter(
      ({ metric, label }) => !new RegExp(`^${metric}\\{(?:.*,)?${label}="`, 'm').test(metrics),
    );
    expect(unknown).toEqual([]);
  });

  it('and group by such labels only', () => {
    const grouped = expressions.flatMap((expression) =>
      [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/, */)),
    );
    const known = [...metrics.matchAll(/(?<=[{,])(\w+)="/g)].map(([, label]) => label);
    expect(grouped.filter((label) => !known.includes(label) && !OF_PROMETHEUS.includes(label))).toEqual([]);
  });

  it('are each told of in the operating guide', () => {
    const guide = [...read('operations.md').matchAll(/^\| (Mailwright\w+) \|/gm)].map(
      ([, name = '']) => name,
    );
    expect(alertNames.length).toBe(alertExpressions.length);
    expect(guide).toEqual(alertNames);
  });

  it('are PromQL', () => {
    expect(faultsOf('sum(rate(mailwright_mails_total[5m])')).toHaveLength(1);
    expect(expressions.flatMap(faultsOf)).toEqual([]);
  });

  it('have panels that do not lie over one another', () => {
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)}/${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});
